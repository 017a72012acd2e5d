// The drivers under the conformance suite.
#include <stdexcept>

#include "drivers/shm/shm.h"
#include "drivers/sim/ideal/world.h"
#include "drivers/tap/fault/fault_device.h"
#include "test/conformance/mixed_device.h"
#include "test/conformance/world.h"

namespace fci::conformance {

namespace {

class ShmWorld final : public World {
public:
    explicit ShmWorld(shm::Barrier barrier, const tap::FaultOptions* faults = nullptr)
        : barrier_(barrier), faults_(faults) {}

    void open(const ddi::Settings& settings) override {
        Status status;
        std::string error;
        const shm::Tuning tuning{.patience_typed = 300'000'000,
                                 .patience_given = 100'000'000,
                                 .barrier = barrier_};
        Member member;
        member.ear = std::make_unique<Ear>();
        member.device = shm::open_shm(settings, tuning, &status, &error);
        if (!member.device) throw std::runtime_error(error);
        if (faults_ != nullptr) {
            member.device = std::make_unique<tap::FaultDevice>(std::move(member.device), *faults_);
        }
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
        const Nanoseconds end = shm::monotonic_now() + 10'000'000'000;
        while (!reached()) {
            if (shm::monotonic_now() > end) return false;
            turn();
        }
        return true;
    }
    void settle() override {
        for (unsigned i = 0; i < (faults_ == nullptr ? 100 : 20'000); ++i) turn();
    }

private:
    struct Member {
        std::unique_ptr<Ear> ear;
        std::unique_ptr<ddi::Device> device;
    };
    std::vector<Member> members_;
    shm::Barrier barrier_;
    const tap::FaultOptions* faults_;
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
constexpr tap::FaultOptions kLate{.seed = 13,
                                  .delay_percent = 60,
                                  .delay_max = 20'000,
                                  .stall_per_mille = 20,
                                  .stall_max = 1'000'000,
                                  .again_percent = 20};
std::unique_ptr<World> make_late_shm_world() {
    return std::make_unique<ShmWorld>(shm::Barrier::system, &kLate);
}

class SimWorld final : public World {
public:
    explicit SimWorld(const sim::WorldOptions& options) : world_(options) {}

    void open(const ddi::Settings& settings) override {
        std::string error;
        Member member;
        member.ear = std::make_unique<Ear>();
        member.device = world_.open(settings, &error);
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
            if (member.device) member.device->network().poll(world_.now());
        }
    }
    bool until(const std::function<bool()>& reached) override {
        for (unsigned i = 0; !reached(); ++i) {
            if (i == 100'000) return false;
            turn();
        }
        return true;
    }
    void settle() override {
        for (unsigned i = 0; i < 100'000 && !world_.idle(); ++i) turn();
        turn();
    }

private:
    struct Member {
        std::unique_ptr<Ear> ear;
        std::unique_ptr<ddi::Device> device;
    };
    sim::World world_;
    std::vector<Member> members_;
};

std::unique_ptr<World> make_sim_world() {
    return std::make_unique<SimWorld>(sim::WorldOptions{.seed = 11});
}

/// With everything that may be there, and with every kind of trouble.
std::unique_ptr<World> make_rough_sim_world() {
    return std::make_unique<SimWorld>(sim::WorldOptions{.seed = 12,
                                                        .long_delay_percent = 5,
                                                        .split_percent = 90,
                                                        .again_percent = 20,
                                                        .mapped = true,
                                                        .kernel_copy = true});
}

/// Half of the pairs share a host, beginning with the first two processes or not.
class MixedWorld final : public World {
public:
    explicit MixedWorld(bool first_two_share) : shift_(first_two_share ? 1 : 0) {}

    void open(const ddi::Settings& settings) override {
        std::string error;
        const shm::Tuning tuning{.patience_typed = 300'000'000, .patience_given = 100'000'000};
        Member member;
        member.ear = std::make_unique<Ear>();
        member.device = MixedDevice::open(world_, settings, tuning, devices() >> shift_ & 1, &error);
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
            if (member.device) member.device->network().poll(world_.now());
        }
    }
    bool until(const std::function<bool()>& reached) override {
        const Nanoseconds end = shm::monotonic_now() + 10'000'000'000;
        while (!reached()) {
            if (shm::monotonic_now() > end) return false;
            turn();
        }
        return true;
    }
    void settle() override {
        for (unsigned i = 0; i < 100 || (i < 100'000 && !world_.idle()); ++i) turn();
    }

private:
    struct Member {
        std::unique_ptr<Ear> ear;
        std::unique_ptr<MixedDevice> device;
    };
    unsigned shift_;
    sim::World world_{sim::WorldOptions{.seed = 14, .again_percent = 20}};
    std::vector<Member> members_;
};

std::unique_ptr<World> make_mixed_world() { return std::make_unique<MixedWorld>(true); }
std::unique_ptr<World> make_mixed_far_world() { return std::make_unique<MixedWorld>(false); }

constexpr Maker kMakers[] = {
    {"shm", make_shm_world, true},
    {"shm_early", make_early_shm_world, true},
    {"shm_fenced", make_fenced_shm_world, true},
    {"shm_late", make_late_shm_world, false},
    {"sim_ideal", make_sim_world, false},
    {"sim_ideal_rough", make_rough_sim_world, false},
    {"mixed", make_mixed_world, false},
    {"mixed_far", make_mixed_far_world, false},
};

}  // namespace

std::span<const Maker> makers() { return kMakers; }

}  // namespace fci::conformance
