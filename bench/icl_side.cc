// SPDX-License-Identifier: BSD-3-Clause
#include "bench/icl_side.h"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fci_core/base/flag.h"

namespace fci::bench {
namespace {

constexpr std::uint64_t kTag = 7;
constexpr std::int64_t kLingerNs = 1000000000;

void done(void* user, void*, const fci_icl_status* status) {
    auto& pending = *static_cast<Pending*>(user);
    --pending.left;
    if (status->error != FCI_ICL_OK) pending.error = status->error;
}

}  // namespace

IclSide::~IclSide() {
    if (context_ != nullptr) fci_icl_close(context_, kLingerNs);
}

bool IclSide::open(std::uint64_t job, const char* driver, const char* protocol) {
    fci_icl_config config{};
    config.version = FCI_ICL_VERSION;
    config.driver = driver;
    config.protocol = protocol;
    config.job = job;
    config.local_ranks = members_;
    config.user_agent = "benchmark";
    char* text = nullptr;
    if (fci_icl_open(&config, &context_, &text) != FCI_ICL_OK) {
        std::fprintf(stderr, "%s\n", text != nullptr ? text : "FCI does not open");
        std::free(text);
        return false;
    }
    auto& mine = page_.member[number_];
    fci_icl_card(context_, mine.card);
    flag::store_release(mine.has_card, std::uint64_t{1});
    for (unsigned i = 0; i < members_; ++i) {
        auto& member = page_.member[i];
        while (flag::load_acquire(member.has_card) == 0) sched_yield();
        fci_icl_peer peer = 0;
        const int code = fci_icl_add_peer(context_, member.card, &peer);
        if (code != FCI_ICL_OK) {
            std::fprintf(stderr, "peer %u: %s\n", i, fci_icl_strerror(code));
            return false;
        }
        peers_.push_back(peer);
    }
    return true;
}

void IclSide::start_send(unsigned to, const void* data, std::size_t bytes, Pending& pending) {
    // As MPICH's plug does: the commonest of all sends first.
    if (fci_icl_send_short(context_, peers_[to], kTag, data, bytes) == FCI_ICL_DONE) return;
    const fci_icl_completion completion{done, &pending, nullptr};
    fci_icl_order order;
    int code;
    // A completion may come before the call returns only for somebody else's order.
    while ((code = fci_icl_send_bytes(context_, peers_[to], 0, 0, kTag, 0, data, bytes,
                                      &completion, &order)) == FCI_ICL_EAGAIN)
        fci_icl_progress(context_);
    if (code == FCI_ICL_OK) ++pending.left;
    if (code < 0) fail(code);
}

void IclSide::post(fci_icl_peer source, void* data, std::size_t bytes, Pending& pending) {
    if (fci_icl_post(context_, source, kTag, 0, data, bytes, done, &pending, nullptr) != 0) {
        ++pending.left;
        return;
    }
    const fci_icl_completion completion{done, &pending, nullptr};
    fci_icl_order order;
    fci_icl_status status;
    int code;
    while ((code = fci_icl_receive_bytes(context_, source, 0, kTag, 0, data, bytes, &completion,
                                         &order, &status)) == FCI_ICL_EAGAIN)
        fci_icl_progress(context_);
    if (code == FCI_ICL_OK) ++pending.left;
    if (code == FCI_ICL_DONE && status.error != FCI_ICL_OK) fail(status.error);
    if (code < 0) fail(code);
}

void IclSide::start_receive(unsigned from, void* data, std::size_t bytes, Pending& pending) {
    post(peers_[from], data, bytes, pending);
}

void IclSide::start_receive_any(void* data, std::size_t bytes, Pending& pending) {
    post(FCI_ICL_ANY_SOURCE, data, bytes, pending);
}

}  // namespace fci::bench
