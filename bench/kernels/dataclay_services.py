"""Redis, dataClay's metadata service and one backend, on free ports of this machine: processes of our own, ended by their handles."""

import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
STARTED_S = 60


class Services:
    def __init__(self, directory: Path, threads: int):
        redis = shutil.which("redis-server")
        if redis is None:
            raise RuntimeError("redis-server is not there: apt-get install redis-server")
        self.directory = directory / "dataclay"
        (self.directory / "storage").mkdir(parents=True)
        self.redis_port, self.port, self.backend_port = free_ports(3)
        self.processes = []
        environment = os.environ | {
            "PYTHONPATH": str(HERE),
            "OPENBLAS_NUM_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "DATACLAY_KV_HOST": "127.0.0.1",
            "DATACLAY_KV_PORT": str(self.redis_port),
            "DATACLAY_STORAGE_PATH": str(self.directory / "storage"),
            "DATACLAY_LOGLEVEL": "WARNING",
            "DATACLAY_EPHEMERAL": "true",
            "DATACLAY_METADATA_HOST": "127.0.0.1",
            "DATACLAY_METADATA_PORT": str(self.port),
            "DATACLAY_METADATA_LISTEN_ADDRESS": "127.0.0.1",
            "DATACLAY_BACKEND_NAME": "bench",
            "DATACLAY_BACKEND_HOST": "127.0.0.1",
            "DATACLAY_BACKEND_PORT": str(self.backend_port),
            "DATACLAY_BACKEND_LISTEN_ADDRESS": "127.0.0.1",
        }
        settings = ["--bind", "127.0.0.1", "--port", str(self.redis_port), "--save", "", "--appendonly", "no", "--dir", str(self.directory)]
        try:
            self.start("redis", [redis, *settings], self.redis_port, environment)
            self.start("metadata", [sys.executable, "-m", "dataclay.metadata"], self.port, environment)
            self.start("backend", [sys.executable, "-m", "dataclay.backend"], self.backend_port, environment)
        except BaseException:
            self.end()
            raise

    def start(self, name: str, command: list[str], port: int, environment: dict[str, str]) -> None:
        said = self.directory / f"{name}.log"
        with said.open("w") as log:
            process = subprocess.Popen(command, cwd=self.directory, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        until = time.monotonic() + STARTED_S
        while time.monotonic() < until and process.poll() is None:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(f"{name} of dataClay did not start: {said.read_text()[-500:]}")

    def end(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports
