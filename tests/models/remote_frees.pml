/* SPDX-License-Identifier: MIT
   Copyright (c) 2026 The memory_pool authors

   Remote frees between heaps, in batches (src/np_alloc/heaps/heap.hpp), for Spin.

       send:      write the batch;  next of batch = inbox;  compare and exchange inbox for the batch, or look again.
       drain:     exchange inbox for nothing;  for each batch: read it, put the block that it brings back, send it home.

   Two threads send blocks back to the heap of a third thread, which allocates them again. A batch is a block of the
   sending heap; when that heap has none left, or the batch would carry less than its own size, the remote block itself
   is the batch and carries nothing. A drained batch is sent back as a batch that carries nothing. Every block, batches
   included, is in one place: free in its slab, in use, or sent. In the end, when all heaps have drained, none is sent.

   Memory changes in the order of the statements; macros model the effects of a weaker order.

   Macros to define; each must cause a counterexample:
       SEND_BLINDLY    the sender stores the address of the batch without comparing
       LOOK_ONCE       the sender writes next once, and not again after a failed exchange
       DRAIN_TWO       the drain loads the inbox and then stores 0
       NO_RELEASE      the contents of a batch may become visible after the batch
       NO_ACQUIRE      the contents of batches may be read before the inbox
       NEXT_LATE       the drain sends a batch home before it reads the next one from it */

#ifndef STEPS
#define STEPS 3 /* blocks that each thread sends */
#endif

/* Heaps. The heap of the other sender has no memory for batches and receives nothing. */
#define SENDER 0
#define OWNER 1
#define HEAPS 2

/* Blocks: batches of the sender, and blocks that are allocated and sent back. */
#define BATCHES 2
#define BLOCKS 4

/* Numbers of blocks, counted from 1. */
byte inbox[HEAPS];
byte next[BLOCKS];
byte brings[BLOCKS];

/* For the checks only. */
#define FREE 0
#define IN_USE 1
#define SENT 2
byte place[BLOCKS];
byte at_work = 2;

#define CHANGE(block, from, to) d_step { assert(place[block] == from); place[block] = to }

/* Under NO_RELEASE, these writes become visible last. */
#ifdef NO_RELEASE
#define WRITE_BEFORE skip
#define WRITE_AFTER atomic { next[batch] = seen; brings[batch] = content }
#else
#define WRITE_BEFORE next[batch] = seen; brings[batch] = content
#define WRITE_AFTER skip
#endif

inline send(to)
{
    seen = inbox[to];
    WRITE_BEFORE;
    do
#ifdef SEND_BLINDLY
    :: inbox[to] = batch + 1; break
#else
    :: d_step { inbox[to] == seen -> inbox[to] = batch + 1 }; break
    :: atomic { inbox[to] != seen -> seen = inbox[to] };
#ifndef LOOK_ONCE
        WRITE_BEFORE
#endif
#endif
    od;
    WRITE_AFTER
}

#ifdef NO_ACQUIRE
#define NEXT_OF(batch) early_next[batch]
#define BROUGHT_BY(batch) early_brings[batch]
#else
#define NEXT_OF(batch) next[batch]
#define BROUGHT_BY(batch) brings[batch]
#endif

#ifdef NO_ACQUIRE
#define LOOK_EARLY \
    d_step { \
        following = 0; \
        do \
        :: following < BLOCKS -> \
            early_next[following] = next[following]; \
            early_brings[following] = brings[following]; \
            following++ \
        :: else -> break \
        od \
    }
#else
#define LOOK_EARLY skip
#endif

#ifdef DRAIN_TWO
#define TAKE_ALL(heap) following = inbox[heap]; inbox[heap] = 0
#else
#define TAKE_ALL(heap) atomic { following = inbox[heap]; inbox[heap] = 0 }
#endif

inline drain()
{
    LOOK_EARLY;
    TAKE_ALL(OWNER);
    do
    :: following != 0 ->
        batch = following - 1;
        content = BROUGHT_BY(batch);
#ifndef NEXT_LATE
        following = NEXT_OF(batch);
#endif
        if
        :: content != 0 -> CHANGE(content - 1, SENT, FREE)
        :: else
        fi;
        content = 0;
        if
        :: batch < BATCHES -> assert(place[batch] == SENT); send(SENDER)
        :: else -> CHANGE(batch, SENT, FREE)
        fi;
#ifdef NEXT_LATE
        following = NEXT_OF(batch)
#endif
    :: else -> break
    od;
    atomic { batch = 0; seen = 0 }
}

/* Drains a heap that receives only its own batches. */
inline take_batches_home()
{
    LOOK_EARLY;
    TAKE_ALL(SENDER);
    do
    :: following != 0 ->
        batch = following - 1;
        following = NEXT_OF(batch);
        assert(BROUGHT_BY(batch) == 0);
        CHANGE(batch, SENT, FREE)
    :: else -> break
    od;
    batch = 0
}

#ifdef NO_ACQUIRE
#define LOCALS byte following, batch, seen, content; byte early_next[BLOCKS]; byte early_brings[BLOCKS]
#else
#define LOCALS byte following, batch, seen, content
#endif

/* Frees any block in use: any thread may free it. */
inline free_one()
{
    atomic {
        if
        :: place[2] == IN_USE -> place[2] = SENT; content = 3
        :: place[3] == IN_USE -> place[3] = SENT; content = 4
        fi
    }
}

inline send_as_its_own_batch()
{
    atomic { batch = content - 1; content = 0 };
    send(OWNER);
    atomic { batch = 0; seen = 0 }
}

proctype sender()
{
    LOCALS;
    byte steps;
    do
    :: steps < STEPS ->
        steps++;
        free_one();
        if
        :: d_step { place[0] == FREE -> place[0] = SENT; batch = 0 }; send(OWNER)
        :: d_step { place[0] != FREE && place[1] == FREE -> place[1] = SENT; batch = 1 }; send(OWNER)
        :: send_as_its_own_batch()
        fi;
        atomic { batch = 0; seen = 0; content = 0 };
        if
        :: take_batches_home()
        :: true
        fi
    :: else -> break
    od;
    at_work--
}

proctype sender_without_memory()
{
    byte batch, seen, content, steps;
    do
    :: steps < STEPS ->
        steps++;
        free_one();
        send_as_its_own_batch()
    :: else -> break
    od;
    at_work--
}

proctype owner()
{
    LOCALS;
    do
    :: atomic { place[2] == FREE -> place[2] = IN_USE }
    :: atomic { place[3] == FREE -> place[3] = IN_USE }
    :: inbox[OWNER] != 0 -> drain()
    :: at_work == 0 && inbox[OWNER] == 0 -> break
    od;
    take_batches_home();
    d_step {
        assert(place[0] == FREE);
        assert(place[1] == FREE);
        assert(place[2] != SENT);
        assert(place[3] != SENT)
    }
}

init
{
    atomic {
        run sender();
        run sender_without_memory();
        run owner()
    }
}
