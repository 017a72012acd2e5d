// SPDX-License-Identifier: BSD-3-Clause
#include "test/unit/openmpi/ends.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace fci::openmpi {
namespace {

constexpr std::uint64_t kJob = 0x4f4d504946434949;  // the component's own

void done(void* user, void*, const fci_icl_status* status) {
    auto& operation = *static_cast<Far::Operation*>(user);
    operation.done = true;
    operation.status = *status;
}

/// Once for all tests: there is no second MPI_Init().
class OpenMpi : public testing::Environment {
    void SetUp() override {
        setenv("FCI_WAIT", "spin", 1);
        setenv("FCI_LOCAL_RANKS", "4", 1);
        setenv("FCI_UNEXPECTED_BYTES", "65536", 1);
        for (const char* name : {"FCI_JOB", "FCI_DRIVER", "FCI_PROTOCOL"}) unsetenv(name);
        near_start();
    }
    void TearDown() override { near_finish(); }
};
[[maybe_unused]] const testing::Environment* const open_mpi =
    testing::AddGlobalTestEnvironment(new OpenMpi);

}  // namespace

Surroundings& surroundings() {
    static Surroundings it;
    return it;
}

// --- the far end ---

Far::Far(std::uint32_t context_id, int rank) : context_id_(context_id), rank_(rank) {
    fci_icl_config config{};
    config.version = FCI_ICL_VERSION;
    config.driver = "shm";
    config.job = kJob;
    char* error = nullptr;
    EXPECT_EQ(fci_icl_open(&config, &context_, &error), FCI_ICL_OK) << (error ? error : "");
    std::free(error);
    unsigned char card[FCI_ICL_CARD_BYTES];
    fci_icl_card(near_context(), card);
    EXPECT_EQ(fci_icl_add_peer(context_, card, &near_), FCI_ICL_OK);
}

near_card Far::card() const {
    near_card card{};
    fci_icl_card(context_, card.bytes);
    card.length = sizeof card.bytes;
    return card;
}

void Far::close() {
    if (context_ != nullptr) fci_icl_close(std::exchange(context_, nullptr), 0);
}

Far::Operation& Far::send_word(std::uint64_t match, std::string_view data, std::uint32_t flags) {
    Operation& it = operations_.emplace_back();
    it.data = data;
    const fci_icl_completion completion{done, &it, nullptr};
    const int answer = fci_icl_send_bytes(context_, near_, 0, flags, match, 0, it.data.data(),
                                          it.data.size(), &completion, &it.order);
    EXPECT_GE(answer, 0);
    it.done = answer == FCI_ICL_DONE;
    return it;
}

Far::Operation& Far::receive(int tag, std::size_t room) {
    Operation& it = operations_.emplace_back();
    it.data.assign(room, '?');
    const fci_icl_completion completion{done, &it, nullptr};
    const int answer =
        fci_icl_receive_bytes(context_, near_, 0, word(context_id_, 0, tag), kAnyRank,
                              it.data.data(), room, &completion, &it.order, &it.status);
    EXPECT_GE(answer, 0);
    it.done = answer == FCI_ICL_DONE;
    return it;
}

bool Far::cancel(const Operation& operation) {
    return fci_icl_cancel(context_, operation.order) == FCI_ICL_OK;
}

bool Far::has(int tag, fci_icl_status* status) {
    fci_icl_status it{};
    const int answer =
        fci_icl_probe(context_, near_, 0, word(context_id_, 0, tag), kAnyRank, &it, nullptr);
    if (status != nullptr) *status = it;
    return answer == FCI_ICL_OK;
}

void Far::wait(unsigned turns_to_go) {
    then([turns_to_go]() mutable { return turns_to_go-- > 0 ? FCI_ICL_OK : FCI_ICL_DONE; });
}

void Far::turn() {
    if (context_ == nullptr) return;
    if (!steps_.empty()) {
        const int answer = steps_.front()();
        if (answer != FCI_ICL_OK && answer != FCI_ICL_EAGAIN) {
            answers_.push_back(answer);
            steps_.pop_front();
        }
    }
    if (context_ != nullptr) fci_icl_progress(context_);
}

// --- both ---

Ends::Ends(int size, int rank) : size_(size), rank_(rank) {
    static std::uint32_t context_ids = 100;
    context_id_ = ++context_ids;
    surroundings() = {};
    std::vector<near_card> cards(static_cast<std::size_t>(size));
    for (int i = 0; i < size; ++i) {
        far_.push_back(i == rank ? nullptr : std::make_unique<Far>(context_id_, i));
        if (i != rank) cards[static_cast<std::size_t>(i)] = far_.back()->card();
    }
    surroundings().before_turn = [this] {
        for (const auto& one : far_) {
            if (one != nullptr) one->turn();
        }
    };
    comm_ = near_communicator(context_id_, size, rank, cards.data());
}

void Ends::TearDown() {
    for (const auto& one : far_) {
        if (one != nullptr) one->stop();
    }
    near_use_threads(false);
    near_set_copies_mib(1024);
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
    surroundings().before_turn = nullptr;
    far_.clear();
}

void Ends::meet() {
    constexpr int kTag = 0x7ffffffe;
    for (int i = 0; i < size_; ++i) {
        if (i == rank_) continue;
        Far::Operation& here = far(i).receive(kTag);
        ASSERT_EQ(MPI_Send(nullptr, 0, MPI_CHAR, i, kTag, comm_), MPI_SUCCESS);
        ASSERT_TRUE(ended(here));
        far(i).send(kTag, "");
        ASSERT_EQ(MPI_Recv(nullptr, 0, MPI_CHAR, i, kTag, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    }
}

std::string Ends::said() {
    std::string all;
    for (const std::string& one : surroundings().said) all += one + "\n";
    return all;
}

testing::AssertionResult same(std::string_view is, std::string_view wanted) {
    const auto [at, other] = std::mismatch(is.begin(), is.end(), wanted.begin(), wanted.end());
    if (is == wanted) return testing::AssertionSuccess();
    return testing::AssertionFailure() << is.size() << " bytes instead of " << wanted.size()
                                       << ", which differ from byte " << at - is.begin() << " on";
}

std::string pattern(std::size_t bytes, unsigned seed) {
    std::string text(bytes, '\0');
    std::uint32_t value = 0x9e3779b9u + seed;
    for (char& one : text) {
        value = value * 1664525u + 1013904223u;
        one = static_cast<char>(value >> 24);
    }
    return text;
}

}  // namespace fci::openmpi
