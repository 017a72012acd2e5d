// SPDX-License-Identifier: BSD-3-Clause
// Endpoint: one channel to the core, and an object for each thing that is done through it. Here is
// its life (open, bind, enable, close); the calls are in *_calls.cc.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "netmod/libfabric/address.h"
#include "netmod/libfabric/channel.h"
#include "netmod/libfabric/claims.h"
#include "netmod/libfabric/completions.h"
#include "netmod/libfabric/domain.h"
#include "netmod/libfabric/multi_receives.h"
#include "netmod/libfabric/peer_numbers.h"
#include "netmod/libfabric/receives.h"
#include "netmod/libfabric/region_server.h"
#include "netmod/libfabric/remote_operations.h"
#include "netmod/libfabric/sends.h"
#include "netmod/libfabric/space.h"

namespace fci::libfabric {

class AddressVector;
class EventQueue;

class Endpoint final : public fid_ep {
public:
    static int open(fid_domain* domain, fi_info* info, fid_ep** endpoint, void* context);

    [[nodiscard]] static Endpoint& of(fid_ep* endpoint) noexcept {
        return *static_cast<Endpoint*>(endpoint);
    }
    [[nodiscard]] static Endpoint& of(fid_t object) noexcept {
        return of(reinterpret_cast<fid_ep*>(object));
    }

    // For the calls.
    [[nodiscard]] Channel& channel() noexcept { return channel_; }
    [[nodiscard]] const Direction& transmit() const noexcept { return completions_.transmit; }
    [[nodiscard]] Sends& sends() noexcept { return sends_; }
    ssize_t receive(Space space, void* data, std::size_t bytes, fi_addr_t from, std::uint64_t tag,
                    std::uint64_t ignore, void* context) noexcept {
        ssize_t answer = 0;
        if (receives_.post_directly(space, data, bytes, from, tag, ignore, context, &answer))
            [[likely]] {
            return answer;
        }
        const iovec range{data, bytes};
        return receive_ranges(space, {&range, 1, from, tag, ignore, context});
    }
    ssize_t receive_ranges(Space space, const ReceiveCall& call) noexcept;
    ssize_t receive_flagged(Space space, const ReceiveCall& call, std::uint64_t flags) noexcept;
    ssize_t cancel(void* context) noexcept;
    ssize_t access(const RemoteCall& call) noexcept;

    // For its options and its name, under the lock.
    [[nodiscard]] std::uint64_t caps() const noexcept { return caps_; }
    [[nodiscard]] MultiReceives& multi_receives() noexcept { return multi_receives_; }
    /// The address that it wishes for, until it is enabled.
    [[nodiscard]] Card& wanted() noexcept { return wanted_; }
    /// Limits that the program promises to keep to; nothing depends on them.
    std::array<std::optional<std::size_t>, 8> promises{};

private:
    Endpoint(Domain& domain, const fi_info& info, void* context);
    ~Endpoint();

    static int close(fid_t object);
    static int bind(fid_t object, fid_t other, std::uint64_t flags);
    static int control(fid_t object, int command, void* argument);
    int bind_queue(CompletionQueue& queue, std::uint64_t flags);
    int bind_counter(Counter& counter, std::uint64_t flags);
    void feed(Waiter& waiter);
    int enable();
    int operation_flags(std::uint64_t* flags, bool set) noexcept;
    void settle_flags() noexcept;
    void resume() noexcept;
    void enter_fork_child() noexcept;

    Channel channel_;
    PeerNumbers peers_{channel_};
    Completions completions_{channel_, peers_};
    Sends sends_{completions_};
    Receives receives_;
    MultiReceives multi_receives_{completions_, receives_};
    Claims claims_{completions_, receives_};
    RemoteOperations operations_{completions_};
    RegionServer server_;
    Domain& domain_;
    const std::uint64_t caps_;
    Card wanted_;
    std::vector<Waiter*> waiters_;  // of the queues and counters that it feeds
    AddressVector* addresses_ = nullptr;
    EventQueue* events_ = nullptr;
};

}  // namespace fci::libfabric
