// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program in any version of C++, for headers that are included by a compiler option.
int main() {}
