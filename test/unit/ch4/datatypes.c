/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes: predefined ones are MPICH's numbers alone, others one kind of vector. */
#include "test/unit/ch4/upper.h"

MPIR_Datatype MPIR_Datatype_builtin[MPIR_DATATYPE_N_BUILTIN];
MPIR_Datatype MPIR_Datatype_direct[MPIR_DATATYPE_PREALLOC];
MPIR_Object_alloc_t MPIR_Datatype_mem;

static struct shape shapes[MPIR_DATATYPE_PREALLOC];

MPI_Datatype new_type(struct shape shape) {
    int index = 0;
    while (MPIR_Datatype_direct[index].is_committed) index++;
    MPIR_Datatype* const type = &MPIR_Datatype_direct[index];
    shapes[index] = shape;
    memset(type, 0, sizeof *type);
    type->handle = (int)((unsigned)HANDLE_KIND_DIRECT << HANDLE_KIND_SHIFT |
                         (unsigned)MPIR_DATATYPE << HANDLE_MPI_KIND_SHIFT | (unsigned)index);
    MPIR_Object_set_ref(type, 1);
    type->size = (MPI_Aint)shape.blocks * shape.bytes;
    type->true_lb = shape.first;
    type->extent = (MPI_Aint)shape.blocks * shape.stride;
    type->is_contig = shape.stride == shape.bytes;
    type->is_committed = 1;
    upper.types_live++;
    return type->handle;
}

MPIR_Datatype* type_of(MPI_Datatype type) {
    return &MPIR_Datatype_direct[HANDLE_INDEX(type)];
}

void free_type(MPI_Datatype handle) {
    MPIR_Datatype* const type = type_of(handle);
    MPIR_Datatype_ptr_release(type);
}

void MPIR_Datatype_free(MPIR_Datatype* type) {
    type->is_committed = 0;
    upper.types_live--;
}

void MPIR_Datatype_get_flattened(MPI_Datatype type, void** flattened, int* bytes) {
    *flattened = &shapes[HANDLE_INDEX(type)];
    *bytes = sizeof(struct shape);
}

/* Where byte number `at` of the packed data lies. */
static char* place(char* buffer, MPI_Datatype type, MPI_Aint at) {
    if (HANDLE_IS_BUILTIN(type)) return buffer + at;
    const struct shape* const shape = &shapes[HANDLE_INDEX(type)];
    const MPI_Aint size = type_of(type)->size, within = at % size;
    return buffer + at / size * type_of(type)->extent + shape->first +
           within / shape->bytes * shape->stride + within % shape->bytes;
}

static MPI_Aint size_of(MPI_Aint count, MPI_Datatype type) {
    return HANDLE_IS_BUILTIN(type) ? count * MPIR_Datatype_get_basic_size(type)
                                   : count * type_of(type)->size;
}

int MPIR_Typerep_copy(void* to, const void* from, MPI_Aint bytes) {
    memcpy(to, from, (size_t)bytes);
    return MPI_SUCCESS;
}

int MPIR_Typerep_pack(const void* from, MPI_Aint count, MPI_Datatype type, MPI_Aint offset,
                      void* to, MPI_Aint most, MPI_Aint* packed) {
    const MPI_Aint bytes = MPL_MIN(size_of(count, type) - offset, most);
    for (MPI_Aint i = 0; i < bytes; i++) ((char*)to)[i] = *place((char*)from, type, offset + i);
    *packed = bytes;
    const int answer = upper.upper_error;
    upper.upper_error = MPI_SUCCESS;
    return answer;
}

int MPIR_Typerep_unpack(const void* from, MPI_Aint bytes, void* to, MPI_Aint count,
                        MPI_Datatype type, MPI_Aint offset, MPI_Aint* unpacked) {
    MPI_Aint whole = MPL_MIN(size_of(count, type) - offset, bytes);
    if (!HANDLE_IS_BUILTIN(type)) whole -= whole % shapes[HANDLE_INDEX(type)].unit;
    for (MPI_Aint i = 0; i < whole; i++) *place(to, type, offset + i) = ((const char*)from)[i];
    *unpacked = whole;
    return MPI_SUCCESS;
}

int MPIR_Localcopy(const void* from, MPI_Aint from_count, MPI_Datatype from_type, void* to,
                   MPI_Aint to_count, MPI_Datatype to_type) {
    const MPI_Aint bytes = size_of(from_count, from_type), room = size_of(to_count, to_type);
    for (MPI_Aint i = 0; i < MPL_MIN(bytes, room); i++)
        *place(to, to_type, i) = *place((char*)from, from_type, i);
    const int answer = upper.upper_error;
    upper.upper_error = MPI_SUCCESS;
    return answer != MPI_SUCCESS ? answer : bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
}
