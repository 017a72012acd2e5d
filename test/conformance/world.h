// SPDX-License-Identifier: BSD-3-Clause
// World: a few devices of one driver, and a way to let all of them take their turns. A driver is
// put under the conformance suite by one maker in worlds.cc.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "fci_core/ddi/device.h"

namespace fci::conformance {

/// Remembers what a device told.
struct Ear final : ddi::PeerListener {
    struct Loss {
        nhi::PeerId id;
        Status why;
        std::string reason;
    };
    std::vector<nhi::PeerId> attached;
    std::vector<Loss> lost;

    void peer_attached(nhi::PeerId id) override { attached.push_back(id); }
    void peer_lost(nhi::PeerId id, Status why, const std::string& reason) override {
        lost.push_back({id, why, reason});
    }
};

class World {
public:
    virtual ~World() = default;

    /// One more device, with number devices() before the call. It lives until close() or the end.
    virtual void open(const ddi::Settings& settings) = 0;
    [[nodiscard]] virtual unsigned devices() const = 0;
    virtual ddi::Device& device(unsigned number) = 0;
    virtual Ear& ear(unsigned number) = 0;
    /// The device is destroyed in order.
    virtual void close(unsigned number) = 0;
    /// Every open device polls once; virtual time moves on.
    virtual void turn() = 0;

    /// Turns until `reached`, at most for some seconds or some thousand turns. What it returns is
    /// whether it was.
    virtual bool until(const std::function<bool()>& reached) = 0;
    /// Turns until nothing is on its way any more, as far as the driver can know.
    virtual void settle() = 0;
};

struct Maker {
    const char* name;
    std::unique_ptr<World> (*make)();  // nullptr: the driver does not work on this machine
    bool threads;  // what one device writes is there at once, whatever the other one does
    bool clocks;   // time is real, and each device of a world may be used by a thread of its own
};

std::span<const Maker> makers();
/// Of worlds in which each device is on a host of its own, and hears hints of the others.
std::span<const Maker> hint_makers();

}  // namespace fci::conformance
