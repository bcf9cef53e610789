"""A disk that is full in the middle of a write: the store stays as it was, says so, and goes on when there is room.

Each test has a file system of its own, in a mount namespace of its own. In memory, no root is needed where the system allows
user namespaces; an ext4 in a file needs root and a loop device. Where that is not allowed, its tests are reported as skipped.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import adbc_driver_flightsql.dbapi as flight_sql
from quiver_server import Server
from quiver_shell import Failed, Shell, quiver

MIB = 1 << 20
SIZE = 64 * MIB
NAMESPACES = {"tmpfs": ["unshare", "--user", "--map-root-user", "--mount"], "ext4": ["unshare", "--mount"]}


class Disk:
    """A file system of 64 MiB that can be filled up to the last page."""

    def __init__(self, kind: str, directory: Path):
        self.path, image = directory / "disk", directory / "image"
        self.path.mkdir()
        self.store = self.path / "store"
        if kind == "ext4":
            # Without a reserve for root; some MiB are the journal and what it knows of files.
            subprocess.run(["mkfs.ext4", "-q", "-m", "0", "-J", "size=4", image, "80M"], check=True, capture_output=True)
            subprocess.run(["mount", "-o", "loop", image, self.path], check=True)
        else:
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", self.path], check=True)

    def left(self) -> int:
        found = os.statvfs(self.path)
        return found.f_bavail * found.f_frsize

    def leave(self, size: int) -> None:
        with (self.path / "ballast").open("w") as file:
            # More than once: ext4 needs blocks for its map of the file, too, and says so after it has taken part of them.
            for _ in range(8):
                with suppress(OSError):
                    os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size + self.left() - size)

    def make_room(self) -> None:
        (self.path / "ballast").unlink()

    def files(self) -> set[str]:
        return {str(path) for path in (self.store / "segments").rglob("*.*")}

    def one(self, sql: str, *switches: str) -> str:
        shell = Shell(self.store, *switches)
        try:
            return "|".join(str(value) for row in shell.run(sql) for value in row)
        finally:
            shell.close()

    def expect_full(self, shell: Shell, sql: str) -> None:
        """One sentence that says what is the matter and what to do."""
        try:
            shell.run(sql)
        except Failed as error:
            expect_full(str(error))
        else:
            raise AssertionError(f"there was room for {sql}")
        finally:
            shell.close()

    def expect_sound(self, sql: str, expected: str) -> None:
        """Writable, which recovers it if need be, then read-only, then with room: always the same rows and no damage."""
        for switches in [[], ["--read-only"]]:
            expect(self.one(sql, *switches), expected)
        quiver("check", "--store", self.store)
        self.make_room()
        expect(self.one(sql), expected)


def expect(found: str, expected: str) -> None:
    if found != expected:
        raise AssertionError(f"found {found}, not {expected}")


def expect_full(message: str) -> None:
    first = message.splitlines()[0]
    if not re.search(r"^error: .*(No space left|disk is full).*free some space", first):
        raise AssertionError(f"not a clear error: {message}")


WIDE = "SELECT value, value || repeat('x', 1000) FROM generate_series({}, {}) AS g(value)"
SUMMARY = "SELECT count(*), sum(id), sum(length(s)) FROM t"


def begin(disk: Disk, rows: int = 0, switch: str = "--no-maintenance") -> Shell:
    shell = Shell(disk.store, switch)
    shell.run("CREATE TABLE t (id BIGINT, s VARCHAR)")
    if rows:
        shell.run(f"INSERT INTO t {WIDE.format(1, rows)}")
    return shell


def summary(rows: int) -> str:
    return f"{rows}|{rows * (rows + 1) // 2}|{sum(len(str(row)) + 1000 for row in range(1, rows + 1))}" if rows else "0|None|None"


def a_first_insert_without_room_for_a_log(disk: Disk) -> None:
    shell = begin(disk)
    disk.leave(MIB)
    before = disk.files()
    disk.expect_full(shell, "INSERT INTO t VALUES (1, 'x')")
    expect(disk.files(), before)
    disk.expect_sound(SUMMARY, summary(0))
    expect(disk.one("INSERT INTO t VALUES (1, 'x')") + disk.one(SUMMARY), "1|1|1")


def run_until_full(shell: Shell, statement: Callable[[int], str]) -> int:
    """Runs statements, each made from how many ran before it, until the disk is full; how many did. Ends the shell."""
    ran = 0
    try:
        while True:
            shell.run(statement(ran))
            ran += 1
    except Failed as error:
        expect_full(str(error))
    shell.close()
    return ran


def a_stream_of_inserts_that_needs_one_log_after_the_other(disk: Disk) -> None:
    rows = 300 * run_until_full(begin(disk), lambda ran: f"INSERT INTO t {WIDE.format(300 * ran + 1, 300 * ran + 300)}")
    disk.leave(0)
    disk.expect_sound(SUMMARY, summary(rows))
    disk.one("TRUNCATE t")
    disk.one("EXPIRE VERSIONS OLDER THAN INTERVAL '0 seconds'")
    disk.one("INSERT INTO t VALUES (1, 'x')")
    expect(disk.one(SUMMARY), "1|1|1")


def a_segment_in_the_middle_of_a_bulk_insert(disk: Disk) -> None:
    shell = begin(disk, 5_000)
    before = disk.files()
    disk.expect_full(shell, f"INSERT INTO t {WIDE.format(1, 200_000)}")
    expect(disk.files(), before)
    disk.leave(0)
    disk.expect_sound(SUMMARY, summary(5_000))
    disk.one(f"INSERT INTO t {WIDE.format(5_001, 9_000)}")
    expect(disk.one(SUMMARY), summary(9_000))


def the_catalog_grows(disk: Disk) -> None:
    shell = begin(disk, 3_000)
    disk.leave(0)
    columns = "(a INTEGER, b VARCHAR DEFAULT 'a text of some length', c DOUBLE)"
    made = run_until_full(shell, lambda ran: f"CREATE TABLE u{ran} {columns}")
    disk.expect_sound("SELECT count(*) FROM system.tables WHERE kind = 'table'", str(made + 1))
    disk.one("CREATE TABLE v AS SELECT * FROM t")
    expect(disk.one("SELECT count(*) FROM v"), "3000")


def rows_are_deleted(disk: Disk) -> None:
    """Deletion vectors need room in the catalog; none was acknowledged that is not there."""
    shell = begin(disk, 20_000)
    disk.leave(0)
    left = 20_000
    try:
        for part in range(2, 60):
            gone = len([row for row in range(1, 20_001) if row % part == 1 and all(row % before != 1 for before in range(2, part))])
            shell.run(f"DELETE FROM t WHERE id % {part} = 1")
            left -= gone
    except Failed as error:
        expect_full(str(error))
    shell.close()
    disk.expect_sound("SELECT count(*) FROM t", str(left))
    disk.one("DELETE FROM t WHERE id > 10")
    expect(disk.one("SELECT count(*) FROM t WHERE id > 10"), "0")


def optimize_rewrites_a_table(disk: Disk) -> None:
    shell = begin(disk, 8_000)
    shell.run(f"INSERT INTO t {WIDE.format(8_001, 16_000)}")
    disk.leave(4 * MIB)
    before = disk.files()
    disk.expect_full(shell, "OPTIMIZE TABLE t FULL")
    expect(disk.files(), before)
    disk.expect_sound(SUMMARY, summary(16_000))
    disk.one("OPTIMIZE TABLE t FULL")
    expect(disk.one(SUMMARY), summary(16_000))


def a_compaction_in_the_background(disk: Disk) -> None:
    """It fails and says so in a table; the shell goes on, and so does it when there is room."""
    shell = begin(disk)
    for part in range(8):
        shell.run(f"INSERT INTO t {WIDE.format(part * 4_000 + 1, part * 4_000 + 4_000)}")
    shell.close()
    disk.leave(4 * MIB)
    # Only now is there somebody to compact it, who looks after each commit.
    shell = Shell(disk.store, "--compaction-rate=100M")
    shell.run("CREATE TABLE u (a BIGINT)")
    states = "SELECT DISTINCT state FROM system.compactions WHERE started_by = 'background'"
    wait_for(lambda: ["failed"] in shell.run(states), "failed compaction")
    [[message]] = shell.run("SELECT message FROM system.compactions WHERE state = 'failed' LIMIT 1")
    expect_full(f"error: {message}")
    expect("|".join(shell.run(SUMMARY)[0]), summary(32_000))
    disk.make_room()
    shell.run("OPTIMIZE TABLE t")
    expect("|".join(shell.run(SUMMARY)[0]), summary(32_000))
    shell.close()
    quiver("check", "--store", disk.store)


def an_import(disk: Disk) -> None:
    begin(disk, 1_000).close()
    before = disk.files()
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "many.csv"
        file.write_text("a,b\n" + "".join(f"{row},{str(row) * 150}\n" for row in range(100_000)))
        disk.leave(20 * MIB)
        done = quiver("import", "--store", disk.store, file, check=False)
        expect(str(done.returncode), "1")
        expect_full(done.stderr)
        expect(disk.files(), before)
        disk.expect_sound(SUMMARY, summary(1_000))
        file.write_text("a,b\n1,x\n")
        quiver("import", "--store", disk.store, file)
    expect(disk.one("SELECT count(*) FROM many"), "1")


def a_query_spills(disk: Disk) -> None:
    """It ends with one sentence and leaves no file; the server goes on, and the query has its answer when there is room."""
    spill = disk.path / "spill"
    queries = ["SELECT count(DISTINCT s) FROM t", "SELECT length(s) FROM t ORDER BY s DESC OFFSET 199999"]
    with tempfile.TemporaryDirectory() as directory:
        store = Path(directory) / "store"
        quiver(
            "--store", store, "-c", f"CREATE TABLE t (id BIGINT, s VARCHAR); INSERT INTO t {WIDE.format(1, 200_000).replace('1000', '100')}"
        )
        server = Server(store, "--memory-limit", "16MiB", "--threads", "1", "--spill-dir", spill)
        try:
            with flight_sql.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
                disk.leave(4 * MIB)
                for query in queries:
                    try:
                        cursor.execute(query)
                        raise AssertionError(f"there was room for {query}: {cursor.fetchall()}")
                    except flight_sql.Error as error:
                        expect_full(f"error: {error}")
                    wait_for(lambda: not any(path.is_file() for path in spill.rglob("*")), "empty spill directory")
                    cursor.execute("SELECT count(*) FROM t")
                    expect(str(cursor.fetchall()), "[(200000,)]")
                disk.make_room()
                for query, answer in zip(queries, ["[(200000,)]", "[(106,)]"]):
                    cursor.execute(query)
                    expect(str(cursor.fetchall()), answer)
        finally:
            expect(str(server.end()[0]), "0")
    expect(str(list(spill.iterdir())), "[]")


def wait_for(holds, what: str) -> None:
    until = time.monotonic() + 30
    while not holds():
        if time.monotonic() > until:
            raise AssertionError(f"no {what} within 30 seconds")
        time.sleep(0.2)


SCENARIOS = [
    a_first_insert_without_room_for_a_log,
    a_stream_of_inserts_that_needs_one_log_after_the_other,
    a_segment_in_the_middle_of_a_bulk_insert,
    the_catalog_grows,
    rows_are_deleted,
    optimize_rewrites_a_table,
    a_compaction_in_the_background,
    an_import,
    a_query_spills,
]


def nothing(_disk: Disk) -> None:
    """Whether there can be such a disk."""


def run_on(kind: str, name: str) -> subprocess.CompletedProcess:
    """A scenario, run by this file in a namespace."""
    with tempfile.TemporaryDirectory(prefix="quiver-full-") as directory:
        scenario = [*NAMESPACES[kind], sys.executable, "-B", __file__, kind, name, directory]
        return subprocess.run(scenario, capture_output=True, text=True, timeout=300)


class DiskFull(unittest.TestCase):
    """A test for each scenario."""

    kind = "tmpfs"

    @classmethod
    def setUpClass(cls):
        if not shutil.which("unshare"):
            raise unittest.SkipTest("NO DISK WAS FILLED: there is no program unshare here")
        probe = run_on(cls.kind, "nothing")
        if probe.returncode != 0:
            raise unittest.SkipTest(f"NO DISK WAS FILLED: no {cls.kind} can be mounted here: {probe.stderr.strip().splitlines()[-1]}")


class Ext4Full(DiskFull):
    kind = "ext4"


def add_test(name: str) -> None:
    def test(self):
        done = run_on(self.kind, name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    setattr(DiskFull, f"test_a_full_disk_changes_nothing_when_it_meets_{name}", test)


for scenario in SCENARIOS:
    add_test(scenario.__name__)

if __name__ == "__main__":
    [kind, name, directory] = sys.argv[1:]
    globals()[name](Disk(kind, Path(directory)))
