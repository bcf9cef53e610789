"""`make bench-switches`: the effect of each optimisation on the 22 queries of TPC-H.

One Quiver per configuration, all open on the same store at once: one with everything on, one with
each switch off, and one more with everything on, whose ratios are the noise of the machine. For each
query they run in turn. All results must equal those with everything on; a wrong one makes the exit
status 1.
"""

import argparse
import math
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from compare import differences
from engines import QueryFailed, Quiver
from report import machine_line
from tpch import common_arguments, datasets, load_quiver, machine, read_queries, save

# The setting that switches an optimisation off, as in the table of docs/performance.md.
SWITCHES = {
    "zone_pruning": ["quiver.zone_pruning = false"],
    "integer_sets": ["quiver.integer_sets = false"],
    "await_join_filters": ["quiver.await_join_filters = false"],
    "fast_decimals": ["quiver.fast_decimals = false"],
    "skip_rows": ["quiver.skip_rows = false"],
    "join_order": ["quiver.join_order = false"],
    "plan_cache": ["quiver.plan_cache = false"],
    "common_subplans": ["quiver.common_subplans = false"],
    "store_aggregates": ["quiver.store_aggregates = false"],
    "eager_aggregates": ["quiver.eager_aggregates = false"],
    "join_dynamic_filters": ["datafusion.optimizer.enable_join_dynamic_filter_pushdown = false"],
    "topk_dynamic_filters": ["datafusion.optimizer.enable_topk_dynamic_filter_pushdown = false"],
    "join_reordering": ["datafusion.optimizer.join_reordering = false"],
    "shared_build_sides": [
        "datafusion.optimizer.hash_join_single_partition_threshold = 1048576",
        "datafusion.optimizer.hash_join_single_partition_threshold_rows = 131072",
    ],
}
ALL_ON = "all on"
NOISE = "nothing (noise)"
TOP = 3
# None of TPC-H has an OFFSET.
PAGE = "SELECT * FROM lineitem LIMIT 100 OFFSET 5000000"


def main() -> int:
    options = parse_arguments()
    queries = read_queries(options.queries, options.scale)
    store, _ = load_quiver(datasets.tpch_parquet(options.scale), options)
    configurations = {ALL_ON: []} | {name: SWITCHES[name] for name in options.switches} | {NOISE: []}
    scratch = Path(tempfile.mkdtemp(prefix="quiver-bench-"))
    engines: dict[str, Quiver] = {}
    try:
        for at, (name, settings) in enumerate(configurations.items()):
            (scratch / str(at)).mkdir()
            engines[name] = Quiver(store, options.threads, scratch / str(at), read_only=True, settings=settings)
        measured = {number: measure(f"Q{number}", sql, engines, options.rounds) for number, sql in queries.items()}
        page = measure("page", PAGE, engines, options.rounds)
    except QueryFailed as failure:
        sys.exit(f"bench: {name}: {failure}")
    finally:
        for engine in engines.values():
            engine.close()
        shutil.rmtree(scratch, ignore_errors=True)

    result = {"machine": machine(options), "queries": measured, "page": page}
    save(f"switches-sf{float(options.scale):g}", text_report(result), result, options)
    return 1 if any(query["problems"] for query in [*measured.values(), page]) else 0


def parse_arguments() -> argparse.Namespace:
    parser = common_arguments(__doc__, "configuration")
    parser.add_argument(
        "--switches",
        type=switch_names,
        default=list(SWITCHES),
        help=f"some of {', '.join(SWITCHES)}; or quiver: those of Quiver itself (default: all)",
    )
    return parser.parse_args()


def switch_names(chosen: str) -> list[str]:
    if chosen == "quiver":
        return [name for name, settings in SWITCHES.items() if settings[0].startswith("quiver.")]
    names = [name.strip().removeprefix("quiver.") for name in chosen.split(",")]
    for name in names:
        if name not in SWITCHES:
            raise argparse.ArgumentTypeError(f"there is no switch {name}; take some of {', '.join(SWITCHES)}")
    return names


# --- measuring ---


def measure(label: str, sql: str, engines: dict[str, Quiver], rounds: int) -> dict:
    """One warm-up each, whose results are compared; then all in turn, each round beginning with
    another, so that none always runs after the same one."""
    query: dict = {"times_ms": {name: [] for name in engines}, "problems": []}
    failed = set()

    def run(name: str) -> float | None:
        if name in failed:
            return None
        try:
            return engines[name].run(sql)
        except QueryFailed as failure:
            failed.add(name)
            query["problems"].append(f"{name}: {failure}")
            return None

    for name in engines:
        if run(name) is not None and name != ALL_ON and ALL_ON not in failed:
            found = differences(sql, engines[name].rows(), engines[ALL_ON].rows(), ALL_ON)
            query["problems"] += [f"{name}: {difference}" for difference in found]
    for round_number in range(rounds):
        for name in rotated(list(engines), round_number):
            if (time_ms := run(name)) is not None:
                query["times_ms"][name].append(time_ms)
    print(f"{label}: {'; '.join(query['problems'][:3]) or 'ok'}", file=sys.stderr)
    return query


def rotated(names: list[str], by: int) -> list[str]:
    at = by % len(names)
    return names[at:] + names[:at]


# --- what it comes to ---


def ratios(queries: dict, name: str, pick=min) -> dict[int, float]:
    """Query -> time with this switched off by time with all on, of the queries that both ran."""
    times = {number: query["times_ms"] for number, query in queries.items()}
    return {number: pick(taken[name]) / pick(taken[ALL_ON]) for number, taken in times.items() if taken.get(name) and taken.get(ALL_ON)}


def geometric_mean(values) -> float:
    return math.exp(statistics.fmean(math.log(value) for value in values))


def text_report(result: dict) -> str:
    machine, queries = result["machine"], result["queries"]
    names = [name for name in next(iter(queries.values()))["times_ms"] if name != ALL_ON]
    best = [min(query["times_ms"][ALL_ON]) for query in queries.values() if query["times_ms"][ALL_ON]]
    lines = [
        f"TPC-H scale {machine['scale']}, {machine['threads']} threads, warm, interleaved, {machine['rounds']} rounds",
        machine_line(machine),
        "",
        f"all on: {sum(best):.0f} ms for {len(best)} queries, the best of each; ratios: time switched off / time all on",
        "",
        f"{'switched off':<24}{'geom. mean':>10}{'of medians':>12}   matters most for; least for",
        *(switch_line(queries, name) for name in names),
        "",
        page_line(result["page"]["times_ms"]),
    ]
    for number, query in queries.items():
        lines += [f"Q{number}: {problem}" for problem in query["problems"][:5]]
    lines += [f"page: {problem}" for problem in result["page"]["problems"][:5]]
    return "\n".join(lines)


def page_line(times_ms: dict[str, list[float]]) -> str:
    """Of the one switch that the page is for."""
    best = [f"{min(taken):.1f} ms {name}" for name, taken in times_ms.items() if taken and name in (ALL_ON, "skip_rows")]
    return f"a page ({PAGE}): {', '.join(best)}"


def switch_line(queries: dict, name: str) -> str:
    best = ratios(queries, name)
    if not best:
        return f"{name:<24}{'-':>10}"
    medians = ratios(queries, name, statistics.median)
    ranked = sorted(best, key=best.get, reverse=True)
    shown = [f"Q{number} {best[number]:.2f}" for number in ranked[:TOP]]
    least = f"; Q{ranked[-1]} {best[ranked[-1]]:.2f}" if len(ranked) > TOP else ""
    means = f"{geometric_mean(best.values()):10.2f}{geometric_mean(medians.values()):12.2f}"
    return f"{name:<24}{means}   {', '.join(shown)}{least}"


if __name__ == "__main__":
    sys.exit(main())
