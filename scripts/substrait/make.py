"""`make.py [PRODUCER...]`: makes the plans in substrait_plans/fixtures anew, all or those of the producers named.

Each producer has a folder here, with the versions pinned. Python packages and Java archives go into the cache
directory, by pip and Maven; afterwards nothing of this needs a network.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import datasets  # noqa: E402

FIXTURES = HERE.parents[1] / "substrait_plans" / "fixtures"
QUERIES = HERE.parents[1] / "bench" / "queries"
SCHEMA = HERE / "tpch_schema.sql"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"

NOT_LIKE = "says not_equal where the query says not like; DuckDB 1.1.3 reads it as not like again"
VIEW = "one side of the last join's condition is the first column of all, not the key of the second nation"
CORRELATED = "the columns of the outer query are written as columns of the subquery"

# `wrong` are plans that do not say what was asked of the producer; `changed` are queries that it was asked otherwise.
PRODUCERS = {
    "isthmus": {
        "version": "0.89.1",
        "substrait": "0.87.0",
        "changed": {"q11": 'the alias value, a reserved word, is written "VALUE"'},
    },
    "isthmus-more": {
        "version": "0.89.1",
        "substrait": "0.87.0",
        "wrong": {"statistics": "stddev_pop, stddev_samp and var_pop have all become avg"},
    },
    "ibis": {
        "version": "ibis-substrait 4.0.1, ibis-framework 9.5.0, substrait 0.21.0",
        "substrait": "0.52.0",
    },
    "ibis-mistranslated": {
        "version": "ibis-substrait 4.0.1, ibis-framework 9.5.0, substrait 0.21.0",
        "substrait": "0.52.0",
        "wrong": {
            "q02": CORRELATED,
            "q04": CORRELATED,
            "q07": VIEW,
            "q08": VIEW,
            "q11": "0.0001 is written as 0.0001 cast to decimal(38,2), which is 0.00",
            "q17": f"{CORRELATED}, past its last one",
            "q20": CORRELATED,
            "q21": CORRELATED,
            "q22": f"{CORRELATED}; substrings begin at 0",
        },
    },
    "duckdb": {
        "version": "duckdb 1.1.3, duckdb_extension_substrait 1.1.3",
        "substrait": "0.53.0",
        "wrong": {"q13": NOT_LIKE},
    },
    "datafusion": {"version": "datafusion 55.0.0 (Python), with datafusion 55.2.0 inside", "substrait": "0.85.0"},
    "datafusion-unoptimized": {
        "version": "datafusion 55.0.0 (Python), with datafusion 55.2.0 inside",
        "substrait": "0.85.0",
    },
    "pyarrow": {"version": "pyarrow 26.0.1", "substrait": "0.44.0"},
}


def main() -> None:
    chosen = sys.argv[1:] or list(PRODUCERS)
    listed = FIXTURES / "producers.json"
    before = {entry["producer"]: entry for entry in json.loads(listed.read_text())} if listed.exists() else {}
    for producer in chosen:
        with tempfile.TemporaryDirectory(prefix="quiver-substrait-") as scratch:
            made = Path(scratch)
            run(producer, made)
            before[producer] = entry_of(producer, made)
            keep(producer, made)
        print(f"{producer}: {len(list((FIXTURES / producer).glob('*.bin')))} files")
    listed.write_text(json.dumps([before[producer] for producer in PRODUCERS if producer in before], indent=1) + "\n")


def run(producer: str, made: Path) -> None:
    """Has the producer fill `made` with NAME.bin or NAME.refused for each query."""
    queries = sorted(QUERIES.glob("q*.sql"))
    if producer.startswith("isthmus"):
        if producer == "isthmus-more":
            queries = sorted((HERE / "more").glob("*.sql"))
        else:
            queries = [isthmus_text(query, made) for query in queries]
        classes = made / "classes"
        libraries = f"{java_archives(HERE / 'isthmus' / 'pom.xml')}/*"
        source = HERE / "isthmus" / "src" / "Plans.java"
        subprocess.run(["javac", "-Xlint:all", "-Werror", "-cp", libraries, "-d", classes, source], check=True)
        subprocess.run(["java", "-cp", f"{classes}:{libraries}", "Plans", SCHEMA, made, *queries], check=True)
        return
    folder = HERE / producer.split("-")[0]
    command = {
        "ibis": ["plans.py", SCHEMA, made, "QUERIES"],
        "ibis-mistranslated": ["plans.py", SCHEMA, made, "MISTRANSLATED"],
        "duckdb": ["plans.py", SCHEMA, made, *queries],
        "datafusion": ["plans.py", SCHEMA, made, "on", *queries],
        "datafusion-unoptimized": ["plans.py", SCHEMA, made, "off", *queries],
        "pyarrow": ["expressions.py", SCHEMA, made],
    }[producer]
    subprocess.run([python(folder / "requirements.txt"), folder / command[0], *command[1:]], check=True)


def isthmus_text(query: Path, made: Path) -> Path:
    """Calcite reserves a word that one of the queries uses as a name."""
    text = query.read_text()
    if query.stem != "q11":
        return query
    changed = made / query.name
    changed.write_text(re.sub(r"\bvalue\b(?= desc|\n)", '"VALUE"', text))
    assert changed.read_text().count('"VALUE"') == 2
    return changed


def entry_of(producer: str, made: Path) -> dict:
    queries = {file.stem: file.name for file in made.glob("*.bin")}
    queries |= {file.stem: {"refused": sentence(file.read_text())} for file in made.glob("*.refused")}
    if (made / "expressions.json").exists():
        queries = {}
    entry = {"producer": producer, **PRODUCERS[producer], "queries": dict(sorted(queries.items()))}
    return entry | ({"expressions": "expressions.json"} if not queries else {})


def sentence(refusal: str) -> str:
    """Without the pages that some append."""
    return refusal.strip().split("\n")[0]


def keep(producer: str, made: Path) -> None:
    """A file that differs only in the order of its declarations is left: DataFusion's order is never the same."""
    target = FIXTURES / producer
    target.mkdir(parents=True, exist_ok=True)
    files = {file.name: file for file in [*made.glob("*.bin"), *made.glob("*.json")]}
    for old in target.iterdir():
        if old.name in files and parts(old) == parts(files[old.name]):
            del files[old.name]
        else:
            old.unlink()
    for name, file in files.items():
        shutil.copyfile(file, target / name)


def parts(file: Path) -> list[bytes]:
    """The outermost fields of a message of protobuf, sorted; in these messages each has a length."""
    data, found, start = file.read_bytes(), [], 0
    if file.suffix != ".bin":
        return [data]
    while start < len(data):
        position, length, shift = start + 1, 0, 0
        while True:
            length |= (data[position] & 0x7F) << shift
            position, shift = position + 1, shift + 7
            if data[position - 1] < 0x80:
                break
        found.append(data[start : position + length])
        start = position + length
    return sorted(found)


def python(requirements: Path) -> Path:
    """The Python of an environment with just these packages and what they need."""
    kept = cache(requirements, f"substrait-{requirements.parent.name}")
    if not kept.exists():
        filling = kept.with_suffix(".new")
        shutil.rmtree(filling, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", filling], check=True)
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements]
        subprocess.run([filling / "bin" / "python", *install], check=True)
        filling.rename(kept)
    return kept / "bin" / "python"


def java_archives(pom: Path) -> Path:
    kept = cache(pom, "substrait-isthmus")
    if not kept.exists():
        filling = kept.with_suffix(".new")
        repository = datasets.cache_dir() / "maven"
        maven = ["mvn", "-B", "-q", f"-Dmaven.repo.local={repository}", "-f", pom, COPY, f"-DoutputDirectory={filling}"]
        subprocess.run(maven, check=True, stdout=sys.stderr)
        filling.rename(kept)
    return kept


def cache(described: Path, name: str) -> Path:
    kept = datasets.cache_dir() / f"{name}-{hashlib.sha256(described.read_bytes()).hexdigest()[:16]}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    return kept


if __name__ == "__main__":
    main()
