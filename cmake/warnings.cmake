# SPDX-License-Identifier: MIT
# memory_pool_warnings: the warnings of this project's own programs. Targets for users never link it.
add_library(memory_pool_warnings INTERFACE)

if(MSVC)
    target_compile_options(memory_pool_warnings INTERFACE /W4 /permissive-)
    if(MEMORY_POOL_WARNINGS_AS_ERRORS)
        target_compile_options(memory_pool_warnings INTERFACE /WX)
    endif()
    return()
endif()

target_compile_options(memory_pool_warnings INTERFACE
    -Wall -Wextra -Wpedantic
    -Wconversion -Wsign-conversion -Wdouble-promotion
    -Wshadow
    -Wundef                     # a misspelt macro in an #if is silently 0
    -Wformat=2
    -Wimplicit-fallthrough
    $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
    $<$<COMPILE_LANGUAGE:CXX>:-Wextra-semi>
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>         # see docs/design.md, Lock annotations
    $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety-beta>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wlogical-op>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-cond>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wduplicated-branches>)
if(MEMORY_POOL_WARNINGS_AS_ERRORS)
    target_compile_options(memory_pool_warnings INTERFACE -Werror)
endif()

# memory_pool_user_warnings: warnings that users may enable for their code, and therefore for the headers.
add_library(memory_pool_user_warnings INTERFACE)
target_link_libraries(memory_pool_user_warnings INTERFACE memory_pool_warnings)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # No -Wswitch-default: a switch over all enumerators has no default, so that -Wswitch detects new enumerators.
    target_compile_options(memory_pool_user_warnings INTERFACE
        -Wnull-dereference          # needs -O2
        -Wcast-align=strict
        -Wcast-qual
        -Wswitch-enum
        -Wfloat-equal
        -Wformat-signedness
        -Warith-conversion
        -Wunused-macros
        -Wunused-const-variable=2
        -Wredundant-decls
        -Wmissing-declarations
        -Wdate-time
        -Walloca
        -Wvla
        -Wshift-overflow=2
        -Wstringop-overflow=4
        -Warray-bounds=2
        -Wstrict-aliasing=2
        -Wstrict-overflow=2
        -Wuseless-cast
        -Wzero-as-null-pointer-constant
        -Wsuggest-override
        -Wredundant-tags
        -Wmismatched-tags
        -Wdeprecated-copy-dtor
        -Wctor-dtor-privacy
        -Wplacement-new=2
        -Wcatch-value=3
        -Wcomma-subscript
        -Wvolatile
        -Wstrict-null-sentinel)
elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(memory_pool_user_warnings INTERFACE
        -Weverything
        # The library needs C++17: compatibility warnings do not apply.
        -Wno-c++98-compat
        -Wno-c++98-compat-pedantic
        -Wno-pre-c++14-compat
        -Wno-pre-c++17-compat
        -Wno-pre-c++17-compat-pedantic
        -Wno-padded                 # layouts are optimized for the CPU cache
        -Wno-unsafe-buffer-usage    # a memory pool is made of pointer arithmetic
        -Wno-weak-vtables           # a header-only class has no source file for its vtable
        -Wno-thread-safety-negative # requires callers to declare locks that they do not hold
        -Wno-switch-default         # contradicts -Wcovered-switch-default, which is on
        -Wno-exit-time-destructors  # the destructor of a thread flushes its caches
        -Wno-global-constructors)   # one registers fork handlers before those of the program
endif()
