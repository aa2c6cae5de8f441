# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Starts programs on a littered heap, by preloading np_alloc/litter.cpp, for the benchmark scripts."""
import argparse
import collections
import os
import sys

import argument_types

Cost = collections.namedtuple("Cost", "seconds processor kilobytes")


def sizes(text):
    """The smallest and the largest block, in bytes."""
    least, separator, most = text.partition("-")
    try:
        chosen = argument_types.count(least, least=8), argument_types.count(most, least=8)
    except argparse.ArgumentTypeError:
        chosen = 1, 0
    if not separator or not chosen[0] <= chosen[1] <= 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not LEAST-MOST, in bytes, with 8 <= LEAST <= MOST <= 2^32")
    return chosen


def per_cent(text):
    """A percentage, from 0 to 100."""
    share = argument_types.count(text, least=0)
    if share > 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number up to 100")
    return share


def blocks(text):
    """A number of blocks, small enough to choose one of them at random."""
    number = argument_types.count(text)
    if number > 2**32:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number up to 2^32")
    return number


def add_arguments(parser):
    parser.add_argument("--litter", type=blocks, metavar="N",
                        help="litter the heap of each program before its main: allocate N blocks, and free most of "
                        "them in random order")
    parser.add_argument("--litter-sizes", type=sizes, default=(16, 512), metavar="LEAST-MOST",
                        help="bytes of these blocks; all powers of two are equally likely (default: 16-512)")
    parser.add_argument("--litter-kept", type=per_cent, default=40, metavar="PERCENT",
                        help="blocks that are kept until the program ends (default: %(default)s)")
    parser.add_argument("--litter-seed", type=argument_types.count, default=1, metavar="SEED",
                        help="of the random sizes and order (default: %(default)s)")


def library(directory):
    """Returns the path of the library, in the directory of the programs of the race."""
    return os.path.abspath(os.path.join(directory, "litter.so"))


def require_library(directory):
    if not os.path.isfile(library(directory)):
        sys.exit(f"{os.path.basename(sys.argv[0])}: --litter: there is no {library(directory)}; build the target "
                 "`race` first")


def environment(arguments, report):
    """Returns the environment variables that litter the heap of a process. The process writes the cost to `report`."""
    wanted = (arguments.litter, *arguments.litter_sizes, arguments.litter_kept, arguments.litter_seed)
    return {"LITTER": " ".join(map(str, wanted)), "LITTER_REPORT": report}


def cost(report):
    """Returns the cost of littering, or None if no heap was littered."""
    if not os.path.exists(report):
        return None
    with open(report, encoding="utf-8") as line:
        seconds, processor, kilobytes = line.read().split()
    return Cost(float(seconds), float(processor), int(kilobytes))


def described(arguments):
    least, most = arguments.litter_sizes
    return (f"{arguments.litter} blocks of {least} to {most} bytes, {arguments.litter_kept} % kept, seed "
            f"{arguments.litter_seed}")
