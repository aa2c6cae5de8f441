#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the version of the project, from include/memory_pool/version.h. Exits with 1 if it is missing."""

import re
import sys
from pathlib import Path


def version(root: Path) -> str:
    """Raises ValueError if the header has no version."""
    header = root / "include/memory_pool/version.h"
    text = header.read_text(encoding="utf-8")
    numbers = [re.search(rf"#define MEMORY_POOL_VERSION_{part} (\d+)", text) for part in ("MAJOR", "MINOR", "PATCH")]
    if None in numbers:
        raise ValueError(f"{header}: no version")
    return ".".join(number[1] for number in numbers)


if __name__ == "__main__":
    try:
        print(version(Path(__file__).resolve().parents[1]))
    except (OSError, ValueError) as error:
        sys.exit(f"version.py: {error}")
