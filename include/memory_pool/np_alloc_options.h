/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Run-time options of np_alloc, for programs and their users. See np_alloc.h.
 *
 * Thread safety: any thread.
 */
#ifndef MEMORY_POOL_NP_ALLOC_OPTIONS_H
#define MEMORY_POOL_NP_ALLOC_OPTIONS_H

#include <memory_pool/os/c_attributes.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** As the value of np_option_decay_ms: free memory is kept for ever, until np_trim is called. */
#define NP_DECAY_NEVER UINT32_MAX

/** A flag in the value of np_option_zero: free memory is filled with zeros. */
#define NP_ZERO_FREE 1
/** A flag in the value of np_option_zero: new blocks are filled with zeros. */
#define NP_ZERO_ALLOC 2

/** The options. Numbers are stable; new ones may be added.
 *
 *  Each can also be set in the environment, where its variable is its name in capitals: NP_DECAY_MS is
 *  np_option_decay_ms. The environment is read once, when memory is first asked for. A value is a number, or one with
 *  K, M or G behind it, for 2^10, 2^20 or 2^30. Invalid values, and variables that begin with NP_ and name no option,
 *  are reported on stderr and ignored. A process with another user's privileges, such as a setuid program (AT_SECURE),
 *  ignores all variables.
 *
 *  A program can have options of its own, which are read before the environment, and replaced by what that has. They
 *  are the same variables and values, separated by spaces, in a symbol of this name and type:
 *
 *      const char* np_options = "NP_DECAY_MS=200 NP_BACKGROUND_THREAD=1";
 *
 *  Where libnp_malloc.so is preloaded, the program must export it (-rdynamic). (ELF. NP_REPORT and NP_PROFILE, which
 *  are paths, are taken from the environment alone.) */
typedef enum np_option
{
    /** No option. */
    np_option_none = 0,

    /** NP_DECAY_MS: the decay time: for how many milliseconds free memory is kept before it returns to the system,
     *  while the program keeps calling, or a background thread runs; 1000. NP_DECAY_NEVER, or "never" as a text:
     *  only np_trim returns it. */
    np_option_decay_ms = 1,
    /** NP_THREAD_CACHE_BYTES: how many bytes of free blocks a thread may cache, beyond a few of each size; 1M. As
     *  many again for each 32 MiB of its blocks in use. Sizes that are no longer used leave their share to others. A
     *  smaller value does not shrink caches at once. */
    np_option_thread_cache_bytes = 2,
    /** NP_REGION_BYTES: bytes of address space to reserve, at least 16M; 1024G. What does not fit there is mapped block
     *  by block, which is slow. Cannot be changed after the first block. */
    np_option_region_bytes = 3,
    /** NP_STATISTICS_AT_END: whether statistics are printed when the process ends; 0. 1: as text, 2: as JSON. */
    np_option_statistics_at_end = 4,
    /** NP_FATAL_FOREIGN: whether foreign pointers that are freed are fatal; 1: they are reported, which ends the
     *  program unless it has an error handler; 0: they are ignored, and the first is named on stderr. 1, but 0 in
     *  libnp_malloc.so, as a program may have blocks of another malloc; 1 in libnp_malloc_checked.so, too. */
    np_option_fatal_foreign = 5,
    /** NP_LEAKS: whether np_leak_report prints on stderr when the process ends; 0. 1: as text, of
     *  which there is none if nothing from np_alloc_at is in use; 2: as JSON. That is at return from main or exit(),
     *  after destructors of static objects and handlers of the program. If np_alloc_at was never called, and blocks
     *  are in use, a text says that leaks are not tracked. */
    np_option_leaks = 6,
    /** NP_LEAKS_EXIT: the status, up to 255, with which the process ends then, in place of its own, if something
     *  from np_alloc_at is in use; that is listed, too. 0, or if leaks are not tracked: it keeps its own; 0. */
    np_option_leaks_exit = 7,

    /** NP_SAMPLE_BYTES: about one block for that many bytes is a sample, up to 32 KiB, which lies alone between
     *  guard pages: an access beside it, or after its release, is reported with call stacks, and ends the program. 256
     *  at a time, on systems that have signals. 0: there are none; 0. */
    np_option_sample_bytes = 8,
    /** NP_BACKGROUND_THREAD: whether a background thread returns free memory to the system also while the program
     *  does not call; 0. It blocks all signals. The child of a fork has none until the option is set there. */
    np_option_background_thread = 9,

    /** NP_HUGE_PAGES: whether the system is asked for huge pages where memory is filled: under blocks of 2 MiB and
     *  more of a size of which others were filled, and under those of sizes of which a thread has many; 1. They take
     *  fewer page faults, but longer ones: while those take too long, none are asked for. */
    np_option_huge_pages = 10,
    /** NP_PRESSURE: whether a background thread watches the memory of the process's control group (Linux, cgroup v2),
     *  and returns free memory to the OS when a limit is reached (memory.high, memory.max), or processes of the group
     *  are stalled on memory for a tenth of the time (memory.pressure); 0. It purges heaps and runs, asks each thread
     *  to empty its cache at its next call that the cache cannot serve, and trims shared pools whose upstream is new
     *  and delete. While pressure lasts, the decay time is at most 50 ms. It backs off if little is returned, or most
     *  is needed again. Without such a group it does nothing, and np_statistics::pressure says so. The child of a
     *  fork has no such thread until it sets the option. See np_pressure_fd. */
    np_option_pressure = 11,
    /** NP_REPORT_SIGNAL: the signal on which the report is written that NP_REPORT names in the environment, and the
     *  profile that NP_PROFILE names; SIGUSR1, or 0 where that is not supported. 0: none. It is read when the
     *  program starts: setting it later has no effect. */
    np_option_report_signal = 12,
    /** NP_REPORT_SLABS: whether reports as JSON, also those of write_report, contain the output of np_slabs_print; 0.
     *  They are large then: about a character for each three blocks. */
    np_option_report_slabs = 13,

    /** NP_PROFILE_BYTES: about one block for that many bytes is a sample of the profile, with its call stack: see
     *  np_profile_dump. 0: there are none; 0, but 512K if NP_PROFILE is in the environment: the path to which a profile
     *  is written on the signal of np_option_report_signal, and when the process ends. A thread that has blocks begins
     *  or ends with it at its next call that its cache cannot serve; the one that sets the option, at once. */
    np_option_profile_bytes = 14,

    /** NP_LIMIT_BYTES: the hard limit of np_statistics::bytes_reserved: of slabs, large blocks, blocks outside of the
     *  region, and free runs with memory. At the limit, np_alloc purges free runs; if that is not enough, it returns
     *  the free memory of all heaps, as np_trim does, asks other threads to empty their caches, and tries once more;
     *  then it fails with ENOMEM. What is handed out is exact to the byte. Metadata and guard pages do not count. A
     *  free run without memory counts while it is joined with one that has memory, until both are purged: so
     *  bytes_reserved may be above the limit for a moment. Where no slab fits any more, small blocks are mapped one by
     *  one, in whole pages. A block that moves when it grows counts twice meanwhile. 0: no limit; 0. */
    np_option_limit_bytes = 15,
    /** NP_SOFT_LIMIT_BYTES: the soft limit of the same bytes: when they exceed it, np_alloc returns the free memory of
     *  all heaps, as np_trim does, and asks other threads to empty their caches. If they still exceed it, it calls the
     *  function of np_set_soft_limit_callback. Once for each crossing. 0: no limit; 0. */
    np_option_soft_limit_bytes = 16,
    /** NP_SAMPLES_PER_SECOND: the most samples of NP_SAMPLE_BYTES that are taken in a second: a tenth of them,
     *  rounded up, in a tenth of it; 250. Those beyond are skipped: np_statistics::samples_skipped counts them.
     *  0: no limit. */
    np_option_samples_per_second = 17,

    /* Only in the checked build: from 64 on. */

    /** NP_QUARANTINE_BYTES: how many bytes of freed blocks up to 4 KiB a thread keeps in quarantine, but no more than
     *  1,024 blocks; 64K. Of larger ones, up to 32 KiB, it keeps 16 of each size class. 0: none. */
    np_option_quarantine_bytes = 64,
    /** NP_RANDOM_ORDER: whether blocks are allocated in an unpredictable order; 1. */
    np_option_random_order = 65,
    /** NP_POISON: whether free blocks are filled, and verified when they are allocated again, as is fresh memory:
     *  0: no; 1 or 2: yes; 1. Cannot be changed after the first block. */
    np_option_poison = 66,
    /** NP_GUARD_PAGES: whether there are guard pages behind slabs and large blocks, and for blocks of 0 bytes; 1.
     *  Cannot be changed after the first block. */
    np_option_guard_pages = 67,
    /** NP_PAIRS: whether mismatched deallocation is reported, such as delete of a block of malloc or new[]; 1. If the
     *  program replaces any form of new or delete, these are not compared; nor are blocks outside of the region. */
    np_option_pairs = 68,
    /** NP_ZERO: what is filled with zeros: NP_ZERO_FREE, or "free" as a text: free memory, instead of with 0xDF, unless
     *  NP_POISON is 0; NP_ZERO_ALLOC, or "alloc": new blocks, and the bytes that realloc and np_expand add; both, or
     *  "free,alloc"; 0. Cannot be changed after the first block. */
    np_option_zero = 69,
    /** NP_REALLOC_MOVES: whether realloc always moves the block, if there is memory, so that uses of the old pointer
     *  are detected as use after free; 0. */
    np_option_realloc_moves = 70,
    /** NP_VERIFY_AT_END: whether free blocks, those in quarantine, and what lies behind blocks in use are verified when
     *  the process ends by exit, or returns from main, and has no other threads then; 1. The first that was written to
     *  is reported. */
    np_option_verify_at_end = 71
} np_option;

/** Effects: sets an option.
 *  Returns: 0; EINVAL if there is no such option, or it cannot have that value; EBUSY if it is too late; EAGAIN if
 *    no thread could be started. On failure nothing is changed. */
int np_option_set(np_option option, size_t value) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the option of that name: "decay_ms" is np_option_decay_ms; np_option_none if this library has none.
 *  Complexity: linear in options. */
np_option np_option_by_name(const char* name) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: sets the option of that name to what `value` stands for, which is written as in the environment: "64K",
 *    "never".
 *  Returns: as np_option_set. */
int np_option_set_by_name(const char* name, const char* value) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the value of an option; 0 if there is no such option. */
size_t np_option_get(np_option option) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
