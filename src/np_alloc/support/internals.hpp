// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Gives np_alloc short names for the namespaces of the library's internals.
#pragma once

#include <memory_pool/base/config.hpp>

namespace memory_pool { inline namespace MEMORY_POOL_ABI { namespace detail {
namespace base {
}
namespace core {
}
namespace os {
}
}}} // namespace memory_pool::MEMORY_POOL_ABI::detail

namespace memory_pool::np {
namespace base = detail::base;
namespace core = detail::core;
namespace os = detail::os;
} // namespace memory_pool::np
