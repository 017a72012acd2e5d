// SPDX-License-Identifier: BSD-3-Clause
// Party: a process at a meeting, and children that are others.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "drivers/shm/shm.h"
#include "fci_core/base/clock.h"
#include "fci_core/base/flag.h"
#include "test/unit/limit.h"

namespace fci::shm {

inline ddi::Settings party_settings() {
    ddi::Settings settings;
    settings.block_bytes = 16 * 1024;
    settings.layout_digest = 5;
    settings.job = 6;
    settings.communication_bytes = 4096;
    return settings;
}

struct Party final : ddi::PeerListener {
    explicit Party(const ddi::Settings& settings = party_settings(), const Tuning& tuning = {}) {
        Status status;
        device = open_shm(settings, tuning, &status, &error);
        if (device) device->set_listener(this);
    }
    struct Loss {
        nhi::PeerId id;
        Status why;
        std::string reason;
    };
    void peer_attached(nhi::PeerId id) override { attached.push_back(id); }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        lost.push_back({id, why, reason});
    }
    void stranger_came() noexcept override { ++strangers; }

    void turn() { device->network().poll(device->now()); }
    /// In a child, too, of which only the result is known.
    bool until(const std::function<bool()>& reached) {
        for (const Nanoseconds end = own_time() + kHang; own_time() < end; turn()) {
            if (reached()) return true;
        }
        return false;
    }
    /// Whatever comes then has come.
    void turn_for(Nanoseconds time) {
        for (const Nanoseconds end = monotonic_now() + time; monotonic_now() < end;) turn();
    }
    /// As a process that has nothing to do.
    bool sleep_until(const std::function<bool()>& reached) {
        for (unsigned i = 0; i < 1000; ++i) {
            if (reached()) return true;
            device->sleep(kForEver);
            turn();
        }
        return false;
    }
    nhi::PeerId meet(const ddi::Card& card) {
        nhi::PeerId id = nhi::kNoPeer;
        if (device->add_peer(card, &id) != Status::ok || device->connect(id) != Status::ok) {
            return nhi::kNoPeer;
        }
        return id;
    }
    Status put(nhi::PeerId id, std::uint64_t at, std::uint64_t word) {
        nhi::Transfer transfer(id);
        transfer.put(nhi::LcsAddress{at}, &word, sizeof word).raise(0);
        return device->network().initiate_transfer(transfer);
    }
    std::uint64_t word(nhi::PeerId id, std::uint64_t at) {
        return flag::load_acquire(*reinterpret_cast<std::uint64_t*>(device->block(id).data() + at));
    }

    std::string error;
    std::unique_ptr<ddi::Device> device;
    std::vector<nhi::PeerId> attached;
    std::vector<Loss> lost;
    unsigned strangers = 0;
};

/// Nothing is left that would keep it awake.
inline bool sleeps_well(Party& party) {
    const Nanoseconds before = monotonic_now();
    party.device->sleep(30'000'000);
    return monotonic_now() - before >= 29'000'000;
}

/// A child that does `what` and ends with its result; killed when it is still there at the end.
class Child {
public:
    explicit Child(const std::function<int()>& what) : pid_(fork()) {
        if (pid_ == 0) {
            alarm(300);  // should its parent be gone
            _exit(what());
        }
    }
    ~Child() {
        if (pid_ > 0) {
            kill(pid_, SIGKILL);
            waitpid(pid_, nullptr, 0);
        }
    }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    void signal(int number) const { kill(pid_, number); }
    /// It is gone for the kernel, too, which has told all who wait for that; its result stays.
    void await_end() const {
        siginfo_t ended{};
        EXPECT_EQ(waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT), 0);
    }
    int result() {
        int status = -1;
        waitpid(pid_, &status, 0);
        pid_ = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }

private:
    pid_t pid_;
};

inline std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
        ++count;
    }
    return count;
}

/// The number that a file gets which is opened after `more` others. Whoever started the tests may
/// have left gaps between those that are open.
inline rlim_t lowest_free_descriptor(rlim_t more = 0) {
    const int next = dup(STDERR_FILENO);
    const rlim_t found = more == 0 ? static_cast<rlim_t>(next) : lowest_free_descriptor(more - 1);
    close(next);
    return found;
}

/// Meets `card`, writes `word` to address 0 and then takes turns for ever.
inline int visit(const ddi::Card& card, std::uint64_t word) {
    Party self;
    const nhi::PeerId id = self.meet(card);
    if (!self.until([&] { return !self.attached.empty(); })) return 1;
    if (self.put(id, 0, word) != Status::ok) return 2;
    for (;;) self.sleep_until([&] { return !self.lost.empty(); });
}

}  // namespace fci::shm
