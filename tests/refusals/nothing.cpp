// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program in any C++, for headers that the compiler is told to include before it.
int main() {}
