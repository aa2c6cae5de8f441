# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Runs programs of Google Benchmark and reads their reports."""
import json
import os
import platform
import re
import subprocess
import sys


def is_built(directory, program):
    return os.access(os.path.join(directory, program), os.X_OK)


def run(path, repetitions, min_time, rows, environment=None):
    """Repeats the rows that match the regular expression, all of them in random order.

    The environment is that of this process, with these variables as well.
    Returns the report; or None if no row matches."""
    command = [path, "--benchmark_format=json", "--benchmark_enable_random_interleaving=true",
               f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={min_time}",
               f"--benchmark_filter={rows}"]
    result = subprocess.run(command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False)
    if "cannot be preloaded" in result.stderr:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {result.stderr}")
    if not result.stdout.strip() and "match any benchmarks" in result.stderr + result.stdout:
        return None
    if result.returncode != 0:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {os.path.basename(path)} failed:\n{result.stderr}")
    try:
        return json.loads(result.stdout)
    except json.JSONDecodeError:
        return None  # No row of this program matches the filter.


def samples(report):
    """Yields (name of the row, what it measured) for each repetition, and ends the program if a row failed."""
    for sample in report["benchmarks"]:
        if sample.get("error_occurred"):
            sys.exit(f"{os.path.basename(sys.argv[0])}: {sample['name']}: {sample['error_message']}")
        if sample["run_type"] == "iteration":
            yield sample["run_name"], sample


def number(value):
    return f"{value:.2f}" if value < 100 else f"{value:.0f}"


def first_line_of(path, pattern):
    try:
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                match = re.match(pattern, line)
                if match:
                    return match.group(1).strip()
    except OSError:
        pass
    return None


def print_machine(context):
    model = first_line_of("/proc/cpuinfo", r"model name\s*:(.*)") or platform.processor() or "unknown"
    governor = first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "(.*)") or "none"
    print(f"machine    {model}, {os.cpu_count()} cores, governor {governor}")
    print(f"system     {platform.system()} {platform.release()}, {platform.machine()}")
    caches = ", ".join(f"L{c['level']} {c['type']} {c['size'] // 1024} KiB" for c in context.get("caches", []))
    print(f"caches     {caches}")
    print(f"load       {', '.join(f'{load:.2f}' for load in os.getloadavg())} before the run")


def print_versions(context, told):
    """Prints what this program was built with and those before it were not."""
    known = ("compiler", "optimised", "memory_pool", "glibc", "boost", "foonathan_memory", "tbb", "mimalloc")
    news = {key: context[key] for key in known if context.get(key, told.get(key)) != told.get(key)}
    if news:
        print("built with " + ", ".join(f"{key} {value}" for key, value in news.items()))
        print()
    told.update(news)
