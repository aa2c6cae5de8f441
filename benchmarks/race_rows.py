# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""The rows of the race: workloads, and well-known programs."""
import collections
import os
import shlex
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# A command, a pattern for the part of its output that is the same each time, and additional environment variables.
Row = collections.namedtuple("Row", "command checked environment")
# The output of a workload before the bar depends only on its arguments: see np_alloc/workload.hpp.
CHECKED_OF_WORKLOADS = r"^[^|\n]*"
EVERYTHING = r"(?s).*"
# Many threads with some blocks each, or one thread with many.
MANY, ONE = "threads=50 live=2000", "threads=1 live=10000"
RANDOM, SMALL, BIG = "least=100 most=8100", "least=50 most=300", "least=5000 most=7500"
# Buffers of 4 to 64 MiB, of which at most three bytes each are touched.
SPARSE = "least=4096 most=65536 stride=33554432"
ROWS = {
    "table_random_50": f"table {MANY} {RANDOM} blocks=10000",
    "table_random_1": f"table {ONE} {RANDOM} blocks=1000000",
    "table_small_50": f"table {MANY} {SMALL} blocks=100000",
    "table_small_1": f"table {ONE} {SMALL} blocks=8000000",
    "table_big_50": f"table {MANY} {BIG} blocks=10000",
    "table_big_1": f"table {ONE} {BIG} blocks=300000",
    "six_tables": "six_tables",
    "six_tables_back": "six_tables order=654321",
    "pairs": "pairs",
    "same_size_1": "pairs pairs=30000000 least=100000 most=100000",
    "same_size_2": "pairs threads=2 pairs=20000000 least=100000 most=100000",
    "random_sizes_1": "random_sizes",
    "random_sizes_2": "random_sizes threads=2 steps=1500000",
    "server": "server",
    "producer_consumer": "producer_consumer",
    "handed_over": "producer_consumer couples=2 batches=120000 least=64 most=64",
    "exchange_4": "exchange",
    "exchange_8": "exchange threads=8 rounds=30 live=1000",
    "ring": "ring",
    "big_buffers": "big_buffers",
    "large_buffers": "big_buffers buffers=1000 live=20 least=5120",
    "sparse_buffers": f"big_buffers buffers=4000 live=40 {SPARSE}",
    "growing_vectors": "growing_vectors",
    "strings": "strings",
    "tree": "tree",
    "aligned": "aligned",
    "calloc": "calloc",
    "small_zeroed": "calloc steps=4000000 live=100000 most=500",
    "thread_churn": "thread_churn",
    "fragmentation": "fragmentation",
    "littered_heap": "littered_heap",
    "after_peak": "after_peak",
}

# Inputs of well-known programs, which make them call malloc often.
SQL = """
    create table items (id integer primary key, kind integer, name text, value real);
    with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
        insert into items select i, i * 7919 % 97, printf('%s-%d', hex(i * 31), i), i * 0.5 from n;
    create index by_kind on items(kind, name);
    select kind, count(*), sum(value), min(name), length(group_concat(name)) from items group by kind order by kind;
    update items set name = name || name where id % 3 = 0;
    select count(*) from items a, items b where a.id < 100 and b.name like a.name || '%';"""
PYTHON = """
import json, re
texts = [str(i) * (i % 7 + 1) for i in range(200000)]
words = {}
for text in texts: words.setdefault(text[:3], []).append(text)
again = json.loads(json.dumps(words))
print(len(again), sum(len(re.findall('1+', text)) for text in texts), sorted(texts)[1000])"""
PERL = """
my %h; $h{$_ * 7 % 10007} .= $_ for 1..900000; my @a = sort { $a cmp $b } map { join ",", $_, $_ x 3 } 1..500000;
my %words; push @{$words{length $_}}, $_ for @a;
print scalar(keys %h), " $a[77] ", join(",", map { scalar @$_ } values %words) > 0, "\\n";"""
NODE = """
let state = 1, sum = 0;
const ring = new Array(50000);
for (let i = 0; i < 2000000; ++i) {
  state = (state * 48271) % 2147483647;
  const buffer = new Uint8Array(1 + state % 500);
  buffer[0] = state & 255;
  const slot = i % ring.length;
  if (ring[slot]) sum += ring[slot][0] + ring[slot].length;
  ring[slot] = buffer;
}
console.log(`${ring.length} buffers, ${sum}`);"""


def compiler():
    """Returns the command of the compiler proper that the driver would start, or the command of the driver."""
    driver = ["g++", "-std=c++17", "-O1", "-I", f"{ROOT}/include", "-I", f"{ROOT}/drop_in", "-S", "-o", "-",
              f"{ROOT}/examples/my_struct.cpp"]
    if shutil.which(driver[0]) is None:
        return driver
    told = subprocess.run([driver[0], "-###", *driver[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False).stderr
    started = [shlex.split(line) for line in told.splitlines() if line.startswith(" ") and "cc1plus" in line]
    return started[0] if started else driver


def programs():
    """Returns {row: Row}. Each command must work in its own process, because the heaps of children are not littered."""
    commands = {
        "compiler": compiler(),
        "sqlite": ["sqlite3", ":memory:", SQL],
        "python": [sys.executable, "-c", PYTHON],
        "perl": ["perl", "-e", PERL],
        "cmake": ["cmake", "--help-full"],
        # Zeroed buffers: node allocates those of up to 64 bytes on its own heap, and larger ones with calloc.
        "node": ["node", "-e", NODE],
    }
    # PYTHONMALLOC: disables Python's own allocator.
    environments = {"python": {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}}
    return {row: Row(command, EVERYTHING, environments.get(row, {})) for row, command in commands.items()}


def workloads(directory):
    """Returns {row: Row}, for the programs in the directory."""
    split = {row: line.split() for row, line in ROWS.items()}
    return {row: Row([os.path.join(directory, program), *rest], CHECKED_OF_WORKLOADS, {})
            for row, (program, *rest) in split.items()}
