// SPDX-License-Identifier: BSD-3-Clause
// The calls of an endpoint, as tables. Each ends in the endpoint's object for it.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

namespace fci::libfabric {

extern fi_ops_msg message_calls, message_calls_of_child;  // message_calls.cc
extern fi_ops_tagged tagged_calls, tagged_calls_of_child;
extern fi_ops_rma rma_calls;        // rma_calls.cc
extern fi_ops_atomic atomic_calls;  // atomic_calls.cc
extern fi_ops_ep option_calls;      // option_calls.cc
extern fi_ops_cm name_calls;

}  // namespace fci::libfabric
