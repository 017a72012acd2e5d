// SPDX-License-Identifier: BSD-3-Clause
// Stations of a ucx driver whose owners expect data.
#pragma once

#include <algorithm>
#include <vector>

#include "test/unit/drivers/ucx_stations.h"

namespace fci::ucx::test {

/// Buffers of a process, and what it was asked of them.
struct HandTarget final : nhi::DataTarget {
    bool expects(nhi::PeerId) const noexcept override { return true; }
    bool is_early(nhi::PeerId, const nhi::Data&) const noexcept override { return early; }
    std::byte* locate(nhi::PeerId, const nhi::Data& data) noexcept override {
        asked.push_back(data.name);
        return is_known ? memory.data() + data.offset : nullptr;
    }
    bool arrived(nhi::PeerId, const nhi::Data& data) noexcept override {
        came.push_back(data.name);
        return is_good;
    }

    Bytes memory = Bytes(64 * 1024);
    std::vector<std::uint64_t> asked{}, came{};  // the names of data
    // The test decides these.
    bool early = false, is_known = true, is_good = true;
};

/// The one sends data to the other, which is attached.
struct ucx_data : ucx_stations {
    using Names = std::vector<std::uint64_t>;
    static constexpr std::uint64_t kLong = 20'000, kShort = 100;
    static constexpr nhi::EventId kEvent = 5;

    ucx_data() {
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
        one->network.data()->set_target(&near);
        other->network.data()->set_target(&far);
    }
    ~ucx_data() override {
        for (const auto& each : ucx.endpoints) ucx.finish(*each);
        for (const auto& each : ucx.workers) {
            each->fetch_answer = UCS_OK;
            ucx.end_fetches(*each);
        }
        let_time_pass();
        for (Station* const each : {one.get(), other.get()}) {
            if (each != nullptr) each->network.data()->set_target(nullptr);
        }
    }
    void SetUp() override {
        attach();
        ASSERT_EQ(other->network.configure_event(kEvent, {.flag = true, .interrupt = false}),
                  Status::ok);
    }
    nhi::DataWay& sender() { return *one->network.data(); }
    nhi::DataWay& receiver() { return *other->network.data(); }
    Status send(std::uint64_t name, std::uint64_t count, std::uint64_t offset = 0,
                nhi::PeerId to = 1) {
        return sender().send(to, {name, offset, count}, bytes.data() + offset, 1u << kEvent);
    }
    unsigned events() { return other->network.event_count(kEvent); }
    bool is_there(std::uint64_t count, std::uint64_t offset = 0) const {
        return std::memcmp(far.memory.data() + offset, bytes.data() + offset, count) == 0;
    }
    /// The other one fetches, and UCX takes its time.
    void begin_fetch(std::uint64_t count = kLong) {
        other->worker->fetch_answer = UCS_INPROGRESS;
        ASSERT_EQ(send(7, count), Status::ok);
        (void)other->poll();
        ASSERT_EQ(ucx.fetches(*other->worker), 1u);
    }
    const char* broken(Station& at) { return Road::broken(at.peer().way); }

    Bytes bytes = Bytes(64 * 1024);
    HandTarget near, far;
};

/// Clocks that go on with each look.
struct ucx_data_end : ucx_data {
    static constexpr Nanoseconds kGrace = kSecond;

    ucx_data_end() { one->tcp.tick = other->tcp.tick = kMs; }
    /// How long it took.
    static Nanoseconds give_back(Station& at, nhi::PeerId id = 1) {
        const Nanoseconds before = at.tcp.time;
        at.network.data()->give_back(id);
        return at.tcp.time - before;
    }
    static Nanoseconds close(Station& at) {
        const Nanoseconds before = at.tcp.time;
        at.network.data()->set_target(nullptr);
        return at.tcp.time - before;
    }
    unsigned loans() { return Rendezvous::loans(one->peer().way); }
};

}  // namespace fci::ucx::test
