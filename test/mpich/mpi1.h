/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH's tests call by their old names what MPI 3 took out; Open MPI has only the new ones. */
#include <mpi.h>

#undef MPI_Type_hindexed
#define MPI_Type_hindexed MPI_Type_create_hindexed
#undef MPI_Type_hvector
#define MPI_Type_hvector MPI_Type_create_hvector
#undef MPI_Type_struct
#define MPI_Type_struct MPI_Type_create_struct
#undef MPI_Address
#define MPI_Address MPI_Get_address
#undef MPI_Type_extent
static inline int MPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint low;
    return MPI_Type_get_extent(datatype, &low, extent);
}
