/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers (fci_core/mp/offers.h): receives that their receiver tells the sender of before it has heard
 * of their messages, so that both match, apart from each other, and must come to the same.
 *
 * Messages of two match words, short ones and announced ones whose data go directly; receives of one
 * match word or of either, named or from anybody, one of them cancelled; all they say to each other is
 * in order, and data come whenever they like. Whatever crosses: both name the same receive for a
 * message, matching is in the order of posting and of sending, and what fits something ends.
 *
 * Without one of these rules SPIN finds an error:
 *   NO_BLOCK      no receive is offered behind one that is not, and could take the same message
 *   NO_SEEN       an offer says how many requests its maker had taken
 *   NO_NOTE       the sender declines it where it has no note of one of those under way
 *   NO_USED       a message uses up one offer
 *   NO_EPOCH      after a decline all offers are refused until the receiver has heard of it
 *   NO_STAND      the receiver then counts what it has offered as not offered
 *   NO_ASK        it asks for messages that it thought to have crossed its offers
 *   NO_BEGUN      a sender that has begun all the same is asked in vain
 *   NO_WITHDRAWN  a cancelled receive that was offered waits for the sender's word
 */
#define N 3        /* messages, and receives, counted from 1 */
#define EITHER 0   /* a pattern; others are match words */
#define REQUESTS 8 /* of the sender, at most: messages and answers */
#define USED 9     /* a note: of no message, or of one whose receive both sides know */
#define NOBODY 9

#define FITS(pattern, match) (pattern == EITHER || pattern == match)
#define OVERLAPS(one, other) (one == EITHER || other == EITHER || one == other)

mtype = { whole, announce, decline, withdrawn };  /* of the sender */
mtype = { offer, withdraw, clear_to_send };       /* of the receiver */
chan there = [REQUESTS] of { mtype, byte, byte }; /* the message, or what is answered; its receive */
chan back = [8] of { mtype, byte, byte, byte };   /* the receive; its message, or seen; epoch */
chan data = [N] of { byte, byte };                /* the receive, the message */

byte match[N + 1];   /* of a message */
byte pattern[N + 1]; /* of a receive */
/* For what is claimed alone: the message of a receive as the sender, and as the receiver has it. */
byte named[N + 1], met[N + 1];

inline name(receive, message) {
    assert(named[receive] == 0 && (met[receive] == 0 || met[receive] == message));
    named[receive] = message
}

/* --- the sender --- */

inline use_offer(receive, message) {
    receive = 1;
    do
    :: receive > N -> receive = 0; break
    :: (receive <= N && is_here[receive] && FITS(pattern[receive], match[message])) ->
        is_here[receive] = false;
        name(receive, message);
        break
    :: else -> receive++
    od
}

inline answer(what, about) {
    sent++;
    note[sent] = USED;
    there!what, about, 0
}

inline on_offer(receive, seen, epoch) {
    at = seen + 1;
#ifdef NO_SEEN
    at = sent + 1;
#endif
    do
    :: at > sent -> is_here[receive] = true; break
#ifdef NO_NOTE
    :: (at <= sent && note[at] == 0) -> at++
#else
    :: (at <= sent && note[at] == 0) -> declined = epoch; answer(decline, epoch); break
#endif
    :: (at <= sent && note[at] != 0 && note[at] != USED &&
        FITS(pattern[receive], match[note[at]])) ->
        name(receive, note[at]);
        if
        :: is_announced[note[at]] -> is_announced[note[at]] = false; data!receive, note[at]
        :: else
        fi;
#ifndef NO_USED
        note[at] = USED;
#endif
        break
    :: else -> at++
    od
}

active proctype Sender() {
    byte message = 0, receive, at, seen, epoch, declined = NOBODY;
    bool is_announced[N + 1];
    bool is_here[N + 1];   /* of offers: the oldest is that of the least receive */
    bool is_noted = false; /* whatever goes out, as there are offers */
    byte note[REQUESTS + 1], sent = 0;
end:
    do
    :: message < N ->
        atomic {
            message++;
            if
            :: match[message] = 1
            :: message != 1 -> match[message] = 2 /* the first one's word is the first */
            fi;
            sent++;
            d_step { use_offer(receive, message); at = 0 };
            if
            :: !is_noted -> there!whole, message, 0 /* by the fast path */
            :: note[sent] = (receive != 0 -> USED : message); there!whole, message, 0
            :: note[sent] = (receive != 0 -> USED : message);
                there!announce, message, receive;
                if
                :: receive != 0 -> data!receive, message
                :: else -> is_announced[message] = true
                fi
            fi;
            receive = 0
        }
    :: d_step {
        back?offer, receive, seen, epoch ->
        if
#ifndef NO_EPOCH
        :: epoch == declined
#endif
        :: else -> is_noted = true; on_offer(receive, seen, epoch)
        fi;
        receive = 0; at = 0; seen = 0; epoch = 0
    }
    :: d_step {
        back?withdraw, receive, _, _ -> is_here[receive] = false; answer(withdrawn, receive);
        receive = 0
    }
    :: d_step {
        back?clear_to_send, receive, at, _ ->
        if
#ifdef NO_BEGUN
        :: true
#else
        :: is_announced[at]
#endif
            -> name(receive, at); is_announced[at] = false; data!receive, at
#ifndef NO_BEGUN
        :: else
#endif
        fi;
        receive = 0; at = 0
    }
    od
}

/* --- the receiver --- */

mtype = { posted, withdrawing, moving, over };

#define IS_POSTED(receive) (state[receive] == posted || state[receive] == withdrawing)

/* Of all that fits it is the oldest. */
inline meet(receive, message) {
    assert(met[receive] == 0 && (named[receive] == 0 || named[receive] == message));
    at = 1;
    do
    :: at > N -> break
    :: else ->
        assert(at >= receive || !IS_POSTED(at) || !FITS(pattern[at], match[message]));
        assert(at >= message || !arrived[at] || !FITS(pattern[receive], match[at]));
        assert(met[at] != message);
        at++
    od;
    met[receive] = message
}

/* What is not looked at any more is made the same. */
inline end(receive) {
    state[receive] = over;
    early[receive] = 0;
    stands[receive] = false;
    has_crossed[receive] = false
}

inline ask(receive) { back!clear_to_send, receive, met[receive], 0 }

inline find_posted(receive, message) {
    receive = 1;
    do
    :: receive > N -> receive = 0; break
    :: (receive <= N && IS_POSTED(receive) && FITS(pattern[receive], match[message])) -> break
    :: else -> receive++
    od
}

inline on_message(what, message, offered) {
    find_posted(receive, message);
    if
    :: receive == 0 -> assert(offered == 0); arrived[message] = what
    :: (receive != 0 && what == whole) ->
        assert(early[receive] == 0);
        meet(receive, message);
        end(receive)
    :: (receive != 0 && what == announce) ->
        assert(offered == 0 || (offered == receive && is_offered[receive]));
        assert(early[receive] == 0 || early[receive] == message);
        meet(receive, message);
        state[receive] = moving;
        if
        :: early[receive] != 0 -> end(receive)
        :: (early[receive] == 0 && offered != 0)
        :: (early[receive] == 0 && offered == 0 && stands[receive]) ->
            has_crossed[receive] = true
        :: else -> ask(receive)
        fi
    fi
}

inline on_decline(epoch) {
    if
    :: epoch == current ->
        current++;
        at = 1;
        do
        :: at > N -> break
        :: else ->
#ifndef NO_STAND
            if
            :: IS_POSTED(at) -> stands[at] = false
            :: else
            fi;
#endif
#ifndef NO_ASK
            if
            :: (state[at] == moving && has_crossed[at]) -> has_crossed[at] = false; ask(at)
            :: else
            fi;
#endif
            at++
        od
    :: else
    fi
}

inline is_to_be_offered(receive) {
    stands[receive] = is_named;
#ifndef NO_BLOCK
    at = 1;
    do
    :: at == receive -> break
    :: (at < receive && IS_POSTED(at) && !stands[at] &&
        OVERLAPS(pattern[at], pattern[receive])) ->
        stands[receive] = false;
        break
    :: else -> at++
    od;
#endif
    is_offered[receive] = stands[receive]
}

inline post(receive) {
    at = 1;
    do
    :: at > N -> break
    :: (at <= N && arrived[at] && FITS(pattern[receive], match[at])) -> break
    :: else -> at++
    od;
    if
    :: at > N ->
        is_to_be_offered(receive);
        state[receive] = posted;
        if
        :: is_offered[receive] -> back!offer, receive, taken, current
        :: else
        fi
    :: (at <= N && arrived[at] == whole) ->
        message = at;
        arrived[message] = 0;
        meet(receive, message);
        end(receive)
    :: (at <= N && arrived[at] == announce) ->
        message = at;
        arrived[message] = 0;
        meet(receive, message);
        state[receive] = moving;
        ask(receive)
    fi
}

inline cancel(receive) {
    if
    :: is_offered[receive] ->
        back!withdraw, receive, 0, 0;
#ifdef NO_WITHDRAWN
        end(receive)
#else
        state[receive] = withdrawing
#endif
    :: else -> end(receive)
    fi
}

#define CAN_CANCEL(receive) (!has_cancelled && state[receive] == posted)

/* Nothing goes on any more. */
inline look() {
    receive = 1;
    do
    :: receive > N -> break
    :: else ->
        assert(state[receive] == posted || state[receive] == over);
        at = 1;
        do
        :: at > N -> break
        :: else ->
            assert(state[receive] != posted || !arrived[at] ||
                   !FITS(pattern[receive], match[at]));
            at++
        od;
        receive++
    od
}

active proctype Receiver() {
    byte count = 0, receive, message, offered, at;
    bool is_named = false, has_cancelled = false;
    mtype state[N + 1];   /* of receives */
    bool is_offered[N + 1], stands[N + 1], has_crossed[N + 1];
    byte early[N + 1];    /* the message whose data came before it was looked at */
    mtype arrived[N + 1]; /* messages without a receive: whole or announced */
    byte taken = 0, current = 0; /* requests; the epoch */
    mtype what;
    do
    :: count < N ->
        atomic {
            count++;
            if
            :: pattern[count] = EITHER
            :: pattern[count] = 1
            :: pattern[count] = 2
            fi;
            if
            :: is_named = true
            :: is_named = false
            fi;
            d_step { post(count); at = 0; message = 0; is_named = false }
        }
    :: d_step { CAN_CANCEL(1) -> cancel(1); has_cancelled = true }
    :: d_step { CAN_CANCEL(2) -> cancel(2); has_cancelled = true }
    :: d_step { CAN_CANCEL(3) -> cancel(3); has_cancelled = true }
    :: d_step {
        there?what, message, offered ->
        taken++;
        if
        :: what == whole || what == announce -> on_message(what, message, offered)
        :: what == decline -> on_decline(message)
        :: what == withdrawn ->
            if
            :: state[message] == withdrawing -> end(message)
            :: else
            fi
        fi;
        what = 0; message = 0; offered = 0; receive = 0; at = 0
    }
    :: d_step {
        data?receive, message ->
        if
        :: state[receive] == moving ->
            assert(met[receive] == message && early[receive] == 0);
            end(receive)
        :: else ->
            assert(IS_POSTED(receive) && is_offered[receive] && early[receive] == 0);
            early[receive] = message
        fi;
        receive = 0; message = 0
    }
    :: timeout -> d_step { look(); receive = 0; at = 0 }; break
    od
}
