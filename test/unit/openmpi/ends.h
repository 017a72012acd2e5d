// SPDX-License-Identifier: BSD-3-Clause
// The two ends of messages in one process: the near one is the component under Open MPI (near.h),
// each far one a context that the test itself uses through the C face, and which has its turns
// before each of the near one's. So a test says what another process does, and when.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fci_core/api/icl.h"
#include "test/unit/openmpi/near.h"

namespace fci::openmpi {

/// The surroundings of the component besides Open MPI and the core.
struct Surroundings {
    std::function<void()> before_turn;
    unsigned turns = 0;
    std::vector<std::string> said;  // to the user
    std::vector<int> idle;          // what progress was allowed to do, one after the other
    double now = 0;                 // seconds, of MPI_Wtime()
    unsigned slept_us = 0;
    int aborted_with = 0;                // by ompi_mpi_abort()
    std::deque<int> sends, short_sends;  // answers instead of the core's
    std::deque<int> starts, calls;       // likewise, of collectives
    bool has_threads = false;            // then the core is called under the component's lock
    unsigned locked_calls = 0;           // so many
};
Surroundings& surroundings();

/// The component's word of a message (pml_fci.h).
constexpr std::uint64_t word(std::uint32_t context_id, int rank, int tag) {
    return static_cast<std::uint64_t>(rank % 4096) << 52 |
           static_cast<std::uint64_t>(context_id) << 32 | static_cast<std::uint32_t>(tag);
}
inline constexpr std::uint64_t kAnyRank = ~std::uint64_t{0} << 52;

class Far {
public:
    struct Operation {
        bool done = false;
        fci_icl_status status{};
        std::string data;
        fci_icl_order order = 0;
    };

    Far(std::uint32_t context_id, int rank);
    ~Far() { close(); }
    Far(const Far&) = delete;
    Far& operator=(const Far&) = delete;

    fci_icl_context* context() const { return context_; }
    fci_icl_peer near() const { return near_; }
    near_card card() const;
    /// As a process that ends.
    void close();

    Operation& send(int tag, std::string_view data, std::uint32_t flags = 0) {
        return send_word(word(context_id_, rank_, tag), data, flags);
    }
    Operation& send_word(std::uint64_t match, std::string_view data, std::uint32_t flags = 0);
    Operation& receive(int tag, std::size_t room = 64);
    bool cancel(const Operation& operation);
    /// How many messages of the near end with this tag wait here, of at most one; its length.
    bool has(int tag, fci_icl_status* status = nullptr);

    /// `step` is called in each turn until it answers neither FCI_ICL_OK nor FCI_ICL_EAGAIN; then
    /// the next one is. Its answer is kept.
    void then(std::function<int()> step) { steps_.push_back(std::move(step)); }
    /// The next step comes so many turns later.
    void wait(unsigned turns);
    bool idle() const { return steps_.empty(); }
    void stop() { steps_.clear(); }
    const std::vector<int>& answers() const { return answers_; }
    void turn();

private:
    fci_icl_context* context_ = nullptr;
    std::uint32_t context_id_;
    int rank_;
    fci_icl_peer near_ = 0;
    std::deque<Operation> operations_;
    std::deque<std::function<int()>> steps_;
    std::vector<int> answers_;
};

/// A communicator of `size` ranks, of which the near end is `rank`.
class Ends : public testing::Test {
protected:
    explicit Ends(int size = 2, int rank = 0);
    void TearDown() override;

    static constexpr int kTurnsMost = 1'000'000;  // of which none brings what is awaited: it hangs

    Far& far(int of) { return *far_[static_cast<std::size_t>(of)]; }
    /// Turns of the near end, before each of which the far ones have theirs.
    static void turn(int times = 1) {
        while (times-- > 0) near_turn();
    }
    template <typename Condition>
    static bool until(const char* awaited, Condition condition) {
        for (int turns = 0; turns < kTurnsMost; ++turns) {
            if (condition()) return true;
            turn();
        }
        ADD_FAILURE() << kTurnsMost << " turns have gone by without " << awaited;
        return false;
    }
    static bool ended(const Far::Operation& operation) {
        return until("an operation of the far end", [&] { return operation.done; });
    }
    /// All ends have spoken to the near one, and it to them.
    void meet();
    /// Another process, which is a rank of another communicator.
    Far& join(std::uint32_t context_id, int rank) {
        return *far_.emplace_back(std::make_unique<Far>(context_id, rank));
    }
    /// The lines that were said to the user, all together.
    static std::string said();

    std::uint32_t context_id_;
    int size_, rank_;
    std::vector<std::unique_ptr<Far>> far_;  // by rank, where the near one's is nullptr; then more
    MPI_Comm comm_ = MPI_COMM_NULL;
};

/// So many bytes, no two places of which look alike.
std::string pattern(std::size_t bytes, unsigned seed = 0);

/// Of long data only the first place that differs is worth a look.
testing::AssertionResult same(std::string_view is, std::string_view wanted);

inline int class_of(int error) {
    int its_class = MPI_ERR_UNKNOWN;
    MPI_Error_class(error, &its_class);
    return its_class;
}
inline int count_of(const MPI_Status& status, MPI_Datatype datatype = MPI_CHAR) {
    int count = -1;
    MPI_Get_count(&status, datatype, &count);
    return count;
}
inline struct fci_icl_limits near_limits() {
    struct fci_icl_limits limits {};
    fci_icl_limits(near_context(), &limits);
    return limits;
}

}  // namespace fci::openmpi
