// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/node/node.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <new>
#include <utility>

#include "drivers/shm/shm.h"
#include "drivers/shm/socket.h"
#include "drivers/tcp/tcp.h"
#include "drivers/ucx/ucx.h"
#include "fci_core/base/assert.h"

namespace fci::node {

namespace {

// The two devices choose among the same numbers, each without knowing the other one's.
constexpr unsigned kTries = 64;

/// Finds a place for TCP, by which peers are met in any case: the address, why that one, and a port
/// that the kernel chose. The device is closed again: the one that stays needs memory of the near
/// device, which is opened first.
Status find_place(const ddi::Settings& settings, ddi::Card* place, ddi::NetworkChoice* choice,
                  std::string* error) {
    ddi::Settings least;
    least.block_bytes = 4096;
    least.wanted = settings.wanted;
    least.network = settings.network;
    least.ports = settings.ports;
    Status status = Status::ok;
    const auto device = tcp::open_tcp(least, &status, error);
    if (device == nullptr) {
        *error = "cannot open TCP, by which the processes of other hosts are reached: " + *error;
        return status;
    }
    *place = device->card();
    *choice = device->network_choice();
    return Status::ok;
}

struct Pair {
    std::unique_ptr<ddi::Device> near, far;
    std::string note;  // on the far one, for people
};

/// Where UCX was chosen by itself and cannot be opened, TCP is used.
Status open_far(const ddi::Settings& settings, Pair* pair, std::string* error) {
    Status status = Status::ok;
    if (settings.network.far == ddi::Far::automatic && ucx::is_choice(&pair->note)) {
        pair->far = ucx::open_ucx_beside_tcp(settings, &status, error);
        if (status == Status::exhausted) return status;
        pair->note = pair->far != nullptr
                         ? ucx::note_of_far(true) + "; by TCP where they have none"
                         : ucx::unused_note(*error);
        if (pair->far != nullptr) return Status::ok;
    }
    const bool by_ucx = settings.network.far == ddi::Far::ucx;
    pair->far = by_ucx ? ucx::open_ucx(settings, &status, error)
                       : tcp::open_tcp(settings, &status, error);
    if (settings.network.far != ddi::Far::automatic) pair->note = ucx::note_of_far(by_ucx);
    return pair->far != nullptr ? Status::ok : status;
}

Status open_pair(const ddi::Settings& settings, const ddi::Card& place, std::uint64_t incarnation,
                 Pair* pair, std::string* error) {
    Status status = Status::ok;
    ddi::Settings near = settings;
    near.incarnation = incarnation;
    near.wanted = place;
    near.wanted.host = htonl(INADDR_LOOPBACK);
    pair->near = shm::open_shm(near, &status, error);
    if (pair->near == nullptr) {
        *error = "cannot open shared memory, by which the processes of this host are reached: " +
                 *error + " (FCI_DRIVER=tcp goes without)";
        return status;
    }
    ddi::Settings far = near;
    far.wanted = place;
    far.communication = pair->near->communication_memory();
    status = open_far(far, pair, error);
    if (status == Status::ok) return Status::ok;
    const bool by_ucx = settings.network.far == ddi::Far::ucx;
    *error = std::string("cannot open ") + (by_ucx ? "UCX" : "TCP") +
             ", by which the processes of other hosts are reached: " + *error +
             (by_ucx ? " (FCI_FAR=tcp goes without)" : "");
    return status;
}

}  // namespace

Host Host::own() {
    return {host::own_mark(),
            [](const ddi::Card& card) { return shm::is_here(shm::place_here(card)); }};
}

std::unique_ptr<ddi::Device> open_node(const ddi::Settings& settings, Status* status,
                                       std::string* error) {
    const Host host = Host::own();
    if (host.mark != host::kNoMark) return open_node(settings, host, status, error);
    *status = Status::unsupported;
    *error = host::system_text("cannot tell which processes are on this host (/proc)") +
             "; FCI_DRIVER=tcp need not know, nor need FCI_DRIVER=shm";
    return nullptr;
}

std::unique_ptr<ddi::Device> open_node(const ddi::Settings& settings, const Host& host,
                                       Status* status, std::string* error) try {
    FCI_ASSERT(host.mark != host::kNoMark && host.has_address);
    std::uint64_t incarnation = settings.incarnation;
    if (incarnation == 0 && !host::draw_incarnation(host.mark, &incarnation)) {
        *status = Status::unsupported;
        *error = host::system_text("no random numbers (getrandom)");
        return nullptr;
    }
    Pair pair;
    ddi::Card place;
    ddi::NetworkChoice choice;
    for (unsigned i = 0; i < kTries; ++i) {
        *status = find_place(settings, &place, &choice, error);
        if (*status != Status::ok) return nullptr;
        *status = open_pair(settings, place, incarnation, &pair, error);
        // `exhausted`: another process may have taken the port on one of the two sides.
        if (*status != Status::exhausted || settings.wanted.port != 0) break;
    }
    if (*status != Status::ok) return nullptr;
    if (!pair.note.empty()) choice.reason += "; " + pair.note;
    const std::uint32_t own = place.host;
    const auto is_here = [host, own](const ddi::Card& card) {
        if (card.incarnation != 0 && host::mark_of(card.incarnation) != host.mark) return false;
        return card.host == own || host.has_address(card);
    };
    auto device = std::make_unique<NodeDevice>(std::move(pair.near), std::move(pair.far), is_here,
                                               Pace(), std::move(choice));
    if (device->wait_fd() >= 0) return device;
    *status = Status::exhausted;
    *error = host::system_text("no descriptor left");
    return nullptr;
} catch (const std::bad_alloc&) {
    *status = Status::exhausted;
    *error = "out of memory";
    return nullptr;
}

/// Tries it: opens a device with the least memory.
bool probe_node(std::string* note) {
    ddi::Settings settings;
    settings.block_bytes = 4096;
    Status status;
    return open_node(settings, &status, note) != nullptr && shm::probe_shm(note);
}

}  // namespace fci::node
