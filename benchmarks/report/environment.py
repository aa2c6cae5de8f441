# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The machine, the versions and the commit of a report."""
import datetime
import json
import os
import platform
import re
import shutil
import subprocess

import google_benchmark
import mallocs

VERSIONS = ("memory_pool", "compiler", "optimised", "glibc", "boost", "foonathan_memory", "tbb", "mimalloc")


def output_of(*command):
    """Returns what the command prints, or None."""
    if shutil.which(command[0]) is None:
        return None
    result = subprocess.run(command, cwd=mallocs.ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False)
    return result.stdout.strip() if result.returncode == 0 else None


def commit():
    """Returns (the commit, whether the tree was changed), or (None, None) without git."""
    git = ("git", "-c", f"safe.directory={mallocs.ROOT}")
    changes = output_of(*git, "status", "--porcelain")
    return output_of(*git, "rev-parse", "HEAD"), None if changes is None else changes != ""


def memory_kilobytes():
    kilobytes = google_benchmark.first_line_of("/proc/meminfo", r"MemTotal:\s*(\d+)")
    return kilobytes and int(kilobytes)


def distribution():
    name = google_benchmark.first_line_of("/etc/os-release", 'PRETTY_NAME="?([^"]*)')
    return name or platform.system()


def built_with(build):
    """Returns the versions that the benchmarks were built with, and the caches of the machine, from one program."""
    path = os.path.join(build, "block_pool_benchmark")
    if not os.access(path, os.X_OK):
        return {}, []
    try:
        context = google_benchmark.run(path, 1, 0.0001, "^pair/block_pool$", timeout=60)
    except google_benchmark.Failure:
        return {}, []
    context = (context or {}).get("context", {})
    caches = [f"L{each['level']} {each['type']} {each['size'] // 1024} KiB" for each in context.get("caches", [])]
    return {name: context[name] for name in VERSIONS if name in context}, caches


def read(setting, command):
    versions, caches = built_with(setting.build)
    revision, is_changed = commit()
    return {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"), "command": command,
            "processor": google_benchmark.processor_model(), "machine": platform.machine(), "cores": os.cpu_count(),
            "memory_kilobytes": memory_kilobytes(), "caches": caches,
            "governor": google_benchmark.first_line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "(.*)"),
            "kernel": f"{platform.system()} {platform.release()}", "distribution": distribution(),
            "python": platform.python_version(), "versions": versions, "commit": revision, "is_changed": is_changed,
            "mallocs": {name: version_of(name, library) for name, library in setting.libraries.items()},
            "load_before": list(os.getloadavg()), "load_after": None}


def version_of(name, library):
    """Returns the version of a malloc, if it is known without running it."""
    if name == mallocs.OURS:
        return "of this tree"
    if library is None:
        return " ".join(platform.libc_ver())
    if name in mallocs.PACKAGES:
        version = output_of("dpkg-query", "-W", "-f=${Version}", mallocs.PACKAGES[name])
        return f"{mallocs.PACKAGES[name]} {version}" if version else "unknown"
    return os.path.basename(library)


def write(report, path):
    """Writes one line for each row of a small copy."""
    if report["is_reduced"]:
        text = re.sub(r'\{"(?=label|name)', "\n\\g<0>", json.dumps(report, separators=(",", ":")))
    else:
        text = json.dumps(report, indent=1)
    with open(path, "w", encoding="utf-8") as out:
        out.write(text + "\n")
