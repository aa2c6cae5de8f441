/* SPDX-License-Identifier: MIT
 * Copyright (c) 2026 The memory_pool authors
 */
/** \file
 * Blocks of any size, for any thread: the C interface of np_alloc. Link with the CMake target memory_pool::np_alloc.
 *
 *     np_alloc  ->  | this thread's magazines | -> | its slabs | -> | runs of 64 KiB slices of one region |
 *     np_free   ->  | this thread's magazines, or, if another thread has allocated it, that one's inbox  |
 *
 * What malloc and its relatives promise, these do; errors are told as they tell them. A block may be freed by any thread, also
 * when the one that has allocated it has ended.
 *
 * Thread safety: any thread.
 */
#ifndef MEMORY_POOL_NP_ALLOC_H
#define MEMORY_POOL_NP_ALLOC_H

#include <stddef.h>
#include <stdint.h>

/* For C++: nothing here throws, but what a function of the program throws that is called. */
#ifdef __cplusplus
#define MEMORY_POOL_NOEXCEPT noexcept
extern "C" {
#else
#define MEMORY_POOL_NOEXCEPT
#endif

/* NOLINTBEGIN(modernize-use-using): for C, too. */

/** Returns: a block of at least `bytes`, aligned to 16; also for 0 bytes it is none that is in use. NULL, and errno is ENOMEM, if
 *    there is no memory.
 *  Complexity: O(1), and now and then a batch of blocks, or a system call. */
void* np_alloc(size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_alloc. `file` and `line` say which line of the program asks; they are remembered as long as the block is in use,
 *    whoever resizes it, if there is memory for that. See np_report_leaks and np_visit_call_sites. Reports of misuse of the block name
 *    them, too.
 *  Preconditions: `file` is a text that stays where it is as long as the block is in use, as `__FILE__` does; or NULL.
 *  Complexity: as np_alloc, with locks that few threads have in common. */
void* np_alloc_at(size_t bytes, const char* file, int line) MEMORY_POOL_NOEXCEPT;

/** Effects: takes a block back. NULL is ignored; errno stays as it is.
 *  Preconditions: `block` is from this library and in use. A pointer that is not from it, or not the start of a large block, is
 *    reported, and the call ignored if the error handler returns.
 *  Complexity: O(1), and now and then a batch of blocks. */
void np_free(void* block) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_alloc(count * size), filled with zeros; NULL, and errno is ENOMEM, if that is more than a program can address.
 *  Complexity: as np_alloc, and linear in bytes; but for those of blocks above 32 KiB that are fresh from the system, which are zeros. */
void* np_calloc(size_t count, size_t size) MEMORY_POOL_NOEXCEPT;

/** Effects: makes a block larger or smaller, in place if it can.
 *  Returns: the block, which holds what it held, as far as it has room; NULL, and errno is ENOMEM, if there is no memory for a larger
 *    one: then the old block is as it was. For NULL, as np_alloc. NULL, and errno is EINVAL, if what was wrong with the block was
 *    reported, and the error handler has returned.
 *  Preconditions: as np_free.
 *  Complexity: as np_alloc; and if the block is moved, linear in what it holds, unless the system moves it as a whole, as Linux does
 *    with blocks of a MiB and more that grow. */
void* np_realloc(void* block, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: as np_realloc(block, count * size); NULL, and errno is ENOMEM, if that is more than a program can address. */
void* np_reallocarray(void* block, size_t count, size_t size) MEMORY_POOL_NOEXCEPT;

/** Returns: a block aligned to `alignment`; NULL, and errno is EINVAL, if that is not a power of two; else as np_alloc. */
void* np_aligned_alloc(size_t alignment, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: writes such a block to `*block`.
 *  Returns: 0; EINVAL if `alignment` is not a power of two, or not a multiple of sizeof(void*); ENOMEM if there is no memory.
 *    `*block` is as it was then. */
int np_posix_memalign(void** block, size_t alignment, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: how many bytes of `block` may be used, at least as many as were asked for; 0 for NULL, and if what was wrong with the block
 *    was reported, and the error handler has returned.
 *  Preconditions: as np_free. */
size_t np_usable_size(const void* block) MEMORY_POOL_NOEXCEPT;

/** Returns: how many bytes np_alloc(bytes) would give, at least. */
size_t np_good_size(size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free; the block was asked for with `bytes`. In the library that checks, another size is reported, and the
 *    block freed all the same if the error handler returns. */
void np_free_sized(void* block, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_free.
 *  Preconditions: as np_free_sized; the block was asked for with `alignment`, which nobody looks at. */
void np_free_aligned_sized(void* block, size_t alignment, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Returns: whether `address` lies in memory that this library has handed out. Any pointer may be asked after.
 *  Complexity: O(1); linear in the blocks that had no room in the region, if there are some. */
int np_owns(const void* address) MEMORY_POOL_NOEXCEPT;

/** Effects: gives memory that is free back to the system: of this thread, of those that have ended, and of none; and of others what
 *    they do not keep for themselves, if they are not just at work in it.
 *  Returns: how many bytes that was, without single pages between blocks in use: nobody knows whether the system had them already.
 *  Complexity: linear in slabs. */
size_t np_trim(void) MEMORY_POOL_NOEXCEPT;

/** A heap: see np_heap_create. */
typedef struct np_heap np_heap;

/* What is in use. */

/** Where the memory is, of all threads and heaps. Bytes of blocks are those that may be used, as np_usable_size tells them; in the
 *  library that checks, those that they take up, with what lies behind what was asked for. */
typedef struct np_statistics
{
    size_t bytes_in_use;     /**< Of blocks that are handed out and not given back. */
    size_t bytes_cached;     /**< Of free blocks that threads keep for themselves. */
    size_t bytes_in_transit; /**< Of free blocks on their way to the thread that they are from, and what brings them. */
    size_t
        bytes_reserved; /**< Taken from the system and not given back, whether they were ever written to or not. What says
                                     where the blocks are comes on top of it, about 1 %. */
    size_t peak_bytes_reserved; /**< The most that there ever were at one time. */
    size_t bytes_dirty;         /**< Of those reserved: free in whole slices; np_trim would give them back. */
    size_t bytes_purged;        /**< Ever given back to the system. */
    size_t large_blocks;        /**< Blocks in use that are whole slices, or samples. */
    size_t bytes_large;         /**< In those. */
    size_t slabs;               /**< Runs of slices that are cut into blocks. */
    size_t thread_heaps;        /**< As many as there ever were threads at one time. */
    size_t parked_heaps;        /**< Of those: their thread has ended, and no other has begun since. */
    size_t heaps;               /**< From np_heap_create, and not destroyed. */
    size_t misuse_reports;      /**< So far. */
    size_t
        bytes_of_call_sites; /**< Taken to remember the lines of blocks from np_alloc_at, on top of what is reserved: 53 to 320
                                     for each block in use, or a page. */
    size_t
        size_mismatches; /**< Blocks that were freed with a size that they have no room for, of those that were looked at. */
} np_statistics;

/** Effects: writes the statistics of this moment to `*statistics`.
 *
 *  They are exact if no other thread is in a call of this library; whether others are there, and have blocks at hand, does not
 *  matter. If others are in calls, each figure is one that was right at some moment, and they need not fit together. In the child
 *  of a fork, free blocks that threads had at hand which are not there count as in use.
 *  Complexity: linear in heaps, whatever the number of blocks. */
void np_get_statistics(np_statistics* statistics) MEMORY_POOL_NOEXCEPT;

/** How something is printed. */
typedef enum np_format
{
    np_format_text, /**< Lines for people. */
    np_format_json  /**< An object for programs. */
} np_format;

/** Effects: gives the statistics of this moment to `write(text, length, argument)`, piece by piece; if `write` is NULL, prints them
 *    on the standard error. Nothing is allocated for that, and no lock held. A function that writes to a FILE:
 *
 *      void to_file(const char* text, size_t length, void* file) { fwrite(text, 1, length, file); }
 *
 *    As text, that is each figure, and a table of the blocks of each size; as JSON, a number for each member of np_statistics, and
 *    an array `classes` of objects with `block_bytes`, `outstanding` (blocks in use or on their way) and `cached` (blocks).
 *  Throws: what `write` throws, if it is a function of C++.
 *  Complexity: as np_get_statistics. */
void np_print_statistics(np_format format, void (*write)(const char* text, size_t length, void* argument),
                         void* argument);

/** What is in use of the blocks that one line of a program has asked for with np_alloc_at. */
typedef struct np_call_site
{
    const char* file; /**< As np_alloc_at was told. */
    int line;         /**< As np_alloc_at was told. */
    size_t blocks;    /**< In use. */
    size_t bytes;     /**< That were asked for. */
} np_call_site;

/** Effects: calls `visit(site, argument)` for each line of which blocks were in use at one moment, the line with the most bytes
 *    first, until it returns 0. A line of a header that several libraries have is one line. If there is no memory for a list of
 *    lines, all blocks are of the line 0 of "unknown". The name of the file is a copy, which is there until `visit` returns.
 *  Returns: 1; 0 if `visit` did.
 *  Throws: what `visit` throws, if it is a function of C++; the memory of the list is lost then.
 *  Complexity: linear in blocks from np_alloc_at, and O(n log n) for n lines.
 *  Thread safety: any thread; others wait that come with such a block while the list is made, and not while `visit` is called. */
int np_visit_call_sites(int (*visit)(const np_call_site* site, void* argument), void* argument);

/* Leaks: what is in use and should not be, by the line that has asked for it with np_alloc_at. */

/** Effects: prints what is in use now, as np_print_statistics prints: a line for each line of the program, the one with the most bytes
 *    first, and one for all of them:
 *
 *      np_alloc: in use, by allocation site:
 *        orders.c:42  3 blocks  192 bytes
 *        parser.c:7  1 block  100 bytes
 *        in all  4 blocks  292 bytes
 *
 *    If nothing is in use, there is no text. As JSON, it is numbers `blocks` and `bytes`, and an array `sites` of objects with
 *    `file`, `line`, `blocks` and `bytes`, which may be empty. Bytes are those that were asked for.
 *  Returns: how many blocks that are.
 *  Throws: what `write` throws, as np_visit_call_sites.
 *  Complexity: as np_visit_call_sites.
 *  Thread safety: as np_visit_call_sites. */
size_t np_report_leaks(np_format format, void (*write)(const char* text, size_t length, void* argument),
                       void* argument);

/** Effects: marks a moment, for np_leak_diff. There may be any number of them, in any order, at the same time.
 *  Returns: what np_leak_diff has to be told. 0 stands for the beginning of the program.
 *  Complexity: O(1), and it takes no memory: each block knows how many checkpoints were before it. */
uint64_t np_leak_checkpoint(void) MEMORY_POOL_NOEXCEPT;

/** Effects: as np_report_leaks, of those blocks that are in use now and were not at the checkpoint. A block that was resized since is
 *    as old as it was.
 *  Returns: how many blocks that are.
 *  Preconditions: `checkpoint` is from np_leak_checkpoint, or 0.
 *  Throws: what `write` throws, as np_visit_call_sites. */
size_t np_leak_diff(uint64_t checkpoint, np_format format,
                    void (*write)(const char* text, size_t length, void* argument), void* argument);

/** Effects: calls `visit(block, bytes, argument)` for each block in use of that heap, or, if it is NULL, of all heaps and threads,
 *    in no order, until it returns 0. `bytes` is what np_usable_size tells.
 *  Returns: 1; 0 if `visit` did, or, for all heaps, if there is no memory to find out what is in use: then errno is ENOMEM; or if
 *    that cannot be told, as np_verify finds something wrong with free blocks: EINVAL.
 *  Preconditions: no other thread is in a call of this library, but its own (np_option_background_thread), which works only while
 *    `visit` does; `visit` calls nothing of it but functions that only tell something.
 *  Throws: what `visit` throws, if it is a function of C++; for all heaps, the memory for what was found out is lost then.
 *  Complexity: linear in what was ever in use. */
int np_visit_heap(np_heap* heap, int (*visit)(void* block, size_t bytes, void* argument), void* argument);

/** Effects: proves that everything is in order: each slab, run, list and count, each block that threads keep for themselves or send
 *    to each other, and that nothing is lost. If something is not, prints the first of it on the standard error. A program that
 *    writes where it should not can call this to find out when.
 *  In the child of a fork, what threads had that are not there is left out, and, if there may have been some, what stands in blocks
 *    in use where those are checked.
 *  Returns: 1 if everything is in order, else 0; also if there is no memory to find that out, which is printed, too.
 *  Preconditions: no other thread is in a call of this library; its own (np_option_background_thread) rests meanwhile.
 *  Complexity: linear in what was ever in use. */
int np_verify(void) MEMORY_POOL_NOEXCEPT;

/* Misuse. */

/** What an error handler is told. The texts live until it returns. */
typedef struct np_error_report
{
    const char* kind;    /**< What went wrong, as the report says it: "double free", "foreign pointer", ... */
    const void* address; /**< The pointer in question. */
    size_t
        block_size; /**< Its bytes, in the checked build as requested; or 0 if there is no such block, or no longer. */
    const char* where; /**< What it was given to: "np_alloc" or "np_heap". */
    const char* text;  /**< The lines that were printed. */
} np_error_report;

/** Called after a misuse was printed on the standard error, with no lock held. If it returns, the call that was wrong is ignored. */
typedef void (*np_error_handler)(const np_error_report* report);

/** Effects: makes `handler` the one that is called for misuse from now on; NULL stands for the default, which aborts. It takes the
 *    place of one that memory_pool::set_error_handler has set in C++, and the other way round. libnp_malloc.so has the default. */
void np_set_error_handler(np_error_handler handler) MEMORY_POOL_NOEXCEPT;

/* Options. */

/** What can be chosen. Each option can also be set in the environment, where it is read once, when memory is first asked for: a
 *  number, or one with K, M or G behind it. One that cannot be is named on the standard error, and the value stays. */
typedef enum np_option
{
    np_option_decay_ms, /**< NP_DECAY_MS: for how many milliseconds free memory is kept before it goes back to the
                                      system, if the program goes on calling, or there is a background thread; 1000. */
    np_option_thread_cache_bytes, /**< NP_THREAD_CACHE_BYTES: how many bytes of free blocks a thread may keep for itself, beyond a few of
                                      each size; 1M. As many again for each 32 MiB of its blocks that are in use. Sizes that
                                      are not used any more leave their part to others that need it. What it
                                      keeps when this is set, it keeps until then. */
    np_option_region_bytes, /**< NP_REGION_BYTES: how many addresses are reserved, from 16M on; 1024G. What does not fit
                                      there is mapped block by block, which is slow. Not after the first block. */
    np_option_statistics_at_end, /**< NP_STATISTICS: whether statistics are printed when the process ends; 0. 1: as text, 2: as
                                      JSON. */
    np_option_fatal_foreign, /**< NP_FATAL_FOREIGN: what a pointer does that is given back and is not from here; 1: it is reported,
                                      which ends the program unless it has an error handler; 0: it is ignored, and the first
                                      is named on the standard error. 1, but 0 in libnp_malloc.so, as a program may have blocks
                                      from before; 1 in libnp_malloc_checked.so, too. */
    np_option_leaks_at_end, /**< NP_LEAKS: whether np_report_leaks is called when the process ends, for the standard error; 0. 1: as
                                      text, of which there is none if nothing from np_alloc_at is in use; 2: as JSON. That is at
                                      return from main or exit(), after destructors of static objects and handlers of the program. */
    np_option_leaks_exit, /**< NP_LEAKS_EXIT: the status, up to 255, with which the process ends then, in place of its own, if something
                                      from np_alloc_at is in use; it is listed, too. 0: it keeps its own; 0. */

    np_option_sample_bytes, /**< NP_SAMPLE_BYTES: about one block for so many bytes is a sample, up to 32 KiB, which lies alone
                                      between pages that nobody may touch: an access beside it, or when it was freed, is reported
                                      with its calls, and ends the program. 256 at a time, on systems that have signals. 0: there
                                      are none; 0. */
    np_option_background_thread, /**< NP_BACKGROUND_THREAD: whether a thread of the library's own sees to it that free memory goes
                                      back to the system also while the program does not call; 0. It blocks all signals. The
                                      child of a fork has none until the option is set there. */

    np_option_huge_pages, /**< NP_HUGE_PAGES: whether the system is asked for huge pages where memory is filled: under blocks of
                                      2 MiB and more of a size of which others were filled, and under those of sizes of which a thread
                                      has many; 1. They take fewer faults, and each of those longer: while too long, none are
                                      asked for. */

    /* Only where the library is the one that checks. */

    np_option_quarantine_bytes, /**< NP_QUARANTINE_BYTES: how many bytes of blocks that a thread has freed wait until they may go
                                      out again, but no more than 1,024 blocks; 64K. */
    np_option_random_order, /**< NP_RANDOM_ORDER: whether blocks go out in an order that nobody can tell; 1. */
    np_option_poison, /**< NP_POISON: whether free blocks are filled, and looked at when they go out again; 1. Not after the
                                      first block. */
    np_option_guard_pages /**< NP_GUARD_PAGES: whether there are pages that nobody may touch behind slabs and large blocks,
                                      and for blocks of 0 bytes; 1. Not after the first block. */
} np_option;

/** Effects: sets an option.
 *  Returns: 0; EINVAL if there is no such option, or it cannot have that value; EBUSY if it is too late; EAGAIN if the system has
 *  no thread for it. Then nothing changed. */
int np_set_option(np_option option, size_t value) MEMORY_POOL_NOEXCEPT;

/** Returns: the value of an option; 0 if there is no such option. */
size_t np_get_option(np_option option) MEMORY_POOL_NOEXCEPT;

/* Heaps that are freed as a whole. A block of one may also be given to every function above that takes a block. NULL instead of a
 * heap, or one that was destroyed and is no new one, is reported, and the call fails if the error handler returns. */

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
 *  Preconditions: `block` is of that heap and in use. One that is not of it is reported, and NULL returned if the error handler
 *    returns. */
void* np_heap_realloc(np_heap* heap, void* block, size_t bytes) MEMORY_POOL_NOEXCEPT;

/** Effects: takes a block back, as np_free does. NULL is ignored.
 *  Preconditions: `block` is of that heap and in use. One that is not of it is reported, and the call ignored if the error handler
 *    returns. */
void np_heap_free(np_heap* heap, void* block) MEMORY_POOL_NOEXCEPT;

/** Effects: frees a heap, and every block of it. NULL is ignored. What is no heap is reported, and the call ignored if the error
 *    handler returns.
 *  Preconditions: no other thread is in a call with this heap or a block of it, or will be.
 *  Complexity: linear in slabs and large blocks of the heap, whatever the number of blocks. */
void np_heap_destroy(np_heap* heap) MEMORY_POOL_NOEXCEPT;

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
