// The two views of a request block against each other, over a network of one process's memory.
#include "fci_core/gcs/request_block.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

using namespace fci;
using gcs::Layout;
using gcs::Line;

namespace {

constexpr std::uint64_t kUnexpected = 1000;

/// Two blocks, applied at once; may refuse.
class Wire final : public nhi::NetworkInterface {
public:
    explicit Wire(std::vector<std::byte>& far) : far_(far) {}
    bool refuse = false;
    unsigned transfers = 0, parts = 0;
    std::uint32_t events = 0;

    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override {
        if (refuse) return Status::again;
        ++transfers;
        events |= transfer.events();
        for (unsigned i = 0; i < transfer.parts(); ++i, ++parts) {
            const nhi::Transfer::Part& part = transfer.part(i);
            EXPECT_LE(part.address + part.bytes, far_.size());
            std::memcpy(far_.data() + part.address, part.from, part.bytes);
        }
        return Status::ok;
    }
    Status open_window(nhi::WindowNumber, nhi::LcsAddress, std::span<std::byte>) noexcept override {
        return Status::unsupported;
    }
    Status close_window(nhi::WindowNumber) noexcept override { return Status::unsupported; }
    Status create_group(std::span<const nhi::Rank>, nhi::GroupId*) noexcept override {
        return Status::unsupported;
    }
    Status destroy_group(nhi::GroupId) noexcept override { return Status::unsupported; }
    Status set_indirection_address(nhi::Index, nhi::LcsAddress) noexcept override {
        return Status::unsupported;
    }
    Status configure_event(nhi::EventId, nhi::EventSignal) noexcept override {
        return Status::unsupported;
    }
    Status mask_event_interrupt(nhi::EventId, bool) noexcept override {
        return Status::unsupported;
    }
    const nhi::Capabilities& capabilities() const noexcept override { return capabilities_; }
    unsigned poll(Nanoseconds) noexcept override { return 0; }
    std::uint32_t event_count(nhi::EventId) const noexcept override { return 0; }
    std::byte* map(nhi::Rank, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::Rank, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }

    Status provide(nhi::Rank, nhi::LcsAddress address, std::size_t bytes) noexcept override {
        if (full) return Status::exhausted;
        provided.emplace_back(static_cast<std::uint64_t>(address), bytes);
        return Status::ok;
    }
    bool full = false;
    std::vector<std::pair<std::uint64_t, std::size_t>> provided;

private:
    std::vector<std::byte>& far_;
    nhi::Capabilities capabilities_{"wire", false, false, 1};
};

struct Pair {
    static constexpr Layout kLayout{8, 4096};
    std::vector<std::byte> at_sender = std::vector<std::byte>(kLayout.block_bytes());
    std::vector<std::byte> at_receiver = std::vector<std::byte>(kLayout.block_bytes());
    Wire to_receiver{at_receiver}, to_sender{at_sender};
    gcs::RequestOut out;
    gcs::RequestIn in;
    Pair() {
        out.attach(1, kLayout, at_sender);
        in.attach(1, kLayout, at_receiver, kUnexpected);
    }
    Line line(std::uint64_t tag) {
        Line l{};
        l.word[0] = tag;
        l.control = 7;
        return l;
    }
};

Status put_with(Pair& p, const Line& l, std::span<const gcs::RequestOut::Part> parts,
                std::uint64_t bytes) {
    std::memcpy(p.out.prepare().word, l.word, sizeof l.word);
    return p.out.put(p.to_receiver, static_cast<std::uint32_t>(l.control), parts, bytes);
}

}  // namespace

TEST(layout, parts_do_not_overlap) {
    for (const std::uint32_t slots : {8u, 64u, 128u, 4096u}) {
        const Layout layout{slots, 1 << 16};
        EXPECT_GE(static_cast<std::uint64_t>(Layout::returned()), sizeof(gcs::Credit));
        EXPECT_GE(static_cast<std::uint64_t>(Layout::slot(0)),
                  static_cast<std::uint64_t>(Layout::returned()) + 8);
        EXPECT_GE(static_cast<std::uint64_t>(layout.claim(0)),
                  static_cast<std::uint64_t>(Layout::slot(slots)));
        EXPECT_GE(static_cast<std::uint64_t>(layout.ring(0)),
                  static_cast<std::uint64_t>(layout.claim(Layout::kClaims - 1)) + 8);
        EXPECT_EQ(layout.block_bytes(), static_cast<std::uint64_t>(layout.ring(1 << 16)));
        EXPECT_EQ(static_cast<std::uint64_t>(Layout::slot(0)) % 64, 0u);
    }
}

TEST(layout, with__the_smaller_block_and_the_pool_of_the_other) {
    const Layout few{128, 1 << 20, 4 * Layout::kPieceBytes}, many{64, 1 << 16, 0};
    const Layout mixed{32, 1 << 22, Layout::kPieceBytes};
    for (const Layout& own : {few, many, mixed}) {
        for (const Layout& other : {few, many, mixed}) {
            const auto here = own.with(other.sizes()), there = other.with(own.sizes());
            ASSERT_TRUE(here && there);
            EXPECT_EQ(here->slots, std::min(own.slots, other.slots));
            EXPECT_EQ(here->ring_bytes, std::min(own.ring_bytes, other.ring_bytes));
            EXPECT_EQ(here->pool_bytes, other.pool_bytes);
            EXPECT_EQ(there->pool_bytes, own.pool_bytes);
            // Both find everything at the same place.
            EXPECT_EQ(here->claim(3), there->claim(3));
            EXPECT_EQ(here->ring(5), there->ring(5));
            EXPECT_LE(here->block_bytes(), std::min(own.block_bytes(), other.block_bytes()));
            EXPECT_LE(here->block_first_bytes(),
                      std::min(own.block_first_bytes(), other.block_first_bytes()));
        }
    }
}

TEST(layout, with__sizes_that_nobody_has) {
    const Layout own{64, 1 << 16, 4 * Layout::kPieceBytes};
    EXPECT_FALSE(own.with(32 | 16 << 8));
    EXPECT_FALSE(own.with(6 | 48 << 8));
    EXPECT_FALSE(own.with(6 | 16 << 8 | (Layout::kPoolPiecesMost + 1) << 16));
    EXPECT_FALSE(own.with(~std::uint64_t{0}));
    EXPECT_TRUE(own.with(31 | 47 << 8 | Layout::kPoolPiecesMost << 16));
    EXPECT_EQ(own.with(0)->slots, 1u);  // whether that is enough is for others to say
}

TEST(layout, digest__differs_with_what_it_is_given) {
    EXPECT_NE(Layout::digest(1), Layout::digest(2));
    EXPECT_EQ(Layout::digest(1), Layout::digest(1));
}

TEST(ring_place, piece__never_wraps) {
    std::uint64_t position = 0;
    for (unsigned i = 1; i < 5000; ++i) {
        const std::uint64_t bytes = (i * 37) % 900;
        const gcs::RingPlace place = gcs::ring_place(position, bytes, 4096);
        EXPECT_GE(place.begin, position);
        EXPECT_LE((place.begin & 4095) + bytes, 4096u);
        EXPECT_EQ(place.end % 64, 0u);
        position = place.end;
    }
}

TEST(request_out, put__arrives_with_its_sequence) {
    Pair p;
    EXPECT_FALSE(p.in.ready());
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
        Line l = p.line(tag);
        ASSERT_EQ(p.out.put(p.to_receiver, l), Status::ok);
    }
    for (std::uint64_t tag = 1; tag <= 3; ++tag) {
        ASSERT_TRUE(p.in.ready());
        const Line got = p.in.take();
        EXPECT_EQ(got.word[0], tag);
        EXPECT_EQ(got.control & 0xff, 7u);
    }
    EXPECT_FALSE(p.in.ready());
    EXPECT_EQ(p.to_receiver.transfers, 3u);
    EXPECT_EQ(p.to_receiver.events, 1u << gcs::kWakeEvent);
}

TEST(request_out, slots__end_until_credit_returns) {
    Pair p;
    for (unsigned i = 0; i < 8; ++i) {
        ASSERT_TRUE(p.out.slot_free());
        Line l = p.line(i);
        ASSERT_EQ(p.out.put(p.to_receiver, l), Status::ok);
    }
    EXPECT_FALSE(p.out.slot_free());
    for (unsigned i = 0; i < 4; ++i) (void)p.in.take();
    EXPECT_TRUE(p.in.credit_due());  // half of the slots
    EXPECT_FALSE(p.out.slot_free());
    ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
    EXPECT_TRUE(p.out.slot_free());
    EXPECT_FALSE(p.in.credit_due());
}

TEST(request_out, again__leaves_no_trace) {
    Pair p;
    p.to_receiver.refuse = true;
    Line l = p.line(5);
    EXPECT_EQ(p.out.put(p.to_receiver, l), Status::again);
    EXPECT_EQ(p.out.sent(), 0u);
    EXPECT_FALSE(p.in.ready());
    p.to_receiver.refuse = false;
    EXPECT_EQ(p.out.put(p.to_receiver, l), Status::ok);
    ASSERT_TRUE(p.in.ready());
    EXPECT_EQ(p.in.take().word[0], 5u);
}

TEST(request_out, data__is_one_transfer_and_found_by_both) {
    Pair p;
    std::vector<std::byte> data(1500);
    for (unsigned round = 0; round < 50; ++round) {
        const std::uint64_t bytes = 100 + round * 17;
        for (std::uint64_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(round + i);
        Line l = p.line(round);
        ASSERT_TRUE(p.out.slot_free());
        ASSERT_TRUE(p.out.ring_free(p.to_receiver, bytes)) << round;
        const gcs::RequestOut::Part parts[2] = {{data.data(), 60}, {data.data() + 60, bytes - 60}};
        const unsigned before = p.to_receiver.transfers;
        ASSERT_EQ(put_with(p, l, parts, bytes), Status::ok);
        EXPECT_EQ(p.to_receiver.transfers, before + 1);
        ASSERT_TRUE(p.in.ready());
        EXPECT_EQ(p.in.take().word[0], round);
        EXPECT_EQ(std::memcmp(p.in.ring(bytes), data.data(), bytes), 0) << round;
        if (p.in.credit_due()) {
            ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
        }
    }
}

TEST(request_out, ring__is_never_overrun) {
    Pair p;
    unsigned put = 0;
    const std::vector<std::byte> data(1000);
    while (p.out.slot_free() && p.out.ring_free(p.to_receiver, 1000)) {
        Line l = p.line(put++);
        const gcs::RequestOut::Part part{data.data(), 1000};
        ASSERT_EQ(put_with(p, l, {&part, 1}, 1000), Status::ok);
    }
    EXPECT_EQ(put, 4u);  // 4 x 1024 = the whole ring
    (void)p.in.take();
    (void)p.in.ring(1000);
    EXPECT_FALSE(p.out.ring_free(p.to_receiver, 1000));
    ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
    EXPECT_TRUE(p.out.ring_free(p.to_receiver, 1000));
}

TEST(request_out, ring__grows_by_doubling_and_only_in_its_first_lap) {
    constexpr Layout kLarge{8, 128 * 1024};
    static_assert(kLarge.block_first_bytes() < kLarge.block_bytes());
    std::vector<std::byte> near(kLarge.block_bytes()), far(kLarge.block_bytes());
    Wire there{far}, back{near};
    gcs::RequestOut out;
    gcs::RequestIn in;
    out.attach(1, kLarge, near);
    in.attach(1, kLarge, far, kUnexpected);
    const std::vector<std::byte> data(4096);
    const gcs::RequestOut::Part part{data.data(), data.size()};
    for (unsigned i = 0; i < 128; ++i) {  // four laps
        const std::uint64_t end = 4096 * (i + 1);
        there.full = i == 4;
        if (there.full) {
            EXPECT_FALSE(out.ring_free(there, data.size()));
            there.full = false;
        }
        ASSERT_TRUE(out.ring_free(there, data.size())) << i;
        std::uint64_t memory = kLarge.ring_first_bytes();
        for (const auto& [address, bytes] : there.provided) {
            EXPECT_EQ(address, static_cast<std::uint64_t>(kLarge.ring(memory)));
            memory += bytes;
        }
        EXPECT_GE(memory, std::min<std::uint64_t>(end, kLarge.ring_bytes)) << "not there yet";
        if (end <= kLarge.ring_bytes / 2) {
            EXPECT_LE(memory, std::max(2 * end, kLarge.ring_first_bytes())) << i;
        }
        ASSERT_TRUE(out.slot_free());
        ASSERT_EQ(out.put(there, 7, {&part, 1}, data.size()), Status::ok);
        ASSERT_TRUE(in.ready());
        (void)in.take();
        (void)in.ring(data.size());
        if (in.credit_due()) {
            ASSERT_EQ(in.return_credit(back), Status::ok);
        }
    }
    EXPECT_EQ(there.provided.size(), 5u);  // 4, 8, ... 64 KiB more
}

TEST(request_in, sequence__of_an_old_lap_is_not_taken) {
    Pair p;
    for (unsigned i = 0; i < 24; ++i) {  // three laps
        Line l = p.line(i);
        ASSERT_TRUE(p.out.slot_free());
        ASSERT_EQ(p.out.put(p.to_receiver, l), Status::ok);
        ASSERT_TRUE(p.in.ready());
        EXPECT_EQ(p.in.take().word[0], i);
        EXPECT_FALSE(p.in.ready());
        if (p.in.credit_due()) {
            ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
        }
    }
}

TEST(request_in, disposed__makes_credit_due) {
    Pair p;
    EXPECT_FALSE(p.in.credit_due());
    p.in.dispose(499);
    EXPECT_FALSE(p.in.credit_due());
    p.in.dispose(1);
    EXPECT_TRUE(p.in.credit_due());
    ASSERT_EQ(p.in.return_credit(p.to_sender), Status::ok);
    EXPECT_EQ(p.out.disposed(), 500u);
}
