#!/usr/bin/env bash
# Makes a private Rust toolchain that can build for wasm32-unknown-unknown, out of Debian's packages: rustc-web, the
# rustc that stable releases keep current for browsers, unpacked and not installed, and its std built once for the
# target. Afterwards bin/cargo and bin/rustc in $WASM_RUST_HOME are of one version, and .version names it.
#
# Needs apt (Debian 12 with security updates, or newer), cc, the crate registry, 0.5 GB of disk; root for
# `apt-get update` only. Takes about two minutes, once. Delete the folder to take a newer version.
set -euo pipefail
target=wasm32-unknown-unknown
home=${WASM_RUST_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/wasm-rust}
say() { printf 'wasm-rust: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

for tool in apt-get dpkg-deb flock; do
  command -v $tool >/dev/null || die "no $tool: this is no Debian to take a Rust for $target from"
done
command -v cc >/dev/null || die "no cc: install a C compiler (apt-get install gcc libc6-dev)"

mkdir -p "$(dirname "$home")"
exec 9>"$home.lock"
flock -n 9 || { say "waiting for another one that makes $home"; flock 9; }
[ ! -f "$home/.version" ] || exit 0

candidate() { apt-cache policy "$1" 2>/dev/null | awk '/Candidate:/ && $2 != "(none)" { print $2 }'; }
if [ -z "$(candidate rust-web-src)" ] && [ "$(id -u)" = 0 ]; then
  say "apt-get update"
  apt-get -qq update >&2 || true
fi
version=$(candidate rustc-web)
[ -n "$version" ] || die "apt knows no rustc-web: run apt-get update, with Debian's security updates among its sources"

new=$home.new
rm -rf "$new"
trap 'rm -rf "$new"' EXIT
mkdir -p "$new/debs" "$new/bin"
host_libs=usr/lib/$(uname -m)-linux-gnu
host_tools=usr/lib/rustlib/$(uname -m)-unknown-linux-gnu/bin

# The packages named, and what they depend on that this machine lacks.
take() {
  local packages
  mapfile -t packages < <({
    apt-get -o Debug::NoLocking=1 -y --no-install-recommends --print-uris install "$@" 2>/dev/null |
      sed -n "s/^'[^']*' \([^_]*\)_.*/\1/p"
    printf '%s\n' "$@"
  } | sort -u)
  (cd "$new/debs" &&
    apt-get -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)" -qq download "${packages[@]}" >&2)
  local deb
  for deb in "$new"/debs/*.deb; do
    # Of the sources only library/: the rest is 300 MB of tests and documents.
    dpkg-deb --fsys-tarfile "$deb" | tar -x -C "$new" --wildcards --no-wildcards-match-slash --exclude=./usr/share \
      --exclude='./usr/src/*/src' --exclude='./usr/src/*/compiler' --exclude=./usr/bin/rustdoc
    rm -f "$deb"
  done
}

# A program out of its usual place finds its libraries by this; $1 is where, from $new, and the rest what it runs.
wrap() {
  local at=$1
  shift
  mkdir -p "$new/$(dirname "$at")"
  cat >"$new/$at" <<EOF
#!/bin/sh
P=\$(readlink -f "\$0"); P=\${P%/$at}
export LD_LIBRARY_PATH="\$P/$host_libs\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
exec $* "\$@"
EOF
  chmod +x "$new/$at"
}

say "downloading Debian's rustc-web $version into $home (140 MB, once)"
take rustc-web cargo-web rust-web-src libstd-rust-web-dev "libstd-rust-web-$(printf %s "$version" | cut -d. -f1,2)"
wrap bin/rustc '"$P/usr/bin/rustc"'
wrap bin/cargo env 'RUSTC="${RUSTC:-$P/bin/rustc}"' '"$P/usr/bin/cargo"'
llvm=$("$new/bin/rustc" -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
[ -n "$llvm" ] || die "the unpacked rustc does not run here"
take "lld-$llvm"
wrap "$host_tools/rust-lld" "\"\$P/usr/lib/llvm-$llvm/bin/lld\""

say "building its standard library for $target (a minute or two, once)"
# The crate that std is built for stands at the root of the folder: cargo then counts std as a part of it, and names it
# the same wherever the folder is.
printf '[package]\nname = "std-for-wasm"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n[workspace]\n' >"$new/Cargo.toml"
: >"$new/lib.rs"
(
  cd "$new"
  unset CARGO_BUILD_TARGET RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER
  # What is unstable is cargo's building of std, not what comes of it.
  export RUSTC="$new/bin/rustc" RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$new/target"
  # Bitcode for guests that are built with LTO; and no path of this machine in a guest's panics.
  printf -v CARGO_ENCODED_RUSTFLAGS '%s\x1f' -Cembed-bitcode=yes \
    "--remap-path-prefix=$new=/wasm-rust" \
    "--remap-path-prefix=$new/usr/lib/rustlib/src/rust=/rust" \
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=/crates"
  export CARGO_ENCODED_RUSTFLAGS=${CARGO_ENCODED_RUSTFLAGS%$'\x1f'}
  "$new/bin/cargo" build -q --release -Z build-std=std,panic_abort --target $target >&2
)
libraries=$new/usr/lib/rustlib/$target/lib
mkdir -p "$libraries"
cp "$new"/target/$target/release/deps/*.rlib "$libraries/"
rm -rf "$libraries"/libstd_for_wasm-* "$new"/{Cargo.toml,Cargo.lock,lib.rs,target,debs,etc} \
  "$new"/usr/{src,share,lib/rustlib/src}

printf '#[no_mangle] pub extern "C" fn f(n: u32) -> u32 { n.to_string().len() as u32 }' |
  "$new/bin/rustc" --edition 2021 --crate-name smoke --crate-type cdylib --target $target -O -o "$new/smoke.wasm" -
[ "$(head -c4 "$new/smoke.wasm" | tail -c3)" = asm ] || die "the toolchain is made, and does not build for $target"
rm "$new/smoke.wasm"
echo "$version" >"$new/.version"
rm -rf "$home"
mv "$new" "$home"
say "ready: $("$home/bin/rustc" -V)"
