// SPDX-License-Identifier: MIT
// Copyright (c) 2026 The memory_pool authors
/// \file
/// Everything about reports.
///
/// Thread safety: as the headers.
#pragma once

#include <memory_pool/report/report_figures.hpp>
#include <memory_pool/report/report_on_signal.hpp>
#include <memory_pool/report/snapshot.hpp>
#include <memory_pool/report/write_profile.hpp>
#include <memory_pool/report/write_report.hpp>
