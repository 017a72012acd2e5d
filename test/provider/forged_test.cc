// SPDX-License-Identifier: BSD-3-Clause
// Requests and answers that no provider would send: whatever comes, nothing but the region is
// touched, and others are served as before.
#include <dlfcn.h>

#include <algorithm>
#include <random>

#include "fci_core/api/icl.h"
#include "test/provider/remote.h"
#include "test/unit/seed.h"

namespace fci::test {
namespace {

/// A process of its own to the provider, that speaks the core's language without being one.
class Stranger {
public:
    explicit Stranger(const Side& victim) {
        const std::string name = "libfci.so." + std::to_string(FCI_ICL_VERSION);
        library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
        if (library_ == nullptr) throw std::runtime_error("the provider has loaded no libfci");
        struct fci_icl_config config{};
        config.version = FCI_ICL_VERSION;
        std::memcpy(config.card, victim.name, sizeof config.card);
        std::memset(config.card + 2, 0, 2);  // any port of the same host
        std::memset(config.card + 8, 0, 8);
        EXPECT_EQ(call<decltype(fci_icl_open)>("fci_icl_open")(&config, &context_, nullptr), 0);
        EXPECT_EQ(call<decltype(fci_icl_add_peer)>("fci_icl_add_peer")(
                      context_, reinterpret_cast<const unsigned char*>(victim.name), &peer_),
                  0);
        for (const std::uint32_t id : {1u, 2u}) {
            call<decltype(fci_icl_am_register)>("fci_icl_am_register")(
                context_, id,
                [](void* user, fci_icl_peer, const void*, std::size_t, const void*, std::uint64_t,
                   fci_icl_am_landing*) { ++*static_cast<int*>(user); },
                &answers);
        }
    }
    ~Stranger() {
        call<decltype(fci_icl_close)>("fci_icl_close")(context_, 100'000'000);
        dlclose(library_);
    }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    int send(std::uint32_t id, const std::vector<char>& header, const std::vector<char>& data) {
        const iovec range{const_cast<char*>(data.data()), data.size()};
        const fci_icl_completion done{
            [](void* user, void*, const fci_icl_status*) { --*static_cast<int*>(user); }, &pending,
            nullptr};
        const int result = call<decltype(fci_icl_am_send)>("fci_icl_am_send")(
            context_, peer_, id, 0, header.data(), header.size(), &range, !data.empty(), &done,
            nullptr);
        pending += result == FCI_ICL_OK;
        return result;
    }
    void progress() { call<decltype(fci_icl_progress)>("fci_icl_progress")(context_); }

    int answers = 0;
    int pending = 0;

private:
    template <class F>
    F* call(const char* name) {
        return reinterpret_cast<F*>(dlsym(library_, name));
    }

    void* library_;
    fci_icl_context* context_ = nullptr;
    fci_icl_peer peer_ = 0;
};

class Forged : public Remote {
protected:
    static constexpr std::size_t kGuard = 64 << 10, kRegion = 5000;

    /// Half of them nearly right, the others noise.
    std::vector<char> header() {
        std::vector<char> bytes(draw() % 4 == 0 ? draw() % 1025 : 64 + draw() % 40);
        for (char& byte : bytes) byte = static_cast<char>(draw());
        if (bytes.size() < 64 || draw() % 4 == 0) return bytes;
        const std::uint8_t first[] = {static_cast<std::uint8_t>(draw() % 6),
                                      static_cast<std::uint8_t>(draw() % 4),
                                      static_cast<std::uint8_t>(draw() % 20),
                                      static_cast<std::uint8_t>(draw() % 24)};
        const std::uint64_t words[] = {
            draw() % 100, draw() % 8 == 0 ? draw() : kKey,
            draw() % 3 == 0 ? 0 - draw() % 9000 : draw() % 9000,
            draw() % 3 == 0 ? 0 - draw() % 9000 : draw() % 3 == 0 ? bytes.size() - 64
                                                                  : draw() % 9000};
        const std::uint32_t around = draw() % 3 == 0 ? static_cast<std::uint32_t>(draw()) : 0;
        std::memcpy(bytes.data(), first, sizeof first);
        std::memcpy(bytes.data() + 4, &around, sizeof around);
        std::memcpy(bytes.data() + 8, words, sizeof words);
        std::memcpy(bytes.data() + 56, &around, sizeof around);
        return bytes;
    }
    std::uint64_t draw() { return random_(); }

    std::mt19937_64 random_{seeded(4711)};
};

TEST_F(Forged, requests_and_answers__nothing_else_is_touched) {
    start();
    std::vector<char> memory(kRegion + 2 * kGuard, 'm');
    Region region(*b, memory.data() + kGuard, kRegion, kKey);
    Stranger stranger(*b);
    const std::vector<char> longs(20000, 'l'), shorts(700, 's'), nothing;
    std::uint64_t word = 1, got = 0;
    for (int i = 0; i < 20000; ++i) {
        const bool has_data = draw() % 4 == 0;
        const auto& data = draw() % 8 == 0 ? longs : shorts;
        stranger.send(1 + draw() % 2, header(), has_data ? data : nothing);
        if (i % 16 == 0) {
            stranger.progress();
            both();
        }
        if (i % 1000 == 0) {
            word = static_cast<std::uint64_t>(i);
            ASSERT_EQ(write(&word, 8, 0), 0);
            ASSERT_EQ(read(&got, 8, 8), 0);
        }
    }
    EXPECT_TRUE(eventually([&] {
        stranger.progress();
        both();
        return stranger.pending == 0;
    }));
    EXPECT_GT(stranger.answers, 1000) << "the connection was given up";
    EXPECT_NE(std::count(memory.begin(), memory.end(), 'm'), static_cast<long>(memory.size()) - 8)
        << "some were right enough to write";
    for (std::size_t i = 0; i < kGuard; ++i) {
        ASSERT_EQ(memory[i], 'm');
        ASSERT_EQ(memory[kGuard + kRegion + i], 'm');
    }
    EXPECT_EQ(write(&word, 8, 0), 0);
}

}  // namespace
}  // namespace fci::test
