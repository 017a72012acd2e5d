/* SPDX-License-Identifier: BSD-3-Clause */
/* A short broadcast with hints (fci_core/group/hints/chain.h): each may be lost or late, and behind it
 * a message goes from each member to the next one, which lingers.
 *
 * Members do nothing for each other once they are through: they compute. All have all broadcasts
 * all the same, each by whichever of the two comes first, and none takes one for another one.
 *
 * Without one of these rules SPIN finds an error:
 *   NO_PUSH    what lingers leaves by itself in the end; whoever was asked for it may compute
 *   NO_TAKE    who had the hint takes the message, too, when it comes: there is room for one
 *   NO_NUMBER  a hint is for the broadcast of its number
 */
#define N 3 /* members, in the order of the chain */
#define K 2 /* broadcasts, counted from 1 */

chan hint[N] = [K] of { byte };
chan held[N] = [K] of { byte }; /* what lingers at a member, for the next one */
chan way[N] = [1] of { byte };  /* from it to the next one */
bool over[N];

/* The one of a member, for what lingers there. */
proctype Kernel(byte at)
{
    byte m;
end:
    do
#ifndef NO_PUSH
    :: atomic { (nempty(held[at]) && empty(way[at])) -> held[at]?m; way[at]!m }
#else
    :: false
#endif
    od
}

proctype Root()
{
    byte n = 1, i;
    do
    :: n > K -> break
    :: else ->
        i = 1;
        do
        :: i == N -> break
        :: i < N -> hint[i]!n; i++
        :: i < N -> i++ /* it is lost */
        od;
        held[0]!n;
        n++
    od;
    over[0] = true
}

proctype Member(byte at)
{
    byte n = 1, m, data;
    bool early[K + 1], is_owed[K + 1];
    do
    :: n > K -> break
    :: else ->
        do
        :: early[n] -> data = n; is_owed[n] = true; break
        :: hint[at]?m ->
#ifdef NO_NUMBER
            data = m; is_owed[n] = true; break
#else
            if
            :: m >= n -> early[m] = true
            :: else /* late */
            fi
#endif
#ifdef NO_TAKE
        :: way[at - 1]?eval(n) -> data = n; break
#else
        :: way[at - 1]?m ->
            if
            :: m == n -> data = m; break
            :: else -> assert(m < n && is_owed[m])
            fi
#endif
        :: atomic {
               (!over[at - 1] && nempty(held[at - 1]) && empty(way[at - 1])) ->
               held[at - 1]?m; /* it asks, and is answered */
               way[at - 1]!m
           }
        od;
        assert(data == n);
        if
        :: at + 1 < N -> held[at]!n
        :: else
        fi;
        n++
    od;
    over[at] = true
}

init {
    atomic { run Root(); run Member(1); run Member(2); run Kernel(0); run Kernel(1) }
}
