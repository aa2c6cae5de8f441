# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Argument types for argparse. Invalid arguments are rejected before any measurement."""
import argparse
import math
import os
import re


def count(text, least=1):
    """A count of at least `least`."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least}")
    return number


def steps(text):
    """Growth steps of pools, separated by commas; 0 is the default of the pool."""
    return [count(each, least=0) for each in text.split(",")]


def mebibytes(text):
    """An amount of memory, possibly 0."""
    return count(text, least=0)


def seconds(text):
    """A positive time."""
    try:
        time = float(text)
    except ValueError:
        time = 0
    if not 0 < time < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return time


def expression(text):
    """A regular expression."""
    try:
        re.compile(text)
    except re.error as problem:
        raise argparse.ArgumentTypeError(f"{text!r} is not a regular expression: {problem}") from problem
    return text


def file_to_write(text):
    """A file that can be created or overwritten, in an existing directory."""
    directory = os.path.dirname(text) or "."
    if os.path.isdir(text) or not os.access(text if os.path.exists(text) else directory, os.W_OK):
        raise argparse.ArgumentTypeError(f"{text!r} cannot be written")
    return text


def directory(text):
    """A directory that exists."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"there is no directory {text!r}")
    return text


def directory_to_write(text):
    """A directory that exists, or can be created in its nearest existing parent."""
    if not text:
        raise argparse.ArgumentTypeError("the directory name is empty")
    above = os.path.abspath(text)
    while not os.path.exists(above):
        above = os.path.dirname(above)
    if not os.path.isdir(above) or not os.access(above, os.W_OK | os.X_OK):
        raise argparse.ArgumentTypeError(f"{text!r} is not a writable directory")
    return text
