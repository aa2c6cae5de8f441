/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Blocks of any size, for any thread: the C interface of np_alloc. Link with the CMake target memory_pool::np_alloc.
 *
 *     np_alloc  ->  | this thread's magazines | -> | its slabs | -> | runs of 64 KiB slices of one region |
 *     np_free   ->  | this thread's magazines, or, if another thread has allocated it, that one's inbox  |
 *
 * These functions keep the guarantees of malloc and its relatives, and report errors as those do. A block may be
 * freed by any thread, also after the thread that has allocated it has ended.
 *
 * Thread safety: any thread.
 */
#ifndef MEMORY_POOL_NP_ALLOC_H
#define MEMORY_POOL_NP_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* For C++: nothing here throws, except what a callback of the program throws. */
#ifdef __cplusplus
#define MEMORY_POOL_NOEXCEPT noexcept
extern "C" {
#else
#define MEMORY_POOL_NOEXCEPT
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** Returns: a block of at least `bytes`, aligned to 16; also for 0 bytes, a block of its own. NULL, and errno is
 *    ENOMEM, if there is no memory.
 *  Complexity: O(1), and occasionally a batch of blocks, or a system call. */
void* np_alloc(size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_alloc. `file` and `line` are the allocation site, which is recorded as long as the block is in
 *    use, also if it is resized. Best effort: on OOM the block has no site. See np_leak_report and
 *    np_call_site_visit. Reports of misuse of the block name them, too.
 *  Preconditions: `file` is a string that outlives the block, as `__FILE__` does; or NULL.
 *  Complexity: as np_alloc, with locks that few threads have in common. */
void* np_alloc_at(size_t bytes, const char* file, int line) MEMORY_POOL_NOEXCEPT;

/** Effects: takes a block back. NULL is ignored; errno is preserved.
 *  Preconditions: `block` is from this library and in use. A pointer that is not from it, or not the start of a
 *    large block, is reported, and the call ignored if the error handler returns.
 *  Complexity: O(1), and occasionally a batch of blocks. */
void np_free(void* block) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_alloc(count * size), filled with zeros; NULL, and errno is ENOMEM, if that is more than a program
 *    can address.
 *  Complexity: as np_alloc, and linear in bytes; but for those of blocks above 32 KiB that are fresh from the
 *    system, which are zeros. */
void* np_calloc(size_t count, size_t size) MEMORY_POOL_NOEXCEPT;

/** Effects: makes a block larger or smaller, in place if it can.
 *  Returns: the block, which holds what it held, as far as it has room; NULL, and errno is ENOMEM, if there is no
 *    memory for a larger one: then the old block is unchanged. For NULL, as np_alloc. NULL, and errno is EINVAL, if
 *    what was wrong with the block was reported, and the error handler has returned.
 *  Preconditions: as np_free.
 *  Complexity: as np_alloc; and if the block is moved, linear in what it holds, unless the system moves it as a
 *    whole, as Linux does with blocks of a MiB and more that grow. */
void* np_realloc(void* block, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_realloc(block, count * size); NULL, and errno is ENOMEM, if that is more than a program can
 *    address. */
void* np_reallocarray(void* block, size_t count, size_t size) MEMORY_POOL_NOEXCEPT;

/** Returns: a block aligned to `alignment`; NULL, and errno is EINVAL, if that is not a power of two; else as
 *    np_alloc. */
void* np_aligned_alloc(size_t alignment, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: writes such a block to `*block`.
 *  Returns: 0; EINVAL if `alignment` is not a power of two, or not a multiple of sizeof(void*); ENOMEM if there is
 *    no memory. On failure `*block` is unchanged. */
int np_posix_memalign(void** block, size_t alignment, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: how many bytes of `block` may be used, at least as many as were asked for; 0 for NULL, and if what was
 *    wrong with the block was reported, and the error handler has returned.
 *  Preconditions: as np_free. */
size_t np_usable_size(const void* block) MEMORY_POOL_NOEXCEPT;

/** Returns: the minimum usable size of a block from np_alloc(bytes). */
size_t np_good_size(size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free; the block was requested with `bytes`. In the checked build, another size is reported,
 *    and the block freed all the same if the error handler returns. */
void np_free_sized(void* block, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free_sized; `alignment` is ignored. */
void np_free_aligned_sized(void* block, size_t alignment, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: whether `address` lies in memory of this library's blocks. Any pointer is allowed.
 *  Complexity: O(1); linear in the blocks outside of the region, if there are some. */
int np_owns(const void* address) MEMORY_POOL_NOEXCEPT;

/** Effects: returns free memory to the OS: this thread's cache, parked heaps, free runs, and other threads' empty
 *    slabs (best effort).
 *  Returns: how many bytes that was, without single pages between blocks in use, which the system may have had
 *    already.
 *  Complexity: linear in slabs. */
size_t np_trim(void) MEMORY_POOL_NOEXCEPT;

/** A heap: see np_heap_create. */
typedef struct np_heap np_heap;

/* Statistics. */

/** Where the memory is, of all threads and heaps. Bytes of blocks are those that may be used, as np_usable_size
 *  tells them; in the checked build, those that they occupy, with their canaries. */
typedef struct np_statistics
{
    /** Of blocks that are allocated and not freed. */
    size_t bytes_in_use;
    /** Of free blocks in thread caches. */
    size_t bytes_cached;
    /** Of remote frees that are not drained yet, with their batches. */
    size_t bytes_in_transit;
    /** Taken from the system and not given back, whether they were ever written to or not. Metadata comes on top of
     *  it, about 1 %. */
    size_t bytes_reserved;
    /** Peak of those. */
    size_t peak_bytes_reserved;
    /** Of those reserved: free in whole slices; np_trim would return them. */
    size_t bytes_dirty;
    /** Ever returned to the system. */
    size_t bytes_purged;
    /** Blocks in use that are whole slices, or samples. */
    size_t large_blocks;
    /** Bytes in those. */
    size_t bytes_large;
    /** Runs of slices that are cut into blocks. */
    size_t slabs;
    /** As many as there ever were threads at one time. */
    size_t thread_heaps;
    /** Of those: their thread has ended, and no new thread has adopted them. */
    size_t parked_heaps;
    /** From np_heap_create, and not destroyed. */
    size_t heaps;
    /** So far. */
    size_t misuse_reports;
    /** Of the tables of allocation sites, on top of what is reserved: 53 to 320 for each block of np_alloc_at in
     *  use, or a page. */
    size_t bytes_of_call_sites;
    /** Blocks that were freed with a larger size than they have, of those that were checked. */
    size_t size_mismatches;
} np_statistics;

/** Effects: writes the statistics of this moment to `*statistics`.
 *
 *  They are exact if no other thread is in a call of this library; whether others exist, and cache blocks, does not
 *  matter. Otherwise each figure was correct at some moment, and the figures may be inconsistent with each other.
 *  In the child of a fork, blocks in caches of threads that do not exist there count as in use.
 *  Complexity: linear in heaps, whatever the number of blocks. */
void np_get_statistics(np_statistics* statistics) MEMORY_POOL_NOEXCEPT;

/** Output formats. */
typedef enum np_format
{
    /** Human-readable text. */
    np_format_text,
    /** A JSON object. */
    np_format_json
} np_format;

/** Effects: gives the statistics of this moment to `write(text, length, argument)`, part by part; if `write` is
 *    NULL, prints them on the standard error. Nothing is allocated for that, and no lock held. A function that
 *    writes to a FILE:
 *
 *      void to_file(const char* text, size_t length, void* file) { fwrite(text, 1, length, file); }
 *
 *    As text, that is each figure, and a table of the blocks of each size; as JSON, a number for each member of
 *    np_statistics, and an array `classes` of objects with `block_bytes`, `outstanding` (blocks in use or in transit)
 *    and `cached` (blocks).
 *  Throws: what `write` throws, if it is a function of C++.
 *  Complexity: as np_get_statistics. */
void np_statistics_print(np_format format, void (*write)(const char* text, size_t length, void* argument),
                         void* argument);

/** The blocks in use of one allocation site: a line of a program that calls np_alloc_at. */
typedef struct np_call_site
{
    /** The argument of np_alloc_at. */
    const char* file;
    /** The argument of np_alloc_at. */
    int line;
    /** In use. */
    size_t blocks;
    /** Requested. */
    size_t bytes;
} np_call_site;

/** Effects: calls `visit(site, argument)` for each allocation site of which blocks were in use at one moment, that
 *    with the most bytes first, until it returns 0. A line of a header that several libraries have is one site. On
 *    OOM, all blocks are of the line 0 of "unknown". The name of the file is a copy, which is there until `visit`
 *    returns.
 *  Returns: 1; 0 if `visit` did.
 *  Throws: what `visit` throws, if it is a function of C++; the memory of the list is lost then.
 *  Complexity: linear in blocks from np_alloc_at, and O(n log n) for n sites.
 *  Thread safety: any thread; others wait that come with such a block while the list is made, and not while `visit`
 *    is called. */
int np_call_site_visit(int (*visit)(const np_call_site* site, void* argument), void* argument);

/* Leaks: what is in use and should not be, by allocation site, if it is from np_alloc_at. */

/** Effects: prints what is in use now, as np_statistics_print prints: a line for each allocation site, that with the
 *    most bytes first, and one for all of them:
 *
 *      np_alloc: in use, by allocation site:
 *        orders.c:42  3 blocks  192 bytes
 *        parser.c:7  1 block  100 bytes
 *        in all  4 blocks  292 bytes
 *
 *    If nothing is in use, there is no text. As JSON, it is numbers `blocks` and `bytes`, and an array `sites` of
 *    objects with `file`, `line`, `blocks` and `bytes`, which may be empty. Bytes are as requested.
 *  Returns: the number of these blocks.
 *  Throws: what `write` throws, as np_call_site_visit.
 *  Complexity: as np_call_site_visit.
 *  Thread safety: as np_call_site_visit. */
size_t np_leak_report(np_format format, void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: sets a checkpoint for np_leak_diff. Any number of them may exist, and be used in any order.
 *  Returns: the checkpoint. 0 stands for the beginning of the program.
 *  Complexity: O(1), and it takes no memory: each block knows how many checkpoints were before it. */
uint64_t np_leak_checkpoint(void) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_leak_report, of those blocks that are in use now and were not at the checkpoint. A block that was
 *    resized since is as old as it was.
 *  Returns: the number of these blocks.
 *  Preconditions: `checkpoint` is from np_leak_checkpoint, or 0.
 *  Throws: what `write` throws, as np_call_site_visit. */
size_t np_leak_diff(uint64_t checkpoint, np_format format,
                    void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: calls `visit(block, bytes, argument)` for each block in use of that heap, or, if it is NULL, of all
 *    heaps and threads, in no order, until it returns 0. `bytes` is its np_usable_size.
 *  Returns: 1; 0 if `visit` did, or, for all heaps, if there is no memory to find out what is in use: then errno is
 *    ENOMEM; or if that cannot be told, as np_verify finds something wrong with free blocks: EINVAL.
 *  Preconditions: no other thread is in a call of this library, but its own (np_option_background_thread), which
 *    works only while `visit` does; `visit` calls nothing of it but functions that only tell something.
 *  Throws: what `visit` throws, if it is a function of C++; for all heaps, the memory for what was found out is lost
 *    then.
 *  Complexity: linear in what was ever in use. */
int np_heap_visit(np_heap* heap, int (*visit)(void* block, size_t bytes, void* argument), void* argument);

/** Effects: verifies that everything is consistent: each slab, run, list and count, each block that is cached or in
 *    transit, and that nothing is lost. If not, prints the first inconsistency on the standard error. A program that
 *    writes where it should not can call this to find out when. In the child of a fork, what threads had that are
 *    not there is left out, and, if there may have been some, what stands in blocks in use where those are checked.
 *  Returns: 1 if everything is consistent, else 0; also if there is no memory to find that out, which is printed, too.
 *  Preconditions: no other thread is in a call of this library; its own (np_option_background_thread) rests
 *    meanwhile.
 *  Complexity: linear in what was ever in use. */
int np_verify(void) MEMORY_POOL_NOEXCEPT;

/* Misuse. */

/** The argument of an error handler. The strings live until it returns. */
typedef struct np_error_report
{
    /** What went wrong, as the report says it: "double free", "foreign pointer", ... */
    const char* kind;
    /** The pointer in question. */
    const void* address;
    /** Its bytes, in the checked build as requested; or 0 if there is no such block, or no longer. */
    size_t block_size;
    /** What it was given to: "np_alloc" or "np_heap". */
    const char* where;
    /** The lines that were printed. */
    const char* text;
} np_error_report;

/** Called after a misuse was printed on the standard error, with no lock held. If it returns, the call that was
 *  wrong is ignored. */
typedef void (*np_error_handler)(const np_error_report* report);

/** Effects: installs `handler` as the error handler; NULL stands for the default, which aborts. It replaces a handler
 *    set by memory_pool::set_error_handler in C++, and vice versa.
 *    libnp_malloc.so has the default. */
void np_set_error_handler(np_error_handler handler) MEMORY_POOL_NOEXCEPT;

/* Options. */

/** As the value of np_option_decay_ms: free memory is kept for ever, until np_trim is called. */
#define NP_DECAY_NEVER UINT32_MAX

/** The options. The numbers stay; new ones are added.
 *
 *  Each can also be set in the environment, where its variable is its name in capitals: NP_DECAY_MS is
 *  np_option_decay_ms. The environment is read once, when memory is first asked for. A value is a number, or one with
 *  K, M or G behind it, for 2^10, 2^20 or 2^30. Invalid values, and variables that begin with NP_ and are of no option,
 *  are reported on stderr and ignored. In a process with rights of another user (AT_SECURE, as of a setuid program),
 *  all of them are ignored. */
typedef enum np_option
{
    /** No option. */
    np_option_none = 0,

    /** NP_DECAY_MS: the decay time: for how many milliseconds free memory is kept before it returns to the system,
     *  if the program goes on calling, or there is a background thread; 1000. NP_DECAY_NEVER, or "never" as a text:
     *  only np_trim returns it. */
    np_option_decay_ms = 1,
    /** NP_THREAD_CACHE_BYTES: how many bytes of free blocks a thread may cache, beyond a few of each size; 1M. As
     *  many again for each 32 MiB of its blocks in use. Sizes that are no longer used leave their share to others. A
     *  smaller value does not shrink caches at once. */
    np_option_thread_cache_bytes = 2,
    /** NP_REGION_BYTES: how many addresses are reserved, from 16M on; 1024G. What does not fit there is mapped block
     *  by block, which is slow. Not after the first block. */
    np_option_region_bytes = 3,
    /** NP_STATISTICS_AT_END: whether statistics are printed when the process ends; 0. 1: as text, 2: as JSON. */
    np_option_statistics_at_end = 4,
    /** NP_FATAL_FOREIGN: whether foreign pointers that are freed are fatal; 1: they are reported, which ends the
     *  program unless it has an error handler; 0: they are ignored, and the first is named on stderr. 1, but 0 in
     *  libnp_malloc.so, as a program may have blocks from before; 1 in libnp_malloc_checked.so, too. */
    np_option_fatal_foreign = 5,
    /** NP_LEAKS: whether np_leak_report is called when the process ends, for the standard error; 0. 1: as text, of
     *  which there is none if nothing from np_alloc_at is in use; 2: as JSON. That is at return from main or exit(),
     *  after destructors of static objects and handlers of the program. */
    np_option_leaks = 6,
    /** NP_LEAKS_EXIT: the status, up to 255, with which the process ends then, in place of its own, if something
     *  from np_alloc_at is in use; it is listed, too. 0: it keeps its own; 0. */
    np_option_leaks_exit = 7,

    /** NP_SAMPLE_BYTES: about one block for that many bytes is a sample, up to 32 KiB, which lies alone between
     *  guard pages: an access beside it, or after its release, is reported with its calls, and ends the program. 256
     *  at a time, on systems that have signals. 0: there are none; 0. */
    np_option_sample_bytes = 8,
    /** NP_BACKGROUND_THREAD: whether a background thread returns free memory to the system also while the program
     *  does not call; 0. It blocks all signals. The child of a fork has none until the option is set there. */
    np_option_background_thread = 9,

    /** NP_HUGE_PAGES: whether the system is asked for huge pages where memory is filled: under blocks of 2 MiB and
     *  more of a size of which others were filled, and under those of sizes of which a thread has many; 1. They take
     *  fewer faults, and each of those longer: while too long, none are asked for. */
    np_option_huge_pages = 10,

    /* Only in the checked build: from 64 on. */

    /** NP_QUARANTINE_BYTES: how many bytes of freed blocks a thread keeps in quarantine, but no more than 1,024
     *  blocks; 64K. */
    np_option_quarantine_bytes = 64,
    /** NP_RANDOM_ORDER: whether blocks are allocated in an unpredictable order; 1. */
    np_option_random_order = 65,
    /** NP_POISON: whether free blocks are filled, and verified when they are allocated again; 1. Not after the first
     *  block. */
    np_option_poison = 66,
    /** NP_GUARD_PAGES: whether there are guard pages behind slabs and large blocks, and for blocks of 0 bytes; 1.
     *  Not after the first block. */
    np_option_guard_pages = 67
} np_option;

/** Effects: sets an option.
 *  Returns: 0; EINVAL if there is no such option, or it cannot have that value; EBUSY if it is too late; EAGAIN if
 *    the system has no thread for it. Then nothing changed. */
int np_option_set(np_option option, size_t value) MEMORY_POOL_NOEXCEPT;

/** Returns: the option of that name: "decay_ms" is np_option_decay_ms; np_option_none if this library has none.
 *  Complexity: linear in options. */
np_option np_option_by_name(const char* name) MEMORY_POOL_NOEXCEPT;

/** Effects: sets the option of that name to what `value` stands for, which is written as in the environment: "64K",
 *    "never".
 *  Returns: as np_option_set. */
int np_option_set_by_name(const char* name, const char* value) MEMORY_POOL_NOEXCEPT;

/** Returns: the value of an option; 0 if there is no such option. */
size_t np_option_get(np_option option) MEMORY_POOL_NOEXCEPT;

/* Heaps that are freed as a whole. A block of one may also be given to every function above that takes a block. NULL
 * instead of a heap, or one that was destroyed and is no new one, is reported, and the call fails if the error handler
 * returns. */

/** Returns: a new heap; NULL, and errno is ENOMEM, if there is no memory.
 *  Complexity: O(1). */
np_heap* np_heap_create(void) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_alloc, a block of that heap; NULL, and errno is ENOMEM, also if the region has no room for it (see
 *    np_option_region_bytes): what is mapped block by block is of no heap.
 *  Complexity: as np_alloc, with a lock of the heap. */
void* np_heap_alloc(np_heap* heap, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_calloc, a block of that heap. */
void* np_heap_calloc(np_heap* heap, size_t count, size_t size) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_realloc. The block stays in its heap, as it does if np_realloc is called.
 *  Returns: as np_realloc; for NULL, as np_heap_alloc.
 *  Preconditions: `block` is of that heap and in use. One that is not of it is reported, and NULL returned if the
 *    error handler returns. */
void* np_heap_realloc(np_heap* heap, void* block, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: takes a block back, as np_free does. NULL is ignored.
 *  Preconditions: `block` is of that heap and in use. One that is not of it is reported, and the call ignored if the
 *    error handler returns. */
void np_heap_free(np_heap* heap, void* block) MEMORY_POOL_NOEXCEPT;

/** Effects: frees a heap, and every block of it. NULL is ignored. What is no heap is reported, and the call ignored
 *    if the error handler returns.
 *  Preconditions: no other thread is in a call with this heap or a block of it, or will be.
 *  Complexity: linear in slabs and large blocks of the heap, whatever the number of blocks. */
void np_heap_destroy(np_heap* heap) MEMORY_POOL_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
