// TcpDevice: a process on the network. It listens at its card's place; whoever has something to say
// to it calls there, and from then on that connection carries what both say.
//
// Both may call at once. Then the call of the one with the larger incarnation counts: the other one
// hears so, and waits to be called.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/host/descriptor.h"
#include "drivers/tcp/connection.h"
#include "drivers/tcp/frame.h"
#include "drivers/tcp/peers.h"
#include "fci_core/base/fork_watch.h"
#include "fci_core/ddi/device.h"
#include "fci_core/nhi/bookkeeping.h"

namespace fci::tcp {

class TcpDevice final : public ddi::Device, private nhi::Bookkeeping {
public:
    static std::unique_ptr<ddi::Device> open(const ddi::Settings& settings, Status* status,
                                             std::string* error);
    ~TcpDevice() override;

    // --- Device ---
    const ddi::Card& card() const noexcept override { return card_; }
    nhi::NetworkInterface& network() noexcept override { return *this; }
    Status add_peer(const ddi::Card& card, nhi::PeerId* id) override;
    Status connect(nhi::PeerId id) override;
    const ddi::Card* card_of(nhi::PeerId id) const noexcept override {
        return id < peers_.size() ? &peers_[id].card : nullptr;
    }
    nhi::PeerId peers() const noexcept override { return peers_.size(); }
    std::uint64_t sizes(nhi::PeerId id) const noexcept override;
    std::span<std::byte> block(nhi::PeerId id) noexcept override;
    std::span<std::byte> communication_memory() noexcept override { return communication_; }
    void sleep(Nanoseconds timeout) noexcept override;
    int wait_fd() const noexcept override { return epoll_.get(); }
    Nanoseconds now() const noexcept override;
    std::string describe(nhi::PeerId id) const override;
    void set_listener(ddi::PeerListener* listener) noexcept override { listener_ = listener; }

private:
    /// Who has called and has not said yet who he is.
    struct Caller {
        host::Descriptor socket;
        Hello hello;
        std::size_t heard = 0;  // bytes of it
        Nanoseconds give_up;
    };
    /// What the listener is to hear. `why`: ok, it is attached.
    struct Notice {
        nhi::PeerId id;
        Status why;
        std::string reason;
    };
    /// The memory here that one peer writes.
    struct Memory final : FrameDecoder::Target {
        Memory(TcpDevice& its_device, nhi::PeerId its_writer)
            : device(its_device), writer(its_writer) {}
        std::uint64_t address_of(std::uint64_t index) const noexcept override {
            return device.windows().address(index);
        }
        std::byte* locate(std::uint64_t address, std::uint64_t bytes) noexcept override {
            return device.locate(writer, address, bytes);
        }
        void raise(std::uint32_t events) noexcept override { device.raise(events); }

        TcpDevice& device;
        nhi::PeerId writer;
    };

    TcpDevice(const ddi::Settings& settings, Pages memory);
    Status start(std::string* error);
    void enter_fork_child() noexcept;
    Status listen(std::string* error);

    // --- NetworkInterface ---
    Status initiate_transfer(const nhi::Transfer& transfer) noexcept override;
    nhi::Link link(nhi::PeerId id) noexcept override;
    bool is_idle() const noexcept override;
    unsigned poll(Nanoseconds now) noexcept override;
    std::byte* map(nhi::PeerId, nhi::LcsAddress, std::size_t) noexcept override { return nullptr; }
    Status copy(nhi::PeerId, Direction, std::uint64_t, void*, std::size_t) noexcept override {
        return Status::unsupported;
    }
    nhi::PeerId known_peers() const noexcept override { return peers_.size(); }
    [[nodiscard]] Status check(const nhi::Transfer& transfer,
                               std::span<const nhi::PeerId> targets) const noexcept;
    void write_here(const nhi::Transfer& transfer) noexcept;
    [[nodiscard]] std::byte* locate(nhi::PeerId writer, std::uint64_t address,
                                    std::uint64_t bytes) noexcept;
    void raise(std::uint32_t events) noexcept { woken_ = take_events(events) || woken_; }

    // --- meeting.cc ---
    void call(nhi::PeerId id) noexcept;
    void go_on_calling(nhi::PeerId id) noexcept;
    void hear_answer(nhi::PeerId id) noexcept;
    void call_again(nhi::PeerId id, int error) noexcept;
    void accept_callers() noexcept;
    void hear_caller(std::list<Caller>::iterator caller) noexcept;
    void answer(Caller& caller) noexcept;
    void attach(nhi::PeerId id, host::Descriptor socket, const Hello& hello);
    void lose(nhi::PeerId id, Status why, std::string reason) noexcept;
    [[nodiscard]] Hello hello_to(const ddi::Card& to, Verdict verdict) const noexcept;
    void look_at_clock(Nanoseconds now) noexcept;

    // --- events.cc ---
    unsigned take_events_of_kernel() noexcept;
    unsigned read_from(nhi::PeerId id) noexcept;
    void watch(int socket, std::uint64_t name, std::uint32_t events) noexcept;
    void flush_all() noexcept;
    unsigned tell() noexcept;

    static constexpr std::uint64_t kListening = ~std::uint64_t{0};
    static constexpr std::uint64_t kBell = kListening - 1;
    static constexpr std::uint64_t kCaller = std::uint64_t{1} << 32;  // and the socket

    const ddi::Settings settings_;
    Pages own_memory_;
    const std::span<std::byte> communication_;
    ddi::Card card_;
    host::Descriptor listening_, epoll_, bell_;
    Peers peers_;
    std::list<Caller> callers_;
    std::vector<nhi::PeerId> connected_;  // those with a connection
    std::vector<nhi::PeerId> calling_;    // those that are connecting
    std::vector<nhi::PeerId> waiting_;    // those with something that waits to be written
    std::deque<Notice> notices_;
    ddi::PeerListener* listener_ = nullptr;
    bool woken_ = false;
    unsigned turns_ = 0;
    std::optional<ForkWatch> fork_watch_;
};

}  // namespace fci::tcp
