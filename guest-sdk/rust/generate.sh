#!/usr/bin/env bash
# generate.sh - writes src/bindings.rs from wit/scenario.wit, after a change of the contract.
#
#   ./generate.sh            writes it
#   ./generate.sh --check    says whether the committed file is what it would write
#
# Needs wit-bindgen 0.61.1:
#   cargo install wit-bindgen-cli --version 0.61.1 --locked --no-default-features --features rust
set -euo pipefail
cd "$(dirname "$0")"

needed="wit-bindgen-cli 0.61.1"
found=$(wit-bindgen --version 2>/dev/null || echo "no wit-bindgen")
if [ "$found" != "$needed" ]; then
  echo "generate.sh: needs $needed, found $found" >&2
  exit 1
fi

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
wit-bindgen rust ../../wit/scenario.wit --world scenario --out-dir "$out" --format \
  --pub-export-macro --export-macro-name export_flow --default-bindings-module khost_guest::bindings >&2

if [ "${1:-}" = --check ]; then
  cmp "$out/scenario.rs" src/bindings.rs
else
  cp "$out/scenario.rs" src/bindings.rs
fi
