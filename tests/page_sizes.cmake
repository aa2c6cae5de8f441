# SPDX-License-Identifier: MIT
# Unit tests with simulated pages of 16 and 64 KiB: see support/large_pages.cpp. One process runs all tests of a unit.
# Excludes tests that measure memory in real pages, expect pages or guards of 4 KiB, or need a separate process.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release" OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CROSSCOMPILING
   OR NOT TARGET memory_pool_np_alloc)
    return()
endif()

add_library(test_large_pages MODULE support/large_pages.cpp)
target_link_libraries(test_large_pages PRIVATE memory_pool_warnings ${CMAKE_DL_LIBS})
add_dependencies(memory_pool_tidy_tests test_large_pages)

# memory_pool_add_page_size(<prefix> <unit> <page size> <filter of GoogleTest>)
function(memory_pool_add_page_size prefix unit bytes filter)
    set(name ${prefix}.${unit}_${bytes})
    add_test(NAME ${name} COMMAND unit_${unit} --gtest_brief=1 --gtest_filter=${filter})
    set_tests_properties(${name} PROPERTIES TIMEOUT 200
        ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:test_large_pages>;TEST_PAGE_BYTES=${bytes}")
    if(prefix MATCHES "^long")
        set_tests_properties(${name} PROPERTIES LABELS long)
    endif()
endfunction()

set(elsewhere np_memory* np_threads* np_fork* np_signals* *Death* *death* np_background_thread* np_decay* soak*
    resident_bytes* np_statistics.count_* np_statistics.are_exact* np_slabs_print.agrees*
    mmap_blocks.are_found* *region.is_unchanged_by* region.advises_core_dumps_with_few* sparse_heap* hash_table.*pages*
    np_heap_forms.count* np_defrag_hint.is_0* checked_writes.before_a_large* checked_large.*
    checked_memory.does_not_count_guards pthread_keys*
    cached_block_set.*transit* statistics.*in_transit* page_resource.*process*)
list(JOIN elsewhere ":" elsewhere)
foreach(bytes IN ITEMS 16384 65536)
    memory_pool_add_page_size(page_sizes os ${bytes} *)
    memory_pool_add_page_size(page_sizes public_headers ${bytes} page_resource*:*arena*:-${elsewhere})
endforeach()
memory_pool_add_page_size(page_sizes np_alloc 65536 -${elsewhere})
memory_pool_add_page_size(long.page_sizes np_alloc 16384 -${elsewhere})
foreach(bytes IN ITEMS 16384 65536)
    memory_pool_add_page_size(long.page_sizes np_alloc_checked ${bytes} -${elsewhere})
endforeach()
