"""Workloads of scientific object stores beside HDF5 and files, in one run: what PDC measured, at a size of one machine.

- boss: spectra of a survey as objects with the tags plate, mjd and fiber. 1,000 random fibers by their tags, and whole plates. With HDF5 a
  file has the spectra of a plate, and an index in memory knows the files; with files each spectrum is one.
- vpic: a simulation writes 8 variables of particles in 5 steps, durable at each step, and computes between them.
- bdcats: an analysis reads what vpic has written, step by step, and computes; from each tier.
- containers: a sequence of overlapping groups of objects in a server of S3 on this machine, with prefetches and without. An analysis reads each
  group in two parts, and computes between them.
- nyx: levels of a refined mesh, of which the finer ones have holes.
- small: objects of 256 B and of 512 KB, written and read by 1, 2, 4 and 8 clients of a server; with files by as many processes.

All answers are compared. The files stay in the cache of the operating system.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pyarrow as pa

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))

import quiver  # noqa: E402
import quiver.testing  # noqa: E402


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def line(name: str, seconds: dict[str, float], unit: str = "s") -> None:
    print(f"{name:44}" + "".join(f"{system}: {second:10.4f} {unit}   " for system, second in seconds.items()), flush=True)


def synced(path: Path) -> None:
    """HDF5's flush hands its pages to the operating system; this makes them durable."""
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def boss(directory: Path, spectra: int, per_plate: int) -> None:
    random = np.random.default_rng(1)
    source = random.normal(size=200_000).astype("float32")
    sizes = random.integers(2_000, 40_000, spectra)

    def spectrum(at: int) -> np.ndarray:
        return source[at % 1000 : at % 1000 + int(sizes[at])]

    plates = [range(first, min(spectra, first + per_plate)) for first in range(0, spectra, per_plate)]
    con = quiver.open(directory / "boss")
    files, packed = directory / "boss-files", directory / "boss-hdf5"
    files.mkdir()
    packed.mkdir()
    written: dict[str, float] = dict.fromkeys(("Quiver", "h5py", "files"), 0.0)

    def put(plate: int, members: range) -> None:
        rows = pa.table(
            {
                "name": [f"spec_{at}" for at in members],
                "content": pa.array([spectrum(at).tobytes() for at in members], pa.large_binary()),
                "plate": [plate] * len(members),
                "mjd": [55_000 + plate % 700] * len(members),
                "fiber": [at - members[0] for at in members],
            }
        )
        with con._registered(rows) as name:
            con.sql(f"COPY BLOBS FROM {name}")

    def put_hdf5(plate: int, members: range) -> None:
        with h5py.File(packed / f"{plate}.h5", "w") as file:
            for at in members:
                item = file.create_dataset(str(at - members[0]), data=spectrum(at))
                item.attrs.update(plate=plate, mjd=55_000 + plate % 700, fiber=at - members[0])

    def put_files(plate: int, members: range) -> None:
        (files / str(plate)).mkdir()
        for at in members:
            (files / str(plate) / str(at - members[0])).write_bytes(spectrum(at).tobytes())

    for plate, members in enumerate(plates):
        for system, work in (("Quiver", put), ("h5py", put_hdf5), ("files", put_files)):
            written[system] += timed(lambda work=work, plate=plate, members=members: work(plate, members))[0]
    total_mb = sizes.sum() * 4 / 1e6
    line(f"boss: write {spectra:,} spectra, {total_mb:,.0f} MB", written)
    chosen = [int(at) for at in random.permutation(spectra)[:1000]]

    def fibers() -> float:
        total = 0.0
        for at in chosen:
            plate, fiber = divmod(at, per_plate)
            (found,) = con.find_ids({"plate": plate, "fiber": fiber})
            ids.append(found)
        for first in range(0, len(ids), 200):
            wanted = ", ".join(map(str, ids[first : first + 200]))
            rows = con.sql(f"SELECT content FROM system.blobs WHERE object_id IN ({wanted})").arrow()
            total += sum(float(np.frombuffer(value.as_buffer(), "float32").sum()) for value in rows["content"])
        return total

    def fibers_hdf5() -> float:
        total = 0.0
        for at in chosen:
            plate, fiber = divmod(at, per_plate)
            with h5py.File(packed / f"{plate}.h5") as file:
                total += float(file[str(fiber)][()].sum())
        return total

    def fibers_files() -> float:
        places = (divmod(at, per_plate) for at in chosen)
        return sum(float(np.fromfile(files / str(plate) / str(fiber), "float32").sum()) for plate, fiber in places)

    def best(work: Callable[[], float]) -> tuple[float, float]:
        results = []
        for _ in range(3):
            ids.clear()
            results.append(timed(work))
        return min(results)

    ids: list[int] = []
    compare("boss: 1,000 fibers by their tags", {"Quiver": best(fibers), "h5py": best(fibers_hdf5), "files": best(fibers_files)})
    some = [int(plate) for plate in random.permutation(len(plates))[:20]]

    def whole() -> float:
        total = 0.0
        for plate in some:
            ids = con.find_ids({"plate": plate})
            rows = con.sql(f"SELECT content FROM system.blobs WHERE object_id IN ({', '.join(map(str, ids))})").arrow()
            total += sum(float(np.frombuffer(value.as_buffer(), "float32").sum()) for value in rows["content"])
        return total

    def whole_hdf5() -> float:
        total = 0.0
        for plate in some:
            with h5py.File(packed / f"{plate}.h5") as file:
                total += sum(float(file[name][()].sum()) for name in file)
        return total

    def whole_files() -> float:
        return sum(float(np.fromfile(file, "float32").sum()) for plate in some for file in (files / str(plate)).iterdir())

    compare("boss: 20 whole plates", {"Quiver": best(whole), "h5py": best(whole_hdf5), "files": best(whole_files)})
    con.close()


def compare(name: str, results: dict[str, tuple[float, float]]) -> None:
    first = next(iter(results.values()))[1]
    for system, (_, answer) in results.items():
        np.testing.assert_allclose(answer, first, rtol=1e-5, err_msg=f"{name}: {system}")
    line(name, {system: seconds for system, (seconds, _) in results.items()})


VARIABLES = ("x", "y", "z", "ux", "uy", "uz", "energy", "id")


def vpic(directory: Path, particles: int, steps: int) -> None:
    random = np.random.default_rng(2)
    values = random.normal(size=particles).astype("float32")
    con = quiver.open(directory / "vpic")
    arrays = {name: con.create_array(name, (None, particles), "float32", dims=("step", "particle")) for name in VARIABLES}

    def step(at: int) -> None:
        with con.transaction():
            for name in VARIABLES:
                arrays[name][at : at + 1, :] = values + np.float32(at)

    def step_hdf5(at: int) -> None:
        path = directory / f"vpic-{at}.h5"
        with h5py.File(path, "w") as file:
            for name in VARIABLES:
                file[name] = values + np.float32(at)
        synced(path)

    written = {"Quiver": 0.0, "h5py": 0.0}
    for at in range(steps):
        for system, work in (("Quiver", step), ("h5py", step_hdf5)):
            written[system] += timed(lambda work=work, at=at: work(at))[0]
    total_mb = steps * len(VARIABLES) * values.nbytes / 1e6
    line(f"vpic: write {total_mb:,.0f} MB, durable", written)

    def read() -> float:
        return sum(float(arrays[name].region[at].where("value > 1").count()) for at in range(steps) for name in VARIABLES)

    def read_hdf5() -> float:
        total = 0
        for at in range(steps):
            with h5py.File(directory / f"vpic-{at}.h5") as file:
                total += sum(int((file[name][()] > 1).sum()) for name in VARIABLES)
        return float(total)

    compare("bdcats: read all, count above 1", {"Quiver": min(timed(read), timed(read)), "h5py": min(timed(read_hdf5), timed(read_hdf5))})
    (directory / "disk").mkdir()
    (directory / "objects").mkdir()
    con.sql(f"ALTER SYSTEM SET disk_tier = '{directory / 'disk'}'")
    con.sql(f"ALTER SYSTEM SET object_tier = 'file://{directory / 'objects'}'")
    con.sql("ALTER SYSTEM SET memory_tier_limit = '8GiB'")
    for tier in ("memory", "disk", "object"):
        for name in VARIABLES:
            con.sql(f"ALTER ARRAY {name} SET TIER {tier}")
        wait_for_tier(con, tier)
        con.close()
        con = quiver.open(directory / "vpic")
        arrays.update({name: con.array(name) for name in VARIABLES})
        if tier == "memory":
            wait_for_tier(con, tier)
        compare(f"bdcats: the same from {tier}, first and again", {"first": timed(read), "again": timed(read)})
    con.close()


def wait_for_tier(con: quiver.Connection, tier: str) -> None:
    names = ", ".join(f"'{name}'" for name in VARIABLES)
    elsewhere = f"SELECT count(*) FROM system.segments WHERE kind = 'segment' AND table_name IN ({names}) AND tier <> '{tier}'"
    while con.sql(elsewhere).fetchall() != [(0,)]:
        time.sleep(0.05)


def containers(directory: Path, groups: int = 12, members: int = 24, shared: int = 6, rows: int = 250_000) -> None:
    """Each group shares some of its members with the next."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server.start()
    host, port = server.get_host_and_port()
    os.environ.update(
        AWS_ACCESS_KEY_ID="key",
        AWS_SECRET_ACCESS_KEY="secret",
        AWS_REGION="us-east-1",
        AWS_ENDPOINT_URL=f"http://{host}:{port}",
        AWS_ALLOW_HTTP="true",
    )
    boto3.client("s3", region_name="us-east-1").create_bucket(Bucket="containers")
    step = members - shared
    of_group = [range(at * step, at * step + members) for at in range(groups)]
    con = quiver.open(directory / "containers")
    con.sql("ALTER SYSTEM SET object_tier = 's3://containers/data'")
    con.sql("ALTER SYSTEM SET prefetch = 'off'")
    con.sql("ALTER SYSTEM SET memory_tier_limit = '8GiB'")
    values = np.random.default_rng(6).normal(size=rows)
    for at in range(of_group[-1][-1] + 1):
        con.write(f"t{at}", {"value": values + at})
        con.sql(f"ALTER TABLE t{at} SET TIER object")
    for at, tables in enumerate(of_group):
        con.create_group(f"g{at}").add(*(con[f"t{table}"] for table in tables))
    away = "SELECT count(*) FROM system.segments WHERE kind = 'segment' AND schema_name = 'main' AND tier <> 'object'"
    while con.sql(away).fetchall() != [(0,)]:
        time.sleep(0.1)

    def analysis() -> float:
        total = 0.0
        for tables in of_group:
            for part in (tables[: members // 2 + 1], tables[members // 2 + 1 :]):
                for table in part:
                    total += con.sql(f"SELECT sum(value) FROM t{table}").fetchall()[0][0]
                # It computes for as long as a second look of the prefetch takes.
                time.sleep(2)
        return total

    results = {}
    for prefetch in ("off", "on"):
        con.close()
        con = quiver.open(directory / "containers")
        con.sql(f"ALTER SYSTEM SET prefetch = '{prefetch}'")
        seconds, total = timed(analysis)
        results[f"prefetch {prefetch}"] = (seconds - 2 * 2 * groups, total)
    compare(f"containers: read {groups} groups of {members} tables in S3", results)
    print(con.sql("SELECT count(*), sum(objects), sum(size_bytes), sum(used_bytes) FROM system.prefetches").fetchall())
    con.close()
    server.stop()


def nyx(directory: Path, side: int) -> None:
    """Three levels; of the finer ones a part of each side is there."""
    random = np.random.default_rng(3)
    con = quiver.open(directory / "nyx")
    levels = [(side, side), (side * 2, side), (side * 4, side)]
    blocks = [random.normal(size=(covered,) * 3).astype("float32") for _, covered in levels]

    def write() -> None:
        with con.transaction():
            con.sql("CREATE GROUP mesh WITH TAGS (refinement = 2)")
            for at, ((length, covered), block) in enumerate(zip(levels, blocks)):
                array = con.create_array(f"level_{at}", (length,) * 3, "float32", chunks=(64,) * 3)
                array[:covered, :covered, :covered] = block
                array.tags["level"] = at
                con.group("mesh").add(array)

    def write_hdf5() -> None:
        with h5py.File(directory / "nyx.h5", "w") as file:
            for at, ((length, covered), block) in enumerate(zip(levels, blocks)):
                item = file.create_dataset(f"level_{at}", (length,) * 3, "float32", chunks=(64,) * 3)
                item[:covered, :covered, :covered] = block
        synced(directory / "nyx.h5")

    line("nyx: write three levels, durable", {"Quiver": timed(write)[0], "h5py": timed(write_hdf5)[0]})
    con.close()


def client(uri: str, place: int, size: int, number: int, queue: Any) -> None:
    con = quiver.connect(uri)
    content = os.urandom(size)
    names = [f"c{place}_{size}_{at}" for at in range(number)]
    put = timed(lambda: con.write_blobs(dict.fromkeys(names, content)))[0]
    get, found = timed(lambda: con.read_blobs(names))
    assert all(bytes(got) == content for got in found.values()) and len(found) == number
    con.close()
    queue.put((put, get))


def of_files(directory: Path, place: int, size: int, number: int, queue: Any) -> None:
    content = os.urandom(size)
    own = directory / f"p{place}_{size}_{time.time_ns()}"
    own.mkdir()

    def put() -> None:
        for at in range(number):
            (own / str(at)).write_bytes(content)

    def get() -> None:
        assert all((own / str(at)).read_bytes() == content for at in range(number))

    queue.put((timed(put)[0], timed(get)[0]))


def small(directory: Path, number: int) -> None:
    server = quiver.testing.serve(directory / "small")
    with server as served:
        for size in (256, 512 << 10):
            each = number if size < 1024 else max(1, number // 20)
            for clients in (1, 2, 4, 8):
                rates = {}
                for system, target, place in (("Quiver", client, served.uri), ("files", of_files, directory)):
                    queue: Any = multiprocessing.Queue()
                    arguments = [(place, at + 100 * clients, size, each, queue) for at in range(clients)]
                    workers = [multiprocessing.Process(target=target, args=argument) for argument in arguments]
                    for worker in workers:
                        worker.start()
                    done = [queue.get() for _ in workers]
                    for worker in workers:
                        worker.join()
                    rates[f"{system} put"] = each * clients / max(put for put, _ in done)
                    rates[f"{system} get"] = each * clients / max(get for _, get in done)
                print(
                    f"small: {size:7} B, {clients} clients  " + "".join(f"{name}: {rate:12,.0f}/s   " for name, rate in rates.items()),
                    flush=True,
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="boss,vpic,containers,nyx,small")
    parser.add_argument("--spectra", type=int, default=100_000)
    parser.add_argument("--particles", type=int, default=8_000_000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--side", type=int, default=128)
    parser.add_argument("--objects", type=int, default=2_000, help="of 256 B for each client; a twentieth of 512 KB")
    options = parser.parse_args()
    runs = {
        "boss": lambda directory: boss(directory, options.spectra, 640),
        "vpic": lambda directory: vpic(directory, options.particles, options.steps),
        "containers": containers,
        "nyx": lambda directory: nyx(directory, options.side),
        "small": lambda directory: small(directory, options.objects),
    }
    for name in options.only.split(","):
        directory = Path(tempfile.mkdtemp(prefix="quiver-workloads-"))
        try:
            runs[name](directory)
        finally:
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
