// SPDX-License-Identifier: BSD-3-Clause
// Support for the provider's tests: the real libfci-fi.so, loaded by the real libfabric.
#pragma once

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "test/unit/limit.h"

namespace fci::test {

struct InfoDeleter {
    void operator()(fi_info* info) const noexcept { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, InfoDeleter>;

/// Empty hints of the running library's size.
inline Info new_hints() { return Info(fi_allocinfo()); }

/// 0 and the answer, or the error. Only this provider is asked.
inline int ask(const fi_info* hints, Info* answer, std::uint32_t version = fi_version(),
               const char* node = nullptr, const char* service = nullptr,
               std::uint64_t flags = 0) {
    fi_info* got = nullptr;
    const int result = fi_getinfo(version, node, service, flags, hints, &got);
    answer->reset(got);
    return result;
}

/// Turns `step` until it is true or so much of this process's own time is over.
inline bool eventually(const std::function<bool()>& step, Nanoseconds time = kHang) {
    for (const Nanoseconds end = own_time() + time; own_time() < end;) {
        if (step()) return true;
    }
    return false;
}

/// The two-sided protocol is tried: every message stays at its sender until it is asked for, so a
/// send completes after its receive was posted, with the help of both.
inline bool two_sided() {
    const char* const protocol = std::getenv("FCI_PROTOCOL");
    return protocol != nullptr && std::string_view(protocol) == "two-sided";
}

struct OpenOptions {
    std::uint64_t caps = FI_MSG | FI_TAGGED | FI_DIRECTED_RECV | FI_MULTI_RECV | FI_SOURCE;
    std::uint64_t mode = 0;
    fi_threading threading = FI_THREAD_DOMAIN;
    fi_av_type av_type = FI_AV_TABLE;
    fi_cq_format format = FI_CQ_FORMAT_TAGGED;
    fi_wait_obj wait = FI_WAIT_NONE;
    std::size_t cq_size = 0;
    bool selective = false;
    bool counters = false;
    std::uint64_t tx_flags = 0, rx_flags = 0;
    bool enable = true;
};

/// A completion of any kind, with where it came from.
struct Entry {
    fi_cq_tagged_entry is{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
    std::optional<fi_cq_err_entry> error;
};

/// One endpoint with everything around it.
class Side {
public:
    explicit Side(const OpenOptions& wishes = {}, fid_fabric* fabric = nullptr);
    ~Side() { close(); }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;

    /// The number of `other` here.
    fi_addr_t insert(const Side& other);
    void close();

    /// The next completion, if there is one; progresses otherwise.
    std::optional<Entry> poll();
    /// The next completion; a test failure and an empty entry when there is none in time.
    Entry next(const std::function<void()>& meanwhile = {});
    /// Progress without taking a completion.
    void progress() { fi_cq_read(cq, nullptr, 0); }

    OpenOptions wishes;
    Info info;
    fid_fabric* fabric = nullptr;
    fid_domain* domain = nullptr;
    fid_av* av = nullptr;
    fid_cq* cq = nullptr;
    fid_cntr* sent = nullptr;
    fid_cntr* received = nullptr;
    fid_ep* ep = nullptr;
    char name[64];
    std::size_t name_bytes = 0;

private:
    bool owns_fabric_;
};

/// Two endpoints that know each other, in one process and one thread.
class Pair : public ::testing::Test {
protected:
    void start(const OpenOptions& wishes = {}) { start(wishes, wishes); }
    void start(const OpenOptions& of_a, const OpenOptions& of_b);

    /// Sends until it is taken; both sides progress.
    template <class Call>
    void insist(Call call) {
        ssize_t result = -FI_EAGAIN;
        EXPECT_TRUE(eventually([&] {
            result = call();
            if (result == -FI_EAGAIN) both();
            return result != -FI_EAGAIN;
        }));
        EXPECT_EQ(result, 0) << fi_strerror(static_cast<int>(-result));
    }
    void both() {
        a->progress();
        b->progress();
    }
    Entry next(Side& side) {
        return side.next([&] { both(); });
    }
    /// Makes sure that the two are connected: a message has gone each way.
    void acquaint();

    std::unique_ptr<Side> a, b;
    fi_addr_t to_a = FI_ADDR_UNSPEC, to_b = FI_ADDR_UNSPEC;
};

/// A pattern that differs for each seed and place.
std::vector<char> pattern(std::size_t bytes, unsigned seed);

}  // namespace fci::test
