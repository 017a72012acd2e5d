// SPDX-License-Identifier: BSD-3-Clause
// messages: single messages between two contexts of one process, step by step, for counting
// instructions: nobody spins, so each count is exact and the same in every run. bench/profile and
// test/instructions/run start it under callgrind and collect in the functions named below.
//   messages ROUNDS BYTES posted|late [posted:DEPTH|unexpected:DEPTH|peers:COUNT]
// The last: behind so many receives that are posted, or messages that wait, and never fit; or one
// of so many peers, which all have sent something.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "fci_core/api/icl.h"

namespace {

constexpr std::uint64_t kTag = 7;
constexpr unsigned kWarmUp = 300;  // more than a request block holds: credits have come back
constexpr std::int64_t kLingerNs = 1000000000;

struct End {
    fci_icl_context* context = nullptr;
    fci_icl_peer other = 0;
    unsigned done = 0;
    int error = 0;
};
End sender, receiver;
std::vector<End> bystanders;  // have sent one message, each, and nothing since
unsigned char out[8192], in[8192];

void count(void* user, void*, const fci_icl_status* status) {
    auto& end = *static_cast<End*>(user);
    ++end.done;
    if (status->error != FCI_ICL_OK) end.error = status->error;
}

void stop(const char* what, int code) {
    std::fprintf(stderr, "messages: %s: %s\n", what, fci_icl_strerror(code));
    std::exit(1);
}

}  // namespace

// Never inlined, with names that callgrind can be told.
#define MEASURED extern "C" __attribute__((noinline, visibility("default")))

MEASURED int measured_send(std::size_t bytes) {
    const fci_icl_completion completion{count, &sender, nullptr};
    fci_icl_order order;
    return fci_icl_send_bytes(sender.context, sender.other, 0, 0, kTag, 0, out, bytes, &completion,
                              &order);
}

MEASURED int measured_post(std::size_t bytes) {
    const fci_icl_completion completion{count, &receiver, nullptr};
    fci_icl_order order;
    return fci_icl_receive_bytes(receiver.context, receiver.other, 0, kTag, 0, in, bytes,
                                 &completion, &order, nullptr);
}

/// The turn that finds the message, completes its receive and calls back.
MEASURED int measured_arrival() { return fci_icl_progress(receiver.context); }

/// A turn that finds nothing.
MEASURED int measured_idle() { return fci_icl_progress(receiver.context); }

namespace {

void open(End& end) {
    fci_icl_config config{};
    config.version = FCI_ICL_VERSION;
    config.job = 1;
    config.local_ranks = 2;
    char* text = nullptr;
    const int code = fci_icl_open(&config, &end.context, &text);
    if (code != FCI_ICL_OK) stop(text != nullptr ? text : "open", code);
}

void meet(End& from, End& to) {
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(to.context, card);
    const int code = fci_icl_add_peer(from.context, card, &from.other);
    if (code != FCI_ICL_OK) stop("add_peer", code);
}

void other_turns() {
    for (int i = 0; i < 3; ++i) fci_icl_progress(sender.context);
    if (bystanders.empty()) return;
    // After an arrival it looks at the others closely, once; and an odd number of turns in all
    // keeps the network's own work, every 128 of them, from falling into the same one each time.
    for (int i = 0; i < 2; ++i) fci_icl_progress(receiver.context);
}

void meet_bystanders(unsigned count) {
    bystanders.resize(count);
    for (End& one : bystanders) {
        open(one);
        meet(one, receiver);
        const fci_icl_completion nobody{};
        fci_icl_order order;
        const unsigned wanted = receiver.done + 1;
        const fci_icl_completion completion{::count, &receiver, nullptr};
        if (fci_icl_receive_bytes(receiver.context, FCI_ICL_ANY_SOURCE, 0, kTag, 0, in, 8,
                                  &completion, &order, nullptr) < 0) {
            stop("receive", FCI_ICL_EAGAIN);
        }
        int code;
        while ((code = fci_icl_send_bytes(one.context, one.other, 0, 0, kTag, 0, out, 8, &nobody,
                                          &order)) == FCI_ICL_EAGAIN) {
            fci_icl_progress(one.context);
        }
        if (code < 0) stop("bystander", code);
        while (receiver.done != wanted) {
            fci_icl_progress(one.context);
            fci_icl_progress(receiver.context);
        }
    }
}

/// So many receives, or messages, each with a word of its own that nothing else has.
void pile_up(bool receives, unsigned depth) {
    for (unsigned i = 0; i < depth; ++i) {
        const std::uint64_t word = kTag + 1 + i;
        fci_icl_order order;
        int code;
        if (receives) {
            const struct fci_icl_receive wanted{receiver.other, 0, word, 0, nullptr, 0, {}};
            code = fci_icl_receive(receiver.context, &wanted, &order, nullptr);
        } else {
            const fci_icl_completion nobody{};
            while ((code = fci_icl_send_bytes(sender.context, sender.other, 0, 0, word, 0, out, 8,
                                              &nobody, &order)) == FCI_ICL_EAGAIN) {
                fci_icl_progress(receiver.context);
            }
        }
        if (code < 0) stop("pile", code);
        fci_icl_progress(receiver.context);
        fci_icl_progress(sender.context);
    }
}

/// Posted first, or, with `late`, after the message is there.
void message(std::size_t bytes, bool late) {
    const unsigned wanted = receiver.done + 1;
    int code = late ? 0 : measured_post(bytes);
    if (code < 0) stop("receive", code);
    const int sent = measured_send(bytes);
    if (sent < 0) stop("send", sent);
    measured_arrival();
    if (late && (code = measured_post(bytes)) == FCI_ICL_DONE) ++receiver.done;
    for (unsigned i = 0; i < 1000000 && receiver.done != wanted; ++i) {
        fci_icl_progress(receiver.context);
        fci_icl_progress(sender.context);
    }
    if (receiver.done != wanted || receiver.error != 0) stop("message", receiver.error);
    if (std::memcmp(out, in, bytes) != 0) stop("wrong contents", 0);
    other_turns();
}

}  // namespace

static void run_messages(unsigned rounds, std::size_t bytes, bool late) {
    for (unsigned i = 0; i < rounds; ++i) {
        for (std::size_t k = 0; k < bytes; ++k) out[k] = static_cast<unsigned char>(i + k * 3);
        message(bytes, late);
        measured_idle();
    }
}

/// Counts from here on: earlier steps, connecting among them, are left out.
MEASURED void run_counted(unsigned rounds, std::size_t bytes, bool late) {
    run_messages(rounds, bytes, late);
}

int main(int argc, char** argv) {
    const char* const colon = argc == 5 ? std::strchr(argv[4], ':') : nullptr;
    if (argc != 4 && colon == nullptr) {
        std::fprintf(stderr, "usage: messages ROUNDS BYTES posted|late"
                             " [posted:DEPTH|unexpected:DEPTH|peers:COUNT]\n");
        return 2;
    }
    const auto rounds = static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10));
    const std::size_t bytes = std::strtoul(argv[2], nullptr, 10);
    const bool late = std::strcmp(argv[3], "late") == 0;
    if (bytes > sizeof out) return 2;
    open(sender);
    open(receiver);
    meet(sender, receiver);
    meet(receiver, sender);
    if (colon != nullptr) {
        const auto count = static_cast<unsigned>(std::strtoul(colon + 1, nullptr, 10));
        if (std::strncmp(argv[4], "peers", 5) == 0) {
            meet_bystanders(count - 1);
        } else {
            pile_up(argv[4][0] == 'p', count);
        }
    }
    run_messages(kWarmUp, bytes, late);
    run_counted(rounds, bytes, late);
    for (const End& one : bystanders) fci_icl_close(one.context, kLingerNs);
    fci_icl_close(sender.context, kLingerNs);
    fci_icl_close(receiver.context, kLingerNs);
    return 0;
}
