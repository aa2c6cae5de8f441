# SPDX-License-Identifier: MIT
# Sets MEMORY_POOL_VERSION from include/memory_pool/version.h, the only place where the version is defined.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../include/memory_pool/version.h MEMORY_POOL_VERSION
    REGEX "^#define MEMORY_POOL_VERSION_(MAJOR|MINOR|PATCH) [0-9]+$")
list(TRANSFORM MEMORY_POOL_VERSION REPLACE "^.* " "")
list(LENGTH MEMORY_POOL_VERSION numbers)
if(NOT numbers EQUAL 3)
    message(FATAL_ERROR "memory_pool: version.h must define three version numbers, but defines ${numbers}")
endif()
list(JOIN MEMORY_POOL_VERSION "." MEMORY_POOL_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
    ${CMAKE_CURRENT_LIST_DIR}/../include/memory_pool/version.h)
