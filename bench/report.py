"""The benchmark's numbers as text for people."""

import os
import statistics
from datetime import datetime, timezone
from pathlib import Path


def text_report(result: dict) -> str:
    machine, queries = result["machine"], result["queries"]
    names = list(result["loads"])
    lines = [
        f"TPC-H scale {machine['scale']}, {machine['threads']} threads each, warm, interleaved, {machine['rounds']} rounds; times in ms",
        machine_line(machine),
        "",
        query_header(names),
    ]
    lines += [query_line(number, query, names) for number, query in queries.items()]
    lines += ["", *summary(result, names), "", *store_lines(result, names)]
    for number, query in queries.items():
        lines += [f"Q{number}: {problem}" for problem in query["problems"][:5]]
    return "\n".join(lines)


def machine() -> dict:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "unknown")
    return {
        "cpu": model,
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def machine_line(machine: dict) -> str:
    return f"{machine['cpu']}, {machine['cores']} cores, {gib(machine['memory_bytes'])}, {machine['time']}"


def query_header(names: list[str]) -> str:
    columns = "".join(f"{name + ' best':>14}{'median':>10}" for name in names)
    return f"{'query':<6}{columns}" + (f"{'ratio':>8}{'rows':>8}  result" if len(names) == 2 else "")


def query_line(number: int, query: dict, names: list[str]) -> str:
    times = [query["times_ms"][name] for name in names]
    line = f"Q{number:<5}"
    for taken in times:
        line += f"{min(taken):14.1f}{statistics.median(taken):10.1f}" if taken else f"{'-':>14}{'-':>10}"
    if len(names) == 2:
        ratio = f"{min(times[0]) / min(times[1]):8.2f}" if all(times) else f"{'-':>8}"
        verdict = "WRONG" if query["problems"] else "equal"
        line += f"{ratio}{query.get('rows', '-'):>8}  {verdict}"
    return line


def summary(result: dict, names: list[str]) -> list[str]:
    queries = result["queries"].values()
    lines = []
    for name in names:
        times = [query["times_ms"][name] for query in queries if query["times_ms"][name]]
        lines.append(f"{name}: {sum(min(taken) for taken in times):.0f} ms for {len(times)} queries, the best of each")
    if mean := result["geometric_mean"]:
        equal = sum(1 for query in queries if not query["problems"])
        lines.append(
            f"geometric mean of Quiver / DuckDB: {mean['best']:.2f} (of medians: {mean['median']:.2f}); "
            f"{equal} of {len(queries)} results equal row by row"
        )
    return lines


def store_lines(result: dict, names: list[str]) -> list[str]:
    lines = [f"{'':<28}" + "".join(f"{name:>14}" for name in names)]

    def add(label: str, value) -> None:
        lines.append(f"{label:<28}" + "".join(f"{value(name):>14}" for name in names))

    def memory(name: str, which: str) -> str:
        measured = result["memory"][name]
        return gib(measured[which]) if measured else "-"

    add("load", lambda name: f"{result['loads'][name]['load_s']:.1f} s")
    add("size on disk", lambda name: gib(result["loads"][name]["size_bytes"]))
    add("open (note)", lambda name: f"{result['loads'][name]['open_ms']:.1f} ms")
    add("peak memory (note)", lambda name: memory(name, "peak"))
    add("anonymous memory, peak", lambda name: memory(name, "anonymous"))
    lines += [
        "open: Quiver from process start to the first answer and exit; DuckDB inside a running Python.",
        "peak memory: VmHWM, which counts mapped pages of the store's files (page cache) for Quiver.",
        "anonymous memory: what is no page of a file, looked at every 5 ms while the queries run.",
    ]
    return lines


def gib(size_bytes: int) -> str:
    return f"{size_bytes / 2**30:.2f} GiB"
