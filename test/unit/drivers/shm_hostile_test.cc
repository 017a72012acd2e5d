// SPDX-License-Identifier: BSD-3-Clause
// Whoever may connect may send anything. Nothing of it may hurt (G20: no crash by received bytes).
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cstring>

#include "drivers/shm/handshake.h"
#include "drivers/shm/shared_header.h"
#include "drivers/shm/socket.h"
#include "fci_core/base/prng.h"
#include "test/unit/drivers/shm_party.h"
#include "test/unit/seed.h"

namespace fci::shm {
namespace {

/// A stranger who knows the protocol.
struct Stranger {
    Stranger() {
        std::string error;
        card.host = 0x0100007f;
        card.port = 1;
        card.incarnation = 4711;
        settings = party_settings();
        EXPECT_EQ(Region::create("s", kSharedHeaderBytes + 4096, &header, &header_file, &error),
                  Status::ok);
        EXPECT_EQ(Region::create("s", settings.block_bytes, &block, &block_file, &error),
                  Status::ok);
        auto& identity = *reinterpret_cast<SharedHeader*>(header.data());
        identity.magic = kSharedHeaderMagic;
        identity.incarnation = card.incarnation;
        waker = host::Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        hello = make_hello(settings, card, 0, header.data());
    }
    std::vector<int> files() const { return {header_file.get(), block_file.get(), waker.get()}; }

    /// Says it to `host` at once and lets that take turns.
    Reception say(Party& host, const void* bytes, std::size_t length,
                  const std::vector<int>& with) {
        socket = connect_to(host.device->card());
        EXPECT_TRUE(socket);
        return go_on(host, bytes, length, with);
    }
    Reception go_on(Party& host, const void* bytes, std::size_t length,
                    const std::vector<int>& with) {
        // It may have been turned away already.
        const bool sent = send_record(socket.get(), bytes, length, with);
        EXPECT_TRUE(sent || errno == EPIPE);
        EXPECT_TRUE(host.until([&] { return is_readable(socket.get()); }));
        return receive_record(socket.get(), &answer);
    }
    /// After a knock in good order; and when it is answered it is met.
    Reception say_after_knock(Party& host, const void* bytes, std::size_t length,
                              const std::vector<int>& with) {
        const Hello knock = make_hello(settings, card, 0, header.data());
        EXPECT_EQ(say(host, &knock, sizeof knock, {}), Reception::record);
        Prologue prologue;
        EXPECT_TRUE(read_prologue(answer.bytes.data(), answer.length, &prologue));
        EXPECT_EQ(prologue.kind, Kind::welcome);
        const Reception reception = go_on(host, bytes, length, with);
        if (reception == Reception::record && answer.file_count == kHelloFiles) {
            const Word met = make_word(Kind::met);
            EXPECT_TRUE(send_record(socket.get(), &met, sizeof met, {}));
            for (unsigned i = 0; i < 40; ++i) host.turn();
        }
        return reception;
    }

    ddi::Card card;
    ddi::Settings settings;
    Region header, block;
    host::Descriptor header_file, block_file, waker, socket;
    Hello hello;
    Received answer;
};

struct ShmHostile : testing::Test {
    Party host;
    Stranger stranger;

    Reception say_hello(const std::vector<int>& with) {
        return stranger.say_after_knock(host, &stranger.hello, sizeof stranger.hello, with);
    }
    Reception say_hello() { return say_hello(stranger.files()); }
    /// Nobody came in, nothing leaked, and the next one is served.
    void TearDown() override {
        Party friendly;
        friendly.meet(host.device->card());
        const std::size_t before = host.attached.size();
        EXPECT_TRUE(host.until([&] { return friendly.turn(), host.attached.size() > before; }));
    }
};

TEST_F(ShmHostile, hello__in_order_is_answered) {
    ASSERT_EQ(say_hello(), Reception::record);
    EXPECT_EQ(stranger.answer.file_count, kHelloFiles);
    EXPECT_EQ(host.attached.size(), 1u);
}

TEST_F(ShmHostile, noise__has_no_answer) {
    Prng prng(seeded(1));
    const std::size_t before = open_descriptors();
    for (unsigned i = 0; i < 300; ++i) {
        std::byte noise[700];
        for (std::byte& byte : noise) byte = static_cast<std::byte>(prng.next());
        if (prng.chance(50)) std::memcpy(noise, &stranger.hello, sizeof(Prologue));
        const std::vector<int> with = prng.chance(50) ? stranger.files() : std::vector<int>{};
        EXPECT_EQ(stranger.say(host, noise, 1 + prng.below(sizeof noise - 1), with),
                  Reception::closed);
        stranger.socket.close();
    }
    EXPECT_EQ(open_descriptors(), before);
    EXPECT_EQ(host.device->peers(), 1u);
}

TEST_F(ShmHostile, hello__damaged_at_random) {
    Prng prng(seeded(2));
    auto& header = *reinterpret_cast<SharedHeader*>(stranger.header.data());
    for (unsigned i = 0; i < 500; ++i) {
        ++stranger.card.incarnation;  // one that was lost does not come again
        header.incarnation = stranger.card.incarnation;
        stranger.hello = make_hello(stranger.settings, stranger.card, 0, &header);
        auto* const bytes = reinterpret_cast<unsigned char*>(&stranger.hello);
        for (std::uint64_t n = prng.between(1, 4); n != 0; --n) {
            bytes[prng.below(sizeof(Hello))] ^= static_cast<unsigned char>(1u << prng.below(8));
        }
        (void)say_hello();
        stranger.socket.close();
        // Those that passed all checks were peers, and are lost again.
        ASSERT_TRUE(host.until([&] { return host.attached.size() == host.lost.size(); }));
    }
    EXPECT_FALSE(host.attached.empty());
}

TEST_F(ShmHostile, hello__wrong_descriptors) {
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    host::Descriptor in(pipes[0]), out(pipes[1]);
    host::Descriptor loose(memfd_create("loose", MFD_CLOEXEC));
    ASSERT_EQ(ftruncate(loose.get(), 16 * 1024), 0);
    const int header = stranger.header_file.get(), block = stranger.block_file.get(),
              waker = stranger.waker.get();
    const std::vector<int> wrong[] = {
        {},
        {header},
        {header, block},
        {header, block, waker, waker},
        {block, header, waker},      // of the wrong sizes
        {header, block, out.get()},  // a pipe would block or kill its writer
        {header, block, header},
        {header, loose.get(), waker},  // not sealed: could shrink
        {waker, waker, waker},
        {loose.get(), block, waker},
    };
    const std::size_t before = open_descriptors();
    for (const auto& files : wrong) {
        const Reception answer = say_hello(files);
        if (answer == Reception::record) {
            Refusal refusal;
            EXPECT_TRUE(read_refusal(stranger.answer.bytes.data(), stranger.answer.length,
                                     &refusal));
        }
        stranger.socket.close();
    }
    EXPECT_TRUE(host.attached.empty());
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ShmHostile, hub__of_somebody_else) {
    reinterpret_cast<SharedHeader*>(stranger.header.data())->incarnation = 1;
    EXPECT_EQ(say_hello(), Reception::record);
    EXPECT_EQ(stranger.answer.file_count, 0u);
    EXPECT_TRUE(host.attached.empty());
}

TEST_F(ShmHostile, card__of_the_host_itself) {
    auto& header = *reinterpret_cast<SharedHeader*>(stranger.header.data());
    stranger.hello.card = host.device->card();
    header.incarnation = stranger.hello.card.incarnation;
    EXPECT_EQ(say_hello(), Reception::closed);
    header.incarnation = stranger.hello.card.incarnation ^= 1;  // only its place
    EXPECT_EQ(say_hello(), Reception::closed);
    EXPECT_TRUE(host.attached.empty());
    EXPECT_TRUE(host.lost.empty());
}

TEST_F(ShmHostile, records__after_the_hello) {
    ASSERT_EQ(say_hello(), Reception::record);
    const char noise[] = "noise";
    ASSERT_TRUE(send_record(stranger.socket.get(), noise, sizeof noise, stranger.files()));
    ASSERT_TRUE(host.until([&] { return host.lost.size() == 1; }));
    EXPECT_EQ(host.lost[0].why, Status::mismatch);
}

// Its tables say anything; writes go to memory of the peer that was really mapped, or nowhere.
TEST_F(ShmHostile, tables__that_point_anywhere) {
    ASSERT_EQ(say_hello(), Reception::record);
    ASSERT_EQ(host.attached.size(), 1u);
    const nhi::PeerId id = host.attached[0];
    auto& header = *reinterpret_cast<SharedHeader*>(stranger.header.data());
    Prng prng(seeded(3));
    const auto anything = [&] {
        const std::uint64_t edges[] = {0, 8, 4095, 4096, 4097, nhi::kPairLimit - 1,
                                       nhi::kPairLimit, ~0ull, ~0ull - 7, 1ull << 63};
        const std::uint64_t one = edges[prng.below(std::size(edges))];
        return prng.chance(50) ? one : prng.chance(50) ? one + prng.below(64) - 32 : prng.next();
    };
    unsigned stored = 0;
    for (unsigned i = 0; i < 200'000; ++i) {
        WindowEntry& window = header.window[prng.below(nhi::kWindowsMax)];
        window = {prng.next() | 1, anything(), anything(), anything()};
        header.wanted_events = prng.next();
        header.counting = static_cast<std::uint32_t>(prng.next());
        header.interrupting = static_cast<std::uint32_t>(prng.next());
        const std::uint64_t data[8] = {};
        nhi::Transfer transfer(id);
        transfer.put(nhi::LcsAddress{anything()}, data, prng.below(sizeof data + 1));
        if (prng.chance(10)) transfer.raise(static_cast<nhi::EventId>(prng.below(32)));
        stored += host.device->network().initiate_transfer(transfer) == Status::ok;
        std::byte* const there = host.device->network().map(id, nhi::LcsAddress{anything()}, 64);
        if (there != nullptr) std::memset(there, 1, 64);
    }
    EXPECT_GT(stored, 0u);
}

}  // namespace
}  // namespace fci::shm
