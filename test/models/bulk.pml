/* SPDX-License-Identifier: BSD-3-Clause */
/* A long broadcast (fci_core/group/hints/bulk_root.h, bulk_member.h): pieces by hints, which may be lost,
 * and what is lacking by messages that are asked for.
 *
 * All members have all pieces, whatever is lost, also those that hear nothing, and that begin before
 * the root does; and nothing is written for one who is through.
 *
 * Without one of these rules SPIN finds an error:
 *   NO_EMPTY  what is asked for is answered, also if there is nothing yet
 *   NO_KEEP   what is asked for before the root begins waits for it
 *   NO_OPEN   a member is not through while it waits for an answer
 */
#define M 2 /* members */
#define P 2 /* pieces */
#define W 1 /* that a socket holds */
#define ALL ((1 << P) - 1)

#define IS_OPEN ((behind[0] || sent < told[0] + W) && (behind[1] || sent < told[1] + W))
#ifdef NO_OPEN
#define IS_ANSWERED true
#else
#define IS_ANSWERED (!asks)
#endif

mtype = { had, want };
chan note[M] = [2] of { mtype, byte, byte }; /* to the root: up to there; or from there so many */
chan sock[M] = [W] of { byte };
chan mess[M] = [1] of { byte, byte };        /* to a member: from there so many */
bool over[M];

inline send() {
    i = 0;
    do
    :: i == M -> break
    :: (i < M && nfull(sock[i])) -> sock[i]!sent; i++
    :: i < M -> i++ /* it is lost, or there is no room */
    od;
    sent++
}

inline hear() {
    note[i]?what, at, count;
    if
    :: what == had -> told[i] = at
    :: what == want ->
        if
        :: behind[i] = true /* it has waited for long */
        :: skip
        fi;
        end = (behind[i] -> P : sent);
        count = (at >= end -> 0 : (at + count > end -> end - at : count));
        if
#ifdef NO_EMPTY
        :: count == 0
#endif
        :: else -> assert(!over[i]); mess[i]!at, count
        fi
    fi
}

active proctype Root() {
    byte sent, i, at, count, end, told[M];
    bool behind[M];
    mtype what;
#ifdef NO_KEEP
    do
    :: nempty(note[0]) -> note[0]?what, at, count
    :: nempty(note[1]) -> note[1]?what, at, count
    :: break
    od;
#endif
    do
    :: (told[0] == P && told[1] == P) -> break
    :: (sent < P && IS_OPEN) -> send()
    :: nempty(note[0]) -> i = 0; hear()
    :: nempty(note[1]) -> i = 1; hear()
    od
}

active [M] proctype Member() {
    byte have = 0 /* bits */, first, count, piece, told = 0;
    bool asks = false;
    do
    :: (have == ALL && IS_ANSWERED) -> break
    :: sock[_pid - 1]?piece -> have = have | (1 << piece)
    :: (asks && nempty(mess[_pid - 1])) ->
        d_step {
            mess[_pid - 1]?first, count;
            do
            :: count == 0 -> break
            :: else -> count--; have = have | (1 << (first + count))
            od;
            asks = false
        }
    :: (!asks && have != ALL) ->
        d_step {
            first = 0;
            do
            :: (have & (1 << first)) -> first++
            :: else -> break
            od;
            count = 0;
            do
            :: (first + count < P && !(have & (1 << (first + count)))) -> count++
            :: else -> break
            od;
            asks = true
        };
        note[_pid - 1]!want, first, count
    :: (told == 0 && (have & 1) && have != ALL) -> told = 1; note[_pid - 1]!had, 1, 0
    od;
    over[_pid - 1] = true;
    note[_pid - 1]!had, P, 0
}
