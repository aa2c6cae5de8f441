/* SPDX-License-Identifier: MIT
   Copyright (c) 2026 The memory_pool authors

   The lock-free stack with a tag (core/threads/tagged_stack.hpp), for Spin: two threads pop and push the same three
   nodes, a few times each. A popped node has one owner, and in the end each node is in one place.

   Macros to define:
       TAGS            number of tags; the program has 2^38. 1 is a stack without a tag, which must cause a
                       counterexample, like any number so small that the tag wraps around while a thread is delayed.
       STEPS           how often each thread pops or pushes */

#ifndef TAGS
#define TAGS 16 /* more than the changes of one thread while the other is delayed */
#endif
#ifndef STEPS
#define STEPS 5
#endif

#define NODES 3
#define THREADS 2

/* The head, which changes as a whole: a link is the number of a node + 1, or 0. */
byte head_link;
byte head_tag;
byte below[NODES];

/* For the checks only. */
bool held[NODES];
byte at_work = THREADS;

/* Nodes are pushed by the thread that popped them. */
proctype thread()
{
    byte link, tag, next, mine[NODES], count, steps;
    do
    :: steps < STEPS ->
        steps++;
        if
        :: /* pop */
            atomic { link = head_link; tag = head_tag };
            do
            :: link == 0 -> break
            :: else ->
                next = below[link - 1];
                if
                :: d_step { head_link == link && head_tag == tag -> head_link = next; head_tag = (tag + 1) % TAGS };
                    d_step {
                        assert(!held[link - 1]);
                        held[link - 1] = true;
                        mine[count] = link - 1;
                        count++
                    };
                    break
                :: atomic { !(head_link == link && head_tag == tag) -> link = head_link; tag = head_tag }
                fi
            od
        :: count > 0 -> /* push */
            /* Any popped node, not only the last. */
            if
            :: count > 1 -> d_step { next = mine[0]; mine[0] = mine[count - 1]; mine[count - 1] = next }
            :: true
            fi;
            atomic { count--; held[mine[count]] = false; link = head_link; tag = head_tag };
            do
            :: below[mine[count]] = link;
                if
                :: d_step {
                       head_link == link && head_tag == tag -> head_link = mine[count] + 1; head_tag = (tag + 1) % TAGS
                   };
                    break
                :: atomic { !(head_link == link && head_tag == tag) -> link = head_link; tag = head_tag }
                fi
            od;
            mine[count] = 0
        fi;
        atomic { link = 0; tag = 0; next = 0 }
    :: else -> break
    od;
    at_work--
}

init
{
    byte link, seen;
    atomic {
        head_link = 1;
        below[0] = 2;
        below[1] = 3;
        run thread();
        run thread()
    };
    at_work == 0;
    /* A thread keeps its popped nodes; the other nodes are in the stack, once each. */
    link = head_link;
    do
    :: link != 0 ->
        assert(!held[link - 1]);
        held[link - 1] = true;
        seen++;
        link = below[link - 1]
    :: else -> break
    od;
    assert(held[0] && held[1] && held[2])
}
