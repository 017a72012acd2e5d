// SPDX-License-Identifier: BSD-3-Clause
// A process with peers on its own host and on another one, 127.0.0.2 and 127.0.0.3, through the C
// face.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "fci_core/api/process.h"
#include "test/unit/api/asked.h"
#include "test/unit/api/context.h"
#include "test/unit/api/host_context.h"
#include "test/unit/limit.h"

namespace fci {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

fci_icl_peer add(const Context& context, const Context& other) {
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(other.get(), card);
    fci_icl_peer peer = 0;
    EXPECT_EQ(fci_icl_add_peer(context.get(), card, &peer), FCI_ICL_OK);
    return peer;
}

int send(const Context& from, fci_icl_peer to, std::uint64_t match,
         const std::vector<char>& data) {
    return fci_icl_send_bytes(from.get(), to, 0, 0, match, 0, data.data(), data.size(), nullptr,
                              nullptr);
}

bool arrived(const Context& context, std::uint64_t match) {
    fci_icl_status status{};
    return fci_icl_probe(context.get(), FCI_ICL_ANY_SOURCE, 0, match, 0, &status, nullptr) ==
           FCI_ICL_OK;
}

// Nor does one that copies long messages within its host all the time leave the network alone.
TEST(TwoHosts, progress__of_one_who_is_busy_hears_the_other_host) {
    const Context self = open_on(0), near = open_on(0), far = open_on(1);
    const fci_icl_peer from_near = add(near, self), from_far = add(far, self);
    const std::vector<char> byte(1);
    ASSERT_GE(send(near, from_near, 1, byte), 0);
    ASSERT_GE(send(far, from_far, 1, byte), 0);
    const auto turn = [&] {
        for (const Context* each : {&self, &near, &far}) fci_icl_progress(each->get());
    };
    Limit limit("two messages");
    std::vector<char> there(1);
    for (int left = 2; left != 0 && limit.holds(); turn()) {
        if (!arrived(self, 1)) continue;
        --left;
        ASSERT_EQ(fci_icl_receive_bytes(self.get(), FCI_ICL_ANY_SOURCE, 0, 1, 0, there.data(), 1,
                                        nullptr, nullptr, nullptr),
                  FCI_ICL_DONE);
    }
    // Each takes many turns, and one line: no credit goes back.
    constexpr unsigned kMessages = 100;
    const std::vector<char> data(4 * kMiB, 'x');
    std::vector<char> to(data.size());
    unsigned done = 0;
    fci_icl_completion completion{};
    completion.done = [](void* user, void*, const fci_icl_status*) {
        ++*static_cast<unsigned*>(user);
    };
    completion.user = &done;
    for (unsigned i = 0; i < kMessages; ++i) {
        ASSERT_EQ(fci_icl_receive_bytes(self.get(), FCI_ICL_ANY_SOURCE, 0, 2, 0, to.data(),
                                        to.size(), &completion, nullptr, nullptr),
                  FCI_ICL_OK);
        ASSERT_GE(send(near, from_near, 2, data), 0);
    }
    while (done < kMessages / 4 && limit.holds()) turn();
    ASSERT_GE(send(far, from_far, 3, byte), 0);
    unsigned turns = 0;
    for (; !arrived(self, 3) && limit.holds(); ++turns) turn();
    EXPECT_LT(turns, 3 * progress::BusyPolls::kTurns) << "the network waited for shared memory";
    while (done != kMessages && limit.holds()) turn();
}

using CardBytes = std::array<unsigned char, FCI_ICL_CARD_BYTES>;

/// How many it has met.
std::uint64_t met(const Context& context) {
    auto& process = *reinterpret_cast<api::Process*>(context.get());
    return process.messages().engine().counters.peers_attached;
}

/// For messages that may wait until their receiver was met.
const std::vector<char> kOneByte(1);

/// In a process of its own, with the cards of some that began before it: it meets the first, says
/// its card, meets the others, and hears what comes until it has lost one. Then it ends without a
/// word, as a program does whose errors are fatal.
struct Rank {
    Rank(unsigned host, int rank, const std::vector<CardBytes>& others) {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        process = fork();
        if (process == 0) {
            const Context self = open_on(host, rank);
            std::vector<fci_icl_peer> peers(others.size());
            fci_icl_card(self.get(), card.data());
            const auto say_card = [&] { (void)!write(ends[1], card.data(), card.size()); };
            if (others.empty()) say_card();
            Limit limit("a death");
            for (std::size_t i = 0; i < others.size(); ++i) {
                (void)fci_icl_add_peer(self.get(), others[i].data(), &peers[i]);
                (void)send(self, peers[i], 1, kOneByte);
                while (met(self) <= i && limit.holds()) fci_icl_progress(self.get());
                if (i == 0) say_card();
            }
            const auto has_lost = [&](fci_icl_peer peer) {
                return fci_icl_peer_reason(self.get(), peer)[0] != '\0';
            };
            while (std::ranges::none_of(peers, has_lost) && limit.holds()) {
                fci_icl_progress(self.get());
            }
            _exit(1);
        }
        close(ends[1]);  // so that a child which ends too early is heard of
        EXPECT_EQ(read(ends[0], card.data(), card.size()), static_cast<ssize_t>(card.size()));
        close(ends[0]);
    }
    ~Rank() {
        (void)kill(process, SIGKILL);
        (void)waitpid(process, nullptr, 0);
    }

    pid_t process = -1;
    CardBytes card{};
};

// Rank 1 dies, rank 0 on its host ends because of that, rank 3 on a third host because of rank 0.
// Rank 2, which met rank 3 only, hears where it began.
TEST(TwoHosts, reason__of_one_that_ended_after_a_loss_names_the_first_one) {
    const Context self = open_on(1, 2);
    CardBytes own;
    fci_icl_card(self.get(), own.data());
    auto victim = std::make_unique<Rank>(0, 1, std::vector<CardBytes>{});
    const Rank first(0, 0, {victim->card});
    const Rank between(2, 3, {first.card, own});
    Limit limit("a message and a death");
    while (!arrived(self, 1) && limit.holds()) fci_icl_progress(self.get());
    fci_icl_peer peer = 0;
    ASSERT_EQ(fci_icl_add_peer(self.get(), between.card.data(), &peer), FCI_ICL_OK);
    ASSERT_GE(send(self, peer, 2, kOneByte), 0);
    victim.reset();
    std::string reason;
    while (reason.empty() && limit.holds()) {
        fci_icl_progress(self.get());
        reason = fci_icl_peer_reason(self.get(), peer);
    }
    EXPECT_NE(reason.find("it ended after it had lost rank 1; look there first"), std::string::npos)
        << reason;
}

/// What `process` shows of its peers.
std::vector<PeerRow> rows_of(api::Process& process) {
    const auto file = static_cast<int>(process.messages().engine().peers.rows().file());
    std::vector<PeerRow> rows(8);
    EXPECT_EQ(pread(file, rows.data(), rows.size() * sizeof rows[0], 0),
              static_cast<ssize_t>(rows.size() * sizeof rows[0]));
    std::erase_if(rows, [](const PeerRow& row) { return row.way[0] == 0; });
    return rows;
}

TEST(TwoHosts, rows__the_way_to_each_and_what_passed) {
    const Context self = open_on(0), near = open_on(0);
    Context far = open_on(1);
    const std::vector<char> data(1000);
    ASSERT_GE(send(self, add(self, near), 1, data), 0);
    ASSERT_GE(send(self, add(self, far), 2, data), 0);
    api::Process& process = *reinterpret_cast<api::Process*>(self.get());
    std::vector<PeerRow> rows = rows_of(process);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[1].state, PeerRow::State::unmet);
    Limit limit("two messages");
    while ((!arrived(near, 1) || !arrived(far, 2)) && limit.holds()) {
        for (auto* each : {self.get(), near.get(), far.get()}) fci_icl_progress(each);
    }
    rows = rows_of(process);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_STREQ(rows[0].way, "memory");
    EXPECT_STREQ(rows[1].way, "tcp");
    EXPECT_EQ(rows[1].host, htonl(0x7f000003));
    for (const PeerRow& row : rows) {
        EXPECT_EQ(row.state, PeerRow::State::connected);
        EXPECT_EQ(row.pid, static_cast<std::uint32_t>(getpid()));
        EXPECT_EQ(row.bytes_sent, data.size());
        EXPECT_EQ(row.bytes_received, 0u);
    }
    const Counters& counters = process.messages().engine().counters;
    EXPECT_GT(counters.network_writes, 0u);
    EXPECT_GT(counters.network_bytes_sent, data.size());
    EXPECT_LT(counters.network_bytes_sent, 2 * data.size()) << "what is near goes by no network";
    const std::vector<PeerRow> others = rows_of(*reinterpret_cast<api::Process*>(far.get()));
    ASSERT_EQ(others.size(), 1u);
    EXPECT_EQ(others[0].bytes_received, data.size());
    far.reset();
    while (rows_of(process)[1].state != PeerRow::State::lost && limit.holds()) {
        fci_icl_progress(self.get());
    }
}

std::ptrdiff_t descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

void meet(const Context& one, const Context& other) {
    ASSERT_GE(send(one, add(one, other), 1, std::vector<char>(100)), 0);
    Limit limit("the message");
    while (!arrived(other, 1) && limit.holds()) {
        for (auto* each : {one.get(), other.get()}) fci_icl_progress(each);
    }
}

// 64 hosts of 16 processes are known. By what was asked for and the table of descriptors, not by
// what the process says of itself; a request block is of neither.
TEST(TwoHosts, memory__of_1024_that_are_known_and_of_one_that_is_met) {
    constexpr unsigned kKnown = 64 * 16;
    if (!asked_bytes()) GTEST_SKIP() << "operator new is the sanitizer's";
    const Context self = open_on(0), first = open_on(1), far = open_on(1);
    meet(far, first);  // what all others share is there
    std::size_t asked_before = *asked_bytes();
    std::ptrdiff_t open_before = descriptors();
    for (unsigned i = 0; i < kKnown - 3; ++i) {
        ddi::Card absent{};
        absent.family = AF_INET;
        absent.host = htonl(0x0a000001 + i / 16);
        absent.port = htons(static_cast<std::uint16_t>(2000 + i % 16));
        absent.incarnation = 0x100000 + i;
        fci_icl_peer peer;
        ASSERT_EQ(fci_icl_add_peer(self.get(), reinterpret_cast<unsigned char*>(&absent), &peer),
                  FCI_ICL_OK);
    }
    (void)add(self, first);
    (void)add(self, far);
    EXPECT_LE((*asked_bytes() - asked_before) / kKnown, 56u) << "of which 32 are the tcp driver's";
    EXPECT_EQ(descriptors(), open_before) << "nobody was called";
    meet(self, first);
    asked_before = *asked_bytes();
    open_before = descriptors();
    meet(self, far);
    EXPECT_LE(*asked_bytes() - asked_before, 2 * 8192u) << "both ends, beside their request blocks";
    EXPECT_EQ(descriptors(), open_before + 2) << "one socket at each end";
}

}  // namespace
}  // namespace fci
