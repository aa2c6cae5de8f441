# SPDX-License-Identifier: MIT
# ThreadSanitizer accepts the memory orders of the stack and reports a race when any of them is weakened.
if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize=thread")
    return()
endif()

add_executable(tsan_stack_orders tsan_control/stack_orders.cpp)
target_link_libraries(tsan_stack_orders PRIVATE memory_pool_program memory_pool_warnings)
add_test(NAME tsan_control.publishing COMMAND tsan_stack_orders publishing)
set_tests_properties(tsan_control.publishing PROPERTIES TIMEOUT 120)
foreach(weakened IN ITEMS weak_push weak_pop weak_both)
    add_test(NAME tsan_control.${weakened} COMMAND tsan_stack_orders ${weakened})
    set_tests_properties(tsan_control.${weakened} PROPERTIES PASS_REGULAR_EXPRESSION "data race" TIMEOUT 120)
endforeach()
