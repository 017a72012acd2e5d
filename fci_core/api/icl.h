/* SPDX-License-Identifier: BSD-3-Clause */
/* icl.h, the inner C layer: the C face of FCI for plugs (MPICH netmod, Open MPI component,
 * libfabric provider).
 *
 * App. D, the face for programs, fixes buffers, tags and a global state that a plug cannot live
 * with; this one is instance-based: any buffer, byte lengths, a 64-bit match word with the source
 * as a field of its own, peers added at any time (sections 2.3.2, 2.6.3-2.6.5, 2.6.10, 2.6.13).
 *
 * Threads: a context is used by one thread at a time; the caller locks where several share it.
 *   Different contexts are independent, also within a process.
 * Callbacks: run only inside fci_icl_progress(), fci_icl_wait() and the collectives of a group.
 *   They may post sends and receives; they must not call one of these, or close.
 * Ownership: buffers belong to the caller and must stay until the operation completes. Everything
 *   passed by pointer to a call is read before it returns.
 * Results: FCI_ICL_OK (0), FCI_ICL_DONE (1), or a negative FCI_ICL_E... code. What each of them
 * says stands in result.h, with fci_icl_peer, the status and the completion of an operation.
 */
#ifndef FCI_ICL_H
#define FCI_ICL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "fci_core/base/result.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define FCI_ICL_API __attribute__((visibility("default")))
#else
#define FCI_ICL_API
#endif

/* Of this face; libfci.so's soname ends in it. */
#define FCI_ICL_VERSION 10u

typedef struct fci_icl_context fci_icl_context;
typedef uint64_t fci_icl_order; /* a pending operation; 0 is never one */
#define FCI_ICL_ANY_SOURCE 0xffffffffu

/* --- context --- */

#define FCI_ICL_CARD_BYTES 16 /* shape of a sockaddr_in; sin_zero holds the incarnation */

struct fci_icl_config {
    uint32_t version;         /* FCI_ICL_VERSION */
    const char *driver;       /* "shm"; NULL: FCI_DRIVER, or what the job needs: shm where all of
                                 it is on this host, else node */
    const char *protocol;     /* as FCI_PROTOCOL has it; NULL: that, or the default */
    uint64_t job;             /* cookie; processes with another one are refused. FCI_JOB comes
                                 first; 0: the launcher's job name, or one for the user */
    uint32_t job_ranks;       /* processes of this job, on all hosts; 0: ask the launcher */
    uint32_t local_ranks;     /* of them, on this host; 0: ask the launcher */
    unsigned char card[FCI_ICL_CARD_BYTES]; /* wanted card; port 0: any */
    const char *launch;       /* a name that the launcher gave to what it started, alike at all of
                                 it: what this job sends by multicast, no other one hears. NULL:
                                 as the launcher's environment has it, or none */
    const char *user_agent;   /* who asks, for the line of FCI_INFO; may be NULL */
};

/* Opens a context. On failure *error_text, if asked for, is a malloc'ed text: what, where, likely
 * cause, what to do. */
FCI_ICL_API int fci_icl_open(const struct fci_icl_config *config, fci_icl_context **context,
                             char **error_text);
/* Whether FCI's variables in the environment can be used, as far as that is known before anything
 * is opened; *error_text as there. For those that start the processes. */
FCI_ICL_API int fci_icl_check(char **error_text);
/* Writes out what was accepted, for at most `linger_ns` (FCI_ICL_LINGER: as FCI_LINGER_MS says),
 * then frees everything. Posted receives vanish without a completion. From its return on no peer
 * reads or writes any buffer of the caller: messages that would need one end there with
 * FCI_ICL_EPEER. */
#define FCI_ICL_LINGER INT64_C(-1)
FCI_ICL_API int fci_icl_close(fci_icl_context *context, int64_t linger_ns);
FCI_ICL_API void fci_icl_card(const fci_icl_context *context,
                              unsigned char card[FCI_ICL_CARD_BYTES]);

struct fci_icl_limits {
    size_t inline_bytes;      /* travels inside the send request, one cache line */
    size_t take_bytes;        /* the longest receive that fci_icl_take() is of use for */
    size_t inject_bytes;      /* FCI_ICL_BUFFERED works up to this length */
    size_t eager_bytes;       /* sent without waiting for the receiver */
    size_t offer_bytes;    /* receives of at least this are made visible to a named source;
                                 0: none are */
    size_t am_header_bytes;   /* longest active-message header */
    size_t unexpected_bytes;  /* held here for one peer before it has to wait */
    unsigned cores;           /* that the processes of this job on this host share, at least 1 */
    /* Names, valid while the context is open; and why it has this driver. */
    const char *driver, *driver_reason, *protocol, *wait_policy;
};
FCI_ICL_API void fci_icl_limits(const fci_icl_context *context, struct fci_icl_limits *limits);
/* One line: driver, protocol, wait policy. Valid while the context is open. */
FCI_ICL_API const char *fci_icl_summary(const fci_icl_context *context);
FCI_ICL_API const char *fci_icl_strerror(int code);
/* Why the last operations to this peer failed: a sentence that names it. Valid until close. */
FCI_ICL_API const char *fci_icl_peer_reason(const fci_icl_context *context, fci_icl_peer peer);

/* --- peers --- */

/* The number of the process behind `card`; adding twice gives the same number. Never blocks: the
 * connection is made when the first operation needs it. Messages from a process that was never
 * added are received too; it gets its number then. */
FCI_ICL_API int fci_icl_add_peer(fci_icl_context *context,
                                 const unsigned char card[FCI_ICL_CARD_BYTES], fci_icl_peer *peer);
FCI_ICL_API int fci_icl_peer_card(const fci_icl_context *context, fci_icl_peer peer,
                                  unsigned char card[FCI_ICL_CARD_BYTES]);

/* A peer died, or what it sends cannot be trusted any more; what it had sent before was delivered.
 * Operations that need it end with FCI_ICL_EPEER by themselves: this is for those who wait for an
 * active message of it, which no operation stands for. Not for one that closed in order. Runs
 * inside the call that found out, progress as a rule, under the rules of callbacks. */
typedef void (*fci_icl_died_fn)(void *user, fci_icl_peer peer);
FCI_ICL_API void fci_icl_on_death(fci_icl_context *context, fci_icl_died_fn died, void *user);

/* Told in every child of fork(), by its one thread, before fork() returns there. What is shared
 * with peers is not the child's: its calls with this context fail, and touch nothing of that. It
 * neither opens nor closes one here. NULL: nobody is told any more. */
typedef void (*fci_icl_forked_fn)(void *user);
FCI_ICL_API void fci_icl_on_fork(fci_icl_context *context, fci_icl_forked_fn in_child, void *user);

/* --- tagged messages --- */

#define FCI_ICL_SPACES 2u /* independent matching spaces, `space` below */

enum {
    FCI_ICL_IMMEDIATE = 1u,   /* `immediate` goes along */
    FCI_ICL_SYNCHRONOUS = 2u, /* complete only when matched (MPI_Ssend), which says no more of
                                 what became of the receive */
    FCI_ICL_BUFFERED = 4u     /* the buffer is free on return, up to inject_bytes; else EAGAIN,
                                 EHELD */
};

struct fci_icl_send {
    fci_icl_peer peer;
    uint32_t space;
    uint32_t flags;
    uint64_t match, immediate;
    const struct iovec *iov;  /* any number, any lengths; may be NULL when count is 0 */
    size_t iov_count;
    struct fci_icl_completion completion;
};

/* Messages between two processes match in the order of their sends, whatever their lengths.
 * Completion: the buffer may be reused, and the data is where the receiver's FCI finds it. It does
 * not say that the message was taken. A peer that closes, dies or becomes another program may leave
 * without what was written for it: a message of 1 MiB can fit into what lies between two processes.
 * Until this process has noticed, 0.1 s as a rule, sends may end well, as they may under MPI's
 * standard mode; then all that need the peer end with FCI_ICL_EPEER. Who must know that a message
 * was taken waits for an answer. FCI_ICL_DONE is the usual answer for short messages. */
FCI_ICL_API int fci_icl_send(fci_icl_context *context, const struct fci_icl_send *send,
                             fci_icl_order *order);
/* The same for one contiguous buffer, without a struct on the way; *order is left alone unless
 * FCI_ICL_OK is returned. */
FCI_ICL_API int fci_icl_send_bytes(fci_icl_context *context, fci_icl_peer peer, uint32_t space,
                                   uint32_t flags, uint64_t match, uint64_t immediate,
                                   const void *buffer, size_t bytes,
                                   const struct fci_icl_completion *completion,
                                   fci_icl_order *order);

/* The same for the commonest of all sends: in space 0, FCI_ICL_BUFFERED, without an immediate word.
 * FCI_ICL_DONE, or why not: then nothing happened. */
FCI_ICL_API int fci_icl_send_short(fci_icl_context *context, fci_icl_peer peer, uint64_t match,
                                   const void *buffer, size_t bytes);

/* For a caller whose short messages (eager_bytes) must not wait for their receivers: where one
 * holds all that it will, take() gives memory for a copy of so many bytes, and the send ends well;
 * `sent` is called with that memory as `user` when the copy has gone, or will not. NULL: the send
 * waits. `of` is its completion. Both run inside of sends as well as of progress, and call nothing
 * of this. Not for FCI_ICL_SYNCHRONOUS. */
typedef void *(*fci_icl_take_fn)(const struct fci_icl_completion *of, size_t bytes);
FCI_ICL_API void fci_icl_keep(fci_icl_context *context, fci_icl_take_fn take, fci_icl_done_fn sent);

struct fci_icl_receive {
    fci_icl_peer source;      /* or FCI_ICL_ANY_SOURCE */
    uint32_t space;
    uint64_t match, ignore;   /* bits set in `ignore` are not compared */
    const struct iovec *iov;
    size_t iov_count;
    struct fci_icl_completion completion;
};

/* FCI_ICL_DONE: a message was there and complete; *status, if not NULL, tells (its error field
 * too). FCI_ICL_OK: the completion follows. */
FCI_ICL_API int fci_icl_receive(fci_icl_context *context, const struct fci_icl_receive *receive,
                                fci_icl_order *order, struct fci_icl_status *status);
/* The same for one contiguous buffer, without a struct on the way; *order is left alone unless
 * FCI_ICL_OK is returned. `completion` may be NULL: nobody asks. */
FCI_ICL_API int fci_icl_receive_bytes(fci_icl_context *context, fci_icl_peer source,
                                      uint32_t space, uint64_t match, uint64_t ignore,
                                      void *buffer, size_t bytes,
                                      const struct fci_icl_completion *completion,
                                      fci_icl_order *order, struct fci_icl_status *status);
/* The same for the commonest of all receives: in space 0, by few instructions. Its order, or 0:
 * nothing happened, and fci_icl_receive_bytes() answers (a message may be here, the receive be
 * long, its source be lost). `done` not NULL. */
FCI_ICL_API fci_icl_order fci_icl_post(fci_icl_context *context, fci_icl_peer source,
                                       uint64_t match, uint64_t ignore, void *buffer, size_t bytes,
                                       fci_icl_done_fn done, void *user, void *owner);

/* For a caller who waits for this receive and would post it and make progress: the commonest of all
 * messages, whole and in space 0, where it is here, or will be within some microseconds, and nobody
 * else waits. FCI_ICL_DONE with *status, or FCI_ICL_EAGAIN: nothing happened. `bytes` at most
 * take_bytes: a longer receive is better posted at once. */
FCI_ICL_API int fci_icl_take(fci_icl_context *context, fci_icl_peer source, uint64_t match,
                             uint64_t ignore, void *buffer, size_t bytes,
                             struct fci_icl_status *status);

/* Asks for a receive, or a send that waits for its match, to be taken back. Its completion then
 * comes from progress, exactly once: FCI_ICL_ECANCELED, or success where the match was first.
 * FCI_ICL_ENOENT: no such order any more. */
FCI_ICL_API int fci_icl_cancel(fci_icl_context *context, fci_icl_order order);

/* A process that waits for a message of this peer by probes meets it first, to hear of its loss:
 * sends and receives do that by themselves. FCI_ICL_OK, also where they have met; or why they
 * cannot. */
FCI_ICL_API int fci_icl_meet(fci_icl_context *context, fci_icl_peer peer);
/* The oldest message that matches and was not received. Does not progress.
 * FCI_ICL_OK with *status, or FCI_ICL_ENOMSG; or why none of `source` can come, if it is lost.
 * `claimed`, if not NULL: the message leaves the matching (MPI_Mprobe) and *claimed names it until
 * fci_icl_receive_claimed or fci_icl_discard_claimed. */
typedef struct fci_icl_message fci_icl_message;
FCI_ICL_API int fci_icl_probe(fci_icl_context *context, fci_icl_peer source, uint32_t space,
                              uint64_t match, uint64_t ignore, struct fci_icl_status *status,
                              fci_icl_message **claimed);
FCI_ICL_API int fci_icl_receive_claimed(fci_icl_context *context, fci_icl_message *message,
                                        const struct iovec *iov, size_t iov_count,
                                        const struct fci_icl_completion *completion,
                                        fci_icl_order *order, struct fci_icl_status *status);
/* Throws the message away; its sender completes as if it had been received. */
FCI_ICL_API int fci_icl_discard_claimed(fci_icl_context *context, fci_icl_message *message);
/* Throws away all messages that match, of whatever source, and were neither received nor claimed:
 * what is left of a communicator that ends, and whose context id another one will get. Returns how
 * many, or an error. Does not progress; also for callbacks. */
FCI_ICL_API int fci_icl_discard(fci_icl_context *context, uint32_t space, uint64_t match,
                                uint64_t ignore);

/* --- active messages --- */

#define FCI_ICL_AM_HANDLERS 255u
FCI_ICL_API int fci_icl_am_register(fci_icl_context *context, uint32_t id, fci_icl_am_fn handler,
                                    void *user);
FCI_ICL_API int fci_icl_am_send(fci_icl_context *context, fci_icl_peer peer, uint32_t id,
                                uint32_t flags, const void *header, size_t header_bytes,
                                const struct iovec *iov, size_t iov_count,
                                const struct fci_icl_completion *completion, fci_icl_order *order);

/* --- progress --- */

/* One bounded turn. Returns the number of things that happened. After many empty turns, and only
 * where there are more ranks than cores, it gives the processor away as the wait policy says.
 * FCI_ICL_ENOMEM: something that arrived waits for memory, and the next turn tries it again. */
FCI_ICL_API int fci_icl_progress(fci_icl_context *context);
/* Other threads wait for the caller's lock meanwhile: from now on progress gives the processor away
 * for half a millisecond at most, however long nothing has happened. */
FCI_ICL_API void fci_icl_share(fci_icl_context *context);
/* What progress may do for others where cores are short and nothing has happened for long: sleep,
 * as in the beginning; only yield, because the caller also looks for what comes by other ways and
 * would not wake it; or neither, because the caller computes between its calls. */
enum { FCI_ICL_MAY_SLEEP, FCI_ICL_MAY_YIELD, FCI_ICL_KEEPS_CORE };
FCI_ICL_API void fci_icl_set_idle(fci_icl_context *context, int idle);
/* Turns until something happened or the time is over (< 0: no limit). Returns as progress does. */
FCI_ICL_API int fci_icl_wait(fci_icl_context *context, int64_t timeout_ns);
/* A descriptor for poll(2) and epoll; -1 where the driver has none. Before sleeping on it call
 * fci_icl_arm: FCI_ICL_OK, or FCI_ICL_EAGAIN when there is work and progress must be called.
 * The next progress switches the descriptor off again. Not so in a context that threads share: it
 * stays on until fci_icl_disarm. But any call of another thread may find and take what the
 * descriptor told of, or leave work behind; so while one sleeps, the others call fci_icl_arm before
 * they let go of their lock, and wake the sleeper where it answers FCI_ICL_EAGAIN.
 * While a collective goes on nobody may be able to tell of its end by the descriptor: sleep for
 * 50 ms at most then. */
FCI_ICL_API int fci_icl_wait_fd(const fci_icl_context *context);
FCI_ICL_API int fci_icl_arm(fci_icl_context *context);
FCI_ICL_API void fci_icl_disarm(fci_icl_context *context);

/* --- groups --- */

/* Collectives of processes (result.h). Those of one host do them by a table of flags at one of them
 * (section 2.6.11), which all load and store; one of each host speaks to the other hosts by
 * messages. All members call the same ones in the same order, and all data of one have the same
 * length, at most what fci_icl_group_limits() says.
 *
 * One ends with FCI_ICL_DONE; FCI_ICL_EPEER: a member has gone; or FCI_ICL_ETRUNC: lengths
 * differ. */
typedef struct fci_icl_group fci_icl_group;
#define FCI_ICL_GROUP_MEMBERS 64u /* of one host */
#define FCI_ICL_GROUP_HOSTS 4096u
#define FCI_ICL_GROUP_KEY_BITS 48u

/* The first collective of a group: it gets its tables. All members call it, with the same `members`
 * by rank, but that each has 0 at `self`, with the same key, which no other group with two of them
 * has as long as there is this one, and the same `most`: so many bytes of data of one of them are
 * wanted, and more than that may not be taken. *group is NULL at first; what is there then is valid
 * until it is left, or close. FCI_ICL_DONE at all members; or at none, and then they do without,
 * and leave it: FCI_ICL_EUNREACHABLE where those of a host have no memory in common, or are too
 * many, or one has none left. FCI_ICL_EPEER: one on another host has gone before all could tell.
 * There is a group, and all its collectives answer that. Called again and again, as the next. */
FCI_ICL_API int fci_icl_group_form(fci_icl_context *context, const fci_icl_peer *members,
                                   uint32_t count, uint32_t self, uint64_t key, size_t most,
                                   fci_icl_group **group);
FCI_ICL_API void fci_icl_group_leave(fci_icl_context *context, fci_icl_group *group);
/* The same at all members. */
struct fci_icl_group_limits {
    size_t longest;  /* data of one of them, but */
    size_t broadcast; /* those of a broadcast; where that is more, some are refused by all members
                       * alike (FCI_ICL_EUNSUPPORTED), and go another way */
    size_t gather;   /* what each brings to a gathering; 0: none, but of nothing */
    int keeps_order; /* 0: it combines hosts as they come: only what commutes */
};
FCI_ICL_API void fci_icl_group_limits(const fci_icl_group *group,
                                      struct fci_icl_group_limits *limits);

/* While it answers FCI_ICL_OK or FCI_ICL_EAGAIN it is called again, with the same collective.
 * FCI_ICL_OK: not yet; other threads may be let in before. FCI_ICL_EAGAIN: not for a while; make
 * progress before, by all that the caller has to make progress with. A call may sleep for up to
 * 50 ms, half a one in a context that threads share, and is woken. */
FCI_ICL_API int fci_icl_group_call(fci_icl_context *context, fci_icl_group *group,
                                   struct fci_icl_collective *collective);
/* Begins it. FCI_ICL_OK: it goes on in progress, after those of this group that were begun before,
 * and its completion says how it ended. Later ones of the group, of either way, come after it. */
FCI_ICL_API int fci_icl_group_start(fci_icl_context *context, fci_icl_group *group,
                                    struct fci_icl_collective *collective);

/* --- observation --- */

/* Counter number i = 0, 1, ...: its name and help text, or NULL past the end. */
FCI_ICL_API const char *fci_icl_counter_name(unsigned i, const char **help);
FCI_ICL_API uint64_t fci_icl_counter(const fci_icl_context *context, unsigned i);

struct fci_icl_option {
    const char *name, *env, *fallback, *value, *help, *from; /* from: "default", "environment" */
};
/* Option number i = 0, 1, ...; FCI_ICL_ENOENT past the end. `value` is what a context opened now
 * would use; valid until the next call of the same thread. */
FCI_ICL_API int fci_icl_option(unsigned i, struct fci_icl_option *option);

struct fci_icl_driver {
    const char *name, *summary;
    int usable;           /* 1: a context can be opened on it here */
    const char *reason;   /* why not, or what is limited; "" when there is nothing to say */
};
/* Driver number i; tries it. Strings valid until the next call of the same thread. */
FCI_ICL_API int fci_icl_driver(unsigned i, struct fci_icl_driver *driver);

struct fci_icl_interface {
    const char *name, *address; /* "eth0", "10.0.0.1/24", or "" */
    const char *why;            /* what speaks for it, or against it */
    int chosen;                 /* 1: a context that is opened now on a network listens there */
};
/* Address number i of this host's network interfaces, or an interface that has none; number 0 asks
 * the kernel for all of them. FCI_ICL_ENOENT past the end. Strings as above. */
FCI_ICL_API int fci_icl_interface(unsigned i, struct fci_icl_interface *interface);
/* Where such a context listens, and why there and not elsewhere: one line. FCI_ICL_ENOENT: nowhere,
 * and the line is an error. Valid until the next call of the same thread. */
FCI_ICL_API int fci_icl_network(const char **line);

FCI_ICL_API const char *fci_icl_library_version(void); /* "0.2.0" */

#ifdef __cplusplus
}
#endif
#endif
