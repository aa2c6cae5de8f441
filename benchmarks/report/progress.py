# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The progress of a run: a bar with the remaining time on a terminal, and a line for each step elsewhere."""
import shutil
import sys
import time

BAR = 24


def spoken(seconds):
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


class Progress:
    """`expected` is the expected time of all steps in seconds, `steps` their number."""

    def __init__(self, expected, steps, stream=None, now=time.monotonic):
        self.expected, self.steps, self.stream, self.now = expected, steps, stream or sys.stderr, now
        self.is_terminal = self.stream.isatty()
        self.begin = now()
        self.done_of_expected, self.done_steps = 0.0, 0

    def left(self):
        """Returns the remaining seconds, assuming that all steps exceed their estimates by the same factor."""
        rest = self.expected - self.done_of_expected
        if not self.done_of_expected:
            return rest
        return rest * (self.now() - self.begin) / self.done_of_expected

    def start(self, label):
        if self.is_terminal:
            self.stream.write("\r\x1b[K" + self.bar(label))
        else:
            self.stream.write(f"{self.done_steps + 1}/{self.steps} {label}, {spoken(self.left())} left\n")
        self.stream.flush()

    def bar(self, label):
        share = self.done_of_expected / self.expected if self.expected else 1
        filled = round(BAR * share)
        text = f"[{'#' * filled}{'.' * (BAR - filled)}] {share:4.0%}  {spoken(self.left())} left  {label}"
        return text[:shutil.get_terminal_size().columns - 1]

    def finish(self, expected):
        self.done_of_expected += expected
        self.done_steps += 1

    def end(self):
        if self.is_terminal:
            self.stream.write("\r\x1b[K")
            self.stream.flush()
