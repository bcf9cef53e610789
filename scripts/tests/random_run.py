"""A run of random statements: which were the same, which were refused, and a small script for each that was not.

`python random_run.py SEED NUMBER` repeats a single statement of a seed.
"""

from __future__ import annotations

import re
import sys
import time
from collections import Counter
from random import Random

from random_cases import Beside, Case, NoRec, Outcome, Partitions, Prepared
from random_changes import Changes
from random_engines import BATCH_SIZES, BATCH_SIZES_OF_MANY_ROWS, AnswerTooLargeError, World, chosen
from random_known import STATEMENTS
from random_selects import Selects
from random_tree import Node, fixed, reduced

STATEMENTS_PER_WORLD = 250
ATTEMPTS = 400
CASES = {Beside: 6, NoRec: 1.4, Partitions: 1.4, Prepared: 0.5, Changes: 0.5}
FAILURES_MAX = 20
# The statement's timeout. A join of millions of rows, in batches of a few rows, meets it too.
TIMEOUT = "the statement took longer than its limit"


class Run:
    def __init__(self, seed: int, failures_max: int = FAILURES_MAX):
        self.seed, self.failures_max = seed, failures_max
        self.outcomes: Counter = Counter()
        self.refused: Counter = Counter()
        self.examples: dict[str, str] = {}
        self.failures: list[str] = []
        self.slow: list[int] = []
        self.world: World | None = None
        self.slowest = (0.0, "")

    def statements(self, numbers: range) -> None:
        for number in numbers:
            if self.world is None or number % STATEMENTS_PER_WORLD == 0:
                self.open(number)
            self.statement(number)
            if len(self.failures) >= self.failures_max:
                break
        self.close()

    def open(self, number: int) -> None:
        self.close()
        self.world = World(f"{self.seed} {number // STATEMENTS_PER_WORLD}")

    def close(self) -> None:
        if self.world:
            self.world.close()
        self.world = None

    def statement(self, number: int) -> None:
        """It depends on the seed and its number, and on no statement before."""
        random = Random(f"{self.seed} {number} statement")
        one = random.choices(list(CASES), list(CASES.values()))[0](Selects(random, self.world.tables))
        has_many_rows = any(" big " in text for text in one.script())
        self.world.set(chosen(random, self.world.switches, BATCH_SIZES_OF_MANY_ROWS if has_many_rows else BATCH_SIZES))
        start = time.monotonic()
        outcome = outcome_of(one, self.world)
        self.slowest = max(self.slowest, (time.monotonic() - start, f"number {number}: {one.script()[0]}"))
        self.outcomes[outcome.kind] += 1
        if outcome.kind == "slow":
            self.slow.append(number)
        if outcome.kind in ("quiver", "refused"):
            words = message_class(outcome.text)
            self.refused[words] += 1
            self.examples.setdefault(words, f"number {number}: {outcome.text}\n    {one.script()[0]}")
        if outcome.kind in ("differs", "fault", "refused") and number not in STATEMENTS.get(self.seed, ()):
            self.failures.append(report(self.seed, number, one, self.world, outcome))
            self.open(number)
        elif self.world.is_duckdb_lost:
            self.open(number)

    def refused_share(self) -> float:
        return self.outcomes["quiver"] / max(1, self.outcomes.total())

    def summary(self) -> str:
        lines = [
            f"{self.outcomes.total()} statements of seed {self.seed}: {dict(self.outcomes)}, refused by Quiver alone {self.refused_share():.1%}"
        ]
        lines += [f"{count:6} {words}" for words, count in self.refused.most_common(40)]
        if self.slow:
            lines.append(f"ended by their timeout: {self.slow}")
        return "\n".join([*lines, f"the slowest took {self.slowest[0]:.1f} s: {self.slowest[1][:300]}"])


def outcome_of(one: Case, world: World) -> Outcome:
    try:
        outcome = one.run(world)
    except AnswerTooLargeError:
        return Outcome("large")
    return Outcome("slow") if outcome.kind == "fault" and TIMEOUT in outcome.text else outcome


def message_class(text: str) -> str:
    """Without what only this statement has."""
    return re.sub(r"\d+", "0", re.sub(r"'[^']*'|\"[^\"]*\"", "…", text.splitlines()[0]))[:110]


def report(seed: int, number: int, one: Case, world: World, outcome: Outcome) -> str:
    """The statement and the tables, as small as they were made in few attempts, with both answers."""
    before = "\n".join(one.script())
    words = message_class(outcome.text) if outcome.kind != "differs" else ""
    latest = [outcome]

    def fails(in_world: World) -> bool:
        found = outcome_of(one, in_world)
        same = found.kind == outcome.kind and (not words or message_class(found.text) == words)
        if same:
            latest[0] = found
        return same

    attempts = reduced(one.root, lambda: fails(world), ATTEMPTS)
    small = smaller_world(world, one, fails, min(attempts, 120))
    lines = [f"RANDOM_SEED={seed}, statement {number}: {outcome.kind}", *(f"{line};" for line in small.script() if line), "-- asked:"]
    lines += [f"{query};" for query in one.script()] + [latest[0].text, f"-- before it was made smaller:\n{before}"]
    if small is not world:
        small.close()
    return "\n".join(lines)


def smaller_world(world: World, one: Case, fails, attempts: int) -> World:
    text = "\n".join(one.script())
    names = [name for name in world.created if re.search(rf"\b{name}\b", text)]
    best = world

    def tried(created, filled, settings=None) -> bool:
        nonlocal best, attempts
        attempts -= 1
        other = best.with_less(created, filled, best.settings if settings is None else settings)
        if fails(other):
            if best is not world:
                best.close()
            best = other
            return True
        other.close()
        return False

    created = {name: best.created[name] for name in names}
    tried(
        created,
        [(node, both) for node, both in best.filled if not both or any(f" {name} " in str(node) for name in names)],
    )
    tried(best.created, [one for one in best.filled if not str(one[0]).startswith("SET ")])
    if not tried(best.created, best.filled, {}):
        for name in list(best.settings):
            tried(best.created, best.filled, {other: value for other, value in best.settings.items() if other != name})
    progress = True
    while progress and attempts > 0:
        progress = False
        for at in range(len(best.filled) - 1, -1, -1):
            progress |= attempts > 0 and tried(best.created, best.filled[:at] + best.filled[at + 1 :])
        for at, (node, both) in enumerate(best.filled):
            while attempts > 0 and (shorter := without_rows(node)):
                for other in shorter:
                    if attempts > 0 and tried(best.created, best.filled[:at] + [(other, both)] + best.filled[at + 1 :]):
                        node, progress = other, True
                        break
                else:
                    break
    return best


def without_rows(node: Node) -> list[Node]:
    """An INSERT of literal rows with one half of them, or with all but one."""
    rows = node.parts[-1]
    if not isinstance(rows, Node) or len(rows.parts) < 2:
        return []
    count, half = len(rows.parts), len(rows.parts) // 2
    kept = [rows.parts[:half], rows.parts[half:]] if count > 3 else [rows.parts[:at] + rows.parts[at + 1 :] for at in range(count)]
    return [fixed(node.parts[0], Node("list", *some, separator=", ")) for some in kept]


if __name__ == "__main__":
    seed, numbers = int(sys.argv[1]), [int(number) for number in sys.argv[2:]]
    run = Run(seed)
    for number in numbers:
        run.statements(range(number, number + 1))
    print(*run.failures, run.summary(), *run.examples.values(), sep="\n\n")
