// SPDX-License-Identifier: BSD-3-Clause
// Answers to a call of who is no peer: what is lost then, and what the user hears.
#include "test/unit/drivers/hand_party.h"

namespace fci::tcp::test {
namespace {

/// A change of a hello, why the peer is lost for it, and a part of the sentence that is said then.
struct Wrong {
    std::function<void(Hello&)> change;
    Status why;
    const char* said;
};

void expect_each_lost(const ddi::Card& card, const std::vector<Wrong>& all) {
    for (const Wrong& wrong : all) {
        HandParty party;
        const nhi::PeerId id = party.call(card);
        party.turn();
        Hello hello = party.hello_of(card_of(9));
        wrong.change(hello);
        party.system->bring(party.system->last, hello);
        party.turn();
        EXPECT_TRUE(party.listener.attached.empty()) << wrong.said;
        EXPECT_EQ(party.why(), wrong.why) << wrong.said;
        EXPECT_TRUE(party.says(wrong.said));
        EXPECT_FALSE(party.one(party.system->last).is_open) << wrong.said;
        EXPECT_EQ(party.device->connect(id), Status::lost);
        for (unsigned i = 0; i < 30; ++i) {
            party.system->time += kSecond;
            party.turn();
        }
        EXPECT_EQ(party.system->calls, 1u) << "it was said: " << wrong.said;
    }
}

TEST(tcp_call, answer__of_who_is_no_peer_ends_it_at_once) {
    const char* const another = "another process is at 10.77.0.3:4711 now";
    expect_each_lost(
        card_of(9),
        {
            {[](Hello& h) { h.magic += 1ull << 48; }, Status::mismatch,
             "who listens at 10.77.0.3:4711 has another version of FCI"},
            {[](Hello& h) { h.verdict = Verdict::mismatch, h.from.port = 0; }, Status::mismatch,
             "says no more to those who typed its address"},
            {[](Hello& h) { h.job = 78; }, Status::mismatch,
             "This process and pid 12345 at 10.77.0.3:4711 differ in their job: 77 and 78"},
            {[](Hello& h) { h.layout_digest = 5; }, Status::mismatch, "differ in options of FCI"},
            {[](Hello& h) { h.from.incarnation = 10; }, Status::unreachable, another},
            {[](Hello& h) { h.from.incarnation = 0; }, Status::unreachable, another},
            {[](Hello& h) { h.block_bytes = 0; }, Status::unreachable, another},
            {[](Hello& h) { h.block_bytes = nhi::kPairLimit + 1; }, Status::unreachable, another},
            {[](Hello& h) { h.verdict = Verdict::gone; }, Status::unreachable,
             "pid 12345 at 10.77.0.3:4711 gave this process up"},
            {[](Hello& h) { h.verdict = Verdict{7}; }, Status::unreachable, "gave this process up"},
        });
}

TEST(tcp_call, answer__from_a_typed_place_must_be_of_that_place) {
    const char* const another = "another process is at 10.77.0.3:4711 now";
    expect_each_lost(
        card_of(0),
        {
            {[](Hello& h) { h.from.host = htonl(0x0a4d0099); }, Status::unreachable, another},
            {[](Hello& h) { h.from.port = htons(4712); }, Status::unreachable, another},
            {[](Hello& h) { h.from.incarnation = 0; }, Status::unreachable, another},
        });
}

}  // namespace
}  // namespace fci::tcp::test
