"""Formats the measurements as text."""

import os
import platform
import statistics
import time
from pathlib import Path

from workloads import Workload

OURS = "Quiver"


def machine() -> dict:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), "?"
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_bytes": memory,
        "system": platform.release(),
        "time": time.strftime("%Y-%m-%d %H:%M"),
    }


def text(machine: dict, parts: list[dict]) -> str:
    lines = [
        f"kernels at scale {machine['scale']:g}, {machine['threads']} threads each, {machine['rounds']} interleaved rounds, {machine['time']}",
        f"{machine['cpu']}, {machine['cores']} cores, {machine['memory_bytes'] / 2**30:.0f} GiB",
        "seconds; `first` is the run that warmed up, on memory that was not touched before where a way makes its own",
    ]
    lines += [f"not run: {name}: {why}" for name, why in machine["not_run"].items()]
    for part in parts:
        lines += ["", *table(part, machine["scale"])]
    return "\n".join(lines + ["", *goals(parts, machine["scale"])])


def table(part: dict, scale: float) -> list[str]:
    kernel, size = part["kernel"], part["size"]
    limit = best(part, "limit")
    if kernel == "call":
        lines, rate = ["an empty call"], None
    else:
        workload = Workload(kernel, scale)
        rate = rates(workload)
        of_matrices = workload.is_of_matrices
        what = (
            f"{workload.side} x {workload.side}, blocks of {workload.block(size)}"
            if of_matrices
            else f"{workload.count:,} values or points"
        )
        lines = [f"{kernel}, {what}" + ("" if of_matrices else f" in {len(workload.objects(size))} objects")]
    header = f"  {'':76}{'best':>10}{'median':>10}{'first':>10}"
    lines.append(header + (f"{rate[0]:>10}{'of limit':>10}" if rate else ""))
    for way in sorted(part["ways"], key=lambda way: (not way.name.startswith("limit"), not way.name.startswith(OURS))):
        if way.problem or not way.seconds:
            lines.append(f"  {way.name:76}  {way.problem or 'not measured'}")
            continue
        taken = min(way.seconds)
        line = f"  {way.name:76}{taken:>10.4f}{statistics.median(way.seconds):>10.4f}{way.first:>10.4f}"
        if rate:
            line += f"{rate[1] / taken:>10.2f}" + (f"{limit / taken:>10.2f}" if limit else "")
        lines.append(line)
    return lines


def rates(workload: Workload) -> tuple[str, float]:
    if workload.flops:
        return "GFLOP/s", workload.flops / 1e9
    return "GB/s", workload.bytes / 1e9


def best(part: dict, *words: str) -> float | None:
    """The least of the ways whose names begin with the first word and have the others in them."""
    first, rest = words[0], words[1:]
    found = [way for way in part["ways"] if way.name.startswith(first) and all(word in way.name for word in rest)]
    return min((min(way.seconds) for way in found if way.seconds and not way.problem), default=None)


def goals(parts: list[dict], scale: float) -> list[str]:
    """Each with what was measured for it."""
    lines = [f"goals{'' if scale == 1 else ', which are about scale 1'}"]

    def goal(part: dict, what: str, found: float | None, wanted: float, *, most: bool = False) -> None:
        if found is not None:
            is_met = found <= wanted if most else found >= wanted
            name = part["kernel"] if part["kernel"] == "call" else f"{part['kernel']}, {part['size']}"
            lines.append(
                f"  {name:18}{what:52}{found:>9.3g}, {'at most' if most else 'at least'} {wanted:<5g} {'met' if is_met else 'MISSED'}"
            )

    for part in parts:
        functions_of_users(part, goal)
        ours, limit, kernel = best(part, OURS), best(part, "limit"), part["kernel"]
        if ours is None:
            continue
        if kernel == "call":
            goal(part, "milliseconds in process", in_ms(best(part, OURS, "in process")), 0.5, most=True)
            goal(part, "milliseconds over Flight", in_ms(best(part, OURS, "Flight")), 0.5, most=True)
            continue
        workload = Workload(kernel, scale)
        if kernel == "histogram":
            goal(part, "GB/s", workload.bytes / ours / 1e9, 5)
        elif kernel == "kmeans":
            goal(part, "seconds", ours, 1.2, most=True)
        else:
            goal(part, "of the limit", limit and limit / ours, 0.85 if kernel == "add" else 0.9)
        active, fetched, hdf5 = best(part, "dataClay active"), best(part, "dataClay non-active"), best(part, "h5py")
        goal(part, "times as fast as dataClay active", active and active / ours, 1)
        goal(part, "times as fast as dataClay non-active", fetched and fetched / ours, 2 if kernel == "multiply" else 10)
        if kernel != "multiply":
            goal(part, "times as fast as h5py + numpy", hdf5 and hdf5 / ours, 4)
    return lines if len(lines) > 1 else []


def functions_of_users(part: dict, goal) -> None:
    """Beside the same numpy, which makes new arrays as they do, and beside dataClay."""
    found = best(part, "function in Python")
    if found is None:
        return
    if part["kernel"] == "call":
        goal(part, "function in Python, milliseconds in process", in_ms(found), 0.5, most=True)
    numpy = best(part, "numpy in memory", "new arrays") or best(part, "numpy in memory")
    goal(part, "function in Python, times the time of numpy", numpy and found / numpy, 1.2, most=True)
    active, fetched = best(part, "dataClay active"), best(part, "dataClay non-active")
    goal(part, "function in Python, as fast as dataClay active", active and active / found, 1)
    goal(part, "function in Python, as fast as dataClay non-active", fetched and fetched / found, 5)


def in_ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
