#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Has a script of this directory parse its arguments, and do nothing else.

    check_arguments.py SCRIPT [ARGUMENT...]

Exits with 0 if the script would begin its work, with 10 if it has printed its help, and as the script does if it refuses them.
"""
import importlib
import os
import sys

HELP_WAS_PRINTED = 10


def main():
    directory = os.path.dirname(os.path.abspath(__file__))
    sys.argv = [os.path.join(directory, sys.argv[1]), *sys.argv[2:]]
    sys.dont_write_bytecode = True
    script = importlib.import_module(os.path.splitext(os.path.basename(sys.argv[0]))[0])
    try:
        script.parse_arguments(sys.argv[1:])
    except SystemExit as end:
        return HELP_WAS_PRINTED if end.code in (0, None) else end.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
