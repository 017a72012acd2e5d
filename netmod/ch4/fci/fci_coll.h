/* Collectives: MPICH's own algorithms over our messages. */
#ifndef FCI_COLL_H_INCLUDED
#define FCI_COLL_H_INCLUDED

#include "netmod_am_fallback_coll.h"

#endif
