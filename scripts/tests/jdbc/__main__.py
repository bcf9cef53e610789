"""The Apache JDBC driver against the real server: starts both, and says how many checks passed and failed.

Maven copies the driver into the cache directory the first time; afterwards nothing of this needs a network.
"""

import hashlib
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

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# Of UTC the driver gets everything right, of other zones what java.time reads: each JVM has one.
RUNS = [
    ("America/New_York", ["Values", "Parameters", "Changes", "Metadata", "Running", "Failures", "Limits"]),
    ("UTC", ["Utc"]),
]
# The driver's buffers of native memory are Netty's, which needs to be let in.
OPENS = ["--add-opens=java.base/java.nio=ALL-UNNAMED"]
TIMEOUT_SECONDS = 300


def main() -> int:
    missing = [tool for tool in ("java", "javac", "mvn") if not shutil.which(tool)]
    if missing:
        print(f"SKIPPED: the JDBC client: {', '.join(missing)} cannot be found; scripts/deps.sh clients installs them")
        return 0
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="quiver-test-") as scratch:
        classes = Path(scratch) / "classes"
        subprocess.run(["javac", "-Xlint:all", "-Werror", "-d", classes, *sorted((HERE / "src").glob("*.java"))], check=True)
        class_path = f"{classes}:{driver()}/*"
        with ClientServer(Path(scratch)) as server:
            for zone, names in RUNS:
                counts = run(class_path, server, zone, names)
                passed, failed = passed + counts[0], failed + counts[1]
        counts = run_page(class_path, Path(scratch))
        passed, failed = passed + counts[0], failed + counts[1]
    print(f"jdbc: {passed} passed, {failed} failed")
    return 1 if failed else 0


def run_page(class_path: str, scratch: Path) -> tuple[int, int]:
    """What docs/clients.md says in Java, against a server without TLS and users."""
    passed = failed = 0
    with ClientServer(scratch / "page", secured=False) as server:
        for block in code("java", server.address):
            name = re.search(r"public class (\w+)", block)[1]
            source = scratch / f"{name}.java"
            source.write_text(block)
            done = subprocess.run(["java", *OPENS, "-cp", class_path, source], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_SECONDS)
            is_right = done.returncode == 0 and done.stdout == "1 note 1\n2 note 2\n3 note 3\n"
            passed, failed = passed + is_right, failed + (not is_right)
            print(
                f"ok {source.name} of docs/clients.md" if is_right else f"FAILED {source.name} of docs/clients.md: it said {done.stdout!r}"
            )
    return passed, failed


def run(class_path: str, server: ClientServer, zone: str, names: list[str]) -> tuple[int, int]:
    """A JVM that ends without its report counts as a failed check."""
    print(f"a JVM in {zone}:", flush=True)
    switches = ["-Xmx256m", f"-Duser.timezone={zone}", *OPENS]
    command = ["java", *switches, "-cp", class_path, "Main", *names]
    environment = os.environ | {"QUIVER_JDBC_URL": server.jdbc_url()}
    if server.user:
        environment |= {"QUIVER_USER": server.user, "QUIVER_PASSWORD": server.password}
    found = None
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_SECONDS)
        lines = done.stdout.splitlines()
        found = re.fullmatch(r"(\d+) passed, (\d+) failed", lines.pop()) if lines else None
        print("\n".join(lines), flush=True)
    except subprocess.TimeoutExpired as late:
        print((late.stdout or b"").decode(errors="replace"))
    if not found:
        print("FAILED: the JVM gave no report")
        return 0, 1
    return int(found[1]), int(found[2])


def driver() -> Path:
    """The directory with the driver's jar."""
    pom = HERE / "pom.xml"
    kept = cache_directory() / f"jdbc-{hashlib.sha256(pom.read_bytes()).hexdigest()[:16]}"
    if not kept.exists():
        print(f"fetching the JDBC driver into {kept}", file=sys.stderr)
        filling = kept.with_suffix(".new")
        repository = cache_directory() / "maven"
        maven = ["mvn", "-B", "-q", f"-Dmaven.repo.local={repository}", "-f", pom, COPY, f"-DoutputDirectory={filling}"]
        subprocess.run(maven, check=True, stdout=sys.stderr)
        filling.rename(kept)
    return kept


if __name__ == "__main__":
    sys.exit(main())
