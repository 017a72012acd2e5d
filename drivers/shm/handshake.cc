// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/shm/handshake.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "drivers/shm/shared_header.h"
#include "fci_core/base/assert.h"

namespace fci::shm {

namespace {

template <class Record>
Record start(Kind kind) noexcept {
    Record record{};
    record.prologue = {kHandshakeMagic, kVersion, kind, sizeof(Record)};
    return record;
}

std::string hex(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%" PRIx64, value);
    return text;
}

}  // namespace

Hello make_hello(const ddi::Settings& settings, const ddi::Card& card, std::uint64_t expects,
                 const void* guard, std::uint64_t tries) noexcept {
    FCI_ASSERT(card.incarnation != 0 && card.port != 0);  // as check_hello() wants it
    auto hello = start<Hello>(Kind::hello);
    hello.card = card;
    hello.expects = expects;
    hello.job = settings.job;
    hello.block_bytes = settings.block_bytes;
    hello.sizes = settings.sizes;
    hello.layout_digest = settings.layout_digest;
    hello.header_bytes = sizeof(SharedHeader);
    hello.guard_address = reinterpret_cast<std::uint64_t>(guard);
    hello.tries = tries;
    hello.rank = settings.rank;
    return hello;
}

Refusal make_refusal(const ddi::Settings& settings, Objection objection) noexcept {
    FCI_ASSERT(objection != Objection::none);
    auto refusal = start<Refusal>(Kind::refusal);
    refusal.objection = objection;
    refusal.version = kVersion;
    // Any caller may learn the rest, but a caller of another user not the digest.
    if (objection != Objection::user) refusal.layout_digest = settings.layout_digest;
    return refusal;
}

Word make_word(Kind kind) noexcept { return start<Word>(kind); }

bool read_prologue(const void* bytes, std::size_t length, Prologue* prologue) noexcept {
    if (length < sizeof *prologue) return false;
    std::memcpy(prologue, bytes, sizeof *prologue);
    return prologue->magic == kHandshakeMagic && prologue->bytes == length;
}

Objection check_hello(const void* bytes, std::size_t length, const ddi::Settings& settings,
                      const ddi::Card& own, Hello* hello) noexcept {
    Prologue prologue;
    if (!read_prologue(bytes, length, &prologue) || prologue.kind != Kind::hello) {
        return Objection::malformed;
    }
    if (prologue.version != kVersion) {
        hello->prologue = prologue;
        return Objection::version;
    }
    if (length != sizeof *hello) return Objection::malformed;
    std::memcpy(hello, bytes, sizeof *hello);
    if (hello->card.incarnation == 0 || hello->card.port == 0 ||
        hello->header_bytes != sizeof(SharedHeader) || hello->block_bytes == 0 ||
        hello->block_bytes > nhi::kPairLimit) {
        return Objection::malformed;
    }
    if (hello->job != settings.job) return Objection::job;
    if (hello->layout_digest != settings.layout_digest) return Objection::layout;
    if (hello->expects != 0 && hello->expects != own.incarnation) return Objection::replaced;
    return Objection::none;
}

bool read_refusal(const void* bytes, std::size_t length, Refusal* refusal) noexcept {
    Prologue prologue;
    if (!read_prologue(bytes, length, &prologue) || prologue.kind != Kind::refusal ||
        length < sizeof *refusal) {  // a later version may say more
        return false;
    }
    std::memcpy(refusal, bytes, sizeof *refusal);
    return true;
}

std::string objection_text(const Refusal& theirs, const ddi::Settings& settings,
                           const std::string& who) {
    switch (theirs.objection) {
        case Objection::version:
            return who + " runs version " + std::to_string(theirs.version) +
                   " of the shared memory driver, this process version " +
                   std::to_string(kVersion) +
                   "; start all processes with the same FCI library (see LD_LIBRARY_PATH and "
                   "FI_PROVIDER_PATH)";
        case Objection::job:
            return who +
                   " belongs to another job than this process; start both by one launcher, or give "
                   "both the same FCI_JOB";
        case Objection::layout:
            return who + " uses request layout " + hex(theirs.layout_digest) +
                   ", this process " + hex(settings.layout_digest) +
                   "; set all FCI_ options to the same values for all processes, and start them "
                   "with the same FCI library";
        case Objection::replaced:
            return who + " has exited; another process took its place";
        case Objection::resources:
            return who +
                   " has no descriptors left for one more peer (raise its limit of open files, "
                   "ulimit -n, and see that its program does not use all of them up), or no memory "
                   "(make FCI_RING_BYTES smaller)";
        case Objection::user:
            return who +
                   " does not take this process for one of its user and job: one of them has "
                   "changed its user (setuid), or runs as another one; give rights away before "
                   "MPI_Init, or after all ranks have met (an MPI_Alltoall)";
        case Objection::none:
        case Objection::malformed: break;
    }
    return who + " does not speak the protocol of this driver; is it another program?";
}

Status objection_status(Objection objection) noexcept {
    switch (objection) {
        case Objection::replaced: return Status::unreachable;  // it was never met
        case Objection::resources: return Status::exhausted;
        default: return Status::mismatch;
    }
}

}  // namespace fci::shm
