# SPDX-License-Identifier: MIT
# Untested: vcpkg was not available. This is an overlay port of the surrounding source tree; in a registry,
# vcpkg_from_github() would set SOURCE_PATH.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
    np-alloc MEMORY_POOL_ENABLE_NP_ALLOC)
if(NOT "np-alloc" IN_LIST FEATURES)
    set(VCPKG_BUILD_TYPE release) # There is nothing to compile.
endif()
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${features}
        -DMEMORY_POOL_ENABLE_COMPILED=OFF
        -DMEMORY_POOL_ENABLE_TESTING=OFF
        -DMEMORY_POOL_ENABLE_BENCHMARKING=OFF
        -DMEMORY_POOL_ENABLE_EXAMPLES=OFF)
vcpkg_cmake_install()
if(NOT "np-alloc" IN_LIST FEATURES)
    # Nothing else remains in lib/, which vcpkg expects to contain libraries.
    file(RENAME "${CURRENT_PACKAGES_DIR}/lib/pkgconfig" "${CURRENT_PACKAGES_DIR}/share/pkgconfig")
endif()
vcpkg_cmake_config_fixup(PACKAGE_NAME memory_pool CONFIG_PATH lib/cmake/memory_pool)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share" "${CURRENT_PACKAGES_DIR}/share/doc")
if(NOT "np-alloc" IN_LIST FEATURES)
    file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
endif()

file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
