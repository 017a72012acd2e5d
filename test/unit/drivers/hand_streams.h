// SPDX-License-Identifier: BSD-3-Clause
// HandStreams: a system for the tcp driver whose streams bring, take and refuse what a test says,
// and which keeps what the driver did with them. What is watched is told of as an epoll would.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "test/unit/drivers/no_streams.h"

namespace fci::tcp::test {

struct HandStreams : NoStreams {
    static constexpr int kDoor = 1000;

    ~HandStreams() override {
        if (remains != nullptr) *remains = std::move(all);
    }

    struct One {
        ddi::Card to{};                 // that was called
        std::vector<std::byte> here{};  // to be received
        int at_its_end = EAGAIN;        // when nothing more is here; 0: the other end has ended it
        std::vector<std::byte> sent{};
        std::vector<std::size_t> ranges{};  // of each call that sent
        std::size_t room = SIZE_MAX;        // so much is taken
        int refusal = EAGAIN;               // when there is none
        int outcome = 0;                    // of the call, as errno has it
        std::size_t under_way = 0;
        bool has_sign = false;
        Pulse::Sign sign{};
        // The driver did this with it.
        bool is_open = true, is_tuned = false, is_corked = false, lingered = false;
        bool is_ended = false, is_ended_wholly = false;
        int tells_from = 1;
        unsigned receives = 0, sends = 0, corks = 0, tells = 0, signs = 0, watches = 0;
        bool was_corked = false;  // when something was sent last
        bool is_watched = false;
        Event name{};
        unsigned interests = 0;
    };

    int listen(ddi::Card* card) noexcept override {
        tried.push_back(ntohs(card->port));
        if (!listen_errors.empty()) {
            const int error = listen_errors.front();
            listen_errors.pop_front();
            if (error != 0) return -error;
        }
        if (card->port == 0) card->port = htons(4000);
        return kDoor;
    }
    int accept(int listening) noexcept override {
        EXPECT_EQ(listening, kDoor);
        ++accepts;
        if (accept_error != 0) return -accept_error;
        if (queue.empty()) return -EAGAIN;
        const int stream = add(std::move(queue.front()));
        queue.pop_front();
        return stream;
    }
    int call(const ddi::Card& from, const ddi::Card& to) noexcept override {
        EXPECT_NE(from.port, 0);
        ++calls;
        if (call_error != 0) return -call_error;
        const int stream = add({});
        all[stream].to = to;
        all[stream].room = room_of_calls;
        return stream;
    }
    int outcome(int stream) noexcept override { return -at(stream).outcome; }
    void tune(int stream) noexcept override { at(stream).is_tuned = true; }
    ssize_t send(int stream, std::span<const iovec> ranges, bool lingers) noexcept override {
        One& one = at(stream);
        ++one.sends;
        one.lingered = lingers;
        one.was_corked = one.is_corked;
        one.ranges.push_back(ranges.size());
        const std::size_t wanted = std::min(bytes_in(ranges), one.room);
        if (wanted == 0) return -one.refusal;
        std::size_t left = wanted;
        for (const iovec& range : ranges) {
            const auto* const from = static_cast<const std::byte*>(range.iov_base);
            const std::size_t some = std::min(left, range.iov_len);
            one.sent.insert(one.sent.end(), from, from + some);
            left -= some;
        }
        one.room -= one.room == SIZE_MAX ? 0 : wanted;
        return static_cast<ssize_t>(wanted);
    }
    ssize_t receive(int stream, std::span<const iovec> ranges) noexcept override {
        One& one = at(stream);
        ++one.receives;
        if (one.here.empty()) return -one.at_its_end;
        std::size_t got = 0;
        for (const iovec& range : ranges) {
            const std::size_t some = std::min(range.iov_len, one.here.size() - got);
            std::memcpy(range.iov_base, one.here.data() + got, some);
            got += some;
        }
        one.here.erase(one.here.begin(), one.here.begin() + static_cast<std::ptrdiff_t>(got));
        return static_cast<ssize_t>(got);
    }
    void cork(int stream, bool on) noexcept override {
        at(stream).is_corked = on;
        ++at(stream).corks;
    }
    void tell_from(int stream, int bytes) noexcept override {
        at(stream).tells_from = bytes;
        ++at(stream).tells;
    }
    std::size_t under_way(int stream) noexcept override { return at(stream).under_way; }
    bool sign(int stream, Pulse::Sign* sign) noexcept override {
        ++at(stream).signs;
        *sign = at(stream).sign;
        return at(stream).has_sign;
    }
    void end(int stream, bool wholly) noexcept override {
        (wholly ? at(stream).is_ended_wholly : at(stream).is_ended) = true;
    }
    void close(int stream) noexcept override {
        if (stream == kDoor) {
            door_is_closed = true;
            return;
        }
        at(stream).is_open = at(stream).is_watched = false;
    }

    void watch(int stream, Source source, std::uint32_t detail,
               unsigned interests) noexcept override {
        if (stream == kDoor) {
            EXPECT_EQ(source, Source::door);
            door_is_open = interests == kIn;
            return;
        }
        if (source == Source::hints) {
            ears[stream] = detail;
            return;
        }
        One& one = at(stream);
        one.is_watched = true;
        ++one.watches;
        one.name = {source, detail};
        one.interests = interests;
    }
    void forget(int stream) noexcept override {
        if (ears.erase(stream) == 0) at(stream).is_watched = false;
    }
    std::size_t look(std::span<Event, kEventsMost> events) noexcept override {
        ++looks;
        std::size_t told = 0;
        if (knocks()) events[told++] = {Source::door, 0};
        for (const auto& [number, one] : all) {
            if (told != events.size() && has_something(one)) events[told++] = one.name;
        }
        for (; !also.empty() && told != events.size(); also.pop_front()) {
            events[told++] = also.front();
        }
        return told;
    }
    bool wait(Nanoseconds timeout) noexcept override {
        waits.push_back(timeout);
        if (meanwhile) meanwhile();
        const bool has_any =
            std::ranges::any_of(all, [](const auto& pair) { return has_something(pair.second); });
        if (has_any || knocks() || !also.empty()) return true;
        const Nanoseconds end = timeout < 0 ? INT64_MAX : time + timeout;
        if (rings_at != 0 && rings_at < end) {
            time = std::max(time, rings_at);
            return true;
        }
        EXPECT_GE(timeout, 0) << "it sleeps for ever";
        if (timeout >= 0) time = end;
        return false;
    }
    void pause(Nanoseconds some) noexcept override {
        time += some;
        ++pauses;
        if (meanwhile) meanwhile();
    }
    void ring() noexcept override { ++rings; }
    void ring_at(Nanoseconds when) noexcept override { rings_at = when; }

    One& at(int stream) {
        const auto found = all.find(stream);
        if (found != all.end() && found->second.is_open) return found->second;
        ADD_FAILURE() << "stream " << stream << " is not open";
        static One none;
        return none;
    }
    int add(One one) {
        all[++last] = std::move(one);
        return last;
    }
    /// It brings this.
    template <class What>
    void bring(int stream, const What& what, std::size_t bytes = sizeof(What)) {
        const auto* const from = reinterpret_cast<const std::byte*>(&what);
        at(stream).here.insert(at(stream).here.end(), from, from + bytes);
    }

    std::map<int, One> all;
    std::map<int, One>* remains = nullptr;  // where that is left at the end
    int last = 0;
    std::deque<One> queue;              // of those who call
    std::deque<Event> also;             // what else there is to be told
    std::map<int, std::uint32_t> ears;  // sockets for hints that are watched, and their lanes
    std::deque<int> listen_errors;
    std::vector<unsigned> tried;  // ports
    int accept_error = 0, call_error = 0;
    std::size_t room_of_calls = SIZE_MAX;
    bool door_is_open = false, door_is_closed = false;
    unsigned accepts = 0, calls = 0, looks = 0, rings = 0, pauses = 0;
    Nanoseconds rings_at = 0;
    std::vector<Nanoseconds> waits;
    std::function<void()> meanwhile;  // others do that while it sleeps or pauses

private:
    [[nodiscard]] bool knocks() const {
        return door_is_open && (!queue.empty() || accept_error != 0);
    }
    static bool has_something(const One& one) {
        if (!one.is_watched) return false;
        if ((one.interests & kIn) != 0 && (!one.here.empty() || one.at_its_end != EAGAIN)) {
            return true;
        }
        return (one.interests & kOut) != 0 && one.room != 0;
    }
};

}  // namespace fci::tcp::test
