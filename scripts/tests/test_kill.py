"""The shell is killed at random moments; what it acknowledged is there when the store is opened again, and nothing half.

`KILL_SECONDS` and `KILL_SEED` ask for another run.
"""

import os
import tempfile
import threading
import time
import unittest
from pathlib import Path
from random import Random

from quiver_shell import Failed, Shell, quiver

ACCOUNTS, EACH = 50, 1_000
# One name of each pair is there: ALTER TABLE and DROP TABLE go to and fro between them.
PAIRS = {
    "column": ("ALTER TABLE counters ADD COLUMN extra BIGINT DEFAULT 7", "ALTER TABLE counters DROP COLUMN extra"),
    "table": ("CREATE TABLE scratch AS SELECT * FROM transfers", "DROP TABLE scratch"),
}
UPKEEP = ["OPTIMIZE TABLE transfers", "OPTIMIZE TABLE accounts FULL", "OPTIMIZE TABLE counters", "CHECKPOINT", "FLUSH"]


class Killed(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="quiver-kill-")
        self.addCleanup(directory.cleanup)
        self.store = Path(directory.name) / "store"
        seed = int(os.environ.get("KILL_SEED") or time.time_ns())
        print(f"KILL_SEED={seed}", flush=True)
        self.random = Random(seed)
        self.shell = Shell(self.store)
        self.addCleanup(self.shell.kill)
        self.run_all(
            "CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT NOT NULL)",
            f"INSERT INTO accounts SELECT value, {EACH} FROM generate_series(1, {ACCOUNTS}) AS g(value)",
            "CREATE TABLE transfers (n BIGINT NOT NULL, source BIGINT, target BIGINT, amount BIGINT)",
            "CREATE TABLE counters (id BIGINT, v BIGINT)",
            "INSERT INTO counters VALUES (1, 0)",
            "CREATE TABLE durable (n BIGINT, s VARCHAR)",
            "CREATE TABLE quick (n BIGINT) WITH (durability = 'async')",
        )
        # What was acknowledged, of each kind of statement: how many, or which of a pair is there.
        self.done = {"transfer": 0, "update": 0, "insert": 0, "quick": 0, "column": 0, "table": 0}
        self.flushed = 0
        self.running = None

    def run_all(self, *statements: str) -> None:
        for statement in statements:
            self.shell.run(statement)

    def test_what_was_acknowledged_survives_kills_at_any_moment_and_nothing_is_half(self):
        seconds = float(os.environ.get("KILL_SECONDS") or 8)
        until, rounds = time.monotonic() + seconds, 0
        while time.monotonic() < until or rounds < 3:
            self.work_until_killed()
            self.shell.end()
            self.shell.open()
            self.expect_all()
            rounds += 1
            if rounds % 5 == 0:
                self.check_files()
        self.check_files()
        print(f"killed {rounds} times; acknowledged: {self.done}", flush=True)
        self.assertGreater(self.done["insert"], 0)
        self.shell.close()

    def work_until_killed(self) -> None:
        killer = threading.Timer(self.random.choice([0.03, 0.3, 1.0]) * self.random.random(), self.shell.process.kill)
        killer.start()
        try:
            while True:
                self.one()
        except Failed as error:
            self.assertIn("ended with status -9", str(error))
        finally:
            killer.join()

    def one(self) -> None:
        [kind] = self.random.choices(["transfer", "update", "insert", "quick", "column", "table", None], [6, 4, 10, 10, 1, 1, 2])
        self.running = kind
        if kind in PAIRS:
            self.shell.run(PAIRS[kind][self.done[kind]])
            self.done[kind] = 1 - self.done[kind]
        elif kind:
            getattr(self, kind)(self.done[kind])
            self.done[kind] += 1
        else:
            statement = self.random.choice(UPKEEP)
            quick = self.done["quick"]
            self.shell.run(statement)
            self.flushed = quick if statement == "FLUSH" else self.flushed
        self.running = None

    def transfer(self, number: int) -> None:
        source, target = self.random.sample(range(1, ACCOUNTS + 1), 2)
        amount = self.random.randrange(1, 100)
        self.run_all(
            "BEGIN",
            f"UPDATE accounts SET balance = balance - {amount} WHERE id = {source}",
            f"UPDATE accounts SET balance = balance + {amount} WHERE id = {target}",
            f"INSERT INTO transfers VALUES ({number}, {source}, {target}, {amount})",
            "COMMIT",
        )

    def update(self, _: int) -> None:
        self.shell.run("UPDATE counters SET v = v + 1 WHERE id = 1")

    def insert(self, number: int) -> None:
        self.shell.run(f"INSERT INTO durable VALUES ({number}, 'text {number}')")

    def quick(self, number: int) -> None:
        self.shell.run(f"INSERT INTO quick VALUES ({number})")

    def expect_all(self) -> None:
        """Counts what is there; what ran when the process was killed may have been done or not."""
        self.expect("transfer", "SELECT count(*), count(DISTINCT n), max(n) + 1 FROM transfers")
        self.expect("insert", "SELECT count(*), count(DISTINCT n), max(n) + 1 FROM durable WHERE s = 'text ' || n")
        self.expect("update", "SELECT v FROM counters")
        self.expect("column", "SELECT count(*) FROM system.columns WHERE table_name = 'counters' AND column_name = 'extra'")
        self.expect("table", "SELECT count(*) FROM system.tables WHERE table_name = 'scratch'")
        # Asynchronous inserts: those before the last FLUSH, and of the others the first ones.
        [[count, last]] = self.shell.run("SELECT count(*), coalesce(max(n) + 1, 0) FROM quick")
        self.assertEqual(count, last, "a hole among asynchronous inserts")
        self.assertGreaterEqual(int(count), self.flushed)
        self.done["quick"] = self.flushed = int(count)
        self.assertEqual(self.shell.run("SELECT sum(balance) FROM accounts"), [[str(ACCOUNTS * EACH)]])
        wrong = self.shell.run(
            "SELECT a.id, a.balance, sum(m.amount) FROM accounts a JOIN (SELECT source AS id, -amount AS amount FROM transfers "
            "UNION ALL SELECT target, amount FROM transfers) m ON a.id = m.id GROUP BY a.id, a.balance "
            f"HAVING a.balance <> {EACH} + sum(m.amount)"
        )
        self.assertEqual(wrong, [], "a transfer was done in part")
        self.running = None

    def expect(self, kind: str, sql: str) -> None:
        [found] = self.shell.run(sql)
        numbers = {int(number or 0) for number in found}
        known = self.done[kind]
        after = 1 - known if kind in PAIRS else known + 1
        allowed = [known, after] if self.running == kind else [known]
        self.assertTrue(len(numbers) == 1 and numbers <= set(allowed), f"{sql}: {found}, expected {allowed}")
        self.done[kind] = numbers.pop()

    def check_files(self) -> None:
        self.shell.kill()
        self.shell.open()
        self.shell.close()
        quiver("check", "--store", self.store)
        self.shell.open()
        self.expect_all()


if __name__ == "__main__":
    unittest.main()
