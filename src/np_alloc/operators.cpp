// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// operator new and delete in every form, for a library that is loaded before the C++ standard library's.
///
/// They call one another through the dynamic linker (see CMakeLists.txt): a program that replaces the plain forms alone gets its
/// own called from all the others, as the standard promises.
#include <memory_pool/np_new_delete.hpp>
