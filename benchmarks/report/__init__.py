# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The parts of make_report.py. Modules of the directory above are imported by their names alone."""
