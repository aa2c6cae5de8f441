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


class Failure(SystemExit):
    """The reason why a program has no report. A script that does not catch it exits with this message."""

    def __init__(self, reason):
        super().__init__(f"{os.path.basename(sys.argv[0])}: {reason}")
        self.reason = reason


def run(path, repetitions, min_time, rows, environment=None, timeout=None):
    """Repeats the rows that match the regular expression, all of them in random order.

    Adds the variables in `environment` to the environment of this process.
    Returns the report, or None if no row matches. Raises Failure, also after `timeout` seconds."""
    command = [path, "--benchmark_format=json", "--benchmark_enable_random_interleaving=true",
               f"--benchmark_repetitions={repetitions}", f"--benchmark_min_time={min_time}",
               f"--benchmark_filter={rows}"]
    try:
        result = subprocess.run(command, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failure(f"{os.path.basename(path)} took more than {timeout:g} s") from None
    except OSError as error:
        raise Failure(f"{os.path.basename(path)} does not start: {error.strerror}") from None
    if "cannot be preloaded" in result.stderr:
        raise Failure(result.stderr)
    if not result.stdout.strip() and "match any benchmarks" in result.stderr + result.stdout:
        return None
    if result.returncode != 0:
        raise Failure(f"{os.path.basename(path)} {how_it_ended(result.returncode)}:\n{result.stderr}")
    try:
        return json.loads(result.stdout)
    except json.JSONDecodeError as error:
        raise Failure(f"{os.path.basename(path)} printed invalid JSON: {error}") from None


def how_it_ended(status):
    """`status` is the return code of subprocess: a signal is negative."""
    return f"ended with signal {-status}" if status < 0 else f"ended with status {status}"


def outcomes(report):
    """Yields (name of the row, result or None, failure or None) for each repetition."""
    for sample in report["benchmarks"]:
        if sample.get("error_occurred"):
            yield sample.get("run_name", sample["name"]), None, sample["error_message"]
        elif sample["run_type"] == "iteration":
            yield sample["run_name"], sample, None


def samples(report):
    """Yields (name of the row, result) for each repetition. Raises Failure if a row failed."""
    for name, sample, failure in outcomes(report):
        if failure is not None:
            raise Failure(f"{name}: {failure}")
        yield name, sample


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


def processor_model():
    return first_line_of("/proc/cpuinfo", r"model name\s*:(.*)") or platform.processor() or "unknown"


def print_machine(context):
    model = processor_model()
    governor = first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "(.*)") or "none"
    print(f"machine    {model}, {os.cpu_count()} cores, governor {governor}")
    print(f"system     {platform.system()} {platform.release()}, {platform.machine()}")
    caches = ", ".join(f"L{c['level']} {c['type']} {c['size'] // 1024} KiB" for c in context.get("caches", []))
    print(f"caches     {caches}")
    print(f"load       {', '.join(f'{load:.2f}' for load in os.getloadavg())} before the run")


def print_versions(context, told):
    """Prints the parts of the context that differ from earlier programs."""
    known = ("compiler", "optimised", "memory_pool", "glibc", "boost", "foonathan_memory", "tbb", "mimalloc")
    news = {key: context[key] for key in known if context.get(key, told.get(key)) != told.get(key)}
    if news:
        print("built with " + ", ".join(f"{key} {value}" for key, value in news.items()))
        print()
    told.update(news)
