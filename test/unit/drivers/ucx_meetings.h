// SPDX-License-Identifier: BSD-3-Clause
// The meeting of a process with one peer, of which the test says what it does.
#pragma once

#include <string>
#include <vector>

#include "drivers/ucx/meeting.h"
#include "test/unit/drivers/ucx_peers.h"

namespace fci::ucx::test {

inline constexpr Nanoseconds kBegin = 50 * kSecond, kLimit = 10 * kSecond;

struct ucx_meeting : ucx_peers {
    void begin(nhi::PeerId id = kId) {
        tcp.at(id).is_met = true;
        meeting.begin(id);
    }
    /// The peer's first frame is here.
    void hear_first(nhi::PeerId id = kId) { peer(id).heard = 1; }
    /// Why the meeting has failed.
    std::string failure() {
        const Told told = hear();
        EXPECT_TRUE(told.attached.empty());
        EXPECT_FALSE(meeting.is_busy());
        EXPECT_EQ(peer().state, PeerState::ending);
        if (told.lost.size() != 1) return "said " + std::to_string(told.lost.size()) + " times";
        EXPECT_EQ(told.lost[0].id, kId);
        EXPECT_EQ(told.lost[0].why, Status::unreachable);
        const std::string& text = told.lost[0].reason;
        const std::string before = "peer 1 was met by TCP, but there is no way by UCX (";
        const std::string after = "); UCX_NET_DEVICES and UCX_TLS choose one, FCI_DRIVER=tcp goes "
                                  "without";
        if (text.rfind(before, 0) != 0 || text.size() < before.size() + after.size() ||
            text.substr(text.size() - after.size()) != after) {
            return "other words: " + text;
        }
        return text.substr(before.size(), text.size() - before.size() - after.size());
    }
    bool goes_on() {
        const Told told = hear();
        return meeting.is_busy() && told.attached.empty() && told.lost.empty() &&
               peer().state == PeerState::connecting;
    }
    void expect_joined() {
        const Told told = hear();
        EXPECT_EQ(told.attached, std::vector<nhi::PeerId>{kId});
        EXPECT_TRUE(told.lost.empty());
        EXPECT_EQ(peer().state, PeerState::joined);
        EXPECT_FALSE(meeting.is_busy());
    }

    Meeting meeting{peers, *near.road, tcp, notices, kBlock, kLimit};
};

}  // namespace fci::ucx::test
