/* SPDX-License-Identifier: MIT
   Copyright (c) 2026 The memory_pool authors

   The handshake between the owner of a cache and another thread that drains it (core/threads/thread_cache.hpp), for
   Spin.

       owner:   take top out, leaving 0;  is it between floor and ceiling?  work;  put top back.
       other:   close floor and ceiling;  barrier for the whole process;  wait until top is not 0.

   The memory model is x86-TSO: the stores of a thread go into its store buffer, which the thread itself reads first,
   and reach memory one by one, at any time. A fence drains the thread's own buffer; the process-wide barrier drains
   the other thread's buffer. An atomic exchange is a fence, followed by a change of memory itself.

   Whenever the other thread has drained the closed cache, every block is either outstanding or in the slabs: none is in
   two places, none is lost. And no outstanding block is allocated.

   The cache has two magazines, loaded and previous, that the owner exchanges when the loaded one is empty or full.

   Macros to define. The first two must not cause a counterexample; each of the others must cause one:
       SLOW_OWNER      the owner exchanges top instead of storing 0 (where the OS has no barrier), and the other thread
                       has no barrier
       NO_FLOOR_FENCE  the other thread's stores to floor and ceiling are plain stores: the process-wide barrier
                       orders them, too. Without the barrier, with SLOW_OWNER, there is a counterexample
       NO_BARRIER      the other thread does not issue the barrier
       NO_WAIT         the other thread takes top as it is
       LOAD_TWICE      the other thread waits until top is not 0 and then loads it again
       CHECK_FIRST     the owner checks the bounds before it takes top out
       CLOSE_LATE      the other thread closes after the barrier
       OPEN_UNLOCKED   the owner reopens its cache without the lock
       RELOAD_STORES   with another magazine, the owner stores the new bounds even if the cache was closed in between
       ONE_MAGAZINE    the other thread forgets the previous magazine */

#define ROOM 1 /* blocks in a magazine */
#define BLOCKS 3

/* Addresses in memory. The slots of the two magazines follow each other, with a gap between: a top past the end of the
   first is not the bottom of the second. */
#define TOP 0
#define FLOOR 1
#define CEILING 2
#define LOCK 3
#define LOADED 4
#define PREVIOUS_IS_FULL 5
#define SLOT 6
#define PLACES (SLOT + 2 * (ROOM + 1))

/* Addresses of slots, numbered from 1. */
#define BOTTOM(magazine) (1 + (magazine) * (ROOM + 1))
#define AT(address) (SLOT + (address) - 1)

#define CLOSED_FLOOR 255
#define CLOSED_CEILING 0

#define OWNER 0
#define OTHER 1
#define QUEUE 4

byte memory[PLACES];

chan queue_of_owner = [QUEUE] of { byte, byte };
chan queue_of_other = [QUEUE] of { byte, byte };
/* What a thread reads while one of its stores to that place is in its queue. */
byte queued[2 * PLACES];
byte newest[2 * PLACES];

#define STORE(who, queue, place, value) \
    atomic { nfull(queue); queue!place, value; queued[who * PLACES + place]++; newest[who * PLACES + place] = value }
#define LOAD(who, place) (queued[who * PLACES + place] != 0 -> newest[who * PLACES + place] : memory[place])

/* Where the blocks are, for the checks: neither of these is in the memory of the program. */
bool handed_out[BLOCKS];
bool in_slabs[BLOCKS]; /* changed with the lock held */

#define FLUSH(who, queue) \
    d_step { \
        queue?place, value -> \
        memory[place] = value; \
        queued[who * PLACES + place]--; \
        if \
        :: queued[who * PLACES + place] == 0 -> newest[who * PLACES + place] = 0 \
        :: else \
        fi; \
        place = 0; \
        value = 0 \
    }

proctype memory_system()
{
    byte place, value;
end:
    do
    :: FLUSH(OWNER, queue_of_owner)
    :: FLUSH(OTHER, queue_of_other)
    od
}

/* --- owner */

#define OWNER_STORE(place, value) STORE(OWNER, queue_of_owner, place, value)
#define OWNER_LOAD(place) LOAD(OWNER, place)

inline lock_by_owner() { atomic { empty(queue_of_owner) && memory[LOCK] == 0 -> memory[LOCK] = 1 } }
inline unlock_by_owner() { OWNER_STORE(LOCK, 0) }

inline take_top_out()
{
    out = OWNER_LOAD(TOP);
#ifdef SLOW_OWNER
    atomic { empty(queue_of_owner) -> memory[TOP] = 0 }
#else
    OWNER_STORE(TOP, 0)
#endif
}

#ifdef CHECK_FIRST
#define BEFORE(bound) bound; take_top_out()
#else
#define BEFORE(bound) take_top_out(); bound
#endif

/* As in cache_slot::open, called with the lock held. */
inline open_by_owner()
{
    OWNER_STORE(TOP, BOTTOM(loaded));
    OWNER_STORE(FLOOR, BOTTOM(loaded));
    OWNER_STORE(CEILING, BOTTOM(loaded) + ROOM)
}

/* As in cache_slot::begin_slowly: an atomic exchange. */
inline take_top_out_slowly()
{
    out = OWNER_LOAD(TOP);
    atomic { empty(queue_of_owner) -> memory[TOP] = 0 }
}

/* As in cache_slot::reload. */
inline reload_bound(place, closed, value)
{
#ifdef RELOAD_STORES
    OWNER_STORE(place, value)
#else
    bound = OWNER_LOAD(place);
    if
    :: bound != closed ->
        atomic {
            empty(queue_of_owner) ->
            if
            :: memory[place] == bound -> memory[place] = value
            :: else
            fi
        }
    :: else
    fi
#endif
}

inline exchange_magazines(is_full)
{
    loaded = 1 - loaded;
    previous_is_full = is_full;
    OWNER_STORE(LOADED, loaded);
    OWNER_STORE(PREVIOUS_IS_FULL, is_full);
    reload_bound(FLOOR, CLOSED_FLOOR, BOTTOM(loaded));
    reload_bound(CEILING, CLOSED_CEILING, BOTTOM(loaded) + ROOM)
}

inline take_from_slabs(number)
{
    d_step {
        number = 0;
        do
        :: number < BLOCKS && !in_slabs[number] -> number++
        :: else -> break
        od;
        if
        :: number < BLOCKS -> in_slabs[number] = false
        :: else
        fi
    }
}

inline hand_out(number)
{
    d_step { assert(!handed_out[number] && !in_slabs[number]); handed_out[number] = true }
}

#ifdef OPEN_UNLOCKED
#define LOCK_BY_OWNER skip
#define UNLOCK_BY_OWNER skip
#else
#define LOCK_BY_OWNER lock_by_owner()
#define UNLOCK_BY_OWNER unlock_by_owner()
#endif

inline owner_allocates()
{
    is_done = false;
    BEFORE(bound = OWNER_LOAD(FLOOR));
    if
    :: out > bound ->
        block = OWNER_LOAD(AT(out - 1));
        hand_out(block);
        OWNER_STORE(TOP, out - 1);
        is_done = true
    :: else ->
        OWNER_STORE(TOP, out);
        /* As in magazine_exchange::take. */
        take_top_out_slowly();
        if
        :: OWNER_LOAD(CEILING) != CLOSED_CEILING ->
            previous_is_full = OWNER_LOAD(PREVIOUS_IS_FULL);
            if
            :: out == BOTTOM(loaded) && previous_is_full -> exchange_magazines(0); out = BOTTOM(loaded) + ROOM
            :: else
            fi;
            if
            :: out != BOTTOM(loaded) ->
                block = OWNER_LOAD(AT(out - 1));
                hand_out(block);
                out--;
                is_done = true
            :: else
            fi
        :: else
        fi;
        OWNER_STORE(TOP, out)
    fi;
    if
    :: !is_done ->
        LOCK_BY_OWNER;
        /* The cache is empty or closed: only its owner changes that. */
        take_from_slabs(block);
        if
        :: block < BLOCKS ->
            hand_out(block);
            if
            :: OWNER_LOAD(CEILING) == CLOSED_CEILING ->
                /* One more block, which enters the cache while it is closed. */
                take_from_slabs(block);
                open_by_owner();
                if
                :: block < BLOCKS ->
                    OWNER_STORE(AT(BOTTOM(loaded)), block);
                    OWNER_STORE(TOP, BOTTOM(loaded) + 1)
                :: else
                fi
            :: else
            fi
        :: else
        fi;
        UNLOCK_BY_OWNER
    :: else
    fi;
    atomic { out = 0; bound = 0; block = 0; is_done = false; previous_is_full = 0 }
}

inline owner_gives_back()
{
    /* Frees any outstanding block: another thread than the allocating one may free it. */
    atomic {
        if
        :: handed_out[0] -> block = 0
        :: handed_out[1] -> block = 1
        :: handed_out[2] -> block = 2
        fi
    };
    is_done = false;
    BEFORE(bound = OWNER_LOAD(CEILING));
    if
    :: bound > out ->
        handed_out[block] = false;
        OWNER_STORE(AT(out), block);
        OWNER_STORE(TOP, out + 1);
        is_done = true
    :: else ->
        OWNER_STORE(TOP, out);
        /* As in magazine_exchange::put. */
        take_top_out_slowly();
        if
        :: OWNER_LOAD(CEILING) != CLOSED_CEILING ->
            previous_is_full = OWNER_LOAD(PREVIOUS_IS_FULL);
            if
            :: out == BOTTOM(loaded) + ROOM && !previous_is_full -> exchange_magazines(1); out = BOTTOM(loaded)
            :: else
            fi;
            if
            :: out != BOTTOM(loaded) + ROOM ->
                handed_out[block] = false;
                OWNER_STORE(AT(out), block);
                out++;
                is_done = true
            :: else
            fi
        :: else
        fi;
        OWNER_STORE(TOP, out)
    fi;
    if
    :: !is_done ->
        LOCK_BY_OWNER;
        handed_out[block] = false;
        if
        :: OWNER_LOAD(CEILING) == CLOSED_CEILING ->
            open_by_owner();
            OWNER_STORE(AT(BOTTOM(loaded)), block);
            OWNER_STORE(TOP, BOTTOM(loaded) + 1)
        :: else -> in_slabs[block] = true
        fi;
        UNLOCK_BY_OWNER
    :: else
    fi;
    atomic { out = 0; bound = 0; block = 0; is_done = false; previous_is_full = 0 }
}

proctype owner()
{
    byte out, bound, block, loaded;
    bit is_done, previous_is_full;
    do
    :: owner_allocates()
    :: handed_out[0] || handed_out[1] || handed_out[2] -> owner_gives_back()
    od
}

/* --- other */

#define OTHER_STORE(place, value) STORE(OTHER, queue_of_other, place, value)
#define OTHER_LOAD(place) LOAD(OTHER, place)

#if defined(NO_BARRIER) || defined(SLOW_OWNER)
#define PROCESS_BARRIER skip
#else
#define PROCESS_BARRIER (empty(queue_of_owner) && empty(queue_of_other))
#endif

#ifdef NO_FLOOR_FENCE
#define FENCE skip
#else
#define FENCE empty(queue_of_other)
#endif

inline close_by_other()
{
    OTHER_STORE(FLOOR, CLOSED_FLOOR);
    FENCE;
    OTHER_STORE(CEILING, CLOSED_CEILING);
    FENCE
}

inline put_into_slabs(number)
{
    d_step { assert(!handed_out[number] && !in_slabs[number]); in_slabs[number] = true }
}

inline put_all_into_slabs(bottom, end_of_all)
{
    address = bottom;
    do
    :: address < end_of_all -> block = OTHER_LOAD(AT(address)); put_into_slabs(block); address++
    :: else -> break
    od
}

proctype other()
{
    byte top, address, block, loaded;
    do
    :: atomic { empty(queue_of_other) && memory[LOCK] == 0 -> memory[LOCK] = 1 };
        if
        :: OTHER_LOAD(CEILING) != CLOSED_CEILING ->
#ifdef CLOSE_LATE
            PROCESS_BARRIER;
            close_by_other();
#else
            close_by_other();
            PROCESS_BARRIER;
#endif
#if defined(NO_WAIT)
            top = OTHER_LOAD(TOP);
#elif defined(LOAD_TWICE)
            OTHER_LOAD(TOP) != 0;
            top = OTHER_LOAD(TOP);
#else
            atomic { OTHER_LOAD(TOP) != 0 -> top = OTHER_LOAD(TOP) };
#endif
            loaded = OTHER_LOAD(LOADED);
            put_all_into_slabs(BOTTOM(loaded), top);
#ifndef ONE_MAGAZINE
            if
            :: OTHER_LOAD(PREVIOUS_IS_FULL) ->
                atomic { empty(queue_of_other) -> memory[PREVIOUS_IS_FULL] = 0 };
                put_all_into_slabs(BOTTOM(1 - loaded), BOTTOM(1 - loaded) + ROOM)
            :: else
            fi
#endif
        :: else
        fi;
        atomic {
            assert(handed_out[0] != in_slabs[0]);
            assert(handed_out[1] != in_slabs[1]);
            assert(handed_out[2] != in_slabs[2]);
            top = 0; address = 0; block = 0; loaded = 0
        };
        OTHER_STORE(LOCK, 0)
    od
}

init
{
    atomic {
        in_slabs[0] = true;
        in_slabs[1] = true;
        in_slabs[2] = true;
        memory[TOP] = BOTTOM(0);
        memory[FLOOR] = CLOSED_FLOOR;
        memory[CEILING] = CLOSED_CEILING;
        run memory_system();
        run owner();
        run other()
    }
}
