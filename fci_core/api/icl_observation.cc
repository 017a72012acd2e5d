// SPDX-License-Identifier: BSD-3-Clause
// The C face, part two: counters, options, drivers.
#include <string>
#include <vector>

#include "fci_core/api/icl_context.h"
#include "fci_core/api/version.h"
#include "fci_core/base/assert.h"
#include "fci_core/base/launcher.h"

using fci::api::guarded;
using fci::api::process_of;

namespace {

/// As a context that is opened now has it.
fci::ddi::Networks networks_now() {
    return fci::ddi::networks({fci::Parameters::from_environment(nullptr).net,
                               fci::launcher_addresses(fci::own_variable)});
}

}  // namespace

extern "C" {

const char* fci_icl_counter_name(unsigned i, const char** help) {
    if (i >= fci::kCounters) return nullptr;
    if (help != nullptr) *help = fci::kCounterTexts[i].help;
    return fci::kCounterTexts[i].name;
}

uint64_t fci_icl_counter(const fci_icl_context* context, unsigned i) {
    if (i >= fci::kCounters) return 0;
    return fci::counter_value(fci::api::engine_of(context).counters, i);
}

int fci_icl_option(unsigned i, struct fci_icl_option* option) {
    if (i >= fci::parameter_count()) return FCI_ICL_ENOENT;
    return guarded([&]() -> int {
        static thread_local std::string value;
        bool from_env = false;
        value = fci::parameter_value(i, &from_env);
        const fci::ParameterText& text = fci::parameter_text(i);
        *option = {text.name, text.env, text.fallback, value.c_str(), text.help,
                   from_env ? "environment" : "default"};
        return FCI_ICL_OK;
    });
}

int fci_icl_driver(unsigned i, struct fci_icl_driver* driver) {
    return guarded([&]() -> int {
        static thread_local std::string reason;
        const fci::ddi::Driver* const known = fci::ddi::driver(i);
        if (known == nullptr) return FCI_ICL_ENOENT;
        reason.clear();
        const bool usable = known->probe(&reason);
        *driver = {known->name, known->summary, usable ? 1 : 0, reason.c_str()};
        return FCI_ICL_OK;
    });
}

int fci_icl_interface(unsigned i, struct fci_icl_interface* interface) {
    return guarded([&]() -> int {
        static thread_local std::vector<fci::ddi::NetworkRow> rows;
        if (i == 0) rows = networks_now().rows;
        if (i >= rows.size()) return FCI_ICL_ENOENT;
        const fci::ddi::NetworkRow& row = rows[i];
        *interface = {row.interface.c_str(), row.address.c_str(), row.why.c_str(),
                      row.chosen ? 1 : 0};
        return FCI_ICL_OK;
    });
}

int fci_icl_network(const char** line) {
    return guarded([&]() -> int {
        static thread_local std::string text;
        const fci::ddi::Networks networks = networks_now();
        const bool found = networks.choice.host != 0;
        FCI_ASSERT(found == networks.error.empty());
        text = found ? networks.choice.place + ": " + networks.choice.reason : networks.error;
        *line = text.c_str();
        return found ? FCI_ICL_OK : FCI_ICL_ENOENT;
    });
}

const char* fci_icl_library_version(void) { return FCI_VERSION_TEXT; }

const char* fci_icl_strerror(int code) {
    switch (code) {
        case FCI_ICL_OK: return "success";
        case FCI_ICL_DONE: return "done at once";
        case FCI_ICL_EAGAIN: return "no room just now, try again after progress";
        case FCI_ICL_EINVAL: return "invalid argument";
        case FCI_ICL_ENOMEM: return "out of memory";
        case FCI_ICL_EPEER: return "the peer died or closed";
        case FCI_ICL_EUNREACHABLE: return "the peer cannot be reached";
        case FCI_ICL_ETRUNC: return "message longer than the receive buffer";
        case FCI_ICL_ECANCELED: return "cancelled";
        case FCI_ICL_ENOMSG: return "no such message";
        case FCI_ICL_ENOENT: return "no such order, peer or option";
        case FCI_ICL_EUNSUPPORTED: return "not supported here";
        case FCI_ICL_EMISMATCH: return "versions or settings of the two sides differ";
        case FCI_ICL_EHELD: return "the peer holds too many messages that nobody asked for";
        case FCI_ICL_EFAULT: return "a buffer is not accessible";
        default: return "unknown code";
    }
}

}  // extern "C"
