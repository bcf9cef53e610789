#!/usr/bin/env bash
# Runs a cargo command in the target directory which all clones share, then links the binary to
# bin/quiver, and the engine for Python into its package.
#
# Sharing has two traps, both seen:
# - cargo names the artifacts of a clone's own crates by their path *inside* the clone and judges
#   freshness by modification time, so an older clone would be given a newer clone's code as
#   "fresh". We note who built last and what, and when it was another clone with other sources drop our
#   own crates (minutes); the dependencies (half an hour) stay.
# - two clones at once would run each other's test binaries: hence the lock, held while tests run.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${CARGO_TARGET_DIR:?is set by the Makefile: use make}"
mkdir -p "$CARGO_TARGET_DIR" bin

lock=$CARGO_TARGET_DIR/quiver.lock
last_clone=$CARGO_TARGET_DIR/quiver.clone
last_tree=$CARGO_TARGET_DIR/quiver.tree

# The sources by their content; empty where something is not committed.
sources() {
    [ -z "$(git status --porcelain 2>&1)" ] && git rev-parse 'HEAD^{tree}' 2>/dev/null || true
}

exec 9>"$lock"
flock -n 9 || { echo "waiting for another build in $CARGO_TARGET_DIR" >&2; flock 9; }

tree=$(sources)
if [ -d "$CARGO_TARGET_DIR/release" ] && [ "$(cat "$last_clone" 2>/dev/null)" != "$PWD" ]; then
    if [ -n "$tree" ] && [ "$tree" = "$(cat "$last_tree" 2>/dev/null)" ]; then
        echo "the last build here was of another clone with the same sources: taking it over" >&2
        git ls-files -z | xargs -0 touch -h -r "$last_tree"
        # Tests that have the path of their clone inside are built again.
        git grep -lzF 'env!("CARGO_MANIFEST_DIR")' -- '*.rs' | xargs -0 -r touch
    else
        echo "the last build here was of another clone: dropping its crates, keeping the dependencies" >&2
        members=$(sed -n '/^\[package\]/,/^$/s/^name = "\(.*\)"/-p \1/p' */Cargo.toml engine/*/Cargo.toml flight_server/*/Cargo.toml pmem_store/*/Cargo.toml)
        # shellcheck disable=SC2086 # one word per member is meant
        cargo clean --release --quiet $members 9>&-
    fi
fi
if [ ! -d "$CARGO_TARGET_DIR/release/deps" ]; then
    echo "the first build compiles DataFusion: 20 to 45 minutes on two cores; it is kept in $CARGO_TARGET_DIR" >&2
fi
echo "$PWD" >"$last_clone"

# Its time is that since which nothing else was built here: what cargo finds older than it is built again.
if [ -z "$tree" ]; then rm -f "$last_tree"; elif [ "$tree" != "$(cat "$last_tree" 2>/dev/null)" ]; then echo "$tree" >"$last_tree"; fi
status=0
"$@" 9>&- || status=$?
# Somebody has edited while it was built.
[ "$tree" = "$(sources)" ] || rm -f "$last_tree"

# A hard link and not a symbolic one: another clone's build replaces the file of that name (cargo
# unlinks before it links), and this clone keeps its own. Across file systems: a copy.
link() {
    [ -f "$1" ] || return 0
    ln -f "$1" "$2" 2>/dev/null || { cp "$1" "$2.new" && mv "$2.new" "$2"; }
}
link "$CARGO_TARGET_DIR/release/quiver" bin/quiver
link "$CARGO_TARGET_DIR/release/libquiver_python.so" python/quiver/_quiver.abi3.so
exit "$status"
