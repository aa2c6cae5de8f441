/* SPDX-License-Identifier: MIT
 * In place of Valgrind's header: counts what memcheck would be told, so that it need not run. */
#pragma once
extern "C" int requests_to_memcheck;
#define VALGRIND_MAKE_MEM_NOACCESS(memory, bytes) (++requests_to_memcheck)
#define VALGRIND_MAKE_MEM_DEFINED(memory, bytes) (++requests_to_memcheck)
#define VALGRIND_CREATE_MEMPOOL(pool, red_zone, is_zeroed) (++requests_to_memcheck)
#define VALGRIND_DESTROY_MEMPOOL(pool) (++requests_to_memcheck)
#define VALGRIND_MEMPOOL_ALLOC(pool, block, bytes) (++requests_to_memcheck)
#define VALGRIND_MEMPOOL_FREE(pool, block) (++requests_to_memcheck)
