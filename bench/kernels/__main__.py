"""`make bench-kernels`: the four kernels of the paper on the data in place, compared with fetching the data, and with the machine's limits.

All ways of a kernel are run in turn, on the same data, with the same number of threads. The first run of each warms up: its time is
shown as `first`, and its answer is held against that of the others.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

import kernel_report  # noqa: E402 - beside this file
from rounds import Failed, Worker, measure, warm_up  # noqa: E402
from workloads import KERNELS, SIZES, Workload  # noqa: E402

ALWAYS = ("numpy", "duckdb", "fetch")
# These need additional packages, which `make bench-kernels` installs on request.
APART = {"h5py": "hdf5", "dataclay": "dataclay_ways"}


def main() -> int:
    options = parsed()
    if options.errors:
        import errors

        return errors.main()
    scratch = Path(tempfile.mkdtemp(prefix="quiver-kernels-", dir=options.dir))
    measured = []
    try:
        for kernel in options.kernels:
            measured += parts(kernel, scratch / kernel, options)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    machine = kernel_report.machine() | {
        "scale": options.scale,
        "threads": options.threads,
        "rounds": options.rounds,
        "not_run": options.absent,
    }
    if options.json:
        numbers = [part | {"ways": [way.as_json() for way in part["ways"]]} for part in measured]
        options.json.write_text(json.dumps({"machine": machine, "parts": numbers}, indent=1))
    text = kernel_report.text(machine, measured)
    print(text)
    if options.save:
        path = HERE.parent / "results" / f"kernels-{machine['time'][:10]}.txt"
        path.write_text(text + "\n")
        print(f"saved as {path}", file=sys.stderr)
    return 1 if any((way.problem or "").startswith("WRONG") for part in measured for way in part["ways"]) else 0


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/kernels", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the data: 1 is 800 MB of values, 0.01 a test of this program")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--slow-rounds", type=int, default=2, help="of the ways that take many seconds")
    parser.add_argument("--kernels", type=words("call", *KERNELS), default=("call", *KERNELS))
    parser.add_argument("--sizes", type=words(*SIZES), default=SIZES, help="of the objects: big (100 MB), small (12 MB)")
    parser.add_argument("--beside", type=words(*APART), default=(), help=f"also {' and '.join(APART)}, which are installed for it")
    parser.add_argument(
        "--functions",
        action="store_true",
        help="functions in Python and WebAssembly that the store keeps, numpy, and dataClay if it is asked for",
    )
    parser.add_argument("--alone", action="store_true", help=f"without {', '.join(ALWAYS)}")
    parser.add_argument("--repeated", action="store_true", help="also k-means that fetches its points anew in each iteration")
    parser.add_argument("--errors", action="store_true", help="how far results are from exact ones, and no times")
    parser.add_argument("--apart", type=Path, help="the Python of the venv that has h5py and dataClay")
    parser.add_argument("--save", action="store_true", help="write the report to bench/results/")
    parser.add_argument("--json", type=Path, help="write all numbers here too")
    parser.add_argument("--dir", type=Path, help="where stores and files are made (default: a temporary directory)")
    options = parser.parse_args()
    options.beside += () if options.alone else ALWAYS
    options.absent = {name: f"not asked for (--beside {name})" for name in APART if name not in options.beside}
    for name in APART:
        if name in options.beside and not (options.apart and options.apart.exists()):
            parser.error(f"{name} is asked for and its packages are not there: run make bench-kernels ARGS='--beside {name}'")
    if "dataclay" in options.beside and not shutil.which("redis-server"):
        options.absent["dataclay"] = "redis-server is not there (apt-get install redis-server)"
    return options


def words(*known: str):
    def listed(text: str) -> tuple[str, ...]:
        wanted = tuple(word.strip() for word in text.split(","))
        for word in wanted:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word} is none of {', '.join(known)}")
        return wanted

    return listed


def parts(kernel: str, directory: Path, options: argparse.Namespace) -> list[dict]:
    """A kernel with objects of each size."""
    directory.mkdir()
    if kernel != "call":
        print(f"{kernel}: making the data", file=sys.stderr)
        Workload(kernel, options.scale).make(directory)
    workers, measured = [], []
    try:
        for module, python, blas_threads in processes(kernel, options):
            place = directory / f"{module}-{blas_threads}"
            workers.append(started(module, python, blas_threads, directory, place, options))
        for size in options.sizes if kernel != "call" else ("big",):
            print(f"{kernel}, {size} objects", file=sys.stderr)
            ways = [way for worker in workers for way in prepared(worker, kernel, size, options)]
            warm_up(ways)
            measure(ways, options.rounds, options.slow_rounds)
            measured.append({"kernel": kernel, "size": size, "ways": ways})
    finally:
        for worker in workers:
            worker.end()
        shutil.rmtree(directory, ignore_errors=True)
    return measured


def processes(kernel: str, options: argparse.Namespace):
    """The modules that know ways of a kernel, with their Python and the threads of BLAS: where BLAS does not have all the work, one,
    and as many threads call it."""
    both = {"kmeans": (1, options.threads), "multiply": (options.threads,)}.get(kernel, (1,))
    here = sys.executable
    if options.functions:
        listed = [("in_memory", here, threads) for threads in both] if kernel != "call" else []
        listed += [("shipped", here, options.threads if kernel == "multiply" else 1)]
        listed += [("in_wasm", here, 1)] if kernel != "call" else []
        with_all = (1, options.threads) if kernel in ("kmeans", "multiply") else (1,)
        return listed + ([("dataclay_ways", options.apart, threads) for threads in with_all] if wants(options, "dataclay") else [])
    if kernel == "call":
        return [("here", here, 1), ("there", here, 1)] + ([("dataclay_ways", options.apart, 1)] if wants(options, "dataclay") else [])
    listed = [("limits", here, options.threads)]
    listed += [("in_memory", here, threads) for threads in both if wants(options, "numpy")]
    listed += [("here", here, 1), ("there", here, both[-1] if kernel == "multiply" else 1)]
    listed += [("duck", here, 1)] if wants(options, "duckdb") and kernel == "histogram" else []
    listed += [("hdf5", options.apart, both[-1] if kernel == "multiply" else 1)] if wants(options, "h5py") else []
    with_all = (1, options.threads) if kernel in ("kmeans", "multiply") else (1,)
    listed += [("dataclay_ways", options.apart, threads) for threads in with_all] if wants(options, "dataclay") else []
    return list(dict.fromkeys(listed))


def wants(options: argparse.Namespace, name: str) -> bool:
    return name in options.beside and name not in options.absent


def started(module: str, python, blas_threads: int, data: Path, place: Path, options: argparse.Namespace) -> Worker:
    place.mkdir()
    told = {"scale": options.scale, "threads": options.threads, "repeated": options.repeated, "blas_threads": blas_threads,
            "data": str(data), "fetch": wants(options, "fetch")}  # fmt: skip
    return Worker(module, str(python), place, told, blas_threads=blas_threads)


def prepared(worker: Worker, kernel: str, size: str, options: argparse.Namespace) -> list:
    try:
        return worker.prepare(kernel, size)
    except Failed as failure:
        print(f"    {worker.name} is left out: {failure}", file=sys.stderr)
        options.absent[worker.name] = f"{kernel}: {failure}"
        return []


if __name__ == "__main__":
    sys.exit(main())
