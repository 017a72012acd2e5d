/* SPDX-License-Identifier: BSD-3-Clause */
/* Sleeping over a table of flags without a fence of those who tell (nhi::Ordering::by_sleeper).
 *
 * The teller stores its word, looks whether the sleeper sleeps, and goes on: nobody else will look.
 * Its store may be seen later than that look: it lies in a store buffer until the processor, or a
 * barrier, drains it. The sleeper says that it sleeps, makes all processors pass a barrier, looks
 * once more, and sleeps until it is woken. Without one of the rules, which -D takes away, it sleeps
 * for ever:
 *   NO_BARRIER  the sleeper makes all pass a barrier after it has said so
 *   NO_LOOK     it looks once more then
 *   NO_WAKE     who has told looks whether it sleeps
 */
bool word = false;     /* as others see it */
bool buffered = false; /* stored, and not seen by others so far */
bool asleep = false, woken = false;

active proctype Teller() {
    buffered = true;
#ifndef NO_WAKE
    if
    :: asleep -> woken = true
    :: !asleep -> skip
    fi
#endif
}

active proctype Processor() {
    atomic { buffered -> word = true; buffered = false }
}

active proctype Sleeper() {
    bool here = false;
    asleep = true;
#ifndef NO_BARRIER
    atomic {
        if
        :: buffered -> word = true
        :: !buffered -> skip
        fi
    }
#endif
#ifndef NO_LOOK
    here = word;
#endif
    if
    :: here -> skip
    :: !here -> woken
    fi;
    asleep = false
}
