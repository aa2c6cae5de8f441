#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Shows which attacks several mallocs stop: 36 kinds, each on small, medium and large blocks.

    attacks.py [--program PROGRAM] [--mallocs NAME,...] [--add NAME=LIBRARY] [--rounds N]

The attacks are in tests/np_alloc/attack_set/attack_set.cpp. An attack counts as stopped if the process ends by a signal
or with an error, or, for attacks that read, if the old content is erased. An attack that is only reported does not
count as stopped, nor does an attack that is missed in any of the N rounds.

    s m l      stopped with small, medium and large blocks
    s - l      not stopped with medium blocks
"""
import argparse
import collections
import concurrent.futures
import glob
import os
import platform
import subprocess
import sys

import argument_types
import mallocs

SIZES = {"small": 16, "medium": 2000, "large": 256 * 1024}
# The negative control: correct code, which must not be stopped.
CONTROL = "nothing wrong"
CHECKED = "np_alloc_checked"
SCUDO = "scudo"
NAMES = ("glibc", "mimalloc", SCUDO, mallocs.OURS, CHECKED)
CANNOT_BE_MADE = 77

Cell = collections.namedtuple("Cell", "kind size")
# The result of an attack: `stopped`, `told` (only reported on stderr), `missed`, or `not made`.
Ending = collections.namedtuple("Ending", "result text")


def kinds_of(program):
    """Returns the names of all attacks, the control first."""
    return subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def result_of(status, output, errors):
    """Returns the result of an attack."""
    if status == CANNOT_BE_MADE:
        return "not made"
    if status != 0 or output == "nothing is left\n":
        return "stopped"
    if output != "goes on\n":
        raise ValueError(f"unknown output of an attack: {output!r}")
    return "told" if errors else "missed"


def attack(program, cell, library, **variables):
    """Returns the Ending of one attack, in a separate process."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("NP_", "LD_PRELOAD", "MALLOC_", "MIMALLOC_", "SCUDO_", "GLIBC_TUNABLES"))}
    environment.update(variables)
    if library is not None:
        environment["LD_PRELOAD"] = library
    done = subprocess.run([program, cell.kind, str(SIZES[cell.size])], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
    output, errors = done.stdout.decode(), done.stderr.decode(errors="replace")
    return Ending(result_of(done.returncode, output, errors), f"status {done.returncode}, {errors}")


def attack_all(program, library, **variables):
    """Returns {Cell: Ending} of all attacks, and of the control."""
    cells = [Cell(kind, size) for kind in kinds_of(program) for size in SIZES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        endings = workers.map(lambda cell: attack(program, cell, library, **variables), cells)
        return dict(zip(cells, endings))


def stopped_in_all(rounds):
    """Returns the cells that were stopped in every round."""
    return {cell for cell in rounds[0] if all(each[cell].result == "stopped" for each in rounds)}


def table(kinds, stopped):
    """Returns the lines of a table of {name: cells that were stopped}, with sums below."""
    lines = [f"| attack | {' | '.join(stopped)} |", "|---" * (len(stopped) + 1) + "|"]
    for kind in kinds:
        cells = (" ".join(size[0] if Cell(kind, size) in found else "-" for size in SIZES)
                 for found in stopped.values())
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    sums = (str(sum(cell.kind in kinds for cell in found)) for found in stopped.values())
    lines.append(f"| of {len(kinds) * len(SIZES)} | {' | '.join(sums)} |")
    return lines


def scudo():
    """Returns the path of the newest library of Scudo, or None."""
    pattern = f"/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.scudo_standalone-{platform.machine()}.so"
    return max(glob.glob(pattern), default=None)


def entrants(arguments):
    """Returns {name: library, or None for the malloc of the system}, in the order of the names."""
    found = mallocs.entrants([name for name in arguments.mallocs if name not in (SCUDO, CHECKED)], arguments.build)
    checked = os.path.abspath(os.path.join(arguments.build, "src", "np_alloc", "libnp_malloc_checked.so"))
    others = {SCUDO: (scudo(), "Debian package: libclang-rt-19-dev"),
              CHECKED: (checked if os.path.isfile(checked) else None, f"there is no {checked}")}
    for name in (name for name in arguments.mallocs if name in others):
        library, remedy = others[name]
        if library is not None:
            found[name] = library
        else:
            print(f"{name} is left out ({remedy})", file=sys.stderr)
    found = {name: found[name] for name in arguments.mallocs if name in found}
    mallocs.add_libraries(found, arguments.add, "attacks.py")
    if not found:
        sys.exit("attacks.py: there is no malloc to attack")
    return found


def parse_arguments(words):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(mallocs.ROOT, "build", "release"),
                        help="where this library was built (default: the preset `release`)")
    parser.add_argument("--program", help="default: tests/np_attack_set there")
    parser.add_argument("--mallocs", type=mallocs.names_among((*mallocs.all_names(), SCUDO, CHECKED)),
                        default=",".join(NAMES), help="default: %(default)s")
    parser.add_argument("--add", action="append", default=[], metavar="NAME=LIBRARY",
                        help="a malloc that is not installed, by the path of a library")
    parser.add_argument("--rounds", type=argument_types.count, default=3)
    return parser.parse_args(words)


def program_of(arguments):
    """Returns the path of the attack program."""
    program = os.path.abspath(arguments.program or os.path.join(arguments.build, "tests", "np_attack_set"))
    if not os.path.isfile(program):
        sys.exit(f"attacks.py: there is no {program}: build the target np_attack_set, or name it by --program")
    return program


def main():
    arguments = parse_arguments(sys.argv[1:])
    arguments.program = program_of(arguments)
    kinds = [kind for kind in kinds_of(arguments.program) if kind != CONTROL]
    stopped = {}
    for name, library in entrants(arguments).items():
        rounds = [attack_all(arguments.program, library) for _ in range(arguments.rounds)]
        wrong = [each[Cell(CONTROL, size)].text for each in rounds for size in SIZES
                 if each[Cell(CONTROL, size)].result != "missed"]
        if wrong:
            print(f"{name} is left out: it stops correct code: {wrong[0]}", file=sys.stderr)
        else:
            stopped[name] = stopped_in_all(rounds)
    print("\n".join(table(kinds, stopped)))


if __name__ == "__main__":
    main()
