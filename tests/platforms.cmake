# SPDX-License-Identifier: MIT
# np_alloc for other platforms. Skips platforms without an installed cross compiler (and emulator).
# `./dev check platforms` installs the tools and runs all tests, also the slow ones.
foreach(platform windows aarch64_linux riscv64_linux musl aarch64_macos x86_64_macos freebsd)
    set(test Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/platforms/cross_test.py ${PROJECT_SOURCE_DIR} ${platform})
    add_test(NAME long.platforms_${platform} COMMAND ${test} --all)
    set_tests_properties(long.platforms_${platform} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 1800 LABELS long)
    if(platform MATCHES "windows|_linux")
        add_test(NAME platforms.${platform} COMMAND ${test})
        set_tests_properties(platforms.${platform} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
    endif()
endforeach()

# The headers in MSVC mode.
add_test(NAME platforms.msvc_dialect
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/platforms/msvc_dialect_test.py ${PROJECT_SOURCE_DIR})
set_tests_properties(platforms.msvc_dialect PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 120)
