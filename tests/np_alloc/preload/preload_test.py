#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# Copyright (c) 2026 The memory_pool authors
"""Tests that programs behave the same with libnp_malloc.so as with the C library's malloc.

    preload_test.py LIBRARY SOURCE_DIRECTORY OWN_NEW [--all] [TEST...]

OWN_NEW is a program that replaces operator new itself.

Each program runs twice, in a directory of its own. Both runs must print the same text, leave the same files and have
the same exit status, and np_alloc must report nothing. Tests of missing programs are skipped. --all runs more tests,
which take minutes.
"""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import NamedTuple

LIBRARY = os.path.abspath(sys.argv[1])
SOURCE = os.path.abspath(sys.argv[2])
OWN_NEW = os.path.abspath(sys.argv[3])
ALL = "--all" in sys.argv[4:]

# Makes the results independent of user and time. PYTHONMALLOC makes Python use malloc instead of its own allocator.
ENVIRONMENT = {
    **os.environ, "SOURCE": SOURCE, "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0",
    "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")), "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}


class Outcome(NamedTuple):
    """The results of a command."""
    status: int
    output: bytes
    errors: bytes
    files: dict


def environment(preload, directory):
    """Returns the environment of a command; `directory` is its home."""
    return {
        **ENVIRONMENT,
        "HOME": str(directory),
        "TMPDIR": str(directory),
        **({"LD_PRELOAD": LIBRARY} if preload else {}),
    }


def run(command, preload, files=(), look_at=None):
    """Runs the command in a directory of its own. Keeps only the output that matches `look_at`, if given."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(command, env=environment(preload, directory), cwd=directory, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600, check=False)
        texts = [text.replace(directory.encode(), b"DIRECTORY") for text in (done.stdout, done.stderr)]
        if look_at is not None:
            texts = [b"\n".join(re.findall(look_at, text)) for text in texts]
        left = {name: path.read_bytes() for name in files if (path := Path(directory, name)).exists()}
        return Outcome(done.returncode, *texts, left)


def needs(*programs):
    """Skips a test if one of these programs is missing."""
    missing = [program for program in programs if shutil.which(program) is None]
    return unittest.skipIf(missing, f"needs {', '.join(missing)}")


def takes_long(test):
    """Skips a test without --all."""
    return unittest.skipUnless(ALL, "only with --all")(test)


class PreloadTest(unittest.TestCase):
    def expect_no_report(self, errors):
        self.assertNotIn("memory_pool:", errors.decode(errors="replace"))

    def expect_the_same(self, *command, may_fail=False, **further):
        expected = run(command, False, **further)
        if not may_fail:
            self.assertEqual(expected.status, 0, expected.errors.decode(errors="replace"))
        found = run(command, True, **further)
        self.expect_no_report(found.errors)
        self.assertEqual(found, expected)

    def expect_the_same_of_script(self, script, **further):
        """Compares the results of a script, which may run several programs."""
        self.expect_the_same("bash", "-euc", script, **further)


class Loading(PreloadTest):
    def test_the_library_replaces_malloc(self):
        with tempfile.TemporaryDirectory() as directory:
            done = subprocess.run(["ls", "/"], env={**environment(True, directory), "LD_DEBUG": "bindings"}, check=True,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.assertIn(f"to {LIBRARY} [0]: normal symbol `malloc'", done.stderr.decode())

    def test_detects_differences(self):
        for differing in ('echo "${LD_PRELOAD-}"', 'echo "${LD_PRELOAD-}" >&2', '[ -z "${LD_PRELOAD-}" ]'):
            with self.assertRaises(AssertionError):
                self.expect_the_same_of_script(differing)
        with self.assertRaises(AssertionError):
            self.expect_the_same_of_script('echo "${LD_PRELOAD-}" >file', files=["file"])

    def test_detects_a_report(self):
        with self.assertRaises(AssertionError):
            self.expect_the_same_of_script("echo 'memory_pool: double free' >&2")

    def test_a_program_that_replaces_operator_new(self):
        self.expect_the_same(OWN_NEW)


class Tools(PreloadTest):
    def test_ls(self):
        self.expect_the_same("ls", "-lR", os.path.join(SOURCE, "include"))

    @needs("bash")
    def test_shell(self):
        self.expect_the_same_of_script(
            "for i in {1..200}; do echo $i; done | sort | tail -n 3; echo $(ls $SOURCE/include)"
        )

    @needs("bash")
    def test_shell_with_many_processes(self):
        self.expect_the_same_of_script("""
            declare -A words
            for file in $(find $SOURCE/include -name '*.hpp' | sort); do
                while read -r word _; do words[$word]=$((${words[$word]-0} + 1)); done \\
                    < <(tr ' ' '\\n' <$file | grep -E '^[a-z]+')
            done
            for word in ${!words[@]}; do echo $word ${words[$word]}; done | sort | md5sum""")

    @needs("bash", "tar", "gzip", "sort", "awk", "sed")
    def test_text_tools(self):
        self.expect_the_same_of_script("""
            tar --sort=name --mtime=@0 --owner=0 --group=0 -C $SOURCE -cf all.tar include
            md5sum all.tar; gzip -n all.tar; md5sum all.tar.gz
            gzip -dc all.tar.gz | strings | sort --parallel=2 -S 2M | uniq -c | sort -rn | head -n 40
            seq 300000 | awk '{ a[$1 % 1000] = a[$1 % 1000] "" $1 } END { for (i in a) n += length(a[i]); print n }'
            seq 100000 | sed -E 's/([0-9])([0-9])/\\2\\1/g' | md5sum""")

    @needs("perl")
    def test_perl(self):
        self.expect_the_same(
            "perl",
            "-e",
            """
            my %h; $h{$_ * 7 % 10007} .= $_ for 1..50000; print scalar(keys %h), "\\n";
            my @a = sort { $a cmp $b } map { join ",", $_, $_ x 3 } 1..50000; print "$a[77] $#a\\n";
            my $s = "abc" x 100000; my $n = () = $s =~ /b(?=ca)/g; $s =~ s/(b)/$1$1/g; print "$n ", length $s, "\\n";
            for (1..5) {
                my $p = fork;
                if (!$p) { my @b = map { "x" x $_ } 1..2000; exit(@b == 2000 ? 7 : 1) }
                waitpid $p, 0; print $? >> 8, "\\n";
            }
            """,
        )

    @needs("bash", "xz")
    @takes_long
    def test_xz_with_threads(self):
        self.expect_the_same_of_script(
            """
            seq 2000000 >numbers; xz -T 2 -6 --block-size=1MiB -k numbers
            xz -dc numbers.xz | cmp - numbers; md5sum numbers.xz"""
        )


def python_with_tests():
    """Returns a Python that includes its test suite, or None."""
    for python in (sys.executable, shutil.which("python3"), "/usr/bin/python3"):
        if (
            python
            and subprocess.run(
                [python, "-c", "import test.test_list"], stderr=subprocess.DEVNULL, check=False
            ).returncode
            == 0
        ):
            return python
    return None


class Python(PreloadTest):
    def expect_the_same_of_suite(self, *names):
        """Compares tests of Python's test suite. Tests may fail if they fail with both mallocs."""
        python = python_with_tests()
        if python is None:
            self.skipTest("needs a Python that includes its test suite")
        self.expect_the_same(python, "-m", "unittest", "-q", *[f"test.test_{name}" for name in names], may_fail=True,
                             look_at=rb"(?m)^Ran [0-9]+|^(?:OK|FAIL|ERROR|memory_pool).*")

    def test_threads(self):
        program = (
            "import threading, re\n"
            "found = []\n"
            "def work(n): found.append(sum(len(str(i)) for i in range(n)) + len(re.findall('1+', str(2 ** n))))\n"
            "threads = [threading.Thread(target=work, args=(2000 + n,)) for n in range(20)]\n"
            "[t.start() for t in threads]; [t.join() for t in threads]\n"
            "print(sorted(found))"
        )
        self.expect_the_same(sys.executable, "-c", program)

    def test_suite_of_containers(self):
        self.expect_the_same_of_suite("list", "dict", "set", "deque", "heapq")

    def test_suite_of_json(self):
        self.expect_the_same_of_suite("json")

    @takes_long
    def test_suite_of_threads_and_processes(self):
        self.expect_the_same_of_suite("thread", "threading", "queue", "fork1", "subprocess")

    @takes_long
    def test_suite_of_text_and_memory(self):
        self.expect_the_same_of_suite(
            "unicode",
            "bytes",
            "re",
            "array",
            "memoryview",
            "mmap",
            "zlib",
            "pickle",
            "gc",
            "weakref",
            "itertools",
            "sqlite3",
            "ctypes",
        )


class Databases(PreloadTest):
    SQL = """
        pragma journal_mode = memory; pragma cache_size = -8000;
        create table items (id integer primary key, kind integer, name text, value real);
        with recursive n(i) as (select 1 union all select i + 1 from n where i < {rows})
            insert into items select i, i * 7919 % 97, printf('%s-%d', hex(i * 31), i), i * 0.5 from n;
        create index by_kind on items(kind, name);
        select kind, count(*), sum(value), min(name), length(group_concat(name)) from items group by kind order by kind;
        begin; update items set name = name || name where id % 3 = 0; delete from items where id % 5 = 0; commit;
        select count(*), sum(length(name))
            from items a join (select kind k, max(value) v from items group by kind) on a.kind = k;
        begin; delete from items where id % 2 = 0; rollback;
        with recursive f(a, b, n) as
            (select 1, 1, 1 union all select b, (a + b) % 1000003, n + 1 from f where n < {rows})
            select sum(a), max(b) from f;
        select count(*) from items a, items b where a.id < 300 and b.name like a.name || '%';
        vacuum; reindex; pragma integrity_check;
        """

    def expect_the_same_of_sqlite(self, rows):
        self.expect_the_same("sqlite3", "file.db", self.SQL.format(rows=rows), files=["file.db"])

    @needs("sqlite3")
    def test_sqlite(self):
        self.expect_the_same_of_sqlite(40_000)

    @needs("sqlite3")
    @takes_long
    def test_sqlite_with_much_data(self):
        self.expect_the_same_of_sqlite(1_000_000)

    @contextlib.contextmanager
    def redis(self, directory, preload):
        """Runs a server on a socket in that directory. Yields a function that runs a Redis program on it."""
        directory = Path(directory)
        with open(directory / "errors", "ab") as errors:
            server = subprocess.Popen(
                [
                    "redis-server",
                    "--port",
                    "0",
                    "--unixsocket",
                    "socket",
                    "--dir",
                    ".",
                    "--logfile",
                    "log",
                    "--hash-max-ziplist-entries",
                    "8",
                ],
                env=environment(preload, directory),
                cwd=directory,
                stdout=errors,
                stderr=errors,
            )

        def command(program, *arguments, text=""):
            done = subprocess.run(
                [program, "-s", "socket", *arguments],
                input=text.encode(),
                cwd=directory,
                timeout=300,
                env=environment(preload, directory),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                check=False,
            )
            self.expect_no_report(done.stderr)
            return done

        try:
            deadline = time.monotonic() + 20
            while command("redis-cli", "ping").stdout != b"PONG\n":
                self.assertLess(time.monotonic(), deadline, "the server does not start")
                self.assertIsNone(server.poll(), "the server has ended")
                time.sleep(0.02)
            yield command
            command("redis-cli", "shutdown", "save")
            self.assertEqual(server.wait(timeout=60), 0)
        finally:
            server.kill()
            server.wait()
        self.expect_no_report((directory / "errors").read_bytes())
        self.expect_no_report((directory / "log").read_bytes())

    @staticmethod
    def redis_writes(count):
        """Yields commands that create, replace and remove values of every size."""
        for i in range(count):
            yield f"set key:{i % (count // 2)} {'v' * (i * 37 % 3000)}"
            yield f"append key:{i % 11} {i}"
            yield f"lpush list:{i % 5} {i}-{'l' * (i % 200)}"
            yield f"hset hash:{i % 7} field{i * 3 % 500} {i}"
            yield f"zadd sorted:{i % 3} {i * 7 % 1000} member{i}"
            if i % 3 == 0:
                yield f"del key:{i * 13 % count}"
                yield f"rpop list:{i % 5}"

    @staticmethod
    def redis_reads(count):
        yield "dbsize"
        for i in range(0, count, 7):
            yield f"get key:{i}"
        for i in range(7):
            yield from (
                f"lrange list:{i} 0 -1",
                f"hlen hash:{i}",
                f"hget hash:{i} field{i * 3}",
                f"zrange sorted:{i} 0 -1 withscores",
            )

    def redis_session(self, preload, count):
        """Returns the replies of a server to many writes, and to reads before a save, after the save, and after a
        restart."""
        with tempfile.TemporaryDirectory() as directory:
            reads = "\n".join(self.redis_reads(count)) + "\n"
            with self.redis(directory, preload) as command:
                written = command("redis-cli", text="\n".join(self.redis_writes(count)) + "\n").stdout
                replies = [written, command("redis-cli", text=reads).stdout]
                self.assertIn(b"Background saving started", command("redis-cli", "bgsave").stdout)
                while b"rdb_bgsave_in_progress:1" in command("redis-cli", "info", "persistence").stdout:
                    time.sleep(0.02)
                self.assertIn(b"rdb_last_bgsave_status:ok", command("redis-cli", "info", "persistence").stdout)
                replies.append(command("redis-cli", text=reads).stdout)
            with self.redis(directory, preload) as command:
                replies.append(command("redis-cli", text=reads).stdout)
            return replies

    @needs("redis-server", "redis-cli")
    def test_redis(self):
        count = 20_000 if ALL else 2_000
        found = self.redis_session(True, count)
        self.assertEqual(found[1], found[2], "after the save")
        self.assertEqual(found[1], found[3], "after the restart")
        self.assertGreater(len(found[1]), count)
        self.assertEqual(found, self.redis_session(False, count))

    @needs("redis-server", "redis-cli", "redis-benchmark")
    def test_redis_under_load(self):
        requests = 200_000 if ALL else 10_000
        with tempfile.TemporaryDirectory() as directory, self.redis(directory, True) as command:
            done = command("redis-benchmark", "-q", "-n", str(requests), "-r", "10000", "-d", "300", "-P", "4")
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(command("redis-cli", "set", "a", "b").stdout, b"OK\n")


class Compilers(PreloadTest):
    def expect_the_same_object(self, *compiler):
        self.expect_the_same(*compiler, "-std=c++17", f"-I{SOURCE}/include", f"-I{SOURCE}/drop_in", "-c",
                             f"{SOURCE}/examples/my_struct.cpp", "-o", "it.o", files=["it.o"])

    @needs("g++")
    def test_compiler(self):
        self.expect_the_same_object("g++", "-O1")

    @needs("gcc")
    def test_linker_and_its_program(self):
        self.expect_the_same_of_script("""
            echo '#include <stdio.h>\nint main(void) { puts("made"); return 0; }' >it.c; gcc -O2 it.c -o it; ./it""")

    @needs("cmake")
    def test_cmake(self):
        self.expect_the_same("cmake", "--help-full")

    @needs("bash", "cmake", "ninja", "g++")
    @takes_long
    def test_build_of_a_part_of_this_project(self):
        self.expect_the_same_of_script(
            """
            cmake -S $SOURCE -B build -G Ninja -D CMAKE_BUILD_TYPE=Debug -D MEMORY_POOL_ENABLE_TESTING=OFF \\
                -D MEMORY_POOL_ENABLE_BENCHMARKING=OFF -D MEMORY_POOL_ENABLE_EXAMPLES=ON >configured
            ninja -C build -j 1 my_struct example_classes clever_struct
            ninja -C build -n my_struct; build/examples/my_struct"""
        )

    @needs("clang++-19")
    @takes_long
    def test_clang(self):
        self.expect_the_same_object("clang++-19", "-O2")

    @needs("rustc")
    @takes_long
    def test_rustc(self):
        self.expect_the_same_of_script("""
            echo 'fn main() {
                let threads: Vec<_> = (0..4)
                    .map(|n| std::thread::spawn(move || (0..20000).map(|i| format!("{}", i * n).len())
                    .collect::<Vec<_>>().iter().sum::<usize>())).collect();
                println!("{:?}", threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>());
            }' >it.rs; rustc -O it.rs; ./it""")


class Git(PreloadTest):
    def expect_the_same_of_git(self, commits):
        self.expect_the_same_of_script(
            f"""
            git init -q -b main first; cd first
            for i in {{1..{commits}}}; do
                mkdir -p d$((i % 5)); seq $i $((i * 40)) >d$((i % 5))/f$((i % 9)); cp $SOURCE/README.md r; echo $i >>r
                git add -A; git commit -q -m "change $i"
            done
            git log --stat | md5sum; git log -p --reverse | md5sum; git blame r | wc -l
            cd ..; git clone -q --no-local first second; cd second
            git -c pack.threads=2 repack -q -a -d -f --depth=20 --window=20; git gc -q --aggressive --prune=now
            git fsck --full; git diff HEAD~{commits // 2} HEAD --stat | tail -n 5
            git rev-parse HEAD; git count-objects -v | grep -v size"""
        )

    @needs("bash", "git")
    def test_history(self):
        self.expect_the_same_of_git(12)

    @needs("bash", "git")
    @takes_long
    def test_long_history(self):
        self.expect_the_same_of_git(300)


class OtherLanguages(PreloadTest):
    @needs("node")
    def test_node(self):
        self.expect_the_same(
            "node",
            "-e",
            """
            const { Worker } = require('worker_threads'), zlib = require('zlib'), crypto = require('crypto');
            const work = `
                const { parentPort, workerData } = require('worker_threads');
                const zlib = require('zlib'), crypto = require('crypto');
                const map = new Map(), hash = crypto.createHash('md5');
                for (let i = 0; i < 20000; i++) map.set('key' + i * workerData, Buffer.alloc(i % 3000, i % 256));
                for (const [key, value] of map) hash.update(key).update(value);
                const packed = zlib.gzipSync(JSON.stringify([...map.keys()]));
                parentPort.postMessage(workerData + ' ' + hash.digest('hex') + ' ' + zlib.gunzipSync(packed).length);`;
            const said = [];
            for (let n = 1; n <= 3; n++)
                new Worker(work, { eval: true, workerData: n }).on('message', text => said.push(text))
                    .on('exit', () => {
                        if (said.length == 3) console.log(said.sort().join('\\n')), said.push('');
                    });""",
        )

    @needs("bash", "java")
    @takes_long
    def test_java(self):
        self.expect_the_same_of_script("""
            cat >It.java <<'END'
            import java.nio.ByteBuffer;
            import java.util.zip.Deflater;
            public class It {
                static long work(int n) {
                    long sum = 0;
                    for (int i = 1; i < 300; i++) {
                        ByteBuffer direct = ByteBuffer.allocateDirect(i * 997 % 100000 + 1);
                        direct.put(0, (byte) i);
                        Deflater deflater = new Deflater(1 + i % 9);
                        deflater.setInput(("text" + n).repeat(i).getBytes());
                        deflater.finish();
                        sum += deflater.deflate(new byte[10000]) + direct.get(0) + direct.capacity();
                        deflater.end();
                    }
                    return sum;
                }
                public static void main(String[] arguments) throws Exception {
                    long[] sums = new long[4];
                    Thread[] threads = new Thread[sums.length];
                    for (int n = 0; n < sums.length; n++) {
                        int mine = n;
                        (threads[n] = new Thread(() -> sums[mine] = work(mine))).start();
                    }
                    for (Thread thread : threads)
                        thread.join();
                    System.out.println(java.util.Arrays.toString(sums));
                }
            }
END
            java -XX:-UsePerfData -XX:+UseSerialGC -Xmx256m It.java""")

    @needs("gs")
    @takes_long
    def test_ghostscript(self):
        self.expect_the_same_of_script("""
            echo '%!PS
                /Times-Roman findfont 20 scalefont setfont
                1 1 40 { dup 18 mul dup moveto 10 string cvs show } for
                0 5 500 { newpath 300 400 3 -1 roll 0 360 arc stroke } for
                showpage' >it.ps
            gs -q -dBATCH -dNOPAUSE -dSAFER -sDEVICE=ppmraw -r150 -sOutputFile=it.ppm it.ps""", files=["it.ppm"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(name for name in sys.argv[4:] if name != "--all")], verbosity=2)
