// SPDX-License-Identifier: BSD-3-Clause
// The calls of a random job, and what it makes of the answers.
#include <algorithm>

#include "fci_core/api/icl_context.h"
#include "test/simulation/jobs/random_job.h"

namespace fci::jobs {

namespace {

constexpr std::uint64_t kAny = 1, kNamed = 2;  // marks, below the number of the message
constexpr unsigned kNumberShift = 8;
constexpr std::byte kUntouched{0xa5};

std::uint64_t match_of(std::size_t number, bool any) {
    return std::uint64_t{number} << kNumberShift | (any ? kAny : kNamed);
}

std::byte byte_of(std::size_t number, std::uint64_t i) {
    return static_cast<std::byte>(number * 37 + i * 5 + (i >> 8));
}

}  // namespace

fci_icl_context* RandomJob::context(unsigned at) {
    return reinterpret_cast<fci_icl_context*>(&job_.process(at));
}

std::string RandomJob::text_of(const Operation& operation) const {
    const Message& message = plan_.messages[operation.number];
    return std::string(operation.sends ? "message " : "the receive of message ") +
           std::to_string(operation.number) + " from " + std::to_string(message.from) + " to " +
           std::to_string(message.to) + (message.any ? " (any)" : "") + ", " +
           std::to_string(message.bytes) + " bytes,";
}

fci_icl_completion RandomJob::completion(Operation& operation) {
    return {[](void* user, void*, const fci_icl_status* status) {
                auto& ended = *static_cast<Operation*>(user);
                ended.job->completed(ended, *status);
            },
            &operation, nullptr};
}

// --- calls ---

void RandomJob::send(unsigned at, std::size_t number) {
    const Message& message = plan_.messages[number];
    Operation& operation = sends_[number];
    operation.begun = true;
    operation.buffer.resize(message.bytes + 1);
    for (std::uint64_t i = 0; i < message.bytes; ++i) operation.buffer[i] = byte_of(number, i);
    const std::uint32_t flags = message.synchronous ? FCI_ICL_SYNCHRONOUS : 0;
    const fci_icl_completion then = completion(operation);
    const int result = fci_icl_send_bytes(
        context(at), Job::id_of(at, message.to), 0, flags, match_of(number, message.any), 0,
        operation.buffer.data(), message.bytes, &then, &operation.order);
    if (result == FCI_ICL_OK) return;
    fci_icl_status status{};
    status.error = result == FCI_ICL_DONE ? FCI_ICL_OK : result;
    completed(operation, status);
}

void RandomJob::post(unsigned at, std::size_t number) {
    const Message& message = plan_.messages[number];
    Operation& operation = receives_[number];
    operation.begun = true;
    std::uint64_t capacity = message.bytes;
    for (const Message& other : plan_.messages) {  // whatever may come
        if (message.any && other.any && other.to == at) capacity = std::max(capacity, other.bytes);
    }
    operation.buffer.assign(capacity + 1, kUntouched);
    const fci_icl_completion then = completion(operation);
    const fci_icl_peer source =
        message.any ? FCI_ICL_ANY_SOURCE : Job::id_of(at, message.from);
    const std::uint64_t ignore = message.any ? ~std::uint64_t{0} << kNumberShift : 0;
    fci_icl_status status{};
    const int result = fci_icl_receive_bytes(
        context(at), source, 0, match_of(number, message.any), ignore, operation.buffer.data(),
        capacity, &then, &operation.order, &status);
    if (result == FCI_ICL_OK) return;
    if (result != FCI_ICL_DONE) status.error = result;
    completed(operation, status);
}

void RandomJob::probe_and_receive(unsigned at, std::size_t number) {
    const Message& message = plan_.messages[number];
    Operation& operation = receives_[number];
    const fci_icl_peer source = Job::id_of(at, message.from);
    fci_icl_status status{};
    int result = FCI_ICL_ENOMSG;
    await(at, [&] {
        result = fci_icl_probe(context(at), source, 0, match_of(number, false), 0, &status,
                               nullptr);
        const bool in_vain = message.from == plan_.victim && may_give_up();
        return result != FCI_ICL_ENOMSG || in_vain;
    });
    if (failed() || gone_[at]) return;
    if (result == FCI_ICL_OK) {
        if (status.length != message.bytes || status.source != source) fail("a probe tells lies");
        return post(at, number);
    }
    operation.begun = true;
    status.error = result == FCI_ICL_ENOMSG ? FCI_ICL_EPEER : result;
    completed(operation, status);
}

/// For something that may be there; nobody waits for it.
void RandomJob::look(unsigned at) {
    const std::size_t number = chance_[at].below(plan_.messages.size());
    const Message& message = plan_.messages[number];
    fci_icl_status status{};
    const int result =
        fci_icl_probe(context(at), Job::id_of(at, message.from), 0, match_of(number, message.any),
                      0, &status, nullptr);
    if (result != FCI_ICL_OK) return;
    const bool right = message.to == at && sends_[number].begun &&
                       status.match == match_of(number, message.any) &&
                       status.length == message.bytes && !arrived_[number];
    if (!right) fail("a probe finds what is not there");
}

// --- answers ---

void RandomJob::completed(Operation& operation, const fci_icl_status& status) {
    if (operation.done) return fail(text_of(operation) + " completed twice");
    operation.done = true;
    operation.error = status.error;
    if (status.error != FCI_ICL_OK) {
        if (!error_is_fair(operation, status.error)) {
            fail(text_of(operation) + " ended with " + std::to_string(status.error));
        }
    } else if (!operation.sends) {
        received(operation, status);
    }
    // The buffer is the program's again: whoever still reads it gets nonsense.
    if (operation.sends) {
        std::fill(operation.buffer.begin(), operation.buffer.end(), std::byte{0xee});
    } else {
        std::vector<std::byte>().swap(operation.buffer);
    }
}

void RandomJob::received(Operation& operation, const fci_icl_status& status) {
    const std::size_t number = status.match >> kNumberShift;
    const Message& planned = plan_.messages[operation.number];
    if (number >= plan_.messages.size()) {
        return fail(text_of(operation) + " got an unknown message");
    }
    const Message& message = plan_.messages[number];
    const bool fits = planned.any ? message.any && message.to == planned.to
                                  : number == operation.number;
    if (!fits || status.match != match_of(number, message.any) || !sends_[number].begun ||
        Job::process_of(planned.to, status.source) != message.from ||
        status.length != message.bytes || status.received != message.bytes) {
        return fail(text_of(operation) + " got a wrong message");
    }
    if (arrived_[number]) return fail(text_of(sends_[number]) + " arrived twice");
    arrived_[number] = true;
    for (std::uint64_t i = 0; i < message.bytes; ++i) {
        if (operation.buffer[i] != byte_of(number, i)) {
            return fail(text_of(operation) + " got wrong bytes");
        }
    }
    for (std::uint64_t i = message.bytes; i < operation.buffer.size(); ++i) {
        if (operation.buffer[i] != kUntouched) return fail(text_of(operation) + " got too much");
    }
}

/// Where a process died, what had to do with it ends with that, and what anybody may have taken,
/// or sent, may be left over.
bool RandomJob::error_is_fair(const Operation& operation, int error) const {
    if (!died_) return false;
    const Message& message = plan_.messages[operation.number];
    if (message.any && error == FCI_ICL_ECANCELED) return operation.given_up;
    const bool concerned =
        message.any || message.from == plan_.victim || message.to == plan_.victim;
    return concerned && (error == FCI_ICL_EPEER || error == FCI_ICL_EUNREACHABLE);
}

}  // namespace fci::jobs
