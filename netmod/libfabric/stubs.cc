// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/stubs.h"

namespace fci::libfabric {

fi_ops_rma no_rma{sizeof(fi_ops_rma), not_offered, not_offered, not_offered, not_offered,
                  not_offered,        not_offered, not_offered, not_offered, not_offered};

fi_ops_atomic no_atomic{
    sizeof(fi_ops_atomic), not_offered,   not_offered,   not_offered,   not_offered,
    not_offered,           not_offered,   not_offered,   not_offered,   not_offered,
    not_offered,           not_supported, not_supported, not_supported,
};

fi_ops_collective no_collective{
    sizeof(fi_ops_collective), not_offered, not_offered, not_offered, not_offered, not_offered,
    not_offered,               not_offered, not_offered, not_offered, not_offered, not_offered,
};

fi_ops_msg early_message{sizeof(fi_ops_msg), not_enabled, not_enabled, not_enabled, not_enabled,
                         not_enabled,        not_enabled, not_enabled, not_enabled, not_enabled};

fi_ops_tagged early_tagged{
    sizeof(fi_ops_tagged), not_enabled, not_enabled, not_enabled, not_enabled,
    not_enabled,           not_enabled, not_enabled, not_enabled, not_enabled,
};

}  // namespace fci::libfabric
