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

#include <memory_pool/no_allocation_scope.h>
#include <memory_pool/os/c_attributes.h>
#include <memory_pool/version.h>

#include <stddef.h>
#include <stdint.h>

/** The version of this header. See np_version. */
#define NP_ALLOC_VERSION MEMORY_POOL_VERSION

/* For C++: nothing here throws, except what a callback of the program throws. */
#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** Returns: the version of the library that the program is linked with, as NP_ALLOC_VERSION. */
int np_version(void) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a block of at least `bytes`, aligned to 16; also for 0 bytes, a block of its own. NULL, and errno is
 *    ENOMEM, if there is no memory.
 *  Complexity: O(1), and occasionally a batch of blocks, or a system call. */
MEMORY_POOL_NP_ALLOCATES(1)
void* np_alloc(size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc. `file` and `line` are the allocation site, which is recorded as long as the block is in
 *    use, also if it is resized. Best effort: on OOM the block has no site. See np_leak_report and
 *    np_call_site_visit. Reports of misuse of the block name them, too.
 *  Preconditions: `file` is a string that outlives the block, as `__FILE__` does; or NULL.
 *  Complexity: as np_alloc, with locks that few threads have in common. */
MEMORY_POOL_NP_ALLOCATES(1)
void* np_alloc_at(size_t bytes, const char* file, int line) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: takes a block back. NULL is ignored; errno is preserved.
 *  Preconditions: `block` is from this library and in use. A pointer that is not from it, or not the start of a
 *    large block, is reported, and the call ignored if the error handler returns.
 *  Complexity: O(1), and occasionally a batch of blocks. */
void np_free(void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc(count * size), filled with zeros; NULL, and errno is ENOMEM, if that is more than a program
 *    can address.
 *  Complexity: as np_alloc, and linear in bytes; but for those of blocks above 32 KiB that are fresh from the
 *    system, which are zeros. */
MEMORY_POOL_NP_ALLOCATES(1, 2)
void* np_calloc(size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_calloc(1, bytes). */
MEMORY_POOL_NP_ALLOCATES(1)
void* np_zalloc(size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: makes a block larger or smaller, in place if it can.
 *  Returns: the block, which holds what it held, as far as it has room; NULL, and errno is ENOMEM, if there is no
 *    memory for a larger one: then the old block is unchanged. For NULL, as np_alloc. NULL, and errno is EINVAL, if
 *    misuse of the block was reported, and the error handler has returned. For 0 bytes, a block of 0 bytes, as from
 *    np_alloc(0), which must be freed; never NULL if the block was in use.
 *  Preconditions: as np_free.
 *  Complexity: as np_alloc; and if the block is moved, linear in what it holds, unless the system moves it as a
 *    whole, as Linux does with blocks of a MiB and more that grow. */
MEMORY_POOL_NP_RESIZES(2)
void* np_realloc(void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_realloc(block, count * size); NULL, and errno is ENOMEM, if that is more than a program can
 *    address. */
MEMORY_POOL_NP_RESIZES(2, 3)
void* np_reallocarray(void* block, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a block aligned to `alignment`; NULL, and errno is EINVAL, if that is not a power of two; else as
 *    np_alloc. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(1, 2)
void* np_aligned_alloc(size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_aligned_alloc(alignment, count * size), filled with zeros, as np_calloc. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(1, 2, 3)
void* np_aligned_calloc(size_t alignment, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_realloc, and the result is aligned to `alignment`, whatever the block was.
 *  Returns: as np_realloc, but NULL if there is no memory for 0 bytes, too; NULL, and errno is EINVAL, if `alignment`
 *    is not a power of two. */
MEMORY_POOL_NP_RESIZES_ALIGNED(2, 3)
void* np_aligned_realloc(void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: makes a block larger, if it has, or can get, room for `bytes` where it is. Never shrinks it.
 *  Returns: the block if it has that room now; else NULL: the block is unchanged, and errno is ENOMEM; or EINVAL if the
 *    block is NULL, or its misuse was reported, and the error handler has returned.
 *  Preconditions: as np_free. */
MEMORY_POOL_NP_RESIZES(2)
void* np_expand(void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a copy of `text`, in a block as from np_alloc. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_strdup(const char* text) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a copy of the first `most` characters of `text`, or of all if those are fewer, terminated by a 0, in a
 *    block as from np_alloc. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_strndup(const char* text, size_t most) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes a block as from np_aligned_alloc to `*block`.
 *  Returns: 0; EINVAL if `alignment` is not a power of two, or not a multiple of sizeof(void*); ENOMEM if there is
 *    no memory. On failure `*block` is unchanged. */
MEMORY_POOL_NP_RESULT int np_posix_memalign(void** block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: how many bytes of `block` may be used, at least as many as were asked for. Compilers know only
 *    the requested size: use of more may be warned of, or end the program (_FORTIFY_SOURCE). To use all, request
 *    np_good_size. 0 for NULL, and if misuse of the block was reported, and the error handler has returned.
 *  Preconditions: as np_free. */
size_t np_usable_size(const void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the minimum usable size of a block from np_alloc(bytes). */
size_t np_good_size(size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the minimum usable size of a block from np_aligned_alloc(alignment, bytes); 0, and errno is EINVAL, if
 *    `alignment` is not a power of two. */
size_t np_aligned_good_size(size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free; the block was requested with `bytes`. In the checked build, another size is reported,
 *    and the block freed all the same if the error handler returns. */
void np_free_sized(void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free_sized; the block was requested with `alignment`. The checked build reports an alignment
 *    above 16 for a block that was requested with 16 or less, and vice versa; otherwise `alignment` is ignored. */
void np_free_aligned_sized(void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: whether `address` lies in memory of this library's blocks. Any pointer is allowed. That does not tell
 *    whether a block is in use: for a freed one, it is 1 as long as its memory is kept for blocks of its size, and 0
 *    from then on. For a large block, that is at once.
 *  Complexity: O(1); linear in the blocks outside of the region, if there are some. */
int np_owns(const void* address) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: returns free memory to the OS: this thread's cache, parked heaps, free runs, and other threads' empty
 *    slabs (best effort).
 *  Returns: how many bytes that was, without single pages between blocks in use, which the system may have had
 *    already.
 *  Complexity: linear in slabs. */
size_t np_trim(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: for a thread that will not allocate or free for a while: returns its cached blocks to their slabs, and
 *    frees empty slabs; returns memory of its slabs and of free runs to the system, as when a thread has freed nearly
 *    all of its blocks. Its next calls take longer.
 *  Complexity: linear in its cached blocks and slabs. */
void np_thread_idle(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: has `function(bytes, argument)` called when the memory of the process is above its soft limit
 *    (np_option_soft_limit_bytes) and no free memory is left to return; once for each crossing. `bytes` is
 *    np_statistics::bytes_reserved. What the function frees is returned to the system when it returns. NULL: nothing is
 *    called.
 *
 *    The thread that crosses the limit calls it, in the call of this library that does so, or in a later one that its
 *    cache cannot serve; without a lock of this library, but maybe with locks of the program, of which the function
 *    must not wait for one. It may allocate and free, but not throw, nor leave by longjmp. While it runs, its thread
 *    answers no further crossing; other threads may, so it may run in several at once. Another thread may still call
 *    the previous function when this returns. */
void np_set_soft_limit_callback(void (*function)(size_t bytes, void* argument), void* argument) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: opens a descriptor for event loops (poll, epoll) at the first call. It becomes readable each time that free
 *    memory was returned under pressure (np_option_pressure), so that the program can return what only it can: its own
 *    caches, pools of one thread, the cache of this thread (np_trim). Reading 8 bytes resets it. It is non-blocking,
 *    and must not be closed. In the child of a fork it is closed: call this again there.
 *  Returns: the descriptor; -1 on failure, and errno is that of the OS, or ENOSYS where it is not supported. */
int np_pressure_fd(void) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: 1 if it pays to move `block`, as its slab is sparse: of the slabs of its size that have free blocks, in the
 *    same heap or of the same thread, it has at most the mean number of blocks in use, and the others have enough free
 *    blocks for all of them, so that the slab can become empty. Otherwise 0; also for NULL, a block that is not in a
 *    slab (large ones, samples), and any other pointer, and while another thread is changing these slabs. Misuse is
 *    not reported.
 *  Preconditions: no other thread destroys the heap of `block` meanwhile.
 *  Complexity: O(1), with a lock that few threads share. */
int np_defrag_hint(const void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: if np_defrag_hint(block), copies the contents of `block` to a block of the same size in a denser slab, and
 *    frees `block`, bypassing the thread cache. This thread's cached blocks of that size are returned to their slabs
 *    first. The new block has the same heap and call site.
 *  Returns: the new block, to which the caller must update all pointers; NULL if `block` is unchanged, as moving it
 *    does not pay, or no denser slab was found at once.
 *  Preconditions: as np_free; memcpy may move the contents (trivially relocatable).
 *  Complexity: O(1), and linear in the size of the block; occasionally a batch of blocks. */
MEMORY_POOL_NP_RESULT void* np_defrag_move(void* block) MEMORY_POOL_NP_NOEXCEPT;

/** A heap: see np_heap_create. */
typedef struct np_heap np_heap;

/* Statistics. */

/** Where the memory of all threads and heaps is. While no thread is in a call of this library:
 *
 *      bytes_committed = bytes_in_use + bytes_cached + bytes_in_transit + bytes_free_in_slabs + bytes_never_carved
 *                        + bytes_dirty + bytes_of_metadata
 *
 *  docs/memory.md says what makes each term large, and what to do about it. Bytes of blocks are usable bytes
 *  (np_usable_size), those above 32 KiB rounded up to 64 KiB; in the checked build, the bytes that blocks occupy,
 *  including their canaries. */
typedef struct np_statistics
{
    /** Of blocks that are allocated and not freed. */
    size_t bytes_in_use;
    /** Of free blocks in thread caches. */
    size_t bytes_cached;
    /** Of remote frees that are not drained yet, with their batches. */
    size_t bytes_in_transit;
    /** Taken from the OS and not returned, whether they were ever written to or not. Most metadata is not included:
     *  see bytes_committed. */
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
    /** Created by the program (np_heap_create), and not destroyed. */
    size_t heaps;
    /** So far. */
    size_t misuse_reports;
    /** Of the tables of allocation sites, on top of what is reserved: 53 to 320 for each block of np_alloc_at in
     *  use, or a page. */
    size_t bytes_of_call_sites;
    /** Blocks that were freed with a larger size than they have, of those that were checked. */
    size_t size_mismatches;
    /** Taken from the OS and not returned: the sum above. Pages that were not touched yet, or that were purged
     *  between blocks in use, are not resident: see np_resident_bytes. */
    size_t bytes_committed;
    /** In slabs: of blocks that were allocated and are free again. */
    size_t bytes_free_in_slabs;
    /** In slabs: behind the last block that was ever allocated, including a rest too short for a block. Slabs are
     *  carved from the beginning, so most of it was never touched. */
    size_t bytes_never_carved;
    /** Of tables of slices, heaps, tables of call sites, guard pages around samples. */
    size_t bytes_of_metadata;
    /** Of those in use: by how much blocks exceed the requests. Exact in the checked build, but for blocks outside of
     *  the region; otherwise exact for large blocks, and estimated from samples of the requests for the others. */
    size_t bytes_of_slack;
    /** Whether memory is short: an np_pressure. */
    size_t pressure;
    /** How many times pressure was signalled, while it was watched. */
    size_t pressure_signals;
    /** How many times free memory was returned under pressure. */
    size_t pressure_trims;
    /** Of those purged: under pressure. */
    size_t bytes_purged_under_pressure;
    /** Blocks that were samples so far: see np_option_sample_bytes. */
    size_t samples;
    /** Samples that were due, but not taken: beyond np_option_samples_per_second, or for lack of a slot or memory. */
    size_t samples_skipped;
} np_statistics;

/** The state of memory pressure: see np_option_pressure. */
typedef enum np_pressure
{
    /** It is not watched. */
    np_pressure_off = 0,
    /** It cannot be watched: no group of this process (cgroup v2) has the memory controller enabled. */
    np_pressure_unknown = 1,
    /** There is none. */
    np_pressure_none = 2,
    /** There is some: it was signalled in the last ten seconds. */
    np_pressure_some = 3
} np_pressure;

/** Effects: writes the statistics of this moment to `*statistics`, of size `bytes`: the members up to there, and 0 to
 *    those that this library does not know. So the struct can grow: programs and libraries of different versions
 *    work together. Programs call np_get_statistics.
 *  Complexity: as np_get_statistics. */
void np_get_statistics_sized(np_statistics* statistics, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes the statistics of this moment to `*statistics`.
 *
 *  They are exact if no other thread is in a call of this library; whether others exist, and cache blocks, does not
 *  matter. Otherwise each figure was correct at some moment, and the figures may be inconsistent with each other.
 *  In the child of a fork, blocks in caches of threads that do not exist there count as in use.
 *  Complexity: linear in heaps, whatever the number of blocks; in the checked build, linear in blocks. */
static inline void np_get_statistics(np_statistics* statistics) MEMORY_POOL_NP_NOEXCEPT
{
    np_get_statistics_sized(statistics, sizeof *statistics);
}

/** Returns: how many bytes of committed memory are resident now, as the OS reports it (mincore); pages of small
 *    tables are assumed to be. 0 if that is unknown: only Linux reports it. Less than
 *    np_statistics::bytes_committed, unless memory is locked.
 *  Complexity: linear in pages. */
size_t np_resident_bytes(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes the figure that np_statistics_print calls `name` in JSON to `*value`: "bytes_in_use" is
 *    np_statistics::bytes_in_use; "bytes_resident" is np_resident_bytes.
 *  Returns: 0; EINVAL if this library has no such figure: then `*value` is unchanged.
 *  Complexity: as np_get_statistics, or as np_resident_bytes. */
int np_statistics_by_name(const char* name, size_t* value) MEMORY_POOL_NP_NOEXCEPT;

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
 *    np_statistics, `bytes_resident` (np_resident_bytes; null if unknown), and an array `classes` of objects with
 *    `block_bytes`, the numbers of blocks `in_use`, `cached`, `in_transit`, `outstanding` (in use or in transit) and
 *    `free`, and `bytes_never_carved` and `slab_bytes`:
 *
 *      slab_bytes = (in_use + cached + in_transit + free) * block_bytes + bytes_never_carved
 *
 *  Throws: what `write` throws, if it is a function of C++.
 *  Complexity: as np_get_statistics and np_resident_bytes. */
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
 *    If nothing is in use, there is no text. JSON has `tracked`, whether np_alloc_at was ever called, the numbers
 *    `blocks` and `bytes`, and an array `sites` of objects with `file`, `line`, `blocks` and `bytes`, which may be
 *    empty. Bytes are as requested.
 *
 *    If np_alloc_at was never called, and blocks are sampled (NP_PROFILE_BYTES), blocks in use are listed by call
 *    stack: the innermost function in place of a line, its callers below. Unless each block is a sample, figures are
 *    estimates, and the text says so. JSON then has `bytes_between_samples`, and an array `stacks` of objects with
 *    `frames`, `blocks` and `bytes`.
 *  Returns: the number of these blocks.
 *  Throws: what `write` throws, as np_call_site_visit.
 *  Complexity: as np_call_site_visit.
 *  Thread safety: as np_call_site_visit. */
size_t np_leak_report(np_format format, void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: sets a checkpoint for np_leak_diff. Any number of them may exist, and be used in any order.
 *  Returns: the checkpoint. 0 stands for the beginning of the program.
 *  Complexity: O(1), and it takes no memory: each block knows how many checkpoints were before it. */
MEMORY_POOL_NP_RESULT uint64_t np_leak_checkpoint(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_leak_report, of those blocks that are in use now and were not at the checkpoint. A block that was
 *    resized since is as old as it was.
 *  Returns: the number of these blocks.
 *  Preconditions: `checkpoint` is from np_leak_checkpoint, or 0.
 *  Throws: what `write` throws, as np_call_site_visit. */
size_t np_leak_diff(uint64_t checkpoint, np_format format,
                    void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: calls `visit(block, bytes, argument)` for each block in use of that heap, or, if it is NULL, of all
 *    heaps and threads, in no order, until it returns 0. `bytes` is its np_usable_size.
 *  Returns: 1; 0 if `visit` did; -1 on failure, and errno is EINVAL if there is no such heap, which was reported. For
 *    all heaps, ENOMEM if there is no memory to find out what is in use, and ENOTRECOVERABLE if free blocks are
 *    inconsistent (see np_verify).
 *  Preconditions: no other thread is in a call of this library, but its own (np_option_background_thread), which
 *    works only while `visit` does; `visit` calls nothing of it but functions that only tell something.
 *  Throws: what `visit` throws, if it is a function of C++; for all heaps, the memory for what was found out is lost
 *    then.
 *  Complexity: linear in what was ever in use. */
int np_heap_visit(np_heap* heap, int (*visit)(void* block, size_t bytes, void* argument), void* argument);

/** A slab: whole slices that are cut into blocks of one size. Members are only added, at the end. */
typedef struct np_slab
{
    /** Where its blocks begin. */
    const void* address;
    /** All of its bytes, including those behind the last block. */
    size_t bytes;
    /** Bytes of each block. */
    size_t block_bytes;
    /** Blocks that fit into it. */
    size_t blocks;
    /** Of those: in use. */
    size_t blocks_in_use;
    /** Of those: cached by threads, or in transit to their heap. They pin the slab, too. */
    size_t blocks_cached;
} np_slab;

/** Effects: calls `visit(slab, argument)` for each slab of that heap, or, if it is NULL, of all heaps and threads, in
 *    no order, until it returns 0. The struct is valid until `visit` returns.
 *  Returns, preconditions, throws, complexity: as np_heap_visit. */
int np_slab_visit(np_heap* heap, int (*visit)(const np_slab* slab, void* argument), void* argument);

/** Effects: passes the state of each block of all heaps and threads to `write(text, length, argument)`, in parts; if
 *    `write` is NULL, prints it on the standard error. Allocates nothing, and calls `write` without holding a lock, so
 *    `write` may allocate. It is a JSON array with an object for each slab, in the order of addresses:
 *
 *      {"heap": "0x7f0000010000", "owner": "thread", "address": "0x7e0000020000", "bytes": 65536, "block_bytes": 64,
 *       "blocks": 1024, "states": "/////..."}
 *
 *    `owner` is `thread`, or `parked` if it has ended, or `unknown` in the child of a fork; `program` for a heap from
 *    np_heap_create; or `process` for those of np_alloc. `states` has two bits for each block, four blocks in a byte
 *    with the first in its lowest bits, in base64: 0: never in use, 1: free, 2: cached by a thread, or in quarantine,
 *    3: in use, or in transit to its heap. A large block in the region is a slab of one block, and its `heap` and
 *    `owner` are null. Slabs of metadata are left out, and blocks outside of the region.
 *
 *    Each slab is shown as of one moment, except for cached blocks of a thread that is in a call; slabs allocated or
 *    freed meanwhile may be left out.
 *  Throws: what `write` throws, if it is a function of C++.
 *  Complexity: linear in blocks, and for each slab in the blocks that its thread caches of that size; in the checked
 *    build, in those in quarantine.
 *  Thread safety: any thread; threads that need the heap of a slab, or a new heap, wait while that slab is copied,
 *    which takes microseconds. */
void np_slabs_print(void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: verifies that everything is consistent: each slab, run, list and count, each block that is cached or in
 *    transit, and that nothing is lost. If not, prints the first inconsistency on the standard error. A program that
 *    writes where it should not can call this to find out when. In the child of a fork, what threads had that are
 *    not there is left out, and, if there may have been some, what stands in blocks in use where those are checked.
 *  Returns: 1 if everything is consistent, else 0; also if there is no memory to find that out, which is printed, too.
 *  Preconditions: no other thread is in a call of this library; its own (np_option_background_thread) rests
 *    meanwhile.
 *  Complexity: linear in what was ever in use. */
int np_verify(void) MEMORY_POOL_NP_NOEXCEPT;

/* Heaps that are freed as a whole. A block of one may also be given to every function above that takes a block. NULL
 * instead of a heap, or a destroyed one that was not replaced, is reported, and the call fails if the error handler
 * returns: errno, or the result, is EINVAL. The same goes for a block of another heap. */

/** Returns: a new heap; NULL, and errno is ENOMEM, if there is no memory.
 *  Complexity: O(1). */
MEMORY_POOL_NP_RESULT np_heap* np_heap_create(void) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_heap_create, a heap that reports (snapshot(), write_report(), NP_REPORT) list by a copy of the first
 *    127 characters of `name`. With NULL or "", the heap is not listed.
 *  Complexity: O(1). */
MEMORY_POOL_NP_RESULT np_heap* np_heap_create_named(const char* name) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc, a block of that heap; NULL, and errno is ENOMEM, also if the region has no room for it (see
 *    np_option_region_bytes): what is mapped block by block is of no heap.
 *  Complexity: as np_alloc, with a lock of the heap. */
MEMORY_POOL_NP_ALLOCATES(2)
void* np_heap_alloc(np_heap* heap, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_zalloc, a block of that heap. */
MEMORY_POOL_NP_ALLOCATES(2)
void* np_heap_zalloc(np_heap* heap, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_calloc, a block of that heap. */
MEMORY_POOL_NP_ALLOCATES(2, 3)
void* np_heap_calloc(np_heap* heap, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_realloc. The block stays in its heap, as it does if np_realloc is called.
 *  Returns: as np_realloc; for NULL, as np_heap_alloc.
 *  Preconditions: `block` is of that heap and in use. */
MEMORY_POOL_NP_RESIZES(3)
void* np_heap_realloc(np_heap* heap, void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_heap_realloc(heap, block, count * size), if that does not overflow, as np_reallocarray. */
MEMORY_POOL_NP_RESIZES(3, 4)
void* np_heap_reallocarray(np_heap* heap, void* block, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_aligned_alloc, a block of that heap. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(2, 3)
void* np_heap_aligned_alloc(np_heap* heap, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_aligned_calloc, a block of that heap. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(2, 3, 4)
void* np_heap_aligned_calloc(np_heap* heap, size_t alignment, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_aligned_realloc. The block stays in its heap.
 *  Returns, preconditions: as np_aligned_realloc and np_heap_realloc. */
MEMORY_POOL_NP_RESIZES_ALIGNED(3, 4)
void* np_heap_aligned_realloc(np_heap* heap, void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_strdup, a block of that heap. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_heap_strdup(np_heap* heap, const char* text) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_strndup, a block of that heap. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_heap_strndup(np_heap* heap, const char* text,
                                                    size_t most) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: takes a block back, as np_free does. NULL is ignored.
 *  Preconditions: `block` is of that heap and in use. */
void np_heap_free(np_heap* heap, void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: the same, as np_free_sized does. */
void np_heap_free_sized(np_heap* heap, void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: the same, as np_free_aligned_sized does. */
void np_heap_free_aligned_sized(np_heap* heap, void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the heap from np_heap_create that a block belongs to; NULL if there is none, for NULL, and if misuse of
 *    the block was reported, and the error handler has returned.
 *  Preconditions: as np_free. */
np_heap* np_heap_of(const void* block) MEMORY_POOL_NP_NOEXCEPT;

/** The memory of a heap. Bytes as in np_statistics. */
typedef struct np_heap_statistics
{
    /** Allocated and not freed. */
    size_t blocks_in_use;
    /** Of those. */
    size_t bytes_in_use;
    /** Of slabs and large blocks. */
    size_t bytes_reserved;
    /** Of the blocks in use: whole slices. */
    size_t large_blocks;
    /** Bytes in those. */
    size_t bytes_large;
    /** Runs of slices that are cut into blocks. */
    size_t slabs;
} np_heap_statistics;

/** Effects: as np_get_statistics_sized, of one heap. All members are 0 if there is no such heap.
 *  Returns: 0; EINVAL if there is no such heap. */
int np_heap_get_statistics_sized(np_heap* heap, np_heap_statistics* statistics, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes the statistics of a heap to `*statistics`. They are a consistent snapshot.
 *  Returns: as np_heap_get_statistics_sized.
 *  Complexity: linear in slabs and large blocks of the heap, under its lock. */
static inline int np_heap_get_statistics(np_heap* heap, np_heap_statistics* statistics) MEMORY_POOL_NP_NOEXCEPT
{
    return np_heap_get_statistics_sized(heap, statistics, sizeof *statistics);
}

/** Effects: frees every block of a heap, which stays usable.
 *  Preconditions, complexity: as np_heap_destroy. */
void np_heap_clear(np_heap* heap) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: frees a heap, and every block of it. NULL is ignored. What is no heap is reported, and the call ignored
 *    if the error handler returns.
 *  Preconditions: no other thread is in a call with this heap or a block of it, or will be.
 *  Complexity: linear in slabs and large blocks of the heap, whatever the number of blocks. */
void np_heap_destroy(np_heap* heap) MEMORY_POOL_NP_NOEXCEPT;

/* Options, for programs and their users. */

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

/* Misuse, and what an error handler is told of it. */

/** What went wrong. Numbers are stable; new ones may be added. */
typedef enum np_error
{
    /** A block was freed that is not in use. */
    np_error_double_free = 1,
    /** A pointer was freed that no block contains. */
    np_error_foreign_pointer = 2,
    /** A pointer was freed that points into a block, not at its start. */
    np_error_misaligned_pointer = 3,
    /** A block was freed with another size than requested. */
    np_error_size_mismatch = 4,
    /** The bytes just behind a block were written to, or, behind a sample, read. */
    np_error_buffer_overflow = 5,
    /** A block was written to after it was freed. */
    np_error_write_after_free = 6,

    /* Of the pools in C++: see memory_pool/base/errors.hpp. */

    np_error_leak = 7,
    np_error_hook_failed = 8,
    np_error_pool_exhausted = 9,
    np_error_size_overflow = 10,
    np_error_out_of_memory = 11,
    np_error_invalid_argument = 12,
    np_error_wrong_thread = 13,
    np_error_limit_exceeded = 14,
    np_error_forbidden_allocation = 15,

    /* In the checked build. */

    /** A block was freed by a function that does not match its allocation, such as by delete if it is of malloc. */
    np_error_mismatched_deallocation = 16,

    /* Accesses to samples, and in the checked build to large free blocks. */

    /** The bytes just before a block were accessed. */
    np_error_buffer_underflow = 64,
    /** A block was accessed after it was freed. */
    np_error_use_after_free = 65
} np_error;

/** The argument of an error handler. The strings live until it returns. Members are only added, at the end. */
typedef struct np_error_report
{
    /** What went wrong. */
    np_error kind;
    /** The same, as the report says it: "double free", "foreign pointer", ... */
    const char* name;
    /** The pointer in question, or the address that was accessed. */
    const void* address;
    /** Bytes of its block, in the checked build as requested; 0 if there is no block, or it is gone. */
    size_t block_size;
    /** The interface that reports it: "np_alloc" or "np_heap". */
    const char* where;
    /** The lines that were printed. */
    const char* text;
} np_error_report;

/** Called after a misuse was printed on stderr, with no lock held. If it returns, the call that was
 *  wrong is ignored.
 *
 *  After a wrong access to a sample, or to a large free block in the checked build, it is called from the signal
 *  handler, and must be async-signal-safe; if it returns, the signal ends the program. */
typedef void (*np_error_handler)(const np_error_report* report);

/** Effects: installs `handler` as the error handler; NULL stands for the default, which aborts. It replaces a handler
 *    set by memory_pool::set_error_handler in C++, and vice versa; one in C++ is not called for accesses.
 *    libnp_malloc.so has the default.
 *  Returns: the previous handler; NULL if that was the default. For one in C++, a function that calls the last such
 *    handler, and can be installed again. */
np_error_handler np_set_error_handler(np_error_handler handler) MEMORY_POOL_NP_NOEXCEPT;

/* A sampling heap profiler: the memory in use, by call stack. */

/** Formats of a profile. */
typedef enum np_profile_format
{
    /** What pprof reads: profile.proto of github.com/google/pprof, with addresses and mappings, so that
     *  pprof finds the symbols. Its sample types are alloc_objects, alloc_space, inuse_objects and inuse_space. */
    np_profile_pprof,
    /** A line for each call stack, outermost function first, and its bytes in use: for flame graphs. */
    np_profile_folded,
    /** For people: call stacks, those with most bytes in use first. */
    np_profile_text
} np_profile_format;

/** Effects: passes the current profile to `write(text, length, argument)`, in parts: for each call stack, the
 *    blocks and bytes that were allocated there, and what of them is in use, estimated from the samples taken since
 *    np_option_profile_bytes was first not 0. No lock is held while `write` runs.
 *  Returns: 0; EINVAL if there is no such format, or `write` is NULL; ENOMEM if there is no memory.
 *  Throws: what `write` throws, if it is a function of C++; the memory for the profile is leaked then.
 *  Complexity: linear in samples in use, and n log n in call stacks. */
int np_profile_write(np_profile_format format, void (*write)(const char* text, size_t length, void* argument),
                     void* argument);

/** Effects: writes the current profile to the file at `path`, in which `%p` stands for the process ID, and `%%`
 *    for `%`: first to one beside it, which then replaces it. A path that ends in ".folded" or ".txt" chooses that
 *    format; any other one is for pprof.
 *  Returns: 0, or an error number.
 *  Complexity: as np_profile_write. */
int np_profile_dump(const char* path) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
