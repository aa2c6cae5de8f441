/* SPDX-License-Identifier: MIT
   Copyright (c) 2026 The memory_pool authors

   How a heap of np_alloc is handed off from an ending thread to the next one (src/np_alloc/heaps/heap_registry.hpp),
   for Spin.

       thread:      adopt the heap, if it is parked;  take from and put into the magazine;  sometimes, with the heap
                    lock: drain, refill, flush, buffer remote frees, send;  park the heap with its magazine.
       sender:      frees blocks of the heap: writes a batch and sends it.
       collector:   with the lock of the lists, and the heap lock if it is free: drains and sends for an idle
                    or parked heap.
       forker:      with both locks, copies the state for a child.

   The lock of the lists guards ownership of the heap. The heap lock guards slabs and outbox. The magazine belongs to
   the owner thread alone, without a lock.

   Sets of blocks are numbers with a bit per block. Two blocks belong to the heap, one to another heap.

       blocks of the heap = in use + in the magazine + in slabs + in batches
       block of the other heap = in use + outbox + sent

   No block in use is allocated; in the end, none is lost.

   Macros to define; each must cause a counterexample:
       NO_LOCK             the thread works without the heap lock
       NO_TRY              the collector drains even if it did not get the heap lock
       PARK_EMPTY          the ending thread does not leave its magazine to the next one
       PARK_EARLY          it marks the heap as parked before it stores the magazine, without the lock of the lists
       ADOPT_UNLOCKED      the new thread checks without the lock of the lists whether the heap is parked, and takes it
       COLLECT_MAGAZINE    the collector flushes the magazine of a heap, parked or not
       FORK_UNLOCKED       the forking thread does not wait for the heap lock
       KEEP_SENT           the child drains batches sent while the fork copied page by page
       ADOPT_IN_CHILD      the child adopts the heap of a thread that does not exist in it */

#define ALL_OF_HEAP 3
#define OF_OTHER 4
#define ALL 7

#ifndef LIVES
#define LIVES 2 /* successive threads that own the heap */
#endif
#ifndef STEPS
#define STEPS 2 /* of each thread */
#endif

/* The heap. */
byte slabs = ALL_OF_HEAP;
byte outbox;
byte parked_magazine;
bool is_parked = true;
bool lock_of_heap;
bool lock_of_lists;

/* Written batches, sent batches, and the blocks sent to the other heap. */
byte written;
byte sent;
byte sent_to_other;

/* For the checks only. */
byte in_use = OF_OTHER;
byte users;
byte at_work_in_slabs;
byte at_work = LIVES + 1;

#define LOCK(lock) atomic { !lock -> lock = true }
#define UNLOCK(lock) lock = false

#ifdef NO_LOCK
#define LOCK_BY_OWNER skip
#define UNLOCK_BY_OWNER skip
#else
#define LOCK_BY_OWNER LOCK(lock_of_heap)
#define UNLOCK_BY_OWNER UNLOCK(lock_of_heap)
#endif

#define BEGIN_IN_SLABS d_step { assert(at_work_in_slabs == 0); at_work_in_slabs++ }
#define END_IN_SLABS at_work_in_slabs--

/* Chooses one element of a set that is not empty. */
inline choose(set)
{
    if
    :: set & 1 -> block = 1
    :: set & 2 -> block = 2
    :: set & 4 -> block = 4
    fi
}

inline hand_out()
{
    d_step { assert(!(in_use & block)); in_use = in_use | block }
}

/* Takes all batches at once, then their blocks one by one. */
inline drain()
{
    BEGIN_IN_SLABS;
    d_step { copy = sent; sent = 0 };
    d_step { assert((written & copy) == copy && !(slabs & copy)); written = written & ~copy };
    copy = slabs | copy;
    slabs = copy;
    END_IN_SLABS
}

inline send_all()
{
    copy = outbox;
    outbox = 0;
    d_step { assert(!(sent_to_other & copy)); sent_to_other = sent_to_other | copy }
}

/* --- a thread */

inline adopt()
{
    d_step { assert(users == 0); users++ };
    is_parked = false;
    magazine = parked_magazine
}

inline park()
{
#ifndef PARK_EMPTY
    parked_magazine = magazine;
#endif
    magazine = 0;
    users--;
    is_parked = true
}

proctype thread()
{
    byte magazine, block, copy, steps;
#ifdef ADOPT_UNLOCKED
    is_parked;
    adopt();
#else
    atomic { is_parked && !lock_of_lists -> lock_of_lists = true };
    adopt();
    UNLOCK(lock_of_lists);
#endif
    do
    :: steps < STEPS ->
        steps++;
        if
        :: magazine != 0 ->
            choose(magazine);
            magazine = magazine & ~block;
            hand_out()
        :: atomic { in_use & ALL_OF_HEAP -> choose((in_use & ALL_OF_HEAP)); in_use = in_use & ~block };
            magazine = magazine | block
        :: magazine == 0 -> /* refill */
            LOCK_BY_OWNER;
            drain();
            BEGIN_IN_SLABS;
            copy = slabs;
            if
            :: copy != 0 -> choose(copy); slabs = copy & ~block; magazine = block
            :: copy == 0
            fi;
            END_IN_SLABS;
            UNLOCK_BY_OWNER
        :: magazine != 0 -> /* flush */
            LOCK_BY_OWNER;
            BEGIN_IN_SLABS;
            copy = slabs;
            assert(!(copy & magazine));
            slabs = copy | magazine;
            magazine = 0;
            END_IN_SLABS;
            UNLOCK_BY_OWNER
        :: atomic { in_use & OF_OTHER -> in_use = in_use & ~OF_OTHER }; /* buffer a remote free */
            LOCK_BY_OWNER;
            copy = outbox;
            outbox = copy | OF_OTHER;
            UNLOCK_BY_OWNER
        fi;
        atomic { block = 0; copy = 0 }
    :: else -> break
    od;
#ifdef PARK_EARLY
    is_parked = true;
    parked_magazine = magazine;
    users--;
#else
    LOCK(lock_of_lists);
    park();
    UNLOCK(lock_of_lists);
#endif
    at_work--
}

/* --- others */

proctype sender()
{
    byte block;
    do
    :: atomic { in_use & ALL_OF_HEAP -> choose((in_use & ALL_OF_HEAP)); in_use = in_use & ~block };
        written = written | block;
        sent = sent | block;
        block = 0
    :: at_work == 1 -> break
    od;
    at_work--
}

proctype collector()
{
    byte copy;
    bool is_mine;
    do
    :: at_work != 0 ->
        LOCK(lock_of_lists);
#ifdef COLLECT_MAGAZINE
        slabs = slabs | parked_magazine;
        parked_magazine = 0;
#endif
        atomic { is_mine = !lock_of_heap; lock_of_heap = true };
        if
#ifdef NO_TRY
        :: true ->
#else
        :: is_mine ->
#endif
            drain();
            send_all();
            UNLOCK(lock_of_heap)
#ifndef NO_TRY
        :: else
#endif
        fi;
        UNLOCK(lock_of_lists);
        atomic { copy = 0; is_mine = false }
    :: else -> break
    od
}

/* Copies pages one after the other, while other threads run. */
proctype forker()
{
    byte free_in_child, written_in_child, sent_in_child, in_use_in_child;
    LOCK(lock_of_lists);
#ifndef FORK_UNLOCKED
    LOCK(lock_of_heap);
#endif
    assert(at_work_in_slabs == 0);
    in_use_in_child = in_use;
    free_in_child = slabs;
    written_in_child = written;
    sent_in_child = sent;
    if
#ifdef ADOPT_IN_CHILD
    :: true -> free_in_child = free_in_child | parked_magazine
#else
    :: is_parked -> assert(!(free_in_child & parked_magazine)); free_in_child = free_in_child | parked_magazine
    :: else
#endif
    fi;
#ifdef KEEP_SENT
    assert((written_in_child & sent_in_child) == sent_in_child);
    free_in_child = free_in_child | sent_in_child;
#endif
    /* Blocks in use from the beginning to the end of the copy. */
    in_use_in_child = in_use_in_child & in_use;
    assert(!(free_in_child & in_use_in_child));
#ifndef FORK_UNLOCKED
    UNLOCK(lock_of_heap);
#endif
    UNLOCK(lock_of_lists)
}

init
{
    byte lives;
    atomic {
        do
        :: lives < LIVES -> run thread(); lives++
        :: else -> break
        od;
        run sender();
        run collector();
        run forker()
    };
    _nr_pr == 1;
    assert(is_parked && users == 0);
    /* Each block is in exactly one place. */
    assert((in_use | parked_magazine | slabs | sent | outbox | sent_to_other) == ALL);
    assert(in_use + parked_magazine + slabs + sent + outbox + sent_to_other == ALL)
}
