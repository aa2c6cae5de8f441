#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Makes a script of this directory parse its arguments, without running it.

    check_arguments.py SCRIPT [ARGUMENT...]

Exits with 0 if the arguments are valid, with 10 if the script has printed its help, and with the script's status if it
rejects them.
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
