"""Apache Arrow's Go clients against the real server: starts both, and says how many tests passed and failed.

What Go fetches the first time is kept in the cache directory; afterwards nothing of this needs a network.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from client_server import ClientServer, cache_directory  # noqa: E402
from clients_page import code  # noqa: E402

# From this one on Go fetches by itself the newer one that go.mod asks for.
FETCHES_OTHERS = (1, 21)
TOOLCHAIN = "v0.0.1-go1.25.8.linux-amd64"
TIMEOUT_SECONDS = 900


def main() -> int:
    # Without -modcacherw `make clean-cache` could not remove it.
    cache = cache_directory() / "go"
    os.environ |= {"GOMODCACHE": str(cache / "modules"), "GOCACHE": str(cache / "build"), "GOFLAGS": "-modcacherw -mod=readonly"}
    try:
        go = compiler()
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"SKIPPED: the Go clients: there is no Go that is new enough, and none could be fetched: {error}")
        return 0
    with tempfile.TemporaryDirectory(prefix="quiver-test-") as scratch, ClientServer(Path(scratch)) as server:
        environment = os.environ | {"QUIVER_ADDRESS": server.address}
        if server.certificate:
            environment["QUIVER_CERTIFICATE"] = str(server.certificate)
        if server.user:
            environment |= {"QUIVER_USER": server.user, "QUIVER_PASSWORD": server.password}
        command = [go, "test", "-count=1", "-v", f"-timeout={TIMEOUT_SECONDS}s", "./..."]
        done = subprocess.run(command, cwd=HERE, env=environment, stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    passed = len(re.findall(r"^--- PASS", done.stdout, re.MULTILINE))
    failed = len(re.findall(r"^--- FAIL", done.stdout, re.MULTILINE))
    if done.returncode != 0 and not failed:
        print(f"FAILED: go test ended with status {done.returncode}")
        failed = 1
    with tempfile.TemporaryDirectory(prefix="quiver-test-") as scratch:
        page = run_page(go, Path(scratch))
    passed, failed = passed + page[0], failed + page[1]
    print(f"go: {passed} passed, {failed} failed")
    return 1 if failed else 0


def run_page(go: str, scratch: Path) -> tuple[int, int]:
    """What docs/clients.md says in Go, against a server without TLS and users."""
    passed = failed = 0
    for file in ("go.mod", "go.sum"):
        shutil.copy(HERE / file, scratch)
    with ClientServer(scratch / "page", secured=False) as server:
        for block in code("go", server.address):
            (scratch / "main.go").write_text(block)
            done = subprocess.run([go, "run", "."], cwd=scratch, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_SECONDS)
            is_right = done.returncode == 0 and done.stdout == "2 3\n3 4.5\n"
            passed, failed = passed + is_right, failed + (not is_right)
            print("ok the Go of docs/clients.md" if is_right else f"FAILED the Go of docs/clients.md: it said {done.stdout!r}")
    return passed, failed


def compiler() -> str:
    """Debian 12 has Go 1.19, which can fetch a newer one as the module that it is, checked against Go's own list of sums."""
    found = shutil.which("go")
    if not found:
        raise FileNotFoundError("go is not on PATH")
    # Not here: in this directory a newer one would be fetched to say what it is.
    said = subprocess.run([found, "version"], cwd="/", check=True, capture_output=True, text=True).stdout
    version = re.search(r"go(\d+)\.(\d+)", said)
    if version and (int(version[1]), int(version[2])) >= FETCHES_OTHERS:
        return found
    kept = Path(os.environ["GOMODCACHE"]) / f"golang.org/toolchain@{TOOLCHAIN}"
    if not (kept / ".ready").exists():
        print(f"{said.strip()} is too old for the clients: fetching {TOOLCHAIN} into {kept}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as elsewhere:
            subprocess.run([found, "mod", "init", "elsewhere"], cwd=elsewhere, check=True, capture_output=True)
            fetch = [found, "mod", "download", f"golang.org/toolchain@{TOOLCHAIN}"]
            subprocess.run(fetch, cwd=elsewhere, env=os.environ | {"GOFLAGS": "-modcacherw"}, check=True)
        # Modules are kept without the right to run them.
        for tool in [*(kept / "bin").iterdir(), *(kept / "pkg/tool").rglob("*")]:
            tool.chmod(0o755)
        (kept / ".ready").touch()
    os.environ["GOROOT"] = str(kept)
    return str(kept / "bin/go")


if __name__ == "__main__":
    sys.exit(main())
