#!/usr/bin/env bash
# Installs what a bare Debian lacks to build Quiver. Does nothing, and touches no network, when
# everything is there. `deps.sh clients` installs what the tests with clients of other languages and with old processors need.
set -euo pipefail
export LC_ALL=C # the answers of apt-cache are read below
export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH" # as in the Makefile
cd "$(dirname "$0")/.."

rust_min=1.95.0
packages=(libpmem-dev protobuf-compiler libprotobuf-dev pkg-config mold gcc libc6-dev curl ca-certificates openssl)

say() { echo "deps: $*" >&2; }
fail() { say "$*"; exit 1; }

# Empty for root.
as_root=()
[ "$(id -u)" = 0 ] || as_root=(sudo)

apt_install() {
    if [ ${#as_root[@]} != 0 ] && ! command -v sudo >/dev/null; then
        fail "not root and no sudo; as root run: apt-get install --no-install-recommends $*"
    fi
    say "installing $*"
    # What dpkg says fills screens and interests nobody, unless it fails.
    local log
    log=$(mktemp)
    # One unreachable source need not matter: whether the packages can be had shows in the install.
    "${as_root[@]}" apt-get update -qq >"$log" 2>&1 || true
    if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get could not install these: what it said is above"
    fi
    rm -f "$log"
}

installed() { dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

system_packages() {
    if ! command -v dpkg-query >/dev/null; then
        # Another distribution: we cannot know its package names, only whether the tools are there.
        for tool in protoc pkg-config mold gcc curl openssl; do
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

# The version that apt would install, or nothing.
candidate() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: \([0-9][0-9.]*\).*/\1/p'
}

# Everything comes from one host: the script which sh.rustup.rs would give lies beside the toolchains.
rust_by_rustup() {
    say "no cargo: installing Rust $rust_min into ${CARGO_HOME:-$HOME/.cargo} with rustup, from static.rust-lang.org"
    local script status=0
    script=$(mktemp)
    curl --proto '=https' --tlsv1.2 -sSf --retry 2 -o "$script" https://static.rust-lang.org/rustup/rustup-init.sh \
        && sh "$script" -y --no-modify-path --profile minimal --default-toolchain "$rust_min" -c rustfmt -c clippy >&2 \
        || status=$?
    rm -f "$script"
    [ $status != 0 ] || say "Rust is there, and make finds it without a change of your PATH"
    return $status
}

# What Debian 12 keeps up to date to build browsers with, in security updates; its rustc is years too old.
rust_by_debian() {
    local version
    version=$(candidate rustc-web)
    [ -n "$version" ] && at_least "$version" "$rust_min" || return 1
    say "that failed; taking Debian's own Rust $version"
    apt_install rustc-web cargo-web rustfmt-web rust-web-clippy
}

rust() {
    if ! command -v cargo >/dev/null; then
        # Debian 13 has a package of rustup, Debian 12 has not.
        if [ -n "$(candidate rustup)" ]; then
            apt_install rustup
            rustup toolchain install "$rust_min" --profile minimal -c rustfmt -c clippy >&2
            rustup default "$rust_min" >&2
        else
            rust_by_rustup || rust_by_debian \
                || fail "no Rust could be installed: install Rust $rust_min or newer in any way, so that cargo is on PATH," \
                    "and run make again"
        fi
        # Without a hash reset bash would still remember that there was no cargo.
        hash -r
    fi
    local version
    version=$(rustc --version | cut -d' ' -f2) \
        || fail "$(command -v rustc || echo rustc) does not run; if rustup has no toolchain: rustup default $rust_min"
    at_least "${version%%-*}" "$rust_min" && return
    if command -v rustup >/dev/null; then
        fail "rustc $version is too old, Quiver needs $rust_min: run 'rustup update stable && rustup default stable'"
    fi
    fail "$(command -v rustc) is $version, Quiver needs $rust_min: remove that package and run make again, which installs rustup"
}

# A compiler of Rust for WebAssembly, which the toolchain of a distribution has not. Debian's is unpacked and not installed: it would take the
# place of another one.
rust_for_wasm() {
    local directory="${XDG_CACHE_HOME:-$HOME/.cache}/quiver/rust-wasm32" libraries
    libraries=$(rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null) && [ -d "$libraries" ] && return
    [ ! -x "$directory/usr/bin/rustc" ] || return 0
    say "unpacking Debian's Rust for wasm32 in $directory"
    local unpacked shared
    mkdir -p "$(dirname "$directory")"
    unpacked=$(mktemp -d "$directory.XXXXXX")
    shared=$(apt-cache depends libstd-rust-dev 2>/dev/null | sed -n 's/.*Depends: \(libstd-rust-[0-9.]*\)$/\1/p')
    # As one step: the directory is complete or is not there.
    if (cd "$unpacked" && apt-get download -qq rustc $shared libstd-rust-dev libstd-rust-dev-wasm32 2>/dev/null \
        && for package in *.deb; do dpkg -x "$package" . && rm -- "$package" || exit 1; done); then
        mv -T "$unpacked" "$directory"
    else
        rm -rf "$unpacked"
        say "there is no Rust for wasm32: what needs it is not tested"
    fi
}

# Nothing of Quiver needs them: what cannot be had is skipped by the tests, which say so.
clients() {
    local missing=()
    command -v javac >/dev/null || missing+=(default-jdk-headless)
    command -v mvn >/dev/null || missing+=(maven)
    command -v go >/dev/null || missing+=(golang-go)
    command -v qemu-x86_64 >/dev/null || missing+=(qemu-user)
    command -v clang >/dev/null || missing+=(clang)
    command -v wasm-ld >/dev/null || missing+=(lld)
    if [ ${#missing[@]} != 0 ]; then
        command -v dpkg-query >/dev/null || { say "no JDK, Maven, Go, QEMU or clang: what needs them is not tested"; return 0; }
        (apt_install "${missing[@]}") || say "without ${missing[*]} what needs them is not tested"
    fi
    ! command -v dpkg >/dev/null || rust_for_wasm
}

if [ "${1:-}" = clients ]; then
    clients
else
    system_packages
    rust
fi
