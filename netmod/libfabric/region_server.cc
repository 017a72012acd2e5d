// SPDX-License-Identifier: BSD-3-Clause
#include "netmod/libfabric/region_server.h"

#include <algorithm>
#include <new>

#include "netmod/libfabric/atomic_functions.h"

namespace fci::libfabric {

namespace {

/// Answers that wait for room: more than all that may be asked for by sixteen initiators. One that
/// asks for more than it may is not answered.
constexpr std::size_t kLateMost = 1u << 16;

constexpr std::uint64_t rights_for(const Request& request) noexcept {
    switch (request.access) {
        case Access::write:
        case Access::atomic:
            return FI_REMOTE_WRITE;
        case Access::read:
            return FI_REMOTE_READ;
        default:
            return request.operator_ == FI_ATOMIC_READ ? FI_REMOTE_READ
                                                       : FI_REMOTE_READ | FI_REMOTE_WRITE;
    }
}

constexpr std::uint64_t brought_by(const Request& request) noexcept {
    switch (request.access) {
        case Access::write:
        case Access::atomic:
            return request.bytes;
        case Access::fetch:
            return request.operator_ == FI_ATOMIC_READ ? 0 : request.bytes;
        case Access::compare:
            return 2 * request.bytes;
        default:
            return 0;
    }
}

}  // namespace

RegionServer::~RegionServer() {
    late_.clear();
    while (uses_ != nullptr) release(*uses_);
}

void RegionServer::begin() {
    scratch_.reserve(kIovLimit);
    fci_icl_am_register(completions_.icl(), kRequestMessage, requested, this);
}

void RegionServer::requested(void* user, fci_icl_peer source, const void* header,
                             std::size_t header_bytes, const void* data, std::uint64_t bytes,
                             fci_icl_am_landing* landing) try {
    RegionServer& self = *static_cast<RegionServer*>(user);
    Request request;
    if (header_bytes < sizeof request) return;  // nobody to answer
    std::memcpy(&request, header, sizeof request);
    const std::uint64_t in_header = header_bytes - sizeof request;
    if (bytes == 0) data = static_cast<const char*>(header) + sizeof request;
    Region* region = nullptr;
    Verdict verdict = Verdict::malformed;
    if (bytes == 0 || in_header == 0) verdict = self.check(request, bytes + in_header, &region);
    // Only writes may leave their data behind.
    if (data == nullptr && request.access != Access::write) verdict = Verdict::malformed;
    if (verdict != Verdict::done) return self.refuse(source, request, verdict);
    switch (request.access) {
        case Access::write:
            return self.put(source, request, *region, data, landing);
        case Access::read:
            return self.get(source, request, *region);
        default:
            return self.combine(source, request, *region, static_cast<const char*>(data));
    }
} catch (const std::bad_alloc&) {
    // The initiator's operation ends when this endpoint does.
}

Verdict RegionServer::check(const Request& request, std::uint64_t brought, Region** region) {
    if (static_cast<unsigned>(request.access) >= kAccesses) return Verdict::malformed;
    const std::uint64_t capability = is_atomic(request.access) ? FI_ATOMIC : FI_RMA;
    if ((caps_ & capability) == 0) return Verdict::not_enabled;
    if (is_atomic(request.access)) {
        const std::size_t element = bytes_of_type(request.datatype);
        if (atomic_function(request.access, request.operator_, request.datatype) == nullptr ||
            request.bytes > kOrderedBytes || request.bytes % element != 0) {
            return Verdict::malformed;
        }
    }
    *region = regions_.find(request.key);
    if (*region == nullptr) return Verdict::unknown_key;
    const std::uint64_t rights = rights_for(request);
    if (((*region)->access & rights) != rights) return Verdict::no_access;
    const std::uint64_t range = std::uint64_t{request.before} + request.after;
    if (request.bytes > UINT64_MAX - range || request.before > request.address ||
        !(*region)->contains(request.address - request.before, range + request.bytes)) {
        return Verdict::out_of_bounds;
    }
    return brought == brought_by(request) ? Verdict::done : Verdict::malformed;
}

// --- the three kinds ---

/// `data` is nullptr while it is at the initiator.
void RegionServer::put(fci_icl_peer source, const Request& request, Region& region,
                       const void* data, fci_icl_am_landing* landing) {
    const std::uint64_t place = region.place_of(request.address);
    if (data != nullptr) {
        copy_in(region.ranges, place, request.bytes, data);
        tell_program(source, request, region);
        return answer(source, request, nullptr, 0);
    }
    scratch_.clear();
    slice(region.ranges, place, request.bytes, &scratch_);
    landing->completion = {written, hold(region, source, request), this};
    landing->iov = scratch_.data();
    landing->iov_count = scratch_.size();
}

void RegionServer::written(void* user, void* owner, const fci_icl_status* status) {
    RegionServer& self = *static_cast<RegionServer*>(owner);
    Use& use = *static_cast<Use*>(user);
    const Request request = use.request;
    if (status->error == FCI_ICL_OK) {
        self.tell_program(use.peer, request, use.region);
        self.answer(use.peer, request, nullptr, 0);
    } else {
        self.refuse(use.peer, request, Verdict::fault);
    }
    self.release(use);
}

void RegionServer::get(fci_icl_peer source, const Request& request, Region& region) {
    const std::uint64_t place = region.place_of(request.address);
    if (request.bytes <= kOrderedBytes) {
        copy_out(region.ranges, place, request.bytes, result_);
        tell_program(source, request, region);
        return answer(source, request, result_, request.bytes);
    }
    scratch_.clear();
    slice(region.ranges, place, request.bytes, &scratch_);
    const Answer told{request.operation, request.place, Verdict::done, 1, {}};
    Use* const use = hold(region, source, request);
    const int result = send(source, &told, sizeof told, 0, scratch_, use);
    if (result != FCI_ICL_OK) fetched(*use, result);
}

void RegionServer::read(void* user, void* owner, const fci_icl_status* status) {
    static_cast<RegionServer*>(owner)->fetched(*static_cast<Use*>(user), status->error);
}

/// The initiator has the data, or will not get it.
void RegionServer::fetched(Use& use, int icl_code) noexcept {
    if (icl_code >= 0) tell_program(use.peer, use.request, use.region);
    release(use);
}

void RegionServer::combine(fci_icl_peer source, const Request& request, Region& region,
                           const char* data) {
    const AtomicFunction function =
        atomic_function(request.access, request.operator_, request.datatype);
    const std::size_t count = request.bytes / bytes_of_type(request.datatype);
    const char* const compare = request.access == Access::compare ? data + request.bytes : nullptr;
    const bool answers = brings_data_back(request.access);
    const std::uint64_t place = region.place_of(request.address);
    // An element may lie on both sides of where two ranges meet.
    copy_out(region.ranges, place, request.bytes, target_);
    function(target_, data, compare, answers ? result_ : nullptr, count);
    if (request.operator_ != FI_ATOMIC_READ) {
        copy_in(region.ranges, place, request.bytes, target_);
    }
    tell_program(source, request, region);
    answer(source, request, result_, answers ? request.bytes : 0);
}

/// Counters and, with remote data, the queue: once for an operation.
void RegionServer::tell_program(fci_icl_peer source, const Request& request,
                                Region& region) noexcept {
    if ((request.flags & kLastRequest) == 0) return;
    const bool reads = brings_data_back(request.access);
    const Direction& receive = completions_.receive;
    for (Counter* counter : {reads ? receive.reads : receive.writes, region.counters[reads]}) {
        if (counter != nullptr) counter->count(true);
    }
    if ((request.flags & kHasImmediate) == 0 || receive.queue == nullptr) return;
    const std::uint64_t kind = is_atomic(request.access) ? FI_ATOMIC : FI_RMA;
    receive.queue->push({nullptr, kind | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                         request.place + request.bytes, nullptr, request.immediate, 0,
                         completions_.peers.number_of(source), nullptr});
}

// --- answers ---

void RegionServer::refuse(fci_icl_peer source, const Request& request, Verdict verdict) {
    const Answer told{request.operation, request.place, verdict, 1, {}};
    send(source, &told, sizeof told, 0, {}, nullptr);
}

/// At most kOrderedBytes, and they leave with this call.
void RegionServer::answer(fci_icl_peer source, const Request& request, const char* data,
                          std::uint64_t bytes) {
    Answer told{request.operation, request.place, Verdict::done, 1, {}};
    if (bytes > kPieceBytes && late_.empty()) {
        const iovec all{const_cast<char*>(data), bytes};
        if (send(source, &told, sizeof told, FCI_ICL_BUFFERED, {&all, 1}, nullptr) !=
            FCI_ICL_EAGAIN) {
            return;
        }
    }
    for (std::uint64_t done = 0;;) {
        const std::uint64_t piece = std::min<std::uint64_t>(bytes - done, kPieceBytes);
        told.place = request.place + done;
        told.is_last = done + piece == bytes;
        std::memcpy(header_, &told, sizeof told);
        if (piece != 0) std::memcpy(header_ + sizeof told, data + done, piece);
        send(source, header_, sizeof told + piece, 0, {}, nullptr);
        done += piece;
        if (done == bytes) return;
    }
}

int RegionServer::hand_over(fci_icl_peer to, const void* header, std::size_t header_bytes,
                            std::uint32_t flags, Ranges data, Use* use) {
    const fci_icl_completion completion{use != nullptr ? read : nullptr, use, this};
    return fci_icl_am_send(completions_.icl(), to, kAnswerMessage, flags, header, header_bytes,
                           data.data(), data.size(), &completion, nullptr);
}

/// Returns a code of the core. `use`: the data stays where it is until that is released. An answer
/// for which the core has no room waits here; one to a lost peer is forgotten.
int RegionServer::send(fci_icl_peer to, const void* header, std::size_t header_bytes,
                       std::uint32_t flags, Ranges data, Use* use) {
    const int result =
        late_.empty() ? hand_over(to, header, header_bytes, flags, data, use) : FCI_ICL_EAGAIN;
    if (result != FCI_ICL_EAGAIN || (flags & FCI_ICL_BUFFERED) != 0) return result;
    if (late_.size() >= kLateMost) return FCI_ICL_ENOMEM;
    const auto* const bytes = static_cast<const char*>(header);
    late_.push_back({to, {bytes, bytes + header_bytes}, {data.begin(), data.end()}, use});
    completions_.channel.stall();
    return FCI_ICL_OK;
}

bool RegionServer::turn() noexcept {
    while (!late_.empty()) {
        LateAnswer& late = late_.front();
        const int result = hand_over(late.peer, late.header.data(), late.header.size(), 0,
                                     late.data, late.use);
        if (result == FCI_ICL_EAGAIN) return true;
        if (result != FCI_ICL_OK && late.use != nullptr) fetched(*late.use, result);
        late_.pop_front();
    }
    return false;
}

// --- regions in use ---

RegionServer::Use* RegionServer::hold(Region& region, fci_icl_peer source, const Request& request) {
    auto* const use = new Use{*this, region, source, request, uses_, &uses_};
    if (uses_ != nullptr) uses_->here = &use->next;
    uses_ = use;
    ++region.holds;
    return use;
}

void RegionServer::release(Use& use) noexcept {
    --use.region.holds;
    *use.here = use.next;
    if (use.next != nullptr) use.next->here = use.here;
    delete &use;
}

}  // namespace fci::libfabric
