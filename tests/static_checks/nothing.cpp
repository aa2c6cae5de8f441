// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// A program valid in any version of C++, for headers that a compiler option includes.
int main() {}
