/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers of a table of flags (group/group.cc): MEMBERS that come to MEETINGS, which all of them
 * or one of them (the root) wait in, and to broadcasts in between. All draw the same plan.
 *
 * An entry holds what its member brought to the last meeting of its parity; what is read of it must
 * be of the meeting that is under way. A slot holds a broadcast; what is heard must be the one that
 * is waited for. Without one of the rules, which -D takes away, something else is read:
 *   NO_LAST   who comes to a meeting knows that all have come to the one before
 *   NO_ROOM   a root speaks where all are past what was said before
 *   NO_RESULT the last one of a throng counts itself after its entry is there
 */
#define MEMBERS 3
#define STEPS 4
#define SLOTS 2
#define ROOTED 0 /* kinds of steps: a meeting that a root waits in */
#define FULL 1   /* that all wait in */
#define THRONG 2 /* that the last one reduces */
#define SAY 3    /* a broadcast */

byte kind[STEPS], root[STEPS];
byte entry[6];      /* of member m, parity p, at 2 * m + p: the number and the data at once */
byte said[SLOTS];
byte past[MEMBERS];
byte gathered, result;
bool planned = false;

/* Members from 0 have come to meeting `number`, as it is read. */
inline all_at(number) {
    who = 0;
    do
    :: who == MEMBERS -> break
    :: who < MEMBERS && who != me -> entry[2 * who + (number) % 2] >= (number); who++
    :: who < MEMBERS && who == me -> who++
    od
}

inline read_all(number) {
    d_step {
        who = 0;
        do
        :: who == MEMBERS -> break
        :: who < MEMBERS -> assert(entry[2 * who + (number) % 2] == (number)); who++
        od
    }
}

proctype Member(byte me) {
    byte step = 0, meeting = 0, met = 0, number = 0, throngs = 0, who, count;
    planned;
    do
    :: step == STEPS -> break
    :: step < STEPS && kind[step] == SAY ->
        number++;
        if
        :: root[step] == me ->
#ifndef NO_ROOM
            who = 0;
            do
            :: who == MEMBERS -> break
            :: who < MEMBERS && who != me -> past[who] + SLOTS >= (number); who++
            :: who < MEMBERS && who == me -> who++
            od;
#endif
            said[number % SLOTS] = number
        :: root[step] != me ->
            said[number % SLOTS] >= number;
            assert(said[number % SLOTS] == number)
        fi;
        past[me] = number;
        step++
    :: step < STEPS && kind[step] != SAY ->
        meeting++;
#ifndef NO_LAST
        if
        :: met + 1 < meeting -> all_at(meeting - 1); met = meeting - 1
        :: met + 1 == meeting -> skip
        fi;
#endif
        if
        :: kind[step] == THRONG ->
            throngs++;
#ifdef NO_RESULT
            gathered++; count = gathered;
            entry[2 * me + meeting % 2] = meeting;
#else
            entry[2 * me + meeting % 2] = meeting;
            d_step { gathered++; count = gathered };
#endif
            if
            :: count == throngs * MEMBERS -> read_all(meeting); result = meeting
            :: count != throngs * MEMBERS -> result >= meeting; assert(result == meeting)
            fi;
            met = meeting
        :: kind[step] == FULL || (kind[step] == ROOTED && root[step] == me) ->
            entry[2 * me + meeting % 2] = meeting;
            all_at(meeting);
            met = meeting;
            read_all(meeting)
        :: kind[step] == ROOTED && root[step] != me ->
            entry[2 * me + meeting % 2] = meeting
        fi;
        step++
    od
}

init {
    byte i = 0;
    do
    :: i == STEPS -> break
    :: i < STEPS ->
        if
        :: kind[i] = FULL
        :: kind[i] = THRONG
        :: kind[i] = ROOTED
        :: kind[i] = ROOTED; root[i] = 1
        :: kind[i] = SAY
        :: kind[i] = SAY; root[i] = 1
        fi;
        i++
    od;
    planned = true;
    atomic { run Member(0); run Member(1); run Member(2) }
}
