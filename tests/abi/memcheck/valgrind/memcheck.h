/* SPDX-License-Identifier: MIT
 * Replaces Valgrind's header: counts the requests to memcheck, without running it. */
#pragma once
extern "C" int requests_to_memcheck;
#define VALGRIND_MAKE_MEM_NOACCESS(memory, bytes) (++requests_to_memcheck)
#define VALGRIND_MAKE_MEM_DEFINED(memory, bytes) (++requests_to_memcheck)
#define VALGRIND_CREATE_MEMPOOL(pool, red_zone, is_zeroed) (++requests_to_memcheck)
#define VALGRIND_DESTROY_MEMPOOL(pool) (++requests_to_memcheck)
#define VALGRIND_MEMPOOL_ALLOC(pool, block, bytes) (++requests_to_memcheck)
#define VALGRIND_MEMPOOL_FREE(pool, block) (++requests_to_memcheck)
