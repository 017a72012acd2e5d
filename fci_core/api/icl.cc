// SPDX-License-Identifier: BSD-3-Clause
// The C face for plugs: checks arguments, then hands over to Process. No exception leaves here.
#include "fci_core/api/icl.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "fci_core/api/icl_context.h"
#include "fci_core/api/version.h"

using fci::api::engine_of;
using fci::api::guarded;
using fci::api::messages_of;
using fci::api::Process;
using fci::api::process_of;
namespace fast = fci::mp::fast;
namespace mp = fci::mp;

// A claimed message is mp's own object under another name.
struct fci_icl_message;

namespace {

// The words of icl.h that travel in records, or name what mp has another name for.
static_assert(FCI_ICL_IMMEDIATE == mp::kSendImmediate);
static_assert(FCI_ICL_SYNCHRONOUS == mp::kSendSynchronous);
static_assert(FCI_ICL_BUFFERED == mp::kSendBuffered);
static_assert(FCI_ICL_ANY_SOURCE == mp::kAnySource && FCI_ICL_SPACES == mp::kGroupSpace);
static_assert(FCI_ICL_AM_HANDLERS <= 256, "a record has a byte for the handler");
static_assert(sizeof(fci_icl_order) >= sizeof(std::uint32_t), "mp's handle fits");
static_assert(FCI_ICL_CARD_BYTES == sizeof(fci::ddi::Card));

mp::Completion completion_of(const fci_icl_completion* given) noexcept {
    return given != nullptr ? *given : mp::Completion{};
}

int with_order(int result, std::uint32_t handle, fci_icl_order* order) noexcept {
    if (order != nullptr) *order = result == FCI_ICL_OK ? handle : 0;
    return result;
}

char* duplicate(const std::string& text) noexcept { return strdup(text.c_str()); }

/// Apart, so that the fast path saves no registers for it; nor loads what it does not need.
[[gnu::noinline]] int send_with_order(fci_icl_context* context, fci_icl_peer peer, uint32_t space,
                                      uint32_t flags, uint64_t match, uint64_t immediate,
                                      const void* buffer, size_t bytes,
                                      const fci_icl_completion* const& completion,
                                      fci_icl_order* const& order) noexcept {
    mp::Engine& engine = engine_of(context);
    if (fast::send_eager(engine, peer, space, flags, match, immediate, buffer, bytes) ||
        fast::send_far(engine, peer, space, flags, match, immediate, buffer, bytes)) {
        return FCI_ICL_DONE;
    }
    return guarded([&]() -> int {
        std::uint32_t handle = 0;
        const iovec range{const_cast<void*>(buffer), bytes};
        const int result = messages_of(context).send(
            {peer, space, flags, match, immediate, {&range, 1}}, completion_of(completion),
            &handle);
        return with_order(result, handle, order);
    });
}

/// Apart, as above.
[[gnu::noinline]] int receive_with_search(fci_icl_context* context, fci_icl_peer source,
                                          uint32_t space, uint64_t match, uint64_t ignore,
                                          void* const& buffer, const size_t& bytes,
                                          const fci_icl_completion* const& completion,
                                          fci_icl_order* const& order,
                                          fci_icl_status* const& status) noexcept {
    return guarded([&]() -> int {
        std::uint32_t handle = 0;
        const iovec range{buffer, bytes};
        const int result = messages_of(context).receive({source, space, match, ignore}, {&range, 1},
                                                        completion_of(completion), &handle, status);
        if (result == FCI_ICL_OK && order != nullptr) *order = handle;
        return result;
    });
}

mp::Arrived* claimed_of(fci_icl_message* message) noexcept {
    return reinterpret_cast<mp::Arrived*>(message);
}

}  // namespace

extern "C" {

// --- context ---

int fci_icl_open(const struct fci_icl_config* config, fci_icl_context** context,
                 char** error_text) {
    if (error_text != nullptr) *error_text = nullptr;
    if (context == nullptr || config == nullptr) return FCI_ICL_EINVAL;
    *context = nullptr;
    return guarded([&]() -> int {
        std::string error;
        if (config->version != FCI_ICL_VERSION) {
            error = "the caller was built for version " + std::to_string(config->version) +
                    " of icl.h, this libfci has version " + std::to_string(FCI_ICL_VERSION) +
                    ". Build and install both from one source.";
            if (error_text != nullptr) *error_text = duplicate(error);
            return FCI_ICL_EMISMATCH;
        }
        fci::api::OpenOptions options;
        if (config->driver != nullptr) options.driver = config->driver;
        if (config->protocol != nullptr) options.protocol = config->protocol;
        options.job = config->job;
        options.job_ranks = config->job_ranks;
        options.local_ranks = config->local_ranks;
        std::memcpy(&options.card, config->card, sizeof options.card);
        if (config->launch != nullptr) options.launch = config->launch;
        if (config->user_agent != nullptr) options.user_agent = config->user_agent;
        fci::Status status = fci::Status::ok;
        std::unique_ptr<Process> opened = fci::api::open_process(options, &status, &error);
        if (opened == nullptr) {
            if (error_text != nullptr) *error_text = duplicate(error);
            return fci::api::code_of(status);
        }
        *context = reinterpret_cast<fci_icl_context*>(opened.release());
        return FCI_ICL_OK;
    });
}

int fci_icl_check(char** error_text) {
    if (error_text != nullptr) *error_text = nullptr;
    return guarded([&]() -> int {
        std::string error;
        fci::Status status = fci::Status::ok;
        if (fci::api::check_environment(&status, &error)) return FCI_ICL_OK;
        if (error_text != nullptr) *error_text = duplicate(error);
        return fci::api::code_of(status);
    });
}

int fci_icl_close(fci_icl_context* context, int64_t linger_ns) {
    if (context == nullptr) return FCI_ICL_EINVAL;
    const int result = guarded([&] {
        const bool drained = process_of(context).drain(linger_ns);
        if (!drained) ++messages_of(context).engine().counters.closes_late;
        return drained ? FCI_ICL_OK : FCI_ICL_EAGAIN;
    });
    delete &process_of(context);
    return result;
}

void fci_icl_card(const fci_icl_context* context, unsigned char card[FCI_ICL_CARD_BYTES]) {
    std::memcpy(card, &process_of(context).device().card(), FCI_ICL_CARD_BYTES);
}

void fci_icl_limits(const fci_icl_context* context, struct fci_icl_limits* limits) {
    const mp::Engine& engine = engine_of(context);
    const mp::Limits& known = engine.limits;
    limits->inline_bytes = mp::kInlineBytes;
    // Under a protocol that asks before it sends, nothing leaves the buffer at once.
    limits->inject_bytes = engine.protocol.sends_data() ? known.eager_bytes : 0;
    limits->take_bytes = std::max<std::size_t>(limits->inject_bytes, mp::kInlineBytes);
    limits->eager_bytes = known.eager_bytes;
    limits->offer_bytes =
        engine.protocol.offers_receives() ? std::max<std::size_t>(known.offer_bytes, 1) : 0;
    limits->am_header_bytes = mp::kHeaderMost;
    limits->unexpected_bytes = known.unexpected_bytes;
    limits->cores = process_of(context).loop().core().cores();
    limits->driver = process_of(context).driver();
    limits->driver_reason = process_of(context).place().why_driver.c_str();
    limits->protocol = engine.protocol.name;
    limits->wait_policy = process_of(context).kept().wait_policy.c_str();
}

const char* fci_icl_summary(const fci_icl_context* context) {
    return process_of(context).kept().summary.c_str();
}

const char* fci_icl_peer_reason(const fci_icl_context* context, fci_icl_peer peer) {
    return engine_of(context).peers.reason(peer);
}

// --- peers ---

int fci_icl_add_peer(fci_icl_context* context, const unsigned char card[FCI_ICL_CARD_BYTES],
                     fci_icl_peer* peer) {
    return guarded([&]() -> int {
        fci::ddi::Card there;
        std::memcpy(&there, card, sizeof there);
        return fci::api::code_of(process_of(context).add_peer(there, peer));
    });
}

int fci_icl_peer_card(const fci_icl_context* context, fci_icl_peer peer,
                      unsigned char card[FCI_ICL_CARD_BYTES]) {
    const fci::ddi::Card* const known = process_of(context).device().card_of(peer);
    if (known == nullptr) return FCI_ICL_ENOENT;
    std::memcpy(card, known, FCI_ICL_CARD_BYTES);
    return FCI_ICL_OK;
}

void fci_icl_on_death(fci_icl_context* context, fci_icl_died_fn died, void* user) {
    messages_of(context).meetings().on_death(died, user);
}

void fci_icl_on_fork(fci_icl_context* context, fci_icl_forked_fn in_child, void* user) {
    process_of(context).fork().on_fork(in_child, user);
}

// --- tagged messages ---

int fci_icl_send_bytes(fci_icl_context* context, fci_icl_peer peer, uint32_t space, uint32_t flags,
                       uint64_t match, uint64_t immediate, const void* buffer, size_t bytes,
                       const struct fci_icl_completion* completion, fci_icl_order* order) {
    if (space >= FCI_ICL_SPACES) return FCI_ICL_EINVAL;
    mp::Engine& engine = engine_of(context);
    if (fast::send_line(engine, peer, space, flags, match, immediate, buffer, bytes)) [[likely]] {
        return FCI_ICL_DONE;
    }
    return send_with_order(context, peer, space, flags, match, immediate, buffer, bytes,
                           completion, order);
}

int fci_icl_send_short(fci_icl_context* context, fci_icl_peer peer, uint64_t match,
                       const void* buffer, size_t bytes) {
    mp::Engine& engine = engine_of(context);
    if (fast::send_line(engine, peer, 0, FCI_ICL_BUFFERED, match, 0, buffer, bytes)) [[likely]] {
        return FCI_ICL_DONE;
    }
    return send_with_order(context, peer, 0, FCI_ICL_BUFFERED, match, 0, buffer, bytes, nullptr,
                           nullptr);
}

int fci_icl_send(fci_icl_context* context, const struct fci_icl_send* send, fci_icl_order* order) {
    if (send->space >= FCI_ICL_SPACES) return FCI_ICL_EINVAL;
    return guarded([&]() -> int {
        std::uint32_t handle = 0;
        const mp::SendArguments arguments{send->peer,  send->space,
                                          send->flags, send->match,
                                          send->immediate, {send->iov, send->iov_count}};
        const int result = messages_of(context).send(arguments, send->completion, &handle);
        return with_order(result, handle, order);
    });
}

void fci_icl_keep(fci_icl_context* context, fci_icl_take_fn take, fci_icl_done_fn sent) {
    engine_of(context).keeper = {take, sent};
}

int fci_icl_receive(fci_icl_context* context, const struct fci_icl_receive* receive,
                    fci_icl_order* order, struct fci_icl_status* status) {
    if (receive->space >= FCI_ICL_SPACES) return FCI_ICL_EINVAL;
    return guarded([&]() -> int {
        std::uint32_t handle = 0;
        const mp::Pattern pattern{receive->source, receive->space, receive->match,
                                  receive->ignore};
        const int result = messages_of(context).receive(pattern, {receive->iov, receive->iov_count},
                                                        receive->completion, &handle, status);
        return with_order(result, handle, order);
    });
}

int fci_icl_receive_bytes(fci_icl_context* context, fci_icl_peer source, uint32_t space,
                          uint64_t match, uint64_t ignore, void* buffer, size_t bytes,
                          const struct fci_icl_completion* completion, fci_icl_order* order,
                          struct fci_icl_status* status) {
    if (space >= FCI_ICL_SPACES) return FCI_ICL_EINVAL;
    const mp::Pattern pattern{source, space, match, ignore};
    mp::Engine& engine = engine_of(context);
    if (completion != nullptr && engine.arrived.known_absent(pattern)) [[likely]] {
        const std::uint32_t handle =
            fast::post(engine, pattern, buffer, bytes, completion_of(completion));
        if (handle != 0) [[likely]] {
            if (order != nullptr) *order = handle;
            return FCI_ICL_OK;
        }
    }
    return receive_with_search(context, source, space, pattern.match, ignore, buffer, bytes,
                               completion, order, status);
}

fci_icl_order fci_icl_post(fci_icl_context* context, fci_icl_peer source, uint64_t match,
                           uint64_t ignore, void* buffer, size_t bytes, fci_icl_done_fn done,
                           void* user, void* owner) {
    const mp::Pattern pattern{source, 0, match, ignore};
    mp::Engine& engine = engine_of(context);
    if (!engine.arrived.known_absent(pattern)) [[unlikely]] return 0;
    return fast::post(engine, pattern, buffer, bytes, {done, user, owner});
}

int fci_icl_take(fci_icl_context* context, fci_icl_peer source, uint64_t match, uint64_t ignore,
                 void* buffer, size_t bytes, struct fci_icl_status* status) {
    const mp::Pattern wanted{source, 0, match, ignore};
    const bool taken = process_of(context).take_awaited(wanted, buffer, bytes, status);
    return taken ? FCI_ICL_DONE : FCI_ICL_EAGAIN;
}

int fci_icl_cancel(fci_icl_context* context, fci_icl_order order) {
    return guarded([&] { return messages_of(context).cancel(static_cast<std::uint32_t>(order)); });
}

int fci_icl_meet(fci_icl_context* context, fci_icl_peer peer) {
    mp::Peer* met = nullptr;
    return guarded([&] { return messages_of(context).meetings().reach(peer, &met); });
}

int fci_icl_probe(fci_icl_context* context, fci_icl_peer source, uint32_t space, uint64_t match,
                  uint64_t ignore, struct fci_icl_status* status, fci_icl_message** claimed) {
    if (space >= FCI_ICL_SPACES) return FCI_ICL_EINVAL;
    return guarded([&]() -> int {
        mp::Arrived* message = nullptr;
        const int result = messages_of(context).probe({source, space, match, ignore}, status,
                                                      claimed != nullptr ? &message : nullptr);
        if (claimed != nullptr) *claimed = reinterpret_cast<fci_icl_message*>(message);
        return result;
    });
}

int fci_icl_receive_claimed(fci_icl_context* context, fci_icl_message* message,
                            const struct iovec* iov, size_t iov_count,
                            const struct fci_icl_completion* completion, fci_icl_order* order,
                            struct fci_icl_status* status) {
    return guarded([&]() -> int {
        std::uint32_t handle = 0;
        const int result = messages_of(context).receive_claimed(
            *claimed_of(message), {iov, iov_count}, completion_of(completion), &handle, status);
        return with_order(result, handle, order);
    });
}

int fci_icl_discard_claimed(fci_icl_context* context, fci_icl_message* message) {
    return guarded([&]() -> int {
        messages_of(context).receives().discard(*claimed_of(message));
        return FCI_ICL_OK;
    });
}

int fci_icl_discard(fci_icl_context* context, uint32_t space, uint64_t match, uint64_t ignore) {
    if (space >= FCI_ICL_SPACES) return FCI_ICL_EINVAL;
    return guarded([&] {
        return messages_of(context).receives().discard_matching(
            {FCI_ICL_ANY_SOURCE, space, match, ignore});
    });
}

// --- active messages ---

int fci_icl_am_register(fci_icl_context* context, uint32_t id, fci_icl_am_fn handler, void* user) {
    if (id >= FCI_ICL_AM_HANDLERS) return FCI_ICL_EINVAL;
    messages_of(context).active_messages().set_handler(static_cast<std::uint8_t>(id), handler,
                                                       user);
    return FCI_ICL_OK;
}

int fci_icl_am_send(fci_icl_context* context, fci_icl_peer peer, uint32_t id, uint32_t flags,
                    const void* header, size_t header_bytes, const struct iovec* iov,
                    size_t iov_count, const struct fci_icl_completion* completion,
                    fci_icl_order* order) {
    if (id >= FCI_ICL_AM_HANDLERS || header_bytes > mp::kHeaderMost ||
        (flags & FCI_ICL_IMMEDIATE) != 0) {
        return FCI_ICL_EINVAL;
    }
    return guarded([&]() -> int {
        std::uint32_t handle = 0;
        const int result = messages_of(context).send(
            mp::active_message(peer, id, flags,
                               {static_cast<const std::byte*>(header), header_bytes},
                               {iov, iov_count}),
            completion_of(completion), &handle);
        return with_order(result, handle, order);
    });
}

// --- progress ---

int fci_icl_progress(fci_icl_context* context) {
    return process_of(context).progress();
}

int fci_icl_wait(fci_icl_context* context, int64_t timeout_ns) {
    return guarded([&] { return process_of(context).loop().wait(timeout_ns); });
}
int fci_icl_wait_fd(const fci_icl_context* context) {
    return process_of(context).device().wait_fd();
}
void fci_icl_share(fci_icl_context* context) { process_of(context).loop().sleeper().share(); }
void fci_icl_set_idle(fci_icl_context* context, int idle) {
    process_of(context).loop().set_idle(static_cast<fci::progress::Idle>(idle));
}

int fci_icl_arm(fci_icl_context* context) {
    return process_of(context).loop().sleeper().arm() ? FCI_ICL_OK : FCI_ICL_EAGAIN;
}

void fci_icl_disarm(fci_icl_context* context) { process_of(context).loop().sleeper().disarm(); }

}  // extern "C"
