// SPDX-License-Identifier: BSD-3-Clause
// IclSide: one process of a benchmark that talks icl.h to the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/process_group.h"
#include "fci_core/api/icl.h"

namespace fci::bench {

/// Counts what is still to come; the first error stays.
struct Pending {
    std::uint64_t left = 0;
    int error = FCI_ICL_OK;
};

class IclSide {
public:
    IclSide(unsigned number, unsigned members, SharedPage& page)
        : number_(number), members_(members), page_(page) {}
    ~IclSide();
    IclSide(const IclSide&) = delete;
    IclSide& operator=(const IclSide&) = delete;

    /// Opens a context and learns the cards of all others through the page. Prints what failed.
    bool open(std::uint64_t job, const char* driver, const char* protocol);

    [[nodiscard]] unsigned number() const { return number_; }
    [[nodiscard]] SharedPage& page() const { return page_; }
    [[nodiscard]] fci_icl_context* context() const { return context_; }
    [[nodiscard]] int error() const { return error_; }

    /// The start of an operation. Retries while there is back-pressure.
    void start_send(unsigned to, const void* data, std::size_t bytes, Pending& pending);
    void start_receive(unsigned from, void* data, std::size_t bytes, Pending& pending);
    void start_receive_any(void* data, std::size_t bytes, Pending& pending);
    /// Turns until nothing is pending.
    void finish(Pending& pending) {
        while (pending.left != 0) fci_icl_progress(context_);
        if (pending.error != FCI_ICL_OK) fail(pending.error);
    }

    void send(unsigned to, const void* data, std::size_t bytes) {
        Pending pending;
        start_send(to, data, bytes, pending);
        finish(pending);
    }
    void receive(unsigned from, void* data, std::size_t bytes) {
        Pending pending;
        start_receive(from, data, bytes, pending);
        finish(pending);
    }

private:
    void fail(int code) {
        if (error_ == FCI_ICL_OK) error_ = code;
    }
    void post(fci_icl_peer source, void* data, std::size_t bytes, Pending& pending);

    unsigned number_, members_;
    SharedPage& page_;
    fci_icl_context* context_ = nullptr;
    std::vector<fci_icl_peer> peers_;  // by number
    int error_ = FCI_ICL_OK;
};

}  // namespace fci::bench
