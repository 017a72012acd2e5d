// SPDX-License-Identifier: BSD-3-Clause
// OddHost: a door at which a test answers itself, record by record; and what it takes to be met.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "drivers/shm/handshake.h"
#include "drivers/shm/region.h"
#include "drivers/shm/shared_header.h"
#include "drivers/shm/socket.h"
#include "test/unit/drivers/shm_party.h"

namespace fci::shm {

inline constexpr Nanoseconds kMs = 1'000'000;

/// A door that is opened, and at which nobody behaves as it should.
struct OddHost {
    explicit OddHost(std::uint64_t incarnation = 4711) {
        card.host = htonl(INADDR_LOOPBACK);
        card.port = htons(1);
        card.incarnation = incarnation;
        while (!(listening = listen_at(card)) && errno == EADDRINUSE) ++card.port;
    }
    /// The next one who comes; none: nobody stands there.
    [[nodiscard]] host::Descriptor accept() const { return accept_from(listening.get()); }

    ddi::Card card;
    host::Descriptor listening;
};

/// The memory and the descriptors that a process shows to one that it meets.
struct Shown {
    explicit Shown(const ddi::Card& its, const ddi::Settings& its_settings = party_settings())
        : card(its), settings(its_settings) {
        std::string error;
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
    [[nodiscard]] std::vector<int> files() const {
        return {header_file.get(), block_file.get(), waker.get()};
    }

    ddi::Card card;
    ddi::Settings settings;
    Region header, block;
    host::Descriptor header_file, block_file, waker;
    Hello hello;
};

template <class Record>
bool say(const host::Descriptor& link, const Record& record, const std::vector<int>& with = {}) {
    return send_record(link.get(), &record, sizeof record, with);
}

/// The kind of the record that came on a link; malformed ones and none have no kind.
inline Kind hear(const host::Descriptor& link, Received* received) {
    Prologue prologue{};
    if (receive_record(link.get(), received) != Reception::record ||
        !read_prologue(received->bytes.data(), received->length, &prologue)) {
        return Kind{};
    }
    return prologue.kind;
}

}  // namespace fci::shm
