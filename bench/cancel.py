"""`make bench-cancel`: how long Ctrl-C takes in queries that are expensive in different ways.

Each round starts a query, sends SIGINT at a random moment of its run, and measures, in a shell on a
pseudo terminal,

- `prompt`: until the shell says that the query is cancelled,
- `work`: until the process leaves the processor alone; till then the next query shares it,

and with `quiver -c`

- `exit`: until the process has ended.
"""

import argparse
import fcntl
import os
import pty
import random
import re
import select
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "scripts"))

import datasets  # noqa: E402
from engines import QUIVER  # noqa: E402

LIMIT_MS = 100
PATIENCE_S = 60
# Quiet is a window of this length in which all threads together work less than a tenth of it.
QUIET_S = 0.03
# The escape sequences of the editor when it begins and ends reading a line.
PROMPT, LINE_TAKEN = "\x1b[?2004h", "\x1b[?2004l"
TPCH = [1, 9, 18, 21]

# Texts of 6 kB; rows to sort, group and join.
DATA = """
create table texts as
    select value as id, repeat(md5(cast(value as varchar)), 190) as body from generate_series(1, 20000) as g(value);
create table numbers as
    select value as id, value % 1000 as k, (value * 7919) % 1000003 as r, md5(cast(value as varchar)) as s
    from generate_series(1, 4000000) as g(value);
"""

# More states than the automaton keeps, so that a text takes a fifth of a millisecond.
REGEX = "'[a-c].{40}[0-5].{40}z'"
CUT = "regexp_replace(body, '[a-f]+', 'x', 'g')"

SYNTHETIC = {
    "filter: regex": f"select count(*) from texts where regexp_like(body, {REGEX})",
    "filter: like": "select count(*) from texts a, texts b where b.id < 200 and a.body || b.id like '%a_b%c_d%e_f%0_1%z%'",
    "projection": f"select id, {CUT} as cut from texts",
    "projection under sum": f"select sum(n) from (select length({CUT}) as n from texts limit 1000000)",
    "argument of sum": f"select sum(length({CUT})) from texts",
    "key of group by": f"select {CUT} as g, count(*) from texts group by 1 order by 2 limit 5",
    "key of sort": f"select id from texts order by {CUT} limit 5",
    "having": f"select id from texts group by id, body having length({CUT}) = 0",
    "sort": "select sum(n) from (select row_number() over (order by s) as n from numbers)",
    "sort, all rows": "select s, id, r from numbers order by s",
    "group by texts": "select count(*) from (select s, count(*) as n, max(r) from numbers group by s)",
    "group by integers": "select max(n) from (select id * r as g, count(*) as n, max(k), min(k) from numbers group by 1)",
    "count distinct": "select count(distinct s) from numbers",
    "count distinct, groups": """select max(n) from (
        select k, count(distinct s) as n, count(distinct r * id) from numbers group by k)""",
    "median": "select max(m) from (select k % 3, median(id * r % 1000003) as m, count(distinct r) from numbers group by 1)",
    "string_agg, ordered": "select length(string_agg(s, ',' order by s)) from numbers where id < 1500000",
    "window, one partition": """select max(m) from (
        select sum(r) over (order by id rows between 500 preceding and current row) as m from numbers)""",
    "window, to the end": """select max(m) from (
        select sum(r) over (order by id rows between current row and unbounded following) as m from numbers)""",
    "window, by key": "select max(m) from (select rank() over (partition by k order by s) as m from numbers)",
    "cross join": "select count(*) from numbers a cross join numbers b where a.r + b.r = -1",
    "nested loop join": "select count(*) from numbers a join numbers b on a.r < b.k and a.s > b.s",
    "nested loop, regex": "select count(*) from texts a join texts b on regexp_like(a.body, b.body || 'x')",
    "hash join, build": "select count(*) from numbers a join numbers b on a.s = b.s",
    "hash join, fan-out": "select sum(a.r * b.r % 7) from numbers a join numbers b on a.k = b.k",
    "hash join, one key": "select sum(a.r * b.r % 7) from numbers a join numbers b on a.k * 0 = b.k * 0",
    "hash join, regex": f"""select count(*) from texts a join texts b
        on a.id % 100 = b.id % 100 and regexp_like(a.body || b.body, {REGEX})""",
    "recursive": """with recursive n as (select 1 as a union all select a + 1 from n where a < 1000000000)
        select count(*) from n""",
    "union": "select count(*) from (select s from numbers union select s || 'x' from numbers)",
    "generated rows": "select max(value % 7) from generate_series(1, 2000000000)",
}


class Ended(Exception):
    """The query was over before it could be cancelled."""


class Failed(Exception):
    """The query does not run at all."""


def main() -> int:
    options = parse_arguments()
    queries = chosen(options)
    scratch = Path(tempfile.mkdtemp(prefix="quiver-cancel-"))
    try:
        synthetic = scratch / "store"
        if any(store is None for store, _ in queries.values()):
            print("making the data", file=sys.stderr)
            subprocess.run([options.quiver, "--store", synthetic, "--quiet", "-c", DATA], check=True, stdout=subprocess.DEVNULL)
        print(f"{'ms':26}{'prompt':>24}{'work':>24}{'exit':>24}")
        print(f"{'query':26}" + f"{'median':>10}{'p95':>7}{'max':>7}" * 3)
        for name, (store, sql) in queries.items():
            try:
                report(name, measure(options, store or synthetic, sql))
            except Failed as failure:
                print(f"{name:26} {failure}", flush=True)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("quiver", nargs="?", type=Path, default=QUIVER)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--queries", help="only those whose name has this in it; several with commas")
    parser.add_argument("--run-max", type=float, default=2.0, help="seconds of a run within which the signal comes")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--memory", default="1G", help="limit of a query; small ones make it spill")
    parser.add_argument("--tpch-store", type=Path, default=datasets.cache_dir() / "bench-quiver-sf1")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random.seed(options.seed)
    return options


def chosen(options) -> dict[str, tuple[Path | None, str]]:
    queries = {name: (None, sql) for name, sql in SYNTHETIC.items()}
    if options.tpch_store.exists():
        for number in TPCH:
            queries[f"TPC-H Q{number}"] = (options.tpch_store, (HERE / "queries" / f"q{number:02}.sql").read_text())
    wanted = options.queries.split(",") if options.queries else [""]
    return {name: query for name, query in queries.items() if any(part in name for part in wanted)}


# --- measuring ---


def measure(options, store: Path, sql: str) -> dict[str, list[float]]:
    """Milliseconds of each round."""
    # On one line, for the editor.
    statement = " ".join(re.sub("--.*", "", sql).split()).rstrip("; ")
    command = [options.quiver, "--store", store, "--read-only", "--threads", str(options.threads)]
    command += ["--query-memory-limit", options.memory, "--quiet"]
    times: dict[str, list[float]] = {"prompt": [], "work": [], "exit": []}
    shell = Shell(command)
    try:
        run_s = shell.duration(statement, options.run_max)
        for _ in range(options.rounds):
            try:
                prompt, work = shell.cancel(statement, random.uniform(0, run_s))
                times["prompt"].append(prompt * 1000)
                times["work"].append(work * 1000)
            except Ended:
                pass
    finally:
        shell.close()
    for _ in range(options.rounds):
        try:
            times["exit"].append(exit_s(command, statement, random.uniform(0, run_s)) * 1000)
        except Ended:
            pass
    return times


def report(name: str, times: dict[str, list[float]]) -> None:
    line = f"{name:26}"
    for taken in times.values():
        numbers = [statistics.median(taken), percentile(taken, 0.95), max(taken)] if taken else []
        line += "".join(f"{number:>{width}.0f}" for number, width in zip(numbers, (10, 7, 7))) or f"{'ended':>24}"
    late = sum(taken > LIMIT_MS for key in ("prompt", "work") for taken in times[key])
    print(line + (f"   {late} over {LIMIT_MS}" if late else ""), flush=True)


def percentile(taken: list[float], share: float) -> float:
    return sorted(taken)[min(len(taken) - 1, int(share * len(taken)))]


def exit_s(command: list, statement: str, delay: float) -> float:
    process = subprocess.Popen([*command, "-c", statement], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay + 0.05)
    start = time.perf_counter()
    process.send_signal(signal.SIGINT)
    process.wait(timeout=PATIENCE_S)
    if process.returncode == 0:
        raise Ended
    return time.perf_counter() - start


class Shell:
    """The interactive shell on a pseudo terminal."""

    def __init__(self, command: list):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 200, 0, 0))
        self.state = tempfile.mkdtemp(prefix="quiver-cancel-")
        environment = os.environ | {"TERM": "xterm-256color", "XDG_STATE_HOME": self.state}
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
        os.close(slave)
        self.screen = ""
        self.wait_for(PROMPT)
        # Rows go to a file: a terminal would slow the query down.
        self.start("\\o /dev/null")
        self.wait_for(PROMPT)

    def start(self, statement: str) -> None:
        """Returns when the editor has given the line away: a signal before that is for the editor."""
        self.screen = ""
        os.write(self.master, statement.encode() + b"\r")
        self.wait_for(LINE_TAKEN)
        time.sleep(0.005)

    def duration(self, statement: str, limit_s: float) -> float:
        """How long the query runs, at most `limit_s`; the cache of the system is warm then."""
        self.start(statement + ";")
        start = time.monotonic()
        while PROMPT not in self.screen:
            if time.monotonic() - start > limit_s:
                self.process.send_signal(signal.SIGINT)
                self.wait_for("cancelled")
                self.wait_for(PROMPT)
                self.await_quiet(time.perf_counter())
                return limit_s
            self.read(0.01)
        if "error" in self.screen:
            message = re.sub(r"\x1b\[[0-9;?]*[a-z]", "", self.screen)
            raise Failed(message.split("error: ", 1)[-1].splitlines()[0])
        return time.monotonic() - start

    def cancel(self, statement: str, delay: float) -> tuple[float, float]:
        """Seconds until the shell reports the cancellation, and until the work ends."""
        self.start(statement + ";")
        time.sleep(delay)
        start = time.perf_counter()
        self.process.send_signal(signal.SIGINT)
        seen = self.wait_for("cancelled", PROMPT)
        prompt = time.perf_counter() - start
        work = max(prompt, self.await_quiet(start))
        if seen != "cancelled":
            raise Ended
        self.wait_for(PROMPT)
        return prompt, work

    def await_quiet(self, start: float) -> float:
        """Seconds from `start` to the first quiet window."""
        samples: list[tuple[float, float]] = []
        while time.perf_counter() - start < PATIENCE_S:
            samples.append((time.perf_counter(), self.worked()))
            earlier = next((sample for sample in reversed(samples) if samples[-1][0] - sample[0] >= QUIET_S), None)
            if earlier and samples[-1][1] - earlier[1] < QUIET_S / 10:
                return earlier[0] - start
            self.read(0.003)
        sys.exit("bench-cancel: the work of a cancelled query does not end")

    def read(self, timeout: float) -> None:
        if select.select([self.master], [], [], timeout)[0]:
            text = os.read(self.master, 1 << 16).decode(errors="replace")
            for _ in range(text.count("\x1b[6n")):
                os.write(self.master, b"\x1b[1;1R")  # the editor asks where the cursor is
            self.screen += text

    def wait_for(self, *texts: str) -> str:
        """Waits for the first of these texts, and discards the screen up to it."""
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for text in texts:
                if text in self.screen:
                    self.screen = self.screen[self.screen.index(text) + len(text) :]
                    return text
            self.read(0.1)
        sys.exit(f"bench-cancel: waited for {texts}, saw {self.screen[-2000:]!r}")

    def worked(self) -> float:
        """Seconds of processor time of all threads: the clock of another process, by its id."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.master)
        shutil.rmtree(self.state, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
