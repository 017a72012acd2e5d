// SPDX-License-Identifier: BSD-3-Clause
#ifndef FCI_REQUEST_H_INCLUDED
#define FCI_REQUEST_H_INCLUDED

#include "fci_impl.h"

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_init(MPIR_Request * req)
{
    MPIDI_FCI_AMREQ(req).pack_buffer = NULL;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_finalize(MPIR_Request * req)
{
    MPL_free(MPIDI_FCI_AMREQ(req).pack_buffer);
    MPIDI_FCI_AMREQ(req).pack_buffer = NULL;
}

#endif
