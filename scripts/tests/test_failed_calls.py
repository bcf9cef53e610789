"""Every call that writes, syncs, maps, renames or removes fails once, wherever a script of all kinds of statements reaches it.

Whatever fails, the store opens afterwards, has what was acknowledged and nothing half, and can be written to. The shell and the
server run with a library before them (`failing_calls.c`) that counts the calls and has one of them fail.

`FAILED_CALLS=all` tries each call with each error that it can have. Without it each sync of the shell's script of rows and tables fails
with EIO and some of the others with one of their errors, and of the server some of each function of the C library.
"""

import errno
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import adbc_driver_flightsql.dbapi
from quiver_server import Server
from quiver_shell import QUIVER, Failed, Shell

LIBRARY = Path(__file__).with_name("failing_calls.c")
ALL = os.environ.get("FAILED_CALLS") == "all"
REPORT_BYTES, COUNT_BYTES = 65536, 16
LOG_HEADER_BYTES = 4096
# No work by itself: the calls come in the same order in every run.
SWITCHES = ["--no-maintenance", "--threads", "1"]

# What each kind of call can fail with; "short" writes half and says so, "torn" writes half and fails.
ERRORS = {
    "sync": [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR],
    "write": [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR, "short", "torn"],
    "size": [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EINTR],
    "map": [errno.ENOMEM, errno.EIO],
    "name": [errno.EIO, errno.ENOSPC, errno.EDQUOT],
    "remove": [errno.EIO],
}

SETUP = [
    "CREATE TABLE a (id BIGINT PRIMARY KEY, balance BIGINT)",
    "CREATE TABLE b (id BIGINT PRIMARY KEY, balance BIGINT)",
    "INSERT INTO a SELECT value, 100 FROM generate_series(1, 20) AS g(value)",
    "INSERT INTO b SELECT value, 100 FROM generate_series(1, 20) AS g(value)",
    "CREATE TABLE r (n BIGINT, s VARCHAR)",
    "CREATE TABLE big (n BIGINT, s VARCHAR)",
    "INSERT INTO big SELECT value, 'big ' || value FROM generate_series(1, 20000) AS g(value)",
    "DELETE FROM big WHERE n % 3 = 0",
    "CREATE USER root PASSWORD 'long and strange' ADMIN",
]
WORK = [
    "INSERT INTO r VALUES (1, 'one')",
    "INSERT INTO r VALUES (2, 'two')",
    "BEGIN; UPDATE a SET balance = balance - 7 WHERE id = 3; UPDATE b SET balance = balance + 7 WHERE id = 4; INSERT INTO r VALUES (3, 'tx'); COMMIT",
    "INSERT INTO big SELECT value, 'x' FROM generate_series(30001, 40000) AS g(value)",
    "CHECKPOINT",
    "INSERT INTO r VALUES (4, 'four')",
    "UPDATE big SET s = 'u' WHERE n < 100",
    "OPTIMIZE TABLE big FULL",
    "ALTER TABLE r ADD COLUMN c BIGINT DEFAULT 5",
    "CREATE TABLE n1 AS SELECT 1 AS a",
    "CREATE VIEW v AS SELECT n FROM r",
    "DROP TABLE n1",
    "CREATE SNAPSHOT sn",
    "INSERT INTO r (n, s) VALUES (5, 'five')",
    "MERGE INTO a USING b ON a.id = b.id WHEN MATCHED AND a.id < 3 THEN DELETE",
    "EXPIRE VERSIONS OLDER THAN INTERVAL '0 seconds'",
    "TRUNCATE big",
    "INSERT INTO r (n, s) VALUES (6, 'six')",
]
SERVED = [
    "INSERT INTO r VALUES (1, 'one')",
    "CHECKPOINT",
    "INSERT INTO big SELECT * FROM big WHERE n < 10",
    "OPTIMIZE TABLE big FULL",
    "CREATE TABLE n1 AS SELECT 1 AS a",
    "DROP TABLE n1",
    "EXPIRE VERSIONS OLDER THAN INTERVAL '0 seconds'",
]
# `FILES` is a directory beside the store, below which calls are counted too. With `async` rows are durable after FLUSH.
NAMES_AND_FILES = [
    "CREATE USER ann PASSWORD 'another one'",
    "GRANT SELECT, INSERT ON r TO ann",
    "INSERT INTO r VALUES (2, 'two')",
    "CREATE SNAPSHOT sn",
    "COPY r TO 'FILES/r.csv'",
    "COPY r FROM 'FILES/r.csv'",
    "COPY r TO 'FILES/r.csv'",
    "CREATE TABLE n1 AS SELECT 1 AS a",
    "ALTER TABLE n1 RENAME TO n2",
    "ALTER TABLE n2 RENAME COLUMN a TO b",
    "REVOKE INSERT ON r FROM ann",
    "TRUNCATE big",
    "RESTORE TABLE big TO SNAPSHOT sn",
    "ALTER TABLE r SET (durability = 'async')",
    "INSERT INTO r VALUES (3, 'three'), (4, 'four'); FLUSH",
    "DROP USER ann",
]
# The rows of the logs that are damaged; `a` and `b` have theirs already.
LOGGED = ["INSERT INTO r VALUES (1, 'one')", "INSERT INTO r VALUES (2, 'two')", "INSERT INTO big VALUES (0, 'zero')"]
# What can be seen of all that.
STATE = [
    "SELECT n, s FROM r ORDER BY n",
    "SELECT count(*), sum(balance) FROM a",
    "SELECT count(*), sum(balance) FROM b",
    "SELECT count(*), sum(n), count(*) FILTER (WHERE s = 'u') FROM big",
    "SELECT table_name, column_name FROM system.columns WHERE table_name IN ('r', 'n1', 'n2', 'v') ORDER BY 1, 2",
    "SELECT table_name, row_count FROM system.tables WHERE table_name IN ('n1', 'n2') ORDER BY 1",
    "SELECT count(*) FROM system.snapshots WHERE array_length(names) > 0",
    "SELECT user_name, is_admin FROM system.users ORDER BY 1",
    "SELECT grantee, privilege, object_name FROM system.grants WHERE grantee <> 'root' ORDER BY 1, 2, 3",
]
AFTERWARDS = [
    "INSERT INTO r (n, s) VALUES (99, 'after')",
    "CHECKPOINT",
    "OPTIMIZE TABLE big FULL",
    "EXPIRE VERSIONS OLDER THAN INTERVAL '0 seconds'",
]


@dataclass(frozen=True)
class Failure:
    kind: str
    call: int
    error: int | str

    def environment(self, library: Path, below: Path, report: Path) -> dict[str, str]:
        report.write_bytes(bytes(REPORT_BYTES))
        named = {"BELOW": below, "KIND": self.kind, "CALL": self.call, "ERROR": self.error, "REPORT": report}
        return os.environ | {"LD_PRELOAD": str(library)} | {f"FAIL_{name}": str(value) for name, value in named.items()}


def calls_in(report: Path) -> list[str]:
    """The names of those that were counted in a run in which none fails."""
    bytes_ = report.read_bytes()
    names = bytes_[COUNT_BYTES:].rstrip(b"\0").decode().splitlines()
    expect(len(names) == int(bytes_[:COUNT_BYTES].split(b"\n")[0] or 0), "the report has no room for all names")
    return names


def failed_call_in(report: Path) -> str:
    return report.read_bytes()[COUNT_BYTES:].split(b"\n")[0].decode()


class Trial:
    """A directory in which one run after the other is made."""

    def __init__(self, directory: Path, template: Path):
        self.below, self.template, self.report = directory / "below", template, directory / "report"
        self.store, self.files = self.below / "store", self.below / "files"
        directory.mkdir()

    def begin(self) -> None:
        shutil.rmtree(self.below, ignore_errors=True)
        shutil.copytree(self.template, self.store)
        self.files.mkdir()

    def parts(self, statement: str) -> list[str]:
        return statement.replace("FILES", str(self.files)).split("; ")

    def state(self, shell: Shell) -> list:
        """What can be seen, and what the files have."""
        return [shell.run(query) for query in STATE] + [{file.name: file.read_text() for file in self.files.iterdir()}]

    def run(self, library: Path, failure: Failure, statements: list[str]) -> tuple[int, str]:
        """How many of the statements were acknowledged, -1 where the store did not open; and what was said of the next one."""
        self.begin()
        done = 0
        shell = None
        try:
            shell = Shell(self.store, *SWITCHES, environment=failure.environment(library, self.below, self.report))
            for statement in statements:
                for part in self.parts(statement):
                    shell.run(part)
                done += 1
            said = ""
        except Failed as error:
            said = str(error)
        finally:
            if shell:
                shell.close()
        return (done if shell else -1), said

    def serve(self, library: Path, failure: Failure, statements: list[str]) -> tuple[int, str]:
        """As [`Trial.run`], by a server."""
        self.begin()
        try:
            server = Server(self.store, *SWITCHES, environment=failure.environment(library, self.below, self.report))
        except AssertionError as error:
            return -1, str(error)
        done, said = 0, ""
        try:
            with connect(server) as connection, connection.cursor() as cursor:
                for statement in statements:
                    for part in self.parts(statement):
                        cursor.execute(part)
                    done += 1
        except adbc_driver_flightsql.dbapi.Error as error:
            said = str(error)
            found = read_on(server)
            expect(found == "20" or "open the store again" in found, f"{failure}: {said}, and then {found}")
        finally:
            status, logged = server.end()
        expect(status == 0 and "panicked" not in logged, f"{failure}: the server ended with {status} and said {logged}")
        return done, said

    def accept_loss(self, library: Path, failure: Failure, _statements: list[str]) -> tuple[int, str]:
        """As [`Trial.run`], by `quiver check --accept-loss`, which is repeated where it fails."""
        self.begin()
        failed = refusal_of_loss(self.store, failure.environment(library, self.below, self.report))
        if failed:
            repeated = refusal_of_loss(self.store)
            expect(not repeated, f"{failure}: {failed}, and then {repeated}")
        return (-1 if failed else 0), failed

    def check(self, failure: Failure, done: int, said: str, states: list) -> None:
        """What is there when it is opened again. `states` are those after so many statements."""
        what = f"{failure}, which is {failed_call_in(self.report)}, after {done} statements: {said}"
        expect("panicked" not in said and "said nothing" not in said, what)
        is_of_the_store = str(self.files) not in failed_call_in(self.report)
        if done >= 0 and said and failure.kind == "sync" and failure.error == errno.EIO and is_of_the_store:
            expect("open the store again" in said, f"it is not said what to do: {what}")
        shell = Shell(self.store, *SWITCHES)
        try:
            found = self.state(shell)
            possible = states[max(done, 0) : done + 2] if said else [states[done]]
            expect(found in possible, f"{what}\nfound {found}\nnot one of {possible}")
            for statement in AFTERWARDS:
                shell.run(statement)
            after = self.state(shell)
        except Failed as error:
            raise AssertionError(f"{what}\nand then: {error}") from error
        finally:
            shell.close()
        expect(after[0][:-1] == found[0] and after[1:] == found[1:], f"{what}\nfound {found}, and after more work {after}")
        if not ALL and failure.call % 4:
            return  # another process, which takes as long as all of the above
        checked = subprocess.run([QUIVER, "check", "--store", self.store], capture_output=True, text=True, timeout=120)
        expect(checked.returncode == 0, f"{what}\n{checked.stdout}{checked.stderr}")


def connect(server: Server) -> adbc_driver_flightsql.dbapi.Connection:
    login = {"username": "root", "password": "long and strange"}
    return adbc_driver_flightsql.dbapi.connect(server.uri, db_kwargs=login, autocommit=True)


def refusal_of_loss(store: Path, environment: dict[str, str] | None = None) -> str:
    """Why the loss of rows could not be accepted; empty if it was."""
    command = [QUIVER, "check", "--accept-loss", "--store", store]
    done = subprocess.run(command, capture_output=True, env=environment, text=True, timeout=120)
    return (done.stdout + done.stderr or f"it ended with {done.returncode} and said nothing") if done.returncode else ""


def read_on(server: Server) -> str:
    """How many rows there are of a table that may not have been read yet, or why nobody knows."""
    try:
        with connect(server) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM a")
            return str(cursor.fetchone()[0])
    except adbc_driver_flightsql.dbapi.Error as error:
        return str(error)


def damage_logs(store: Path) -> None:
    """One in its header, one in its length, one in a record, and one is gone."""
    a, b, r, big = (next(store.glob(f"segments/{table}/*.log")) for table in range(1, 5))
    flip_bit(a, 8)
    os.truncate(b, 65536)
    flip_bit(r, LOG_HEADER_BYTES + (len(r.read_bytes().rstrip(b"\0")) - LOG_HEADER_BYTES) // 2)
    big.unlink()


def flip_bit(file: Path, at: int) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 4
    file.write_bytes(content)


def middle_of(calls: list[str], name: str) -> int:
    places = [place for place, call in enumerate(calls) if call == name]
    return places[len(places) // 2]


def expect(is_so: bool, what: str) -> None:
    if not is_so:
        raise AssertionError(what)


class FailedCalls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="quiver-failed-")
        cls.addClassCleanup(directory.cleanup)
        cls.root = Path(directory.name)
        cls.library = cls.root / "failing_calls.so"
        subprocess.run(["gcc", "-Wall", "-Werror", "-O1", "-shared", "-fPIC", "-o", cls.library, LIBRARY, "-ldl"], check=True)
        cls.template = cls.root / "template"
        shell = Shell(cls.template, *SWITCHES)
        for statement in SETUP:
            shell.run(statement)
        shell.close()

    def trial(self, template: Path) -> Trial:
        return Trial(Path(tempfile.mkdtemp(dir=self.root)) / "trial", template)

    def states_of(self, template: Path, statements: list[str]) -> list:
        """What can be seen before the first statement, and after each."""
        trial = self.trial(template)
        trial.begin()
        shell = Shell(trial.store, *SWITCHES)
        states = [trial.state(shell)]
        for statement in statements:
            for part in trial.parts(statement):
                shell.run(part)
            states.append(trial.state(shell))
        shell.close()
        return states

    def test_no_call_that_fails_once_loses_what_was_acknowledged(self):
        self.fail_each(
            Trial.run, WORK, lambda kind, calls, chosen: chosen[: len(calls)] if kind == "sync" else chosen[:: max(1, len(chosen) // 8)]
        )

    def test_users_names_and_files_are_there_as_a_whole_or_not(self):
        self.fail_each(Trial.run, NAMES_AND_FILES, lambda _kind, _calls, chosen: chosen[:: max(1, len(chosen) // 3)])

    def test_a_server_says_what_failed_and_loses_nothing(self):
        def sample(_kind, calls, chosen):
            """Of each function of the C library one call, and some with the other errors."""
            functions = [chosen[middle_of(calls, name)] for name in dict.fromkeys(calls)]
            return functions + chosen[len(calls) :: max(1, len(chosen) // 4)]

        self.fail_each(Trial.serve, SERVED + NAMES_AND_FILES, sample)

    def test_a_loss_that_could_not_be_accepted_is_accepted_later(self):
        damaged = self.trial(self.template)
        damaged.begin()
        shell = Shell(damaged.store, *SWITCHES)
        for statement in LOGGED:
            shell.run(statement)
        shell.close()
        damage_logs(damaged.store)
        healed = self.trial(damaged.store)
        healed.begin()
        self.assertEqual(refusal_of_loss(healed.store), "")
        self.fail_each(Trial.accept_loss, [], lambda _kind, _calls, chosen: chosen[::48], damaged.store, self.states_of(healed.store, []))

    def test_what_a_server_does_by_itself_ends_with_the_first_failure(self):
        trial = self.trial(self.template)
        self.assertEqual(trial.serve(self.library, Failure("sync", 0, errno.EIO), SERVED), (len(SERVED), ""))
        failure = Failure("sync", len(calls_in(trial.report)) // 2, errno.EIO)
        trial.begin()
        server = Server(trial.store, environment=failure.environment(self.library, trial.below, trial.report))
        try:
            with connect(server) as connection, connection.cursor() as cursor:
                with self.assertRaises(adbc_driver_flightsql.dbapi.Error):
                    for statement in SERVED:
                        cursor.execute(statement)
            until = time.monotonic() + 20
            while "nothing is compacted any more" not in server.said() and time.monotonic() < until:
                time.sleep(0.1)
        finally:
            server.end()
        self.assertIn("nothing is compacted any more; check the disk and open the store again", server.said())
        self.assertNotIn("tried again later", server.said())

    def fail_each(self, run, statements, sample, template=None, states=None) -> None:
        template, states = template or self.template, states or self.states_of(self.template, statements)
        failures = []
        for kind, errors in ERRORS.items():
            counting = self.trial(template)
            self.assertEqual(run(counting, self.library, Failure(kind, 0, errno.EIO), statements), (len(statements), ""))
            calls = calls_in(counting.report)
            chosen = [Failure(kind, call, error) for error in errors for call in range(1, len(calls) + 1)]
            kept = chosen if ALL else sample(kind, calls, chosen)
            print(f"{len(calls)} calls of kind {kind} ({dict(Counter(calls))}): {len(kept)} failures of {len(chosen)} possible", flush=True)
            failures += kept
        workers = os.cpu_count() or 1
        trials = [self.trial(template) for _ in range(workers)]
        problems = []

        def work(number: int) -> int:
            noticed = 0
            for failure in failures[number::workers]:
                try:
                    done, said = run(trials[number], self.library, failure, statements)
                    noticed += bool(said)
                    trials[number].check(failure, done, said, states)
                except (AssertionError, Failed, OSError, adbc_driver_flightsql.dbapi.Error) as error:
                    problems.append(f"{failure}: {error}")
            return noticed

        with ThreadPoolExecutor(workers) as pool:
            noticed = sum(pool.map(work, range(workers)))
        print(f"{len(failures)} calls failed, {noticed} statements with them, {len(problems)} stores are wrong", flush=True)
        self.assertEqual(problems, [], "\n\n".join(problems[:5]))
        self.assertGreater(noticed, len(failures) // 4)


if __name__ == "__main__":
    unittest.main()
