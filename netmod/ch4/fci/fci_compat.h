/* One source for several releases of MPICH: what they changed has one name here. */
#ifndef FCI_COMPAT_H_INCLUDED
#define FCI_COMPAT_H_INCLUDED

#define FCI_MPICH(major, minor) (MPICH_NUMVERSION >= (major) * 10000000 + (minor) * 100000)

#if FCI_MPICH(5, 0)
#define FCI_BYTE MPIR_BYTE_INTERNAL
#define FCI_VCI_LOCK(vci) MPIDI_VCI_LOCK(vci)
#else
#define FCI_BYTE MPI_BYTE
#define FCI_VCI_LOCK(vci) MPIDI_VCI(vci).lock
#endif

#if FCI_MPICH(4, 1)
#define FCI_REQUEST_COMPLETE(req) MPIDI_Request_complete_fast(req)
#define FCI_PACK_FLAGS , MPIR_TYPEREP_FLAG_NONE
#define FCI_RMA_COUNT MPI_Aint
#else
#define FCI_REQUEST_COMPLETE(req) MPIDIU_request_complete(req)
#define FCI_PACK_FLAGS
#define FCI_RMA_COUNT int
#endif

#endif
