/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Blocks of any size, for any thread: the C interface of np_alloc. Link with the CMake target memory_pool::np_alloc.
 *
 *     np_alloc  ->  | this thread's magazines | -> | its slabs | -> | runs of 64 KiB slices of one region |
 *     np_free   ->  | this thread's magazines, or the inbox of the thread that allocated the block        |
 *
 * These functions give the guarantees of malloc and its relatives, and report errors as malloc does. Any thread may
 * free a block, even after the thread that allocated it has ended.
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

/* C++: these functions throw only what a callback of the program throws. */
#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** Returns: the version of the linked library, in the format of NP_ALLOC_VERSION. */
int np_version(void) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a block of at least `bytes`, aligned to 16, and unique even for 0 bytes; NULL, with errno ENOMEM, if there
 *    is no memory.
 *  Complexity: O(1), with an occasional batch of blocks or system call. */
MEMORY_POOL_NP_ALLOCATES(1)
void* np_alloc(size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc. The block keeps `file` and `line` as its call site while it is in use, even if it is resized.
 *    np_leak_report, np_call_site_visit and misuse reports show the call site. Best effort: if there is no memory for
 *    the record, the block has no call site.
 *  Preconditions: `file` is NULL, or a string that outlives the block, as `__FILE__` does.
 *  Complexity: as np_alloc, plus locks that only a few threads share. */
MEMORY_POOL_NP_ALLOCATES(1)
void* np_alloc_at(size_t bytes, const char* file, int line) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: frees a block. Ignores NULL. Preserves errno.
 *  Preconditions: `block` is from this library and in use. Foreign pointers and pointers into a large block are
 *    reported. If the error handler returns, the call is ignored.
 *  Complexity: O(1), with an occasional batch of blocks. */
void np_free(void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc(count * size), filled with zeros; NULL, with errno ENOMEM, if the product overflows.
 *  Complexity: as np_alloc, plus linear in bytes. In blocks above 32 KiB, memory fresh from the OS is already zero and
 *    is not filled again. */
MEMORY_POOL_NP_ALLOCATES(1, 2)
void* np_calloc(size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_calloc(1, bytes). */
MEMORY_POOL_NP_ALLOCATES(1)
void* np_zalloc(size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: resizes a block, in place if possible. Preserves the contents up to the smaller of the two sizes. If
 *    `block` is NULL, allocates as np_alloc does.
 *  Returns: the resized block. For 0 bytes, a block as from np_alloc(0), which must be freed; never NULL in this case
 *    if `block` was in use. NULL, with errno ENOMEM and `block` unchanged, if there is no memory. NULL, with errno
 *    EINVAL, if misuse of the block was reported and the error handler returned.
 *  Preconditions: as np_free.
 *  Complexity: as np_alloc; linear in the contents if the block moves, unless the OS moves its pages, as Linux does for
 *    growing blocks of 1 MiB or more. */
MEMORY_POOL_NP_RESIZES(2)
void* np_realloc(void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_realloc(block, count * size); NULL, with errno ENOMEM, if the product overflows. */
MEMORY_POOL_NP_RESIZES(2, 3)
void* np_reallocarray(void* block, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc, but the block is aligned to `alignment`; NULL, with errno EINVAL, if `alignment` is not a
 *    power of two. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(1, 2)
void* np_aligned_alloc(size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_aligned_alloc(alignment, count * size), filled with zeros. Overflow: as np_calloc. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(1, 2, 3)
void* np_aligned_calloc(size_t alignment, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_realloc. The result is aligned to `alignment`, even if `block` was not.
 *  Returns: as np_realloc, but may also fail with ENOMEM for 0 bytes; NULL, with errno EINVAL, if `alignment` is not a
 *    power of two. */
MEMORY_POOL_NP_RESIZES_ALIGNED(2, 3)
void* np_aligned_realloc(void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: grows a block in place to at least `bytes`, if possible. Never shrinks or moves it.
 *  Returns: the block on success. Otherwise NULL, and the block is unchanged. errno is EINVAL if `block` is NULL, or if
 *    its misuse was reported and the error handler returned; otherwise ENOMEM.
 *  Preconditions: as np_free. */
MEMORY_POOL_NP_RESIZES(2)
void* np_expand(void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a copy of `text` in a block from np_alloc. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_strdup(const char* text) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: a copy of at most `max_length` characters of `text`, and a terminating 0, in a block from np_alloc. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_strndup(const char* text, size_t max_length) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: sets `*block` to a block as from np_aligned_alloc. On failure, `*block` is unchanged.
 *  Returns: 0; EINVAL if `alignment` is not a power of two, or not a multiple of sizeof(void*); ENOMEM if there is no
 *    memory. */
MEMORY_POOL_NP_RESULT int np_posix_memalign(void** block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the usable bytes of `block`, at least the requested size; 0 for NULL, or if misuse of the block was
 *    reported and the error handler returned. Compilers know only the requested size. They may warn about uses of
 *    further bytes, or generate code that aborts the program (_FORTIFY_SOURCE). To use every byte, request
 *    np_good_size(bytes).
 *  Preconditions: as np_free. */
size_t np_usable_size(const void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the minimum usable size of a block from np_alloc(bytes). */
size_t np_good_size(size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the minimum usable size of a block from np_aligned_alloc(alignment, bytes); 0, with errno EINVAL, if
 *    `alignment` is not a power of two. */
size_t np_aligned_good_size(size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free; `bytes` is the requested size. The checked build reports any other size, and frees the
 *    block if the error handler returns. */
void np_free_sized(void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free_sized; `alignment` is the requested alignment. The checked build reports an alignment
 *    above 16 for a block that was requested with 16 or less, and vice versa. Otherwise `alignment` is ignored. */
void np_free_aligned_sized(void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: 1 if `address` lies in memory of this library's blocks, else 0. Any pointer is allowed. The result does not
 *    show whether a block is in use: the memory of a freed small block counts while it is kept for blocks of that size.
 *    The memory of a freed large block does not count.
 *  Complexity: O(1); linear in the blocks outside of the region, if there are any. */
int np_owns(const void* address) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: returns free memory to the OS: this thread's cache, parked heaps, free runs, and other threads' empty
 *    slabs (best effort).
 *  Returns: the number of bytes returned. Does not count single pages between blocks in use, because those may have
 *    been returned earlier.
 *  Complexity: linear in slabs. */
size_t np_trim(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: releases memory of this thread. Call it before the thread stops allocating and freeing for a while. Returns
 *    the thread's cached blocks to their slabs, frees empty slabs, and returns memory of its slabs and of free runs to
 *    the OS. np_alloc does this by itself when a thread has freed nearly all of its blocks. The next calls of the
 *    thread take longer.
 *  Complexity: linear in the thread's cached blocks and slabs. */
void np_thread_idle(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: sets the function that np_alloc calls when memory exceeds the soft limit (np_option_soft_limit_bytes) and
 *    no free memory is left to return. NULL removes the function. `function(bytes, argument)` is called once for each
 *    crossing; `bytes` is np_statistics::bytes_reserved. When the function returns, np_alloc returns the freed memory
 *    to the OS.
 *
 *    The thread that crosses the limit calls the function, either in the call that crosses the limit or in a later call
 *    that the thread cache cannot serve. np_alloc holds no lock then, but the program may hold one, so the function
 *    must not wait for a lock of the program. It may allocate and free, but must not throw or leave by longjmp. While
 *    the function runs, its thread handles no further crossings. Other threads do, so the function may run in several
 *    threads at once. Another thread may still call the previous function after np_set_soft_limit_callback returns. */
void np_set_soft_limit_callback(void (*function)(size_t bytes, void* argument), void* argument) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: opens a descriptor for event loops (poll, epoll) at the first call. The descriptor becomes readable each
 *    time np_alloc has returned free memory under pressure (np_option_pressure). The program can then release memory
 *    that np_alloc cannot release: the program's own caches, pools of one thread, and the cache of this thread
 *    (np_trim). Reading 8 bytes resets the descriptor. It is non-blocking. Do not close it. The child of a fork must
 *    call np_pressure_fd again, because the descriptor is closed there.
 *  Returns: the descriptor; -1 on failure, with errno from the OS, or ENOSYS where descriptors are not supported. */
int np_pressure_fd(void) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: 1 if it pays to move `block`, because its slab is sparse and can become empty. The slab is compared with
 *    the other slabs of that block size that have free blocks, in the same heap or thread: it has at most the mean
 *    number of blocks in use, and the other slabs have enough free blocks to take all of its blocks. Otherwise 0. Also
 *    0 for NULL, for a block outside of slabs (a large block or a sample), for any other pointer, and while another
 *    thread changes these slabs. Does not report misuse.
 *  Preconditions: no other thread destroys the heap of `block` during the call.
 *  Complexity: O(1), with a lock that only a few threads share. */
int np_defrag_hint(const void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: if np_defrag_hint(block), copies the contents of `block` to a block of the same size in a denser slab, and
 *    frees `block`, bypassing the thread cache. First returns this thread's cached blocks of that size to their slabs.
 *    The new block keeps the heap and the call site.
 *  Returns: the new block; the caller must update all pointers to it. NULL, with `block` unchanged, if moving does not
 *    pay, or no denser slab was found at once.
 *  Preconditions: as np_free; memcpy may move the contents (trivially relocatable).
 *  Complexity: linear in the size of the block, with an occasional batch of blocks. */
MEMORY_POOL_NP_RESULT void* np_defrag_move(void* block) MEMORY_POOL_NP_NOEXCEPT;

/** A heap: see np_heap_create. */
typedef struct np_heap np_heap;

/* Statistics. */

/** Where the memory of all threads and heaps is. While no thread is in a call of this library:
 *
 *      bytes_committed = bytes_in_use + bytes_cached + bytes_in_transit + bytes_free_in_slabs + bytes_never_carved
 *                        + bytes_dirty + bytes_of_metadata
 *
 *  docs/memory.md explains what makes each term large, and what to do about it. A block counts with its usable bytes
 *  (np_usable_size), rounded up to a multiple of 64 KiB if there are more than 32 KiB. In the checked build, a block
 *  counts with the bytes that it occupies, including canaries. */
typedef struct np_statistics
{
    /** Bytes of blocks that are allocated and not freed. */
    size_t bytes_in_use;
    /** Bytes of free blocks in thread caches. */
    size_t bytes_cached;
    /** Bytes of remote frees that are not drained yet, including their batches. */
    size_t bytes_in_transit;
    /** Bytes taken from the OS and not returned, whether written to or not. Excludes most metadata: see
     *  bytes_committed. */
    size_t bytes_reserved;
    /** The peak of bytes_reserved. */
    size_t peak_bytes_reserved;
    /** The part of bytes_reserved that is free in whole slices. np_trim returns it. */
    size_t bytes_dirty;
    /** Bytes returned to the OS so far. */
    size_t bytes_purged;
    /** Blocks in use that occupy whole slices, and samples. */
    size_t large_blocks;
    /** Bytes of the large blocks. */
    size_t bytes_large;
    /** Runs of slices that are cut into blocks. */
    size_t slabs;
    /** Heaps of threads: the peak number of threads. */
    size_t thread_heaps;
    /** Thread heaps whose thread has ended, and which no new thread has adopted. */
    size_t parked_heaps;
    /** Heaps created by the program (np_heap_create) and not destroyed. */
    size_t heaps;
    /** Reports of misuse so far. */
    size_t misuse_reports;
    /** Bytes of the call site tables, not included in bytes_reserved: 53 to 320 for each block from np_alloc_at in use,
     *  but at least a page. */
    size_t bytes_of_call_sites;
    /** Sized frees whose size was checked, and was larger than the block. */
    size_t size_mismatches;
    /** Bytes taken from the OS and not returned: the sum above. Pages that were never touched, or were purged between
     *  blocks in use, are not resident: see np_resident_bytes. */
    size_t bytes_committed;
    /** Bytes in slabs: blocks that were allocated and are free again. */
    size_t bytes_free_in_slabs;
    /** Bytes in slabs: behind the last block ever allocated, including a tail too short for a block. Slabs are carved
     *  from the beginning, so most of these bytes were never touched. */
    size_t bytes_never_carved;
    /** Bytes of slice tables, heaps, call site tables, and guard pages around samples. */
    size_t bytes_of_metadata;
    /** The part of bytes_in_use beyond the requested bytes. Exact in the checked build, except for blocks outside of
     *  the region. In other builds, exact for large blocks, and estimated from sampled requests for small blocks. */
    size_t bytes_of_slack;
    /** The state of memory pressure: an np_pressure. */
    size_t pressure;
    /** The number of pressure signals while pressure was watched. */
    size_t pressure_signals;
    /** The number of times that free memory was returned under pressure. */
    size_t pressure_trims;
    /** The part of bytes_purged that was returned under pressure. */
    size_t bytes_purged_under_pressure;
    /** Blocks that were samples so far: see np_option_sample_bytes. */
    size_t samples;
    /** Samples that were due but skipped: beyond np_option_samples_per_second, or for lack of a slot or memory. */
    size_t samples_skipped;
} np_statistics;

/** The state of memory pressure: see np_option_pressure. */
typedef enum np_pressure
{
    /** Not watched. */
    np_pressure_off = 0,
    /** Cannot be watched: no control group of this process (cgroup v2) has the memory controller enabled. */
    np_pressure_unknown = 1,
    /** No pressure. */
    np_pressure_none = 2,
    /** Pressure: signalled in the last ten seconds. */
    np_pressure_some = 3
} np_pressure;

/** Effects: writes current statistics to `*statistics`, of size `bytes`. Writes only the members within that size, and
 *    sets members that this library does not know to 0. The struct can therefore grow, and programs and libraries of
 *    different versions work together. Programs call np_get_statistics.
 *  Complexity: as np_get_statistics. */
void np_get_statistics_sized(np_statistics* statistics, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes current statistics to `*statistics`.
 *
 *  The statistics are exact if no other thread is in a call of this library, even if other threads cache blocks.
 *  Otherwise each value was correct at some moment, and the values may be inconsistent with each other. In the child of
 *  a fork, blocks in caches of threads that do not exist there count as in use.
 *  Complexity: linear in heaps, not in blocks; in the checked build, linear in blocks. */
static inline void np_get_statistics(np_statistics* statistics) MEMORY_POOL_NP_NOEXCEPT
{
    np_get_statistics_sized(statistics, sizeof *statistics);
}

/** Returns: the bytes of committed memory that are resident now, as the OS reports them (mincore). Assumes that pages
 *    of small tables are resident. 0 if unknown: only Linux reports resident pages. The result is less than
 *    np_statistics::bytes_committed, unless memory is locked.
 *  Complexity: linear in pages. */
size_t np_resident_bytes(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes the value that np_statistics_print calls `name` in JSON to `*value`: "bytes_in_use" is
 *    np_statistics::bytes_in_use; "bytes_resident" is np_resident_bytes.
 *  Returns: 0; EINVAL, with `*value` unchanged, if this library does not know the name.
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

/** Effects: passes current statistics to `write(text, length, argument)`, in parts; if `write` is NULL, prints them on
 *    stderr. Does not allocate, and holds no lock during `write`. For example, to write to a FILE:
 *
 *      void to_file(const char* text, size_t length, void* file) { fwrite(text, 1, length, file); }
 *
 *    The text has a line for each value, and a table with a row for each block size. JSON has a number for each member
 *    of np_statistics, `bytes_resident` (np_resident_bytes; null if unknown), and an array `classes` of objects with
 *    `block_bytes`, the numbers of blocks `in_use`, `cached`, `in_transit`, `outstanding` (in use or in transit) and
 *    `free`, and `bytes_never_carved` and `slab_bytes`:
 *
 *      slab_bytes = (in_use + cached + in_transit + free) * block_bytes + bytes_never_carved
 *
 *  Throws: what `write` throws, if it is a C++ function.
 *  Complexity: as np_get_statistics and np_resident_bytes. */
void np_statistics_print(np_format format, void (*write)(const char* text, size_t length, void* argument),
                         void* argument);

/** The blocks in use of one call site: a line of a program that calls np_alloc_at. */
typedef struct np_call_site
{
    /** The file passed to np_alloc_at. */
    const char* file;
    /** The line passed to np_alloc_at. */
    int line;
    /** Blocks in use. */
    size_t blocks;
    /** Requested bytes of these blocks. */
    size_t bytes;
} np_call_site;

/** Effects: takes a snapshot of the call sites that have blocks in use, and calls `visit(site, argument)` for each,
 *    most bytes first, until `visit` returns 0. A line of a header is one site, even if several libraries include the
 *    header. If there is no memory for the snapshot, all blocks are listed under line 0 of "unknown". `site->file` is a
 *    copy, valid until `visit` returns.
 *  Returns: 1; 0 if `visit` returned 0.
 *  Throws: what `visit` throws, if it is a C++ function. An exception leaks the memory of the snapshot.
 *  Complexity: linear in blocks from np_alloc_at, and O(n log n) for n sites.
 *  Thread safety: any thread. Other threads' calls that involve blocks from np_alloc_at wait while the snapshot is
 *    taken, but not during `visit`. */
int np_call_site_visit(int (*visit)(const np_call_site* site, void* argument), void* argument);

/* Leaks: blocks from np_alloc_at that are still in use, by call site. */

/** Effects: passes the list of blocks in use to `write`, or prints it, as np_statistics_print does. The text has a line
 *    for each call site, most bytes first, and a total:
 *
 *      np_alloc: in use, by call site:
 *        orders.c:42  3 blocks  192 bytes
 *        parser.c:7  1 block  100 bytes
 *        in all  4 blocks  292 bytes
 *
 *    If no block from np_alloc_at is in use, there is no text. JSON has `tracked`, whether np_alloc_at was ever called,
 *    the numbers `blocks` and `bytes`, and an array `sites`, possibly empty, of objects with `file`, `line`, `blocks`
 *    and `bytes`. Bytes are requested bytes.
 *
 *    If np_alloc_at was never called, and blocks are sampled (NP_PROFILE_BYTES), blocks in use are listed by call
 *    stack: the innermost function takes the place of the line, and its callers follow below. Unless every block is a
 *    sample, the numbers are estimates, and the text marks them as estimates. JSON then has `bytes_between_samples`,
 *    and an array `stacks` of objects with `frames`, `blocks` and `bytes`.
 *  Returns: the number of blocks listed.
 *  Throws, complexity, thread safety: as np_call_site_visit, with `write` for `visit`. */
size_t np_leak_report(np_format format, void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: sets a checkpoint for np_leak_diff. Any number of checkpoints may exist, and be used in any order.
 *  Returns: the checkpoint. 0 stands for the beginning of the program.
 *  Complexity: O(1). Uses no memory: each block records the number of checkpoints before it. */
MEMORY_POOL_NP_RESULT uint64_t np_leak_checkpoint(void) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_leak_report, for the blocks in use that were allocated after the checkpoint. Resizing does not change
 *    the age of a block.
 *  Returns: the number of blocks listed.
 *  Preconditions: `checkpoint` is from np_leak_checkpoint, or 0.
 *  Throws: as np_leak_report. */
size_t np_leak_diff(uint64_t checkpoint, np_format format,
                    void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: calls `visit(block, bytes, argument)` for each block in use of `heap`, or of all heaps and threads if
 *    `heap` is NULL, in no particular order, until `visit` returns 0. `bytes` is the np_usable_size of the block.
 *  Returns: 1; 0 if `visit` returned 0; -1 on failure. errno is EINVAL if there is no such heap, which is also
 *    reported. For all heaps, errno is ENOMEM if there is no memory to find the cached blocks, and ENOTRECOVERABLE if
 *    free blocks are inconsistent (see np_verify).
 *  Preconditions: no other thread of the program is in a call of this library; `visit` calls only query functions of
 *    this library. The background thread (np_option_background_thread) may exist: it pauses, except while `visit` runs.
 *  Throws: what `visit` throws, if it is a C++ function. For all heaps, an exception leaks the record of cached blocks.
 *  Complexity: linear in the memory that was ever in use. */
int np_heap_visit(np_heap* heap, int (*visit)(void* block, size_t bytes, void* argument), void* argument);

/** A slab: whole slices that are cut into blocks of one size. New members are added only at the end. */
typedef struct np_slab
{
    /** The address of the first block. */
    const void* address;
    /** Bytes of the slab, including the tail behind the last block. */
    size_t bytes;
    /** Bytes of each block. */
    size_t block_bytes;
    /** The number of blocks that fit into the slab. */
    size_t blocks;
    /** Blocks in use. */
    size_t blocks_in_use;
    /** Blocks cached by threads, or in transit to their heap. These blocks pin the slab, too. */
    size_t blocks_cached;
} np_slab;

/** Effects: calls `visit(slab, argument)` for each slab of `heap`, or of all heaps and threads if `heap` is NULL, in no
 *    particular order, until `visit` returns 0. `*slab` is valid until `visit` returns.
 *  Returns, preconditions, throws, complexity: as np_heap_visit. */
int np_slab_visit(np_heap* heap, int (*visit)(const np_slab* slab, void* argument), void* argument);

/** Effects: passes the state of each block of all heaps and threads to `write(text, length, argument)`, in parts; if
 *    `write` is NULL, prints it on stderr. Does not allocate, and holds no lock during `write`, so `write` may
 *    allocate. The text is a JSON array with an object for each slab, in address order:
 *
 *      {"heap": "0x7f0000010000", "owner": "thread", "address": "0x7e0000020000", "bytes": 65536, "block_bytes": 64,
 *       "blocks": 1024, "states": "/////..."}
 *
 *    The `owner` of a thread heap is `thread`, `parked` if the thread has ended, or `unknown` in the child of a fork.
 *    For a heap from np_heap_create, `owner` is `program`; for the heaps of np_alloc itself, `process`. `states` is in
 *    base64. A byte holds four blocks of two bits each, the first block in the lowest bits. 0: never in use, 1: free,
 *    2: cached by a thread or in quarantine, 3: in use or in transit to its heap. A large block in the region is a slab
 *    of one block whose `heap` and `owner` are null. Leaves out slabs of metadata, and blocks outside of the region.
 *
 *    Each slab is a consistent snapshot, except for cached blocks of a thread that is in a call. Slabs that are
 *    allocated or freed during the call may be missing.
 *  Throws: what `write` throws, if it is a C++ function.
 *  Complexity: linear in blocks. For each slab, also linear in its thread's cached blocks of that size or, in the
 *    checked build, blocks in quarantine.
 *  Thread safety: any thread. Threads that need the heap of a slab, or a new heap, wait a few microseconds while the
 *    slab is copied. */
void np_slabs_print(void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: verifies all metadata: each slab, run, list and count, and each block that is cached or in transit. Also
 *    verifies that no block is lost. Prints the first inconsistency on stderr. A program can call np_verify to find out
 *    when a stray write happens. In the child of a fork, skips heaps of threads that do not exist there. If there may
 *    have been such threads, also skips the contents of blocks in use, if the build checks those.
 *  Returns: 1 if all is consistent; 0 if there is an inconsistency, or no memory for the verification, which is also
 *    printed.
 *  Preconditions: no other thread of the program is in a call of this library. The background thread
 *    (np_option_background_thread) may exist: it pauses.
 *  Complexity: linear in the memory that was ever in use. */
int np_verify(void) MEMORY_POOL_NP_NOEXCEPT;

/* Heaps that are freed as a whole. All functions above that take a block accept blocks of a heap, too. The functions
 * below report a NULL heap, a destroyed heap (unless a new heap has its address), and a block of another heap. If the
 * error handler returns, the call fails: errno, or the result, is EINVAL. */

/** Returns: a new heap; NULL, with errno ENOMEM, if there is no memory.
 *  Complexity: O(1). */
MEMORY_POOL_NP_RESULT np_heap* np_heap_create(void) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_heap_create. Reports (snapshot(), write_report(), NP_REPORT) list the heap by `name`, unless `name`
 *    is NULL or "". Copies the first 127 characters of `name`.
 *  Complexity: O(1). */
MEMORY_POOL_NP_RESULT np_heap* np_heap_create_named(const char* name) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_alloc, a block of `heap`. Also fails with ENOMEM if the region has no room (np_option_region_bytes),
 *    because blocks outside of the region belong to no heap.
 *  Complexity: as np_alloc, plus a lock of the heap. */
MEMORY_POOL_NP_ALLOCATES(2)
void* np_heap_alloc(np_heap* heap, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_zalloc, a block of `heap`. */
MEMORY_POOL_NP_ALLOCATES(2)
void* np_heap_zalloc(np_heap* heap, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_calloc, a block of `heap`. */
MEMORY_POOL_NP_ALLOCATES(2, 3)
void* np_heap_calloc(np_heap* heap, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_realloc. The block stays in its heap, as it does with np_realloc.
 *  Returns: as np_realloc; if `block` is NULL, as np_heap_alloc.
 *  Preconditions: `block` is NULL, or a block of `heap` in use. */
MEMORY_POOL_NP_RESIZES(3)
void* np_heap_realloc(np_heap* heap, void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_heap_realloc(heap, block, count * size). Overflow: as np_reallocarray. */
MEMORY_POOL_NP_RESIZES(3, 4)
void* np_heap_reallocarray(np_heap* heap, void* block, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_aligned_alloc, a block of `heap`. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(2, 3)
void* np_heap_aligned_alloc(np_heap* heap, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_aligned_calloc, a block of `heap`. */
MEMORY_POOL_NP_ALLOCATES_ALIGNED(2, 3, 4)
void* np_heap_aligned_calloc(np_heap* heap, size_t alignment, size_t count, size_t size) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_aligned_realloc. The block stays in its heap.
 *  Returns, preconditions: as np_aligned_realloc and np_heap_realloc. */
MEMORY_POOL_NP_RESIZES_ALIGNED(3, 4)
void* np_heap_aligned_realloc(np_heap* heap, void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_strdup, a block of `heap`. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_heap_strdup(np_heap* heap, const char* text) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: as np_strndup, a block of `heap`. */
MEMORY_POOL_NP_ALLOCATES_TEXT char* np_heap_strndup(np_heap* heap, const char* text,
                                                    size_t max_length) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: `block` is NULL, or a block of `heap` in use. */
void np_heap_free(np_heap* heap, void* block) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free_sized.
 *  Preconditions: as np_free_sized and np_heap_free. */
void np_heap_free_sized(np_heap* heap, void* block, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: as np_free_aligned_sized.
 *  Preconditions: as np_free_aligned_sized and np_heap_free. */
void np_heap_free_aligned_sized(np_heap* heap, void* block, size_t alignment, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the heap from np_heap_create that owns the block; NULL for any other block, for NULL, or if misuse of the
 *    block was reported and the error handler returned.
 *  Preconditions: as np_free. */
np_heap* np_heap_of(const void* block) MEMORY_POOL_NP_NOEXCEPT;

/** The memory of a heap. Bytes are counted as in np_statistics. */
typedef struct np_heap_statistics
{
    /** Blocks that are allocated and not freed. */
    size_t blocks_in_use;
    /** Bytes of the blocks in use. */
    size_t bytes_in_use;
    /** Bytes of slabs and large blocks. */
    size_t bytes_reserved;
    /** Blocks in use that occupy whole slices. */
    size_t large_blocks;
    /** Bytes of the large blocks. */
    size_t bytes_large;
    /** Runs of slices that are cut into blocks. */
    size_t slabs;
} np_heap_statistics;

/** Effects: as np_get_statistics_sized, for one heap. Sets all members to 0 if there is no such heap.
 *  Returns: 0; EINVAL if there is no such heap. */
int np_heap_get_statistics_sized(np_heap* heap, np_heap_statistics* statistics, size_t bytes) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: writes a consistent snapshot of the statistics of a heap to `*statistics`.
 *  Returns: as np_heap_get_statistics_sized.
 *  Complexity: linear in slabs and large blocks of the heap, with its lock held. */
static inline int np_heap_get_statistics(np_heap* heap, np_heap_statistics* statistics) MEMORY_POOL_NP_NOEXCEPT
{
    return np_heap_get_statistics_sized(heap, statistics, sizeof *statistics);
}

/** Effects: frees every block of a heap. The heap remains usable.
 *  Preconditions, complexity: as np_heap_destroy. */
void np_heap_clear(np_heap* heap) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: frees a heap and all of its blocks. Ignores NULL. Reports a pointer that is not a heap; if the error
 *    handler returns, the call is ignored.
 *  Preconditions: no other thread uses this heap or a block of it, now or later.
 *  Complexity: linear in slabs and large blocks of the heap, not in blocks. */
void np_heap_destroy(np_heap* heap) MEMORY_POOL_NP_NOEXCEPT;

/* Options, for programs and their users. */

/** A value of np_option_decay_ms: keep free memory until np_trim is called. */
#define NP_DECAY_NEVER UINT32_MAX

/** A flag of np_option_zero: fill free memory with zeros. */
#define NP_ZERO_FREE 1
/** A flag of np_option_zero: fill new blocks with zeros. */
#define NP_ZERO_ALLOC 2

/** The options. Numbers are stable; new options may be added.
 *
 *  An environment variable can set each option. Its name is the name of the option in capitals: NP_DECAY_MS sets
 *  np_option_decay_ms. The environment is read once, at the first allocation. A value is a number, optionally followed
 *  by K, M or G for 2^10, 2^20 or 2^30. Invalid values, and variables that begin with NP_ but name no option, are
 *  reported on stderr and ignored. A process with another user's privileges, such as a setuid program (AT_SECURE),
 *  ignores all variables.
 *
 *  A program can define default options (on ELF only), as variables and values separated by spaces. The environment
 *  overrides them. The symbol must have this name and type:
 *
 *      const char* np_options = "NP_DECAY_MS=200 NP_BACKGROUND_THREAD=1";
 *
 *  If libnp_malloc.so is preloaded, the program must export the symbol (-rdynamic). The paths NP_REPORT and NP_PROFILE
 *  are read only from the environment. */
typedef enum np_option
{
    /** No option. */
    np_option_none = 0,

    /** NP_DECAY_MS: the decay time, in milliseconds: free memory is kept for this time; then calls of the program or
     *  the background thread return it to the OS. NP_DECAY_NEVER, or "never" as text: only np_trim returns free memory.
     *  Default: 1000. */
    np_option_decay_ms = 1,
    /** NP_THREAD_CACHE_BYTES: the bytes of free blocks that a thread may cache, in addition to a few blocks of each
     *  size. The limit grows by the same amount for each 32 MiB of the thread's blocks in use. Sizes that are no longer
     *  used give up their share. A smaller value does not shrink caches at once. Default: 1M. */
    np_option_thread_cache_bytes = 2,
    /** NP_REGION_BYTES: the bytes of address space to reserve, at least 16M. Blocks that do not fit into the region are
     *  mapped one by one, which is slow. Cannot be changed after the first allocation. Default: 1024G. */
    np_option_region_bytes = 3,
    /** NP_STATISTICS_AT_END: print statistics when the process ends: 0: no, 1: as text, 2: as JSON. Default: 0. */
    np_option_statistics_at_end = 4,
    /** NP_FATAL_FOREIGN: the response to a free of a foreign pointer. 1: report it as misuse, which ends the program
     *  unless it has an error handler. 0: ignore the call; the first such call is printed on stderr. Default: 1, also
     *  in libnp_malloc_checked.so; 0 in libnp_malloc.so, because a program may have blocks of another malloc. */
    np_option_fatal_foreign = 5,
    /** NP_LEAKS: print np_leak_report on stderr when the process ends: 0: no; 1: as text, if blocks from np_alloc_at
     *  are in use; 2: as JSON. The process ends by return from main or by exit(); leaks are printed after the program's
     *  destructors of static objects and exit handlers. If np_alloc_at was never called, and blocks are in use, a line
     *  says that leaks are not tracked. Default: 0. */
    np_option_leaks = 6,
    /** NP_LEAKS_EXIT: the exit status of the process, up to 255, if blocks from np_alloc_at are in use when the process
     *  ends. These blocks are also listed. If 0, or if leaks are not tracked, the program's own status is kept.
     *  Default: 0. */
    np_option_leaks_exit = 7,

    /** NP_SAMPLE_BYTES: the mean number of allocated bytes between samples. A sample is a block of up to 32 KiB between
     *  two guard pages: an access just outside of the block, or after it was freed, is reported with call stacks, and
     *  ends the program. At most 256 samples exist at a time. Needs signals. 0: no samples. Default: 0. */
    np_option_sample_bytes = 8,
    /** NP_BACKGROUND_THREAD: 1: a background thread returns free memory to the OS even while the program makes no
     *  calls. It blocks all signals. The child of a fork has no such thread until it sets the option. Default: 0. */
    np_option_background_thread = 9,

    /** NP_HUGE_PAGES: 1: request huge pages for memory that is likely to be filled: for blocks of 2 MiB or more if
     *  other blocks of that size were filled, and for smaller blocks if a thread has many of that size. Huge pages
     *  cause fewer but longer page faults. While these take too long, no huge pages are requested. Default: 1. */
    np_option_huge_pages = 10,
    /** NP_PRESSURE: 1: a background thread watches the memory of the process's control group (Linux, cgroup v2). It
     *  returns free memory to the OS when a limit is reached (memory.high, memory.max), or when processes of the group
     *  are stalled on memory for a tenth of the time (memory.pressure). It purges heaps and runs, asks each thread to
     *  empty its cache at its next call that the cache cannot serve, and trims shared pools whose upstream is new and
     *  delete. While pressure lasts, the decay time is at most 50 ms. The thread backs off if it can return little
     *  memory, or the program needs most of it again. Without such a group, the thread does nothing: see
     *  np_statistics::pressure. The child of a fork has no such thread until it sets the option. See np_pressure_fd.
     *  Default: 0. */
    np_option_pressure = 11,
    /** NP_REPORT_SIGNAL: the signal on which the report (NP_REPORT) and the profile (NP_PROFILE) are written; 0: none.
     *  Read when the program starts; cannot be changed later. Default: SIGUSR1; 0 where signals are not supported. */
    np_option_report_signal = 12,
    /** NP_REPORT_SLABS: 1: reports as JSON, including those of write_report, contain the output of np_slabs_print. This
     *  makes the reports large: about one character for every three blocks. Default: 0. */
    np_option_report_slabs = 13,

    /** NP_PROFILE_BYTES: the mean number of allocated bytes between samples of the profile, which record the call
     *  stack: see np_profile_dump. 0: no sampling. Default: 512K if NP_PROFILE is in the environment, otherwise 0.
     *  NP_PROFILE is the path to which a profile is written on the signal of np_option_report_signal, and when the
     *  process ends. The thread that sets the option starts or stops sampling at once. Another thread that has blocks
     *  does so at its next call that its cache cannot serve. */
    np_option_profile_bytes = 14,

    /** NP_LIMIT_BYTES: the hard limit of np_statistics::bytes_reserved: slabs, large blocks, blocks outside of the
     *  region, and free runs with memory. Metadata and guard pages do not count. 0: no limit. Default: 0.
     *
     *  At the limit, np_alloc purges free runs. If that is not enough, it returns the free memory of all heaps, as
     *  np_trim does, asks other threads to empty their caches, and tries once more. If that fails too, np_alloc fails
     *  with ENOMEM. The limit is exact to the byte for allocated memory. bytes_reserved may exceed the limit briefly: a
     *  purged run that merges with a free run counts again until both are purged. When no slab fits any more, small
     *  blocks are mapped one by one, in whole pages. While a reallocation moves a block, both copies count. */
    np_option_limit_bytes = 15,
    /** NP_SOFT_LIMIT_BYTES: the soft limit of np_statistics::bytes_reserved. At each crossing, np_alloc returns the
     *  free memory of all heaps, as np_trim does, and asks other threads to empty their caches. If that is not enough,
     *  it calls the function set by np_set_soft_limit_callback once. 0: no limit. Default: 0. */
    np_option_soft_limit_bytes = 16,
    /** NP_SAMPLES_PER_SECOND: the maximum number of samples (NP_SAMPLE_BYTES) per second. Each tenth of a second may
     *  have a tenth of that number, rounded up. Further samples are skipped, and counted in
     *  np_statistics::samples_skipped. 0: no limit. Default: 250. */
    np_option_samples_per_second = 17,

    /* Only in the checked build: numbers from 64. */

    /** NP_QUARANTINE_BYTES: the bytes of freed blocks of up to 4 KiB that a thread keeps in quarantine. It keeps at
     *  most 1,024 of these blocks. Of larger blocks, up to 32 KiB, it keeps 16 of each size class. 0: no quarantine.
     *  Default: 64K. */
    np_option_quarantine_bytes = 64,
    /** NP_RANDOM_ORDER: 1: allocate blocks in an unpredictable order. Default: 1. */
    np_option_random_order = 65,
    /** NP_POISON: 1 or 2: fill free blocks, and verify free blocks and fresh memory when they are allocated. 0: do
     *  neither. Cannot be changed after the first allocation. Default: 1. */
    np_option_poison = 66,
    /** NP_GUARD_PAGES: 1: put guard pages behind slabs and large blocks, and make blocks of 0 bytes inaccessible.
     *  Cannot be changed after the first allocation. Default: 1. */
    np_option_guard_pages = 67,
    /** NP_PAIRS: 1: report mismatched deallocation, such as delete of a block from malloc or new[]. Does not check new
     *  and delete if the program replaces any form of them. Does not check blocks outside of the region. Default: 1. */
    np_option_pairs = 68,
    /** NP_ZERO: fill memory with zeros. NP_ZERO_FREE, or "free" as text: free memory, instead of with 0xDF, unless
     *  NP_POISON is 0. NP_ZERO_ALLOC, or "alloc": new blocks, and the bytes that realloc and np_expand add. Both flags,
     *  or "free,alloc": both. Cannot be changed after the first allocation. Default: 0. */
    np_option_zero = 69,
    /** NP_REALLOC_MOVES: 1: realloc always moves the block, if there is memory, so that uses of the old pointer are
     *  detected as use after free. Default: 0. */
    np_option_realloc_moves = 70,
    /** NP_VERIFY_AT_END: 1: when the process ends by exit or return from main, and has no other threads, verify free
     *  blocks, blocks in quarantine, and the bytes behind blocks in use. The first block with a stray write is
     *  reported. Default: 1. */
    np_option_verify_at_end = 71
} np_option;

/** Effects: sets an option.
 *  Returns: 0; EINVAL if there is no such option, or the value is out of range; EBUSY if it is too late to set the
 *    option; EAGAIN if no thread could be started. On failure nothing is changed. */
int np_option_set(np_option option, size_t value) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the option of that name, such as np_option_decay_ms for "decay_ms"; np_option_none if there is none.
 *  Complexity: linear in options. */
np_option np_option_by_name(const char* name) MEMORY_POOL_NP_NOEXCEPT;

/** Effects: sets the option of that name. `value` is written as in the environment: "64K", "never".
 *  Returns: as np_option_set. */
int np_option_set_by_name(const char* name, const char* value) MEMORY_POOL_NP_NOEXCEPT;

/** Returns: the value of an option; 0 if there is no such option. */
size_t np_option_get(np_option option) MEMORY_POOL_NP_NOEXCEPT;

/* Misuse, and its reports to an error handler. */

/** The kind of an error. Numbers are stable; new kinds may be added. */
typedef enum np_error
{
    /** A block was freed that is not in use. */
    np_error_double_free = 1,
    /** A pointer was freed that no block contains. */
    np_error_foreign_pointer = 2,
    /** A pointer was freed that points into a block, not at its start. */
    np_error_misaligned_pointer = 3,
    /** A block was freed with a size other than the requested one. */
    np_error_size_mismatch = 4,
    /** The bytes just behind a block were written to, or, for a sample, read. */
    np_error_buffer_overflow = 5,
    /** A block was written to after it was freed. */
    np_error_write_after_free = 6,

    /* Errors of the C++ pools: see memory_pool/errors.hpp. */

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

    /** A block was freed by a function that does not match its allocation, such as delete for a block from malloc. */
    np_error_mismatched_deallocation = 16,

    /* Accesses to samples and, in the checked build, to large free blocks. */

    /** The bytes just before a block were accessed. */
    np_error_buffer_underflow = 64,
    /** A block was accessed after it was freed. */
    np_error_use_after_free = 65
} np_error;

/** The argument of an error handler. The strings are valid until the handler returns. New members are added only at the
 *  end. */
typedef struct np_error_report
{
    /** The kind of the error. */
    np_error kind;
    /** The kind as text: "double free", "foreign pointer", ... */
    const char* name;
    /** The pointer in question, or the address that was accessed. */
    const void* address;
    /** Bytes of the block (the requested bytes, in the checked build); 0 if there is no block, or it no longer
     *  exists. */
    size_t block_size;
    /** The interface that reports the error: "np_alloc" or "np_heap". */
    const char* where;
    /** The lines that were printed. */
    const char* text;
} np_error_report;

/** Called after misuse was printed on stderr, with no lock held. If the handler returns, the offending call is ignored.
 *
 *  After a wrong access to a sample, or to a large free block in the checked build, the signal handler calls the error
 *  handler, which must be async-signal-safe then. If the error handler returns, the signal ends the program. */
typedef void (*np_error_handler)(const np_error_report* report);

/** Effects: installs `handler` as the error handler; NULL: the default, which aborts. Replaces a handler set by
 *    memory_pool::set_error_handler in C++, and vice versa. A C++ handler is not called for wrong accesses.
 *    libnp_malloc.so has the default handler.
 *  Returns: the previous handler; NULL if that was the default. If that was a C++ handler, a function that calls the
 *    last C++ handler, and can itself be installed. */
np_error_handler np_set_error_handler(np_error_handler handler) MEMORY_POOL_NP_NOEXCEPT;

/* A sampling heap profiler: the memory in use, by call stack. */

/** Formats of a profile. */
typedef enum np_profile_format
{
    /** The format of pprof: profile.proto of github.com/google/pprof, with addresses and mappings, so that pprof finds
     *  the symbols. The sample types are alloc_objects, alloc_space, inuse_objects and inuse_space. */
    np_profile_pprof,
    /** For flame graphs: a line for each call stack, outermost function first, with its bytes in use. */
    np_profile_folded,
    /** Human-readable text: call stacks, most bytes in use first. */
    np_profile_text
} np_profile_format;

/** Effects: passes the current profile to `write(text, length, argument)`, in parts. For each call stack, the profile
 *    has the blocks and bytes allocated there, in total and still in use. They are estimates from the samples taken
 *    since np_option_profile_bytes was first not 0. Holds no lock during `write`.
 *  Returns: 0; EINVAL if there is no such format, or `write` is NULL; ENOMEM if there is no memory.
 *  Throws: what `write` throws, if it is a C++ function. An exception leaks the memory for the profile.
 *  Complexity: linear in samples in use, and O(n log n) for n call stacks. */
int np_profile_write(np_profile_format format, void (*write)(const char* text, size_t length, void* argument),
                     void* argument);

/** Effects: writes the current profile to a temporary file that then replaces the file at `path`. In `path`, `%p`
 *    stands for the process ID, and `%%` for `%`. The end ".folded" or ".txt" selects that format; any other path
 *    selects pprof.
 *  Returns: 0, or an error number.
 *  Complexity: as np_profile_write. */
int np_profile_dump(const char* path) MEMORY_POOL_NP_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
