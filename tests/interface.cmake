# SPDX-License-Identifier: MIT
# Checks that the tables of verbs in docs/interface.md match the pools and resources. To update them:
#   interface_verbs docs/interface.md --write
if(NOT Boost_FOUND)
    message(STATUS "memory_pool: Boost not found, leaving out the tables of verbs")
    return()
endif()
set(interface_verbs_arguments ${PROJECT_SOURCE_DIR}/docs/interface.md)
memory_pool_add_programs(interface interface/verbs.cpp)
