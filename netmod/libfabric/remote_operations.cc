// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/remote_operations.h"

#include <rdma/fi_atomic.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "netmod/libfabric/errors.h"
#include "netmod/libfabric/sheet.h"

namespace fci::libfabric {

namespace {

/// Requests that are not answered yet, at most: the target keeps an answer for each.
constexpr unsigned kRequestsMost = 4096;
constexpr std::size_t kChunk = 64;
constexpr unsigned kIndexBits = 24;

constexpr int error_of(Verdict verdict) noexcept {
    switch (verdict) {
        case Verdict::done:
            return 0;
        case Verdict::unknown_key:
            return FI_EKEYREJECTED;
        case Verdict::out_of_bounds:
            return FI_EINVAL;
        case Verdict::no_access:
            return FI_EACCES;
        case Verdict::not_enabled:
            return FI_EOPNOTSUPP;
        case Verdict::fault:
            return FI_EFAULT;
        default:
            return FI_EIO;
    }
}

constexpr const char* text_of(int error) noexcept {
    switch (error) {
        case FI_EKEYREJECTED:
            return "the target has no memory region with this key";
        case FI_EINVAL:
            return "the range does not lie within the target's memory region";
        case FI_EACCES:
            return "the target's memory region was not registered for this";
        case FI_EOPNOTSUPP:
            return "the target's endpoint was opened without this capability";
        case FI_EFAULT:
            return "the memory, here or there, could not be read or written";
        default:
            return "the target's answer makes no sense";
    }
}

constexpr std::size_t piece_of(Access access) noexcept {
    return access == Access::compare ? kPieceBytes / 2 : kPieceBytes;
}

/// Of one range. Atomics of any length go in order, in parts.
constexpr std::uint64_t requests_for(Access access, std::uint64_t bytes) noexcept {
    const bool whole = access == Access::read || (access == Access::write && bytes > kOrderedBytes);
    return whole || bytes == 0 ? 1 : bytes / piece_of(access) + bytes / kOrderedBytes + 1;
}

/// At most `most` bytes of it, after those that are done.
Request part_of(const Request& request, std::uint64_t done, std::uint64_t most) noexcept {
    const std::uint64_t left = request.bytes - done;
    Request part = request;
    part.bytes = std::min(left, most);
    part.place += done;
    part.address += done;
    part.before += static_cast<std::uint32_t>(done);
    part.after += static_cast<std::uint32_t>(left - part.bytes);
    if (part.bytes != left) part.flags &= static_cast<std::uint8_t>(~kLastRequest);
    return part;
}

/// The local ranges are as long as the remote ones.
bool fits(const RemoteCall& call, std::uint64_t bytes) noexcept {
    if ((call.flags & FI_INJECT) != 0 && bytes > kInjectBytes) return false;
    const bool reads = call.access == Access::read ||
                       (call.access == Access::fetch && call.operator_ == FI_ATOMIC_READ);
    const std::pair<Ranges, bool> all[] = {{call.data, !reads},
                                           {call.compare, call.access == Access::compare},
                                           {call.result, brings_data_back(call.access)}};
    for (const auto& [ranges, needed] : all) {
        std::uint64_t total = 0;
        if (ranges.size() > kIovLimit || !total_of(ranges, &total)) return false;
        if (total != (needed ? bytes : 0)) return false;
    }
    return true;
}

}  // namespace

void RemoteOperations::begin() {
    scratch_.reserve(2 * kIovLimit);  // callbacks cannot run out of memory
    fci_icl_am_register(completions_.icl(), kAnswerMessage, answered, this);
}

RemoteOperations::Operation& RemoteOperations::take(const RemoteCall& call, fci_icl_peer peer,
                                                    std::uint64_t bytes) {
    if (free_ == nullptr) {
        chunks_.push_back(std::make_unique<Operation[]>(kChunk));
        for (std::size_t i = kChunk; i-- > 0;) {
            Operation& fresh = chunks_.back()[i];
            fresh.index = (chunks_.size() - 1) * kChunk + i;
            fresh.next = std::exchange(free_, &fresh);
        }
    }
    Operation& taken = *free_;
    taken.result.assign(call.result.begin(), call.result.end());
    free_ = taken.next;
    taken.number = ++taken.uses << kIndexBits | taken.index;
    taken.access = call.access;
    taken.report = call.report;
    taken.peer = peer;
    taken.error = taken.icl_code = 0;
    taken.unanswered = taken.moving = 0;
    taken.bytes = bytes;
    taken.received = 0;
    taken.first = call.remote.front();
    taken.context = call.context;
    return taken;
}

void RemoteOperations::give_back(Operation& operation) noexcept {
    operation.number = 0;
    operation.next = std::exchange(free_, &operation);
}

RemoteOperations::Operation* RemoteOperations::find(std::uint64_t number,
                                                    fci_icl_peer peer) noexcept {
    const std::uint64_t index = number & ((1u << kIndexBits) - 1);
    if (number == 0 || index >= chunks_.size() * kChunk) return nullptr;
    Operation& found = chunks_[index / kChunk][index % kChunk];
    return found.number == number && found.peer == peer ? &found : nullptr;
}

/// The program hears the first failure.
void RemoteOperations::Operation::fail(int code) noexcept {
    if (error != 0) return;
    icl_code = code;
    error = libfabric::error_of(code);
}

// --- asking ---

ssize_t RemoteOperations::start(const RemoteCall& call) {
    const fci_icl_peer peer = completions_.peers.peer_of(call.target);
    if (peer == PeerNumbers::kNobody || call.remote.empty()) return -FI_EINVAL;
    std::uint64_t bytes = 0, requests = 0;
    for (const fi_rma_iov& range : call.remote) {
        if (__builtin_add_overflow(bytes, range.len, &bytes)) return -FI_EINVAL;
        requests += requests_for(call.access, range.len);
    }
    if (!fits(call, bytes)) return -FI_EINVAL;
    if (requests > kRequestsMost) return -FI_EMSGSIZE;
    if (requests_ + requests > kRequestsMost) return completions_.refused(FCI_ICL_EAGAIN, peer);
    if (waiting_.size() <= peer) waiting_.resize(std::size_t{peer} + 1);
    listed_.reserve(waiting_.size());

    Operation& operation = take(call, peer, bytes);
    Request request{};
    request.access = call.access;
    request.datatype = call.datatype;
    request.operator_ = call.operator_;
    request.operation = operation.number;
    request.immediate = call.immediate;
    int result = FCI_ICL_OK;
    for (const fi_rma_iov& range : call.remote) {
        request.key = range.key;
        request.address = range.addr;
        request.bytes = range.len;
        const bool is_last = &range == &call.remote.back();
        request.flags = (is_last ? kLastRequest : 0) |
                        ((call.flags & FI_REMOTE_CQ_DATA) != 0 ? kHasImmediate : 0);
        result = ask(operation, request, call);
        if (result < 0) break;
        request.place += range.len;
    }
    if (operation.unanswered == 0) {
        give_back(operation);
        return completions_.refused(result, peer);
    }
    if (result < 0) operation.fail(result);  // and what was asked for is answered still
    completions_.channel.stall();
    return 0;
}

/// One range. A code of the core.
int RemoteOperations::ask(Operation& operation, Request request, const RemoteCall& call) {
    if (call.access == Access::read) {
        return post(operation, &request, sizeof request, 0, {}, false);
    }
    if (call.access == Access::write && request.bytes > kOrderedBytes) {
        scratch_.clear();
        slice(call.data, request.place, request.bytes, &scratch_);
        return post(operation, &request, sizeof request, 0, scratch_, true);
    }
    for (std::uint64_t done = 0;;) {
        const Request part = part_of(request, done, kOrderedBytes);
        const int result = ask_in_order(operation, part, call);
        done += part.bytes;
        if (result < 0 || done == request.bytes) return result;
    }
}

/// At most kOrderedBytes, so that nothing of it stays behind in the program's memory.
int RemoteOperations::ask_in_order(Operation& operation, const Request& request,
                                   const RemoteCall& call) {
    const std::size_t piece = piece_of(call.access);
    if (request.bytes > piece && !call.data.empty()) {
        scratch_.clear();
        slice(call.data, request.place, request.bytes, &scratch_);
        slice(call.compare, request.place, request.bytes, &scratch_);
        const int result =
            post(operation, &request, sizeof request, FCI_ICL_BUFFERED, scratch_, false);
        if (result != FCI_ICL_EAGAIN) return result;
    }
    for (std::uint64_t done = 0;;) {
        const Request part = part_of(request, done, call.data.empty() ? request.bytes : piece);
        std::size_t header_bytes = sizeof part;
        std::memcpy(header_, &part, sizeof part);
        for (const Ranges from : {call.data, call.compare}) {
            if (from.empty()) continue;
            copy_out(from, part.place, part.bytes, header_ + header_bytes);
            header_bytes += part.bytes;
        }
        const int result = post(operation, header_, header_bytes, 0, {}, false);
        done += part.bytes;
        if (result < 0 || done == request.bytes) return result;
    }
}

int RemoteOperations::post(Operation& operation, const void* header, std::size_t header_bytes,
                           std::uint32_t flags, Ranges data, bool keeps_data) {
    const fci_icl_completion completion{keeps_data ? sent : nullptr, &operation, this};
    const int result =
        fci_icl_am_send(completions_.icl(), operation.peer, kRequestMessage, flags, header,
                        header_bytes, data.data(), data.size(), &completion, nullptr);
    if (result < 0) return result;
    if (result == FCI_ICL_OK && keeps_data) ++operation.moving;
    ++operation.unanswered;
    ++requests_;
    Waiting& waiting = waiting_[operation.peer];
    ++waiting.requests;
    if (!std::exchange(waiting.listed, true)) listed_.push_back(operation.peer);
    return result;
}

void RemoteOperations::sent(void* user, void* owner, const fci_icl_status* status) {
    Operation& operation = *static_cast<Operation*>(user);
    --operation.moving;
    if (status->error != FCI_ICL_OK) operation.fail(status->error);
    static_cast<RemoteOperations*>(owner)->end_if_done(operation);
}

// --- being answered ---

void RemoteOperations::answered(void* user, fci_icl_peer source, const void* header,
                                std::size_t header_bytes, const void* data, std::uint64_t bytes,
                                fci_icl_am_landing* landing) {
    RemoteOperations& self = *static_cast<RemoteOperations*>(user);
    Answer answer;
    if (header_bytes < sizeof answer) return;
    std::memcpy(&answer, header, sizeof answer);
    Operation* const operation = self.find(answer.operation, source);
    if (operation == nullptr || operation->unanswered == 0) return;
    if (bytes == 0) {
        data = static_cast<const char*>(header) + sizeof answer;
        bytes = header_bytes - sizeof answer;
    }
    if (operation->error == 0) operation->error = error_of(answer.verdict);
    if (bytes != 0) self.take_data(*operation, answer.place, data, bytes, landing);
    if (answer.is_last != 0) self.answers_came(*operation, 1);
    self.end_if_done(*operation);
}

/// `data` is nullptr while it is at the target.
void RemoteOperations::take_data(Operation& operation, std::uint64_t place, const void* data,
                                 std::uint64_t bytes, fci_icl_am_landing* landing) {
    if (!brings_data_back(operation.access) || place > operation.bytes ||
        bytes > operation.bytes - place) {
        operation.error = FI_EIO;
        return;
    }
    if (data != nullptr) {
        copy_in(operation.result, place, bytes, data);
        operation.received += bytes;
        return;
    }
    scratch_.clear();
    slice(operation.result, place, bytes, &scratch_);
    landing->iov = scratch_.data();
    landing->iov_count = scratch_.size();
    landing->completion = {landed, &operation, this};
    ++operation.moving;
}

void RemoteOperations::landed(void* user, void* owner, const fci_icl_status* status) {
    static_cast<Operation*>(user)->received += status->received;
    sent(user, owner, status);
}

void RemoteOperations::answers_came(Operation& operation, unsigned count) noexcept {
    operation.unanswered -= count;
    requests_ -= count;
    waiting_[operation.peer].requests -= count;
}

void RemoteOperations::end_if_done(Operation& operation) noexcept {
    if (operation.unanswered == 0 && operation.moving == 0) end(operation);
}

void RemoteOperations::end(Operation& operation) noexcept {
    const bool reads = brings_data_back(operation.access);
    if (reads && operation.error == 0 && operation.received != operation.bytes) {
        operation.error = FI_EIO;
    }
    const int error = operation.error, icl_code = operation.icl_code;
    const auto& direction = completions_.transmit;
    const std::uint64_t flags =
        (is_atomic(operation.access) ? FI_ATOMIC : FI_RMA) | (reads ? FI_READ : FI_WRITE);
    const CompletionEntry entry{operation.context, flags,  0, nullptr, 0, 0,
                                FI_ADDR_NOTAVAIL,  nullptr};
    give_back(operation);
    Counter* const counter = reads ? direction.reads : direction.writes;
    if (counter != nullptr) counter->count(error == 0);
    if (direction.queue == nullptr) return;
    if (error == 0) {
        if (operation.report) direction.queue->push(entry);
        return;
    }
    Failure failure =
        completions_.failure_of(icl_code == 0 ? FCI_ICL_EINVAL : icl_code, operation.peer);
    failure.error = error;  // of what the target said, perhaps
    if (!concerns_peer(icl_code)) {
        std::snprintf(failure.reason, sizeof failure.reason,
                      "%s: key 0x%llx, address 0x%llx, %llu bytes", text_of(error),
                      static_cast<unsigned long long>(operation.first.key),
                      static_cast<unsigned long long>(operation.first.addr),
                      static_cast<unsigned long long>(operation.first.len));
    }
    direction.queue->push_failure(entry, failure);
}

// --- losses ---

/// A peer that closed or died answers no more; the core says so only when it is asked.
bool RemoteOperations::turn() noexcept {
    for (std::size_t i = 0; i < listed_.size();) {
        const fci_icl_peer peer = listed_[i];
        if (waiting_[peer].requests != 0) {
            ++i;
            if (*fci_icl_peer_reason(completions_.icl(), peer) == '\0') continue;
            const fci_icl_completion nobody{};
            const int code =
                fci_icl_am_send(completions_.icl(), peer, kAnswerMessage, FCI_ICL_BUFFERED, nullptr,
                                0, nullptr, 0, &nobody, nullptr);
            if (concerns_peer(code)) lose(peer, code);
            continue;
        }
        waiting_[peer].listed = false;
        listed_[i] = listed_.back();
        listed_.pop_back();
    }
    return requests_ != 0;
}

void RemoteOperations::lose(fci_icl_peer peer, int icl_code) noexcept {
    for (const auto& chunk : chunks_) {
        for (std::size_t i = 0; i < kChunk; ++i) {
            Operation& operation = chunk[i];
            if (operation.number == 0 || operation.peer != peer || operation.unanswered == 0) {
                continue;
            }
            operation.fail(icl_code);
            answers_came(operation, operation.unanswered);
            end_if_done(operation);
        }
    }
}

}  // namespace fci::libfabric
