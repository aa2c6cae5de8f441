# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The sections of the report, in its order. Each module has `plan(setting)`, which returns a running.Plan."""
from report.sections import blocks, heaps, latency, memory, originals, scaling

SECTIONS = {"blocks": blocks, "originals": originals, "heaps": heaps, "scaling": scaling, "latency": latency,
            "memory": memory}
