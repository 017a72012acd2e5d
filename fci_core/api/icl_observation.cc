// The C face, part two: counters, options, drivers.
#include <string>

#include "fci_core/api/icl_context.h"
#include "fci_core/api/version.h"

using fci::api::guarded;
using fci::api::process_of;

extern "C" {

const char* fci_icl_counter_name(unsigned i, const char** help) {
    if (i >= fci::kCounters) return nullptr;
    if (help != nullptr) *help = fci::kCounterTexts[i].help;
    return fci::kCounterTexts[i].name;
}

uint64_t fci_icl_counter(const fci_icl_context* context, unsigned i) {
    if (i >= fci::kCounters) return 0;
    return process_of(context).counter(i);
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
