// SPDX-License-Identifier: BSD-3-Clause
// The drivers under the conformance suite.
#include <arpa/inet.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <test/conformance/loopback.h>  // made of docs/drivers.md
#include <thread>

#include "drivers/node/node.h"
#include "drivers/shm/shm.h"
#include "drivers/sim/ideal/world.h"
#include "drivers/tap/fault/fault_device.h"
#include "drivers/tcp/tcp.h"
#include "drivers/ucx/ucx.h"
#include "test/conformance/mixed.h"
#include "test/conformance/ucx_here.h"
#include "test/conformance/world.h"
#include "test/unit/limit.h"
#include "test/unit/seed.h"

namespace fci::conformance {

namespace {

/// What all worlds have in common: devices, each with an ear.
class Devices : public World {
public:
    void open(const ddi::Settings& settings) override {
        Member member;
        member.ear = std::make_unique<Ear>();
        std::string error;
        member.device = make(settings, &error);
        if (!member.device) throw std::runtime_error(error);
        member.device->set_listener(member.ear.get());
        members_.push_back(std::move(member));
    }
    unsigned devices() const override { return static_cast<unsigned>(members_.size()); }
    ddi::Device& device(unsigned number) override { return *members_.at(number).device; }
    Ear& ear(unsigned number) override { return *members_.at(number).ear; }
    void close(unsigned number) override { members_.at(number).device.reset(); }

    void turn() override {
        for (Member& member : members_) {
            if (member.device) member.device->network().poll(member.device->now());
        }
    }
    bool until(const std::function<bool()>& reached) override {
        for (const Nanoseconds end = own_time() + kHang; own_time() < end; turn()) {
            if (reached()) return true;
        }
        return false;
    }
    void settle() override {
        for (unsigned i = 0; i < 100 || (i < kTurnsMost && !at_rest()); ++i) turn();
    }

protected:
    [[nodiscard]] bool is_open(unsigned number) const { return members_[number].device != nullptr; }
    /// As the processes of a job close, each by itself at the same time.
    void close_all() {
        std::vector<std::jthread> closings;
        for (Member& member : members_) closings.emplace_back([&] { member.device.reset(); });
    }
    virtual std::unique_ptr<ddi::Device> make(const ddi::Settings& settings,
                                              std::string* error) = 0;
    [[nodiscard]] virtual bool at_rest() const { return true; }

private:
    static constexpr unsigned kTurnsMost = 100'000;

    struct Member {
        std::unique_ptr<Ear> ear;
        std::unique_ptr<ddi::Device> device;
    };
    std::vector<Member> members_;
};

shm::Tuning tuning(shm::Barrier barrier) {
    return {.patience_typed = 300'000'000, .patience_given = 100'000'000, .barrier = barrier};
}

class ShmWorld final : public Devices {
public:
    explicit ShmWorld(shm::Barrier barrier) : barrier_(barrier) {}

private:
    std::unique_ptr<ddi::Device> make(const ddi::Settings& settings, std::string* error) override {
        Status status;
        return shm::open_shm(settings, tuning(barrier_), &status, error);
    }
    shm::Barrier barrier_;
};

std::unique_ptr<World> make_shm_world() {
    return std::make_unique<ShmWorld>(shm::Barrier::system);
}
/// Before this process is registered for the kernel's barrier.
std::unique_ptr<World> make_early_shm_world() {
    return std::make_unique<ShmWorld>(shm::Barrier::others);
}
/// Where the kernel has no barrier for all processes, senders fence.
std::unique_ptr<World> make_fenced_shm_world() {
    return std::make_unique<ShmWorld>(shm::Barrier::none);
}

/// Everything is late, most of it a little and some of it long; nothing fails.
class LateShmWorld final : public Devices {
    std::unique_ptr<ddi::Device> make(const ddi::Settings& settings, std::string* error) override {
        const tap::FaultOptions late{.seed = seeded(13),
                                     .delay_percent = 60,
                                     .delay_max = 20'000,
                                     .stall_per_mille = 20,
                                     .stall_max = 1'000'000,
                                     .again_percent = 20};
        Status status;
        auto device = shm::open_shm(settings, tuning(shm::Barrier::system), &status, error);
        if (!device) return nullptr;
        return std::make_unique<tap::FaultDevice>(std::move(device), late);
    }
    [[nodiscard]] bool at_rest() const override { return ++turns_ % 20'000 == 0; }
    mutable unsigned turns_ = 0;
};

std::unique_ptr<World> make_late_shm_world() { return std::make_unique<LateShmWorld>(); }

class SimWorld final : public Devices {
public:
    explicit SimWorld(const sim::WorldOptions& options) : world_(options) {}
    ~SimWorld() override {
        for (unsigned i = 0; i < devices(); ++i) close(i);  // they live in world_
    }

    bool until(const std::function<bool()>& reached) override {
        for (unsigned i = 0; !reached(); ++i) {
            if (i == 100'000) return false;
            turn();
        }
        return true;
    }

private:
    std::unique_ptr<ddi::Device> make(const ddi::Settings& settings, std::string* error) override {
        return world_.open(settings, error);
    }
    [[nodiscard]] bool at_rest() const override { return world_.idle(); }

    sim::World world_;
};

std::unique_ptr<World> make_sim_world() {
    return std::make_unique<SimWorld>(sim::WorldOptions{.seed = seeded(11)});
}

/// With everything that may be there, and with every kind of trouble.
std::unique_ptr<World> make_rough_sim_world() {
    return std::make_unique<SimWorld>(sim::WorldOptions{.seed = seeded(12),
                                                        .long_delay_percent = 5,
                                                        .split_percent = 90,
                                                        .again_percent = 20,
                                                        .mapped = true,
                                                        .kernel_copy = true});
}

std::unique_ptr<World> make_hinting_world() {
    return std::make_unique<SimWorld>(
        sim::WorldOptions{.seed = seeded(15), .per_host = 1, .hints = {.work = true}});
}

/// Hints are lost, doubled and late.
std::unique_ptr<World> make_rough_hinting_world() {
    return std::make_unique<SimWorld>(sim::WorldOptions{.seed = seeded(16),
                                                        .long_delay_percent = 5,
                                                        .again_percent = 20,
                                                        .per_host = 1,
                                                        .hints = {.work = true,
                                                                  .lost_percent = 30,
                                                                  .twice_percent = 30,
                                                                  .late_percent = 10}});
}

/// Half of the pairs share a host, beginning with the first two processes or not.
class MixedWorld final : public Devices {
public:
    explicit MixedWorld(bool first_two_share) : shift_(first_two_share ? 1 : 0) {}
    ~MixedWorld() override {
        for (unsigned i = 0; i < devices(); ++i) close(i);  // they live in world_
    }

private:
    std::unique_ptr<ddi::Device> make(const ddi::Settings& settings, std::string* error) override {
        return open_mixed(world_, settings, tuning(shm::Barrier::system),
                                 devices() >> shift_ & 1, error);
    }
    [[nodiscard]] bool at_rest() const override { return world_.idle(); }

    unsigned shift_;
    sim::World world_{sim::WorldOptions{.seed = seeded(14), .again_percent = 20}};
};

std::unique_ptr<World> make_mixed_world() { return std::make_unique<MixedWorld>(true); }
std::unique_ptr<World> make_mixed_far_world() { return std::make_unique<MixedWorld>(false); }

class TcpWorld final : public Devices {
    std::unique_ptr<ddi::Device> make(const ddi::Settings& given, std::string* error) override {
        ddi::Settings settings = given;
        settings.connect_ms = 300;
        if (settings.wanted.host == 0) settings.wanted.host = htonl(INADDR_LOOPBACK);
        Status status;
        return tcp::open_tcp(settings, &status, error);
    }
    /// What a socket has taken is not what its reader has.
    [[nodiscard]] bool at_rest() const override { return ++turns_ % 2000 == 0; }
    mutable unsigned turns_ = 0;
};

std::unique_ptr<World> make_tcp_world() {
    return std::make_unique<TcpWorld>();
}

/// Half of the processes are on each of two hosts, beginning with the first two or not.
class NodeWorld : public Devices {
public:
    explicit NodeWorld(bool first_two_share, ddi::Far far = ddi::Far::tcp)
        : shift_(first_two_share ? 1 : 0), far_(far) {}

private:
    std::unique_ptr<ddi::Device> make(const ddi::Settings& given, std::string* error) override {
        ddi::Settings settings = given;
        settings.connect_ms = 300;
        // The hosts are 127.0.0.2 and 127.0.0.3; who comes again does so where it was.
        if (settings.wanted.host == 0) {
            settings.wanted.host = htonl(0x7f000002 + (devices() >> shift_ & 1));
        }
        const std::uint32_t own = settings.wanted.host;
        const node::Host host{static_cast<host::Mark>(ntohl(own)),
                              [own](const ddi::Card& card) { return card.host == own; }};
        Status status;
        settings.network.far = far_;
        return node::open_node(settings, host, &status, error);
    }
    [[nodiscard]] bool at_rest() const override { return ++turns_ % 2000 == 0; }
    unsigned shift_;
    ddi::Far far_;
    mutable unsigned turns_ = 0;
};

std::unique_ptr<World> make_node_world() { return std::make_unique<NodeWorld>(true); }
std::unique_ptr<World> make_node_far_world() { return std::make_unique<NodeWorld>(false); }

/// Each process is on a host of its own, which is an address of the loopback interface: there all
/// hear what one sends.
class MulticastWorld final : public Devices {
    std::unique_ptr<ddi::Device> make(const ddi::Settings& given, std::string* error) override {
        ddi::Settings settings = given;
        settings.job += job_;
        settings.wanted.host = htonl(0x7f000002 + devices());
        Status status;
        return tcp::open_tcp(settings, &status, error);
    }
    [[nodiscard]] bool at_rest() const override { return ++turns_ % 2000 == 0; }
    mutable unsigned turns_ = 0;
    const std::uint64_t job_ = static_cast<std::uint64_t>(getpid()) << 32;
};

std::unique_ptr<World> make_multicast_world() { return std::make_unique<MulticastWorld>(); }

/// Over one of UCX's networks, at that interface or port.
void go_by(const char* transports, const char* where = "lo") {
    setenv("UCX_TLS", transports, 1);
    setenv("UCX_NET_DEVICES", where, 1);
    // Without these UCX does not go by shared memory where it is to notice dead peers.
    setenv("UCX_POSIX_ERROR_HANDLING", "y", 1);
    setenv("UCX_SYSV_ERROR_HANDLING", "y", 1);
    setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);
}

/// The processes that go by UCX: all, and by nothing else; all, but TCP would do; those of an even
/// number, and the others have TCP alone.
enum class ByUcx { all, all_or_tcp, some };

class UcxWorld final : public Devices {
public:
    UcxWorld(const char* transports, const char* where, ByUcx by_ucx = ByUcx::all)
        : by_ucx_(by_ucx) {
        go_by(transports, where);
    }
    /// One that closes waits a second for peers that do not take their turns.
    ~UcxWorld() override { close_all(); }

private:
    std::unique_ptr<ddi::Device> make(const ddi::Settings& given, std::string* error) override {
        ddi::Settings settings = given;
        settings.connect_ms = 300;
        if (settings.wanted.host == 0) settings.wanted.host = htonl(INADDR_LOOPBACK);
        Status status;
        if (by_ucx_ == ByUcx::all) return ucx::open_ucx(settings, &status, error);
        const bool has_ucx = by_ucx_ == ByUcx::all_or_tcp || devices() % 2 == 0;
        return has_ucx ? ucx::open_ucx_beside_tcp(settings, &status, error)
                       : tcp::open_tcp(settings, &status, error);
    }
    [[nodiscard]] bool at_rest() const override { return ++turns_ % 2000 == 0; }
    const ByUcx by_ucx_;
    mutable unsigned turns_ = 0;
};

class NodeUcxWorld final : public NodeWorld {
public:
    NodeUcxWorld() : NodeWorld(false, ddi::Far::ucx) { go_by("tcp"); }
    ~NodeUcxWorld() override { close_all(); }
};

bool has_ucx() {
    static std::string why;
    static const bool is_here = is_ucx_here(&why);
    return is_here;
}
/// nullptr: UCX is not here, or has no such device.
std::unique_ptr<World> make_ucx_world(const char* transports, const std::string& where,
                                      ByUcx by_ucx = ByUcx::all) {
    if (!has_ucx() || where.empty()) return nullptr;
    return std::make_unique<UcxWorld>(transports, where.c_str(), by_ucx);
}
std::unique_ptr<World> make_node_ucx_world() {
    return has_ucx() ? std::make_unique<NodeUcxWorld>() : nullptr;
}
std::unique_ptr<World> make_ucx_tcp_world() { return make_ucx_world("tcp", "lo"); }
std::unique_ptr<World> make_ucx_or_tcp_world() {
    return make_ucx_world("tcp", "lo", ByUcx::all_or_tcp);
}
std::unique_ptr<World> make_ucx_some_world() { return make_ucx_world("tcp", "lo", ByUcx::some); }
std::unique_ptr<World> make_ucx_shm_world() { return make_ucx_world("posix,sysv", "lo"); }
/// These need an RDMA device (test/rdma/run). By verbs alone, whatever its maker adds.
std::unique_ptr<World> make_ucx_rc_world() { return make_ucx_world("rc_v", rdma_port()); }
std::unique_ptr<World> make_ucx_ud_world() { return make_ucx_world("ud_v", rdma_port()); }

/// The driver that docs/drivers.md is made of.
class LoopbackWorld final : public Devices {
    std::unique_ptr<ddi::Device> make(const ddi::Settings& settings, std::string*) override {
        return loopback::Loopback::open(settings);
    }
};

std::unique_ptr<World> make_loopback_world() { return std::make_unique<LoopbackWorld>(); }

constexpr Maker kMakers[] = {
    {"shm", make_shm_world, true, true},
    {"shm_early", make_early_shm_world, true, true},
    {"shm_fenced", make_fenced_shm_world, true, true},
    {"shm_late", make_late_shm_world, false, false},
    {"sim_ideal", make_sim_world, false, false},
    {"sim_ideal_rough", make_rough_sim_world, false, false},
    {"mixed", make_mixed_world, false, false},
    {"mixed_far", make_mixed_far_world, false, false},
    {"tcp", make_tcp_world, false, true},
    {"node", make_node_world, true, true},
    {"node_far", make_node_far_world, false, true},
    {"node_ucx", make_node_ucx_world, false, true},
    {"ucx_tcp", make_ucx_tcp_world, false, true},
    {"ucx_or_tcp", make_ucx_or_tcp_world, false, true},
    {"ucx_some", make_ucx_some_world, false, true},
    {"ucx_shm", make_ucx_shm_world, false, true},
    {"ucx_rc", make_ucx_rc_world, false, true},
    {"ucx_ud", make_ucx_ud_world, false, true},
    {"loopback", make_loopback_world, false, false},
};

constexpr Maker kHintMakers[] = {
    {"sim_ideal", make_hinting_world, false, false},
    {"sim_ideal_rough", make_rough_hinting_world, false, false},
    {"multicast", make_multicast_world, false, true},
};

}  // namespace

std::span<const Maker> makers() { return kMakers; }
std::span<const Maker> hint_makers() { return kHintMakers; }

}  // namespace fci::conformance
