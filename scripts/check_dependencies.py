"""Checks what Cargo.lock brings: licences that may be shipped, the registry as the only source, and no crate in two versions that
`DOUBLED` does not name. Advisories are not checked: their list is a git repository, which a build does not fetch."""

import json
import re
import subprocess
import sys
from collections import defaultdict

TARGET = "x86_64-unknown-linux-gnu"
LICENCES = {"Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unicode-3.0", "Zlib"}
# Most come with DataFusion and other crates that choose their own versions. A new one is a decision.
DOUBLED = set(
    "base64 blake2 block-buffer comfy-table const-oid cpufeatures crypto-common digest embedded-io foldhash getrandom hashbrown itertools logos "
    "logos-codegen logos-derive md-5 num-bigint rand rand_chacha rand_core sha2 syn synstructure unicode-width".split()
)


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    versions, problems = defaultdict(set), []
    for package in metadata["packages"]:
        if package["id"] not in used or package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        versions[package["name"]].add(package["version"])
        if not may_be_shipped(package["license"] or ""):
            problems.append(f"{name}: the licence {package['license']!r} is not among those that may be shipped")
        if not package["source"].startswith("registry+"):
            problems.append(f"{name}: it comes from {package['source']} and not from the registry")
    doubled = {name for name, found in versions.items() if len(found) > 1}
    problems += [f"{name}: versions {', '.join(sorted(versions[name]))} are compiled; use one" for name in sorted(doubled - DOUBLED)]
    problems += [f"{name}: it has one version now; take it out of DOUBLED" for name in sorted(DOUBLED - doubled)]
    print("\n".join(problems), end="\n" if problems else "", file=sys.stderr)
    return 1 if problems else 0


def may_be_shipped(licence: str) -> bool:
    """Of each part of an expression such as `(MIT OR Apache-2.0) AND Unicode-3.0`, one alternative must do."""
    parts = re.sub(r"[()]", "", licence).split(" AND ")
    return all(any(one.strip() in LICENCES for one in re.split(r" OR |/", part)) for part in parts)


if __name__ == "__main__":
    sys.exit(main())
