// SPDX-License-Identifier: BSD-3-Clause
// The driver where UCX's headers were missing when FCI was built.
#include "drivers/ucx/ucx.h"

namespace fci::ucx {

namespace {

constexpr const char* kWhy =
    "this FCI was built without UCX: install its headers (Debian: libucx-dev), configure again";

}  // namespace

std::unique_ptr<ddi::Device> open_ucx(const ddi::Settings&, Status* status, std::string* error) {
    *status = Status::unsupported;
    *error = kWhy;
    return nullptr;
}

std::unique_ptr<ddi::Device> open_ucx_beside_tcp(const ddi::Settings& settings, Status* status,
                                                 std::string* error) {
    return open_ucx(settings, status, error);
}

bool is_choice(std::string* why) {
    why->clear();
    return false;
}

std::string unused_note(const std::string& why) { return why; }

std::string note_of_far(bool) { return {}; }

bool probe_ucx(std::string* note) {
    *note = kWhy;
    return false;
}

}  // namespace fci::ucx
