// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
// `np_alloc` and `np_free`, the interface of the library np_alloc, over the np_alloc of this one, which has these names itself.
//
//     void* np_alloc(size_t bytes);
//     void* np_alloc(size_t bytes, const char file[], int line);
//     void  np_free(void* ptr);
//
// A block that was asked for with its file and line is listed by np_report_leaks() as long as it is in use, and by NP_LEAKS=1 in the
// environment if it still is when the process ends.
//
// What differs from the original: a block may be freed by any thread, also when the one that has allocated it has ended;
// nullptr may be freed; sizes are not cut to 32 bits; memory that is free goes back to the system; no pool has to be made or
// destroyed. Include path: drop_in/ and include/, or the CMake target memory_pool::drop_in; link with memory_pool::np_alloc.
//
// Thread safety: any thread.
#pragma once

#include <memory_pool/np_alloc.hpp>
