#!/usr/bin/env bash
# Installs what a bare Debian lacks to build Quiver. Does nothing, and touches no network, when
# everything is there.
set -euo pipefail
cd "$(dirname "$0")/.."

rust_min=1.95.0
packages=(libpmem-dev protobuf-compiler pkg-config mold gcc libc6-dev curl ca-certificates)

say() { echo "deps: $*" >&2; }
fail() { say "$*"; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "not root and no sudo; as root run: $*"
    fi
}

apt_install() {
    say "installing $*"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >&2
}

installed() { dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

system_packages() {
    if ! command -v dpkg-query >/dev/null; then
        # Another distribution: we cannot know its package names, only whether the tools are there.
        for tool in protoc pkg-config mold gcc curl; do
            command -v "$tool" >/dev/null || fail "$tool is missing; install the equivalents of: ${packages[*]} python3-venv"
        done
        return
    fi
    local missing=()
    for package in "${packages[@]}"; do
        installed "$package" || missing+=("$package")
    done
    # The python3 on PATH need not be Debian's, so ask it and not dpkg.
    python3 -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3 python3-venv)
    [ ${#missing[@]} = 0 ] || apt_install "${missing[@]}"
}

at_least() { [ "$(printf '%s\n%s\n' "$2" "$1" | sort -V | head -n1)" = "$2" ]; }

rust() {
    if ! command -v cargo >/dev/null; then
        # Debian 12's own rustc is years too old and it has no rustup package; Debian 13 has one.
        if apt-cache policy rustup 2>/dev/null | grep -q 'Candidate: [0-9]'; then
            apt_install rustup
            rustup default stable >&2
        else
            say "no cargo: installing Rust $rust_min with the installer of rust-lang.org into ${CARGO_HOME:-$HOME/.cargo}"
            curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs \
                | sh -s -- -y --no-modify-path --profile minimal --default-toolchain "$rust_min" -c rustfmt -c clippy >&2
        fi
        # Without a hash reset bash would still remember that there was no cargo.
        hash -r
    fi
    local version
    version=$(rustc --version | cut -d' ' -f2)
    at_least "${version%%-*}" "$rust_min" && return
    if command -v rustup >/dev/null; then
        fail "rustc $version is too old, Quiver needs $rust_min: run 'rustup update stable && rustup default stable'"
    fi
    fail "$(command -v rustc) is $version, Quiver needs $rust_min: remove that package and run make again, which installs rustup"
}

system_packages
rust
