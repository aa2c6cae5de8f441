{
    "cps_version": "0.13.0",
    "name": "memory_pool",
    "description": "@PROJECT_DESCRIPTION@",
    "license": "MIT",
    "version": "@PROJECT_VERSION@",
    "compat_version": "@cps_compat_version@",
    "version_schema": "simple",
    "@cps_prefix_member@": "@cps_prefix_value@",
    "components": {
        "memory_pool": {
            "type": "interface",
            "compile_features": ["c++17"],
            "includes": ["@cps_includedir@"]
        },
        "compiled": {
            "type": "@compiled_type@",
            "location": "@cps_libdir@/$<TARGET_FILE_NAME:memory_pool_compiled>",
            "link_languages": ["cpp"],
            "definitions": {"cpp": {"MEMORY_POOL_COMPILED": "@MEMORY_POOL_COMPILED_CONFIGURATION@"}},
            "requires": [":memory_pool"]
        },
        "drop_in": {
            "type": "interface",
            "requires": [":memory_pool"],
            "includes": ["@cps_includedir@/memory_pool_drop_in"]
        },
        "np_alloc": {
            "type": "@np_alloc_type@",
            "location": "@cps_libdir@/$<TARGET_FILE_NAME:memory_pool_np_alloc>",
            "link_languages": ["cpp"],
            "link_libraries": [@cps_libraries@],
            "requires": [":memory_pool"]
        },
        "np_alloc_checked": {
            "type": "@np_alloc_checked_type@",
            "location": "@cps_libdir@/$<TARGET_FILE_NAME:memory_pool_np_alloc_checked>",
            "link_languages": ["cpp"],
            "link_libraries": [@cps_libraries@],
            "requires": [":memory_pool"]
        },
        "np_alloc_drop_in": {
            "type": "interface",
            "compile_features": ["c++14"],
            "includes": ["@cps_includedir@/memory_pool_drop_in", "@cps_includedir@"],
            "link_requires": [":np_alloc"]
        },
        "np_malloc": {
            "type": "dylib",
            "location": "@cps_libdir@/$<TARGET_FILE_NAME:memory_pool_np_malloc>"
        },
        "np_malloc_checked": {
            "type": "dylib",
            "location": "@cps_libdir@/$<TARGET_FILE_NAME:memory_pool_np_malloc_checked>"
        },
        "module": {
            "type": "archive",
            "compile_features": ["c++20"],
            "requires": [":memory_pool"],
            "configurations": {
                "release": {
                    "location": "@cps_libdir@/$<TARGET_FILE_NAME:memory_pool_module>",
                    "link_languages": ["cpp"],
                    "cpp_module_metadata": "@cps_libdir@/cps/memory_pool.modules.json"
                }
            }
        }
    },
    "default_components": ["memory_pool"]
}
