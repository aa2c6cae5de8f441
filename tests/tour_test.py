#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tour shows all sides and jobs, with equal results on any text, and reports each error in one line.

    tour_test.py TOUR
"""

import html
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOUR = ""
TOUR_PAGE = Path(__file__).resolve().parents[1] / "tools" / "tour_page.py"
ONE_THREAD_SIDES = ["new/delete", "object_pool", "block_pool"]
SHARED_SIDES = ["new/delete", "concurrent_object_pool"]
CONTAINER_SIDES = ["new/delete", "std::pmr pool", "pool_resource", "arena_resource"]
ENTITY_SIDES = ["new/delete", "handle_pool"]
SIDES_OF = {"word index": ONE_THREAD_SIDES, "parse tree": ONE_THREAD_SIDES, "replay": ONE_THREAD_SIDES,
            "shared index": SHARED_SIDES, "chapters": CONTAINER_SIDES, "entities": ENTITY_SIDES}
JOBS = list(SIDES_OF)
SIDES = list(dict.fromkeys(ONE_THREAD_SIDES + SHARED_SIDES + CONTAINER_SIDES + ENTITY_SIDES))
AGREEMENT = "All sides agree"
TEXT = "int sum(const int (&values)[4]) { return values[0] + values[1]; } // ((: unbalanced ]\n" * 200


def run(*arguments):
    return subprocess.run([TOUR, *map(os.fspath, arguments)], capture_output=True, timeout=100, check=False)


def read_to_end(terminal):
    """Reads the remaining output of a closed terminal, in chunks. On Linux, it ends with an error."""
    everything = b""
    try:
        while chunk := os.read(terminal, 1 << 16):
            everything += chunk
    except OSError:
        pass
    return everything


def rows(output: bytes):
    """Returns the rows of the table, as {(job, side): [time, speed, peak memory, malloc calls, wasted]}."""
    found, job = {}, None
    for line in output.decode("ascii").splitlines():
        match = re.match(rf"({'|'.join(JOBS)}|) +({'|'.join(SIDES)}|faulty) +(\S+ ms.*)$", line)
        if match:
            job = match[1] or job
            found[job, match[2]] = re.split(r" {3,}", match[3])
    return found


class Tour(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name, "text")
        self.folder.mkdir()

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def assert_works(self, path, rounds="1"):
        result = run("--rounds", rounds, path)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stdout)
        self.assertIn(AGREEMENT, result.stdout.decode("ascii"))
        self.assertEqual(set(rows(result.stdout)), {(job, side) for job in JOBS for side in SIDES_OF[job]})
        return result.stdout

    def assert_refuses(self, *arguments, because):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, b""), result.stderr)
        self.assertRegex(result.stderr.decode("ascii"), rf"\Atour: [^\n]*{because}[^\n]*\n\Z")

    # Successful runs.

    def test_folder(self):
        self.write("a.txt", TEXT)
        self.write("b/c.txt", TEXT)
        (self.folder / "loop").symlink_to(self.folder, target_is_directory=True)
        (self.folder / "dangling").symlink_to("nowhere")
        os.mkfifo(self.folder / "fifo")
        output = self.assert_works(self.folder, rounds="2")
        self.assertRegex(output, rb"in 2 files")

    def test_table_is_filled_and_plausible(self):
        found = rows(self.assert_works(self.write("a.txt", TEXT * 20)))
        for (job, side), (time, speed, memory, calls, wasted) in found.items():
            with self.subTest(job=job, side=side):
                self.assertRegex(time, r"^\d+\.\d+ ms$")
                self.assertRegex(speed, r"^1\.00x$" if side == "new/delete" else r"^\d+\.\d\dx$")
                self.assertRegex(memory, r"^\d+\.\d [KM]iB$")
                self.assertRegex(calls, r"^([\d,]+|n/a)$")
                self.assertRegex(wasted, r"^(\d+\.\d [KM]iB|n/a)$")

    def test_ends_with_the_savings_of_pools(self):
        output = self.assert_works(self.write("a.txt", TEXT * 20), rounds="2").decode("ascii")
        legend, conclusion = output.rsplit("\n\n", 1)
        self.assertIn("Where to go next", legend.splitlines()[-1])
        self.assertLess(max(map(len, conclusion.splitlines())), 120)
        text = " ".join(conclusion.split())
        number = r"(\d+\.\d|[^.])*"
        self.assertRegex(text, rf"\A(For this text, {number}|This text is too small {number})\.( [TPM]{number}\.)?\Z")

    def test_reports_a_text_that_is_too_small(self):
        output = self.assert_works(self.write("a.txt", "one ; word"))
        self.assertRegex(" ".join(output.decode("ascii").rsplit("\n\n", 1)[1].split()),
                         "too (small|short|little)|most times")

    def malloc_calls(self, output):
        """Returns the malloc calls in the table, as {(job, side): number}."""
        calls = {key: row[3] for key, row in rows(output).items()}
        if "n/a" in calls.values():
            self.skipTest("not counted in this build")
        return {key: int(text.replace(",", "")) for key, text in calls.items()}

    def test_pools_call_malloc_less(self):
        number = self.malloc_calls(self.assert_works(self.write("a.txt", TEXT * 20)))
        for job, sides in SIDES_OF.items():
            for side in sides[1:]:
                self.assertLess(number[job, side] * 10, number[job, "new/delete"], (job, side))

    def test_malloc_calls_of_all_threads_are_counted(self):
        # Each of 40,000 words occurs once, so several threads create as many nodes as one. The
        # difference is the calls for threads and tables.
        text = " ".join(f"word{number}" for number in range(40_000))
        number = self.malloc_calls(self.assert_works(self.write("a.txt", text)))
        alone, together = number["word index", "new/delete"], number["shared index", "new/delete"]
        self.assertGreaterEqual(alone, 80_000)
        self.assertGreaterEqual(together, 80_000)
        self.assertLess(together, alone + 500)

    def test_threads_share_the_work(self):
        output = self.assert_works(self.write("a.txt", TEXT)).decode("ascii")
        threads = int(re.search(r"Threads for the shared index:\s+(\d+)", output)[1])
        self.assertEqual(threads, min(max(os.cpu_count(), 2), 16))

    @unittest.skipUnless(hasattr(os, "sched_setaffinity"), "processor affinity cannot be set here")
    def test_threads_share_one_processor(self):
        usable = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(usable)})
        self.addCleanup(os.sched_setaffinity, 0, usable)
        self.assert_works(self.write("a.txt", TEXT * 20), rounds="3")

    def test_order_of_file_creation_does_not_matter(self):
        for name in ("c", "a", "b"):
            self.write(f"first/{name}", TEXT + name)
        for name in ("b", "c", "a"):
            self.write(f"second/{name}", TEXT + name)
        counts = [re.search(rb"on the ([\d,]+) nodes", self.assert_works(self.folder / half))[1]
                  for half in ("first", "second")]
        self.assertEqual(counts[0], counts[1])

    def test_odd_texts(self):
        texts = {
            "every byte": bytes(range(256)) * 400,
            "zeros": bytes(100_000),
            "one word": b"\xff" * 100_000,
            "one byte": b"x",
            "one sign": b";",
            "one bracket": b"]",
            "only spaces": b" \n\t" * 1000,
            "deeply nested": b"(" * 300_000,
            "all closing": b"])}" * 100_000,
            "interleaved": b"([{)]}" * 50_000,
            "forgotten": b"{((((((([[[[[ }" * 20_000,
            "no newline at the end": b"word (word",
            "words that parts begin in": b"a" * 99 + b" " + b"b" * 99,
            "one word, and one in the middle": b"long" * 1000 + b" x " + b"long" * 1000,
        }
        for name, content in texts.items():
            with self.subTest(name):
                self.assert_works(self.write(name, content))

    def test_folder_with_an_unreadable_file(self):
        self.write("a.txt", TEXT)
        self.write("b.txt", TEXT).chmod(0)
        if os.access(self.folder / "b.txt", os.R_OK):
            self.skipTest("this user can read all files")
        self.assertIn(b"could not be read: 1", self.assert_works(self.folder))

    def test_folder_with_a_binary_file(self):
        self.write("a.txt", TEXT)
        self.write("b.o", b"\x7fELF\0\0" + TEXT.encode())
        self.write("c/d.png", b"\0")
        self.assertIn(b"in 1 file from", shown := self.assert_works(self.folder))
        self.assertIn(b"not text, and left out: 2", shown)

    def test_stderr_is_empty_unless_it_is_a_terminal(self):
        path = self.write("a.txt", TEXT)
        try:
            controller, terminal = os.openpty()
        except OSError:
            self.skipTest("no terminals here")
        process = subprocess.run([TOUR, "--rounds", "1", path], stdout=subprocess.PIPE, stderr=terminal, timeout=100,
                                 check=False)
        os.close(terminal)
        shown = read_to_end(controller)
        os.close(controller)
        self.assertEqual(process.returncode, 0)
        self.assertIn(b"replay with block_pool", shown)
        self.assertTrue(shown.endswith(b" \r"), shown)

    def test_different_results_are_a_failure(self):
        result = run("--rounds", "1", "--faulty", self.write("a.txt", TEXT))
        self.assertEqual(result.returncode, 1, result.stdout)
        differing = "; ".join(f"{job}: not the same with faulty" for job in JOBS)
        self.assertEqual(result.stderr.decode(), f"tour: RESULTS DIFFER: {differing}\n")
        for figures in (AGREEMENT, "speed"):
            self.assertNotIn(figures.encode(), result.stdout)

    def test_unwritable_output_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        path = self.write("a.txt", TEXT)
        with open("/dev/full", "wb") as full:
            result = subprocess.run([TOUR, "--rounds", "1", path], stdout=full, stderr=subprocess.PIPE, timeout=100,
                                    check=False)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r"\Atour: cannot write[^\n]*\n\Z")

    def test_help(self):
        result = run("--help")
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertTrue(result.stdout.startswith(b"usage: tour"))

    def test_reports_for_maps(self):
        folder = self.folder / "reports"
        folder.mkdir()
        result = run("--map", folder, self.write("a.txt", TEXT))
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        paths = result.stdout.decode().splitlines()
        self.assertEqual(paths, sorted(map(str, folder.iterdir())))
        self.assertIn(str(folder / "02-word_index-object_pool.json"), paths)
        for path in paths:
            report = json.loads(Path(path).read_text(encoding="utf-8"))
            self.assertEqual(report["schema"], "memory_pool.report")
            if "object_pool" in path:
                self.assertEqual({pool["name"] for pool in report["pools"]}, {"nodes of the job"})
                self.assertGreater(report["pools"][0]["in_use"], 0)

    def test_unwritable_reports_are_a_failure(self):
        result = run("--map", self.folder / "nowhere", self.write("a.txt", TEXT))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r"\Atour: [^\n]*nowhere/01-[^\n]* cannot be written\n\Z")

    def figures(self, path):
        file = self.folder.with_name("figures.json")
        result = run("--rounds", "1", "--json", file, path)
        self.assertEqual((result.returncode, result.stderr), (0, b""), result.stdout)
        return result.stdout, json.loads(file.read_text(encoding="ascii")), file

    def test_json_matches_the_table(self):
        output, figures, _ = self.figures(self.write("a.txt", TEXT * 20))
        self.assertEqual((figures["schema"], figures["version"]), ("memory_pool.tour", 1))
        found = rows(output)
        self.assertEqual({job["name"]: [side["side"] for side in job["sides"]] for job in figures["jobs"]}, SIDES_OF)
        for job in figures["jobs"]:
            for side in job["sides"]:
                time, _, memory, calls, wasted = found[job["name"], side["side"]]
                self.assertAlmostEqual(side["nanoseconds"] / 1e6, float(time.split()[0]), delta=0.1)
                peak = side["peak_memory"]
                self.assertIn(memory, (f"{peak / 2**10:.1f} KiB", f"{peak / 2**20:.1f} MiB"))
                self.assertEqual(calls, "n/a" if side["heap_calls"] is None else f"{side['heap_calls']:,}")
                self.assertEqual(wasted == "n/a", side["wasted"] is None)
                self.assertEqual(side["is_pool"], side["side"] not in ("new/delete", "std::pmr pool"))
        conclusion = output.decode("ascii").rsplit("\n\n", 1)[1]
        self.assertEqual(figures["conclusion"], " ".join(conclusion.split()))
        machine = {each["name"]: each["explanation"] for each in figures["machine"]}
        self.assertLessEqual({"processor", "system", "C library", "compiler"}, set(machine))
        self.assertNotIn("", machine.values())

    def test_page_from_the_json(self):
        name = 'a <b>&"c\\.txt'
        _, figures, file = self.figures(self.write(name, TEXT))
        self.assertIn(name, figures["text"])
        page = file.with_suffix(".html")
        result = subprocess.run([sys.executable, TOUR_PAGE, file, "-o", page], capture_output=True, timeout=100,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        text = page.read_text(encoding="utf-8")
        self.assertEqual(text.count(html.escape(name)), 2, "in the input and in the command")
        self.assertNotIn(name, text)
        for name in (*JOBS, *SIDES, figures["conclusion"].replace(" %", "&nbsp;%"), figures["agreement"]):
            self.assertIn(name, text)

    def test_unwritable_json_is_a_failure_before_the_tour(self):
        path = self.write("a.txt", TEXT)
        for file, problem in ((self.folder / "nowhere" / "it.json", "nowhere/it.json': No such file"),
                              (self.folder, "text': Is a directory")):
            result = run("--json", file, path)
            self.assertEqual((result.returncode, result.stdout), (1, b""))
            self.assertRegex(result.stderr.decode(), rf"\Atour: cannot write '.*{problem}.*; name a file.*\n\Z")

    def test_json_on_a_full_disk_is_a_failure(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        result = run("--rounds", "1", "--json", "/dev/full", self.write("a.txt", TEXT))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr.decode(), r"\Atour: cannot write '/dev/full': No space left[^\n]*\n\Z")
        self.assertTrue(os.path.exists("/dev/full"))

    def test_a_failed_tour_writes_no_json(self):
        file = self.folder.with_name("figures.json")
        self.assertEqual(run("--rounds", "1", "--faulty", "--json", file, self.write("a.txt", TEXT)).returncode, 1)
        self.assertFalse(file.exists())

    # Errors.

    def test_missing_path(self):
        self.assert_refuses(self.folder / "nowhere", because="nowhere': No such file.*; name a file or folder")

    def test_empty_name(self):
        self.assert_refuses("", because="''")

    def test_name_with_odd_characters(self):
        self.assert_refuses(self.folder / "a\nb\x1b\u00e9", because=r"a\?b\?\?\?': No such file")

    def test_long_name(self):
        self.assert_refuses("x" * 5000, because="name too long")

    def test_empty_file(self):
        self.assert_refuses(self.write("empty", b""), because="is empty")

    def test_empty_folder(self):
        self.assert_refuses(self.folder, because="holds no file")

    def test_folder_of_empty_files(self):
        self.write("a", b"")
        self.write("b/c", b"")
        self.assert_refuses(self.folder, because="holds no file")

    def test_folder_of_programs(self):
        self.write("a.o", b"\x7fELF\0\0")
        self.assert_refuses(self.folder, because="holds no file of text")

    def test_special_file(self):
        self.assert_refuses("/dev/null", because="neither a file nor a folder")

    def test_unreadable_file(self):
        path = self.write("secret", TEXT)
        path.chmod(0)
        if os.access(path, os.R_OK):
            self.skipTest("this user can read all files")
        self.assert_refuses(path, because="Permission denied")

    def test_unreadable_folder(self):
        self.write("secret/file", TEXT)
        folder = self.folder / "secret"
        folder.chmod(0)
        self.addCleanup(folder.chmod, 0o700)
        if os.access(folder, os.R_OK):
            self.skipTest("this user can read all files")
        self.assert_refuses(folder, because="Permission denied")

    def test_invalid_arguments(self):
        path = self.write("a.txt", TEXT)
        self.assert_refuses("--nonsense", because="unknown option --nonsense")
        self.assert_refuses("--nonsense\n", path, because=r"unknown option --nonsense\?")
        self.assert_refuses(path, path, because="too many arguments")
        self.assert_refuses("--rounds", because="--rounds takes")
        self.assert_refuses("--map", because="--map takes a folder")
        self.assert_refuses("--json", because="--json takes a file")
        self.assert_refuses("--json", self.folder / "it.json", "--map", self.folder, because="--map measures nothing")
        for rounds in ("0", "-1", "x", "", "1000", "99999999999999999999"):
            self.assert_refuses("--rounds", rounds, path, because="--rounds takes")


if __name__ == "__main__":
    TOUR = os.path.abspath(sys.argv.pop(1))
    unittest.main()
