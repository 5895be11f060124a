#!/usr/bin/env bash
# What a server over standard streams costs to build, on this framework and on rmcp: `examples/from_rmcp`.
#
#   benches/server_build.sh [program]...   default: counter library
#
# Each is built from nothing in the release profile, with the sources of its crates on disk. CPU time is user and system time of
# everything cargo starts; the wall time means little on a machine with other work. About two minutes of CPU for each build.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/server_build.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never
TIMEFORMAT='%U %S %R'

# build <form> <program>: crates, CPU seconds, wall seconds, bytes of the stripped program, lines of its source.
build() {
    local manifest=$root/examples/from_rmcp/$1/Cargo.toml crates times
    cargo fetch --quiet --manifest-path "$manifest"
    crates=$(cargo tree --quiet --offline --manifest-path "$manifest" -e normal --prefix none --no-dedupe |
        sed 's/ (\*)$//; s/ (proc-macro)$//' | sort -u | grep -vc '^from-rmcp-')
    rm -rf "$CARGO_TARGET_DIR"
    times=$({ time cargo build --quiet --offline --release --manifest-path "$manifest" --bin "$2" 2>/dev/null; } 2>&1)
    strip -o "$work/program" "$CARGO_TARGET_DIR/release/$2"
    awk -v crates="$crates" -v size="$(stat -c %s "$work/program")" \
        -v lines="$(grep -cv '^ *\(//.*\)\?$' "$root/examples/from_rmcp/$1/src/bin/$2.rs")" \
        '{ print crates, $1 + $2, $3, size, lines }' <<<"$times"
}

[ $# -gt 0 ] || set -- counter library
for program in "$@"; do
    read -r their_crates their_cpu their_wall their_size their_lines < <(build rmcp "$program")
    read -r our_crates our_cpu our_wall our_size our_lines < <(build toolbox "$program")
    echo "$program"
    printf '  %-8s %3d lines %3d crates %7.1f s CPU %6.1f s wall %9d bytes\n' \
        rmcp "$their_lines" "$their_crates" "$their_cpu" "$their_wall" "$their_size" \
        toolbox "$our_lines" "$our_crates" "$our_cpu" "$our_wall" "$our_size"
    awk -v a="$our_cpu" -v b="$their_cpu" -v c="$our_size" -v d="$their_size" \
        'BEGIN { printf "  ratio    CPU %.2f, size %.2f; goal 1.00\n", a / b, c / d }'
done
