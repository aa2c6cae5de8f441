#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Counts the instructions of an allocation and a deallocation, with Valgrind. Reproducible, even on a busy machine.

    instructions.py [PROGRAM]

PROGRAM is pair_instructions; the default is the program built by the preset `release`. The count is the difference
between two numbers of pairs, so that program start and exit cancel out. The instructions of the empty loop are
subtracted.
"""
import os
import re
import subprocess
import sys

FEW, MANY = 1000, 101000


def instructions(program, side, pairs):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, side, str(pairs)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", result.stderr)
    if result.returncode != 0 or not collected:
        sys.exit(f"instructions.py: {' '.join(command)} failed:\n{result.stderr}")
    return int(collected.group(1))


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    default = os.path.join(root, "build", "release", "benchmarks", "pair_instructions")
    program = sys.argv[1] if len(sys.argv) > 1 else default
    if not os.access(program, os.X_OK):
        sys.exit(f"instructions.py: there is no {program}; build the target `benchmarks` first")
    loop = 0.0
    for side in subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.split():
        each = (instructions(program, side, MANY) - instructions(program, side, FEW)) / (MANY - FEW)
        if side == "loop":
            loop = each
        else:
            print(f"{side:<26}{each - loop:8.2f} instructions a pair", flush=True)


if __name__ == "__main__":
    main()
