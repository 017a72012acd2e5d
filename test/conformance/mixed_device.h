// MixedDevice: half of its peers are reached through shared memory, the others through a simulated
// network, as those of a device for several hosts would be. Processes whose ports are both even or
// both odd share a host.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/shm/shm.h"
#include "drivers/sim/ideal/world.h"
#include "fci_core/ddi/device.h"

namespace fci::conformance {

class MixedDevice final : public ddi::Device, private nhi::NetworkInterface {
public:
    /// `host`: 0 or 1, where the settings leave the port open. The world outlives it.
    static std::unique_ptr<MixedDevice> open(sim::World& world, const ddi::Settings& settings,
                                             const shm::Tuning& tuning, unsigned host,
                                             std::string* error);
    ~MixedDevice() override;

    [[nodiscard]] const ddi::Card& card() const noexcept override { return near().card(); }
    [[nodiscard]] nhi::NetworkInterface& network() noexcept override { return *this; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override;
    Status connect(nhi::PeerId id) override;
    [[nodiscard]] const ddi::Card* card_of(nhi::PeerId id) const noexcept override;
    [[nodiscard]] nhi::PeerId peers() const noexcept override {
        return static_cast<nhi::PeerId>(peers_.size());
    }
    [[nodiscard]] std::uint64_t sizes(nhi::PeerId id) const noexcept override;
    [[nodiscard]] std::span<std::byte> block(nhi::PeerId id) noexcept override;
    [[nodiscard]] std::span<std::byte> communication_memory() noexcept override {
        return near().communication_memory();
    }
    void sleep(Nanoseconds timeout) noexcept override;
    [[nodiscard]] int wait_fd() const noexcept override { return -1; }
    Nanoseconds now() const noexcept override { return far().now(); }
    [[nodiscard]] std::string describe(nhi::PeerId id) const override;
    void set_listener(ddi::PeerListener* listener) noexcept override { listener_ = listener; }

private:
    static constexpr unsigned kNear = 0, kFar = 1, kSides = 2;

    struct Peer {
        unsigned side;
        nhi::PeerId id;  // there
    };
    struct Group {
        bool used = false;
        std::optional<nhi::GroupId> part[kSides];
    };
    class Side final : public ddi::PeerListener {
    public:
        Side(MixedDevice& owner, unsigned number) : owner_(owner), number_(number) {}
        void peer_attached(nhi::PeerId id) override;
        void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override;
        void stranger_came() noexcept override;

    private:
        MixedDevice& owner_;
        unsigned number_;
    };

    MixedDevice() : sides_{Side(*this, kNear), Side(*this, kFar)} {}
    [[nodiscard]] ddi::Device& near() const noexcept { return *device_[kNear]; }
    [[nodiscard]] ddi::Device& far() const noexcept { return *device_[kFar]; }
    nhi::PeerId outer(unsigned side, nhi::PeerId id);
    [[nodiscard]] ddi::Device* device_of(nhi::PeerId id, nhi::PeerId* there) const noexcept;
    [[nodiscard]] nhi::NetworkInterface* network_of(nhi::PeerId id,
                                                    nhi::PeerId* there) const noexcept;
    [[nodiscard]] Group* group_of(nhi::GroupId group) noexcept;

    Status open_window(nhi::WindowNumber number, nhi::LcsAddress base,
                       std::span<std::byte> local) noexcept override;
    Status close_window(nhi::WindowNumber number) noexcept override;
    Status create_group(std::span<const nhi::PeerId> ranks, nhi::GroupId* group) noexcept override;
    Status destroy_group(nhi::GroupId group) noexcept override;
    Status set_indirection_address(nhi::Index index, nhi::LcsAddress address) noexcept override;
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    Status configure_event(nhi::EventId event, nhi::EventSignal signal) noexcept override;
    Status mask_event_interrupt(nhi::EventId event, bool masked) noexcept override;
    [[nodiscard]] nhi::Link link(nhi::PeerId id) noexcept override;
    [[nodiscard]] bool is_idle() const noexcept override;
    unsigned poll(Nanoseconds now) noexcept override;
    [[nodiscard]] std::uint32_t event_count(nhi::EventId event) const noexcept override;
    std::byte* map(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    Status provide(nhi::PeerId id, nhi::LcsAddress address, std::size_t bytes) noexcept override;
    Status copy(nhi::PeerId id, Direction direction, std::uint64_t remote, void* local,
                std::size_t bytes) noexcept override;

    sim::World* world_ = nullptr;
    ddi::PeerListener* listener_ = nullptr;
    Side sides_[kSides];
    std::unique_ptr<ddi::Device> device_[kSides];
    std::vector<Peer> peers_;                 // by id
    std::vector<nhi::PeerId> outer_[kSides];  // by the side's id
    std::vector<Group> groups_;
};

}  // namespace fci::conformance
