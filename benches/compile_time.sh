#!/usr/bin/env bash
# What a tool costs the compiler, and what the framework costs a clean build.
#
#   benches/compile_time.sh tools [count]   user time of `cargo check` for each further tool, beside the hand-written form
#   benches/compile_time.sh build           crates and user time of a clean build, beside serde and schemars alone
#   benches/compile_time.sh split           CPU time of each crate of the two clean builds
#   benches/compile_time.sh edit [count]    user time of a build after one body of many tools was edited, and bytes a tool in release
#   benches/compile_time.sh features        user time of a clean build with each of the large features, beside rmcp and rig
#   benches/compile_time.sh                 the first two
#
# Only user time of the compiler is compared, so other work on the machine disturbs little.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/compile_time.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CARGO_TARGET_DIR=$work/target CARGO_INCREMENTAL=0 CARGO_TERM_COLOR=never
TIMEFORMAT=%U

# manifest <name> <dependencies>: a package of its own, with the versions that the workspace has locked.
manifest() {
    mkdir -p "$work/$1/src"
    printf '[package]\nname = "%s"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n%s\n' "$1" "$2" \
        >"$work/$1/Cargo.toml"
    cp "$root/Cargo.lock" "$work/$1/Cargo.lock"
}

third_party=$(sed -n -E '/^(schemars|serde|serde_json) = /p' "$root/Cargo.toml")
own="llm-toolbox = { path = \"$root/toolbox\" }"

# macro_tools, list_tools and hand_tools <count>: the source of a crate with so many tools of three arguments.
macro_tools() {
    echo 'use toolbox::{ToolBox, tool, tools};'
    for at in $(seq "$1"); do
        cat <<RUST
/// Searches source number $at.
#[tool]
pub fn search_$at(
    /// Words to look for
    query: String,
    /// How many hits to return
    limit: Option<u32>,
    /// Whether case matters
    exact: bool,
) -> String {
    format!("{query} {limit:?} {exact}")
}
RUST
    done
    echo 'pub fn toolbox() -> ToolBox { ToolBox::from(tools!['
    for at in $(seq "$1"); do echo "search_$at,"; done
    echo ']) }'
}

# The same without `tools![]`, which checks that no two tools have one name.
list_tools() {
    macro_tools "$1" | sed 's/, tools};/};/; s/tools!\[/vec![/; s/^\(search_[0-9]*\),$/\1::tool(),/'
}

# The same of `async fn`.
async_tools() {
    macro_tools "$1" | sed 's/^pub fn search/pub async fn search/'
}

hand_tools() {
    cat <<'RUST'
use std::{collections::HashMap, future::Future, pin::Pin};
use schemars::JsonSchema;
use serde::Deserialize;
pub type Answer = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: serde_json::Value,
    pub handler: Box<dyn Fn(&str) -> Answer + Send + Sync>,
}
RUST
    for at in $(seq "$1"); do
        cat <<RUST
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search$at {
    /// Words to look for
    query: String,
    /// How many hits to return
    limit: Option<u32>,
    /// Whether case matters
    exact: bool,
}
pub fn search_$at(query: String, limit: Option<u32>, exact: bool) -> String {
    format!("{query} {limit:?} {exact}")
}
RUST
    done
    echo 'pub fn toolbox() -> HashMap<&'"'"'static str, Tool> { let mut tools = HashMap::new();'
    for at in $(seq "$1"); do
        cat <<RUST
tools.insert("search_$at", Tool {
    name: "search_$at",
    description: "Searches source number $at.",
    schema: schemars::schema_for!(Search$at).to_value(),
    handler: Box::new(|text| {
        let arguments = serde_json::from_str::<Search$at>(text);
        Box::pin(async move {
            let Search$at { query, limit, exact } = arguments.map_err(|error| error.to_string())?;
            Ok(search_$at(query, limit, exact))
        })
    }),
});
RUST
    done
    echo 'tools }'
}

# check_seconds <package>: the least user time of three checks of the last crate alone.
check_seconds() {
    local manifest=$work/$1/Cargo.toml
    cargo check --quiet --manifest-path "$manifest" 2>/dev/null
    for _ in 1 2 3; do
        touch "$work/$1/src/lib.rs"
        { time cargo check --quiet --manifest-path "$manifest" 2>/dev/null; } 2>&1
    done | sort -n | head -1
}

tools() {
    local count=${1:-300}
    for form in macro async list hand; do
        local dependencies=$third_party
        [ "$form" = hand ] || dependencies=$own
        for number in 1 "$count"; do
            manifest "${form}_$number" "$dependencies"
            "${form}_tools" "$number" >"$work/${form}_$number/src/lib.rs"
            declare "${form}_$number=$(check_seconds "${form}_$number")"
        done
    done
    local few_list=list_1 many_list=list_$count few_macro=macro_1 many_macro=macro_$count few_async=async_1 many_async=async_$count few_hand=hand_1 many_hand=hand_$count
    awk -v n="$count" -v m1="${!few_macro}" -v mn="${!many_macro}" -v a1="${!few_async}" -v an="${!many_async}" -v l1="${!few_list}" -v ln="${!many_list}" -v h1="${!few_hand}" -v hn="${!many_hand}" 'BEGIN {
        list = 1000 * (ln - l1) / (n - 1); macro = 1000 * (mn - m1) / (n - 1); async = 1000 * (an - a1) / (n - 1); hand = 1000 * (hn - h1) / (n - 1)
        printf "cargo check, user time for each further tool of three arguments, %d tools less 1\n", n
        printf "  #[tool], in tools![]                  %6.2f ms   (%s s less %s s)\n", macro, mn, m1
        printf "  #[tool] of async fn, in tools![]      %6.2f ms   (%s s less %s s)\n", async, an, a1
        printf "  #[tool], in vec![]                    %6.2f ms   (%s s less %s s)\n", list, ln, l1
        printf "  derive(Deserialize, JsonSchema), hand %6.2f ms   (%s s less %s s)\n", hand, hn, h1
        printf "  ratio %.2f, of async fn %.2f, without tools![] %.2f, goal 0.33\n", macro / hand, async / hand, list / hand
    }'
}

# clean_build <package>: user time of everything, from nothing.
clean_build() {
    cargo fetch --quiet --manifest-path "$work/$1/Cargo.toml"
    rm -rf "$CARGO_TARGET_DIR"
    { time cargo build --quiet --manifest-path "$work/$1/Cargo.toml" 2>/dev/null; } 2>&1
}

# crates <package>: how many crates it is built from, itself not counted.
crates() {
    cargo tree --quiet --manifest-path "$work/$1/Cargo.toml" -e "$2" --prefix none --no-dedupe |
        sed 's/ (\*)$//; s/ (proc-macro)$//' | sort -u | grep -vc "^$1 "
}

build() {
    manifest with_toolbox "$own"
    manifest with_serde "$third_party"
    echo >"$work/with_toolbox/src/lib.rs"
    echo >"$work/with_serde/src/lib.rs"
    local ours theirs
    ours=$(clean_build with_toolbox)
    theirs=$(clean_build with_serde)
    echo "clean build, default features"
    echo "  toolbox                      $(crates with_toolbox normal) crates ($(crates with_toolbox normal,build) with build scripts' own), $ours s of user time"
    echo "  serde, serde_json, schemars  $(crates with_serde normal) crates ($(crates with_serde normal,build) with build scripts' own), $theirs s of user time"
    awk -v ours="$ours" -v theirs="$theirs" 'BEGIN { printf "  ratio %.2f, goal 1.70; goal 30 crates\n", ours / theirs }'
}

# The crates that take a tenth of a second or more, in both builds.
split() {
    manifest with_toolbox "$own"
    manifest with_serde "$third_party"
    cat >"$work/timed" <<'SHELL'
#!/usr/bin/env bash
name=; for at in $(seq $#); do [ "${!at}" = --crate-name ] && next=$((at + 1)) && name=${!next}; done
TIMEFORMAT="%U %S $name"
{ time "$@" 2>&3; } 3>&2 2>>"$TIMES"
SHELL
    chmod +x "$work/timed"
    for package in with_serde with_toolbox; do
        echo >"$work/$package/src/lib.rs"
        export TIMES=$work/$package.times
        RUSTC_WRAPPER=$work/timed clean_build "$package" >/dev/null
        echo "$package"
        awk '{ cpu[$3] += $1 + $2; all += $1 + $2 } END {
            for (name in cpu) if (cpu[name] >= 0.1) printf "  %6.2f s  %s\n", cpu[name], name
            printf "  %6.2f s  all\n", all
        }' "$TIMES" | sort -rn
    done
}

# edit_seconds <package>: user time of a check and of a build after one body was edited, incremental, the least of three.
edit_seconds() {
    local manifest=$work/$1/Cargo.toml source=$work/$1/src/lib.rs
    for command in check build; do
        CARGO_INCREMENTAL=1 cargo $command --quiet --manifest-path "$manifest" 2>/dev/null
        for next in edited again query; do
            sed -i "0,/format!(\"{query} {limit:?} {exact}.*\")/s//format!(\"{query} {limit:?} {exact} $next\")/" "$source"
            { time CARGO_INCREMENTAL=1 cargo $command --quiet --manifest-path "$manifest" 2>/dev/null; } 2>&1
        done | sort -n | head -1
    done | tr '\n' ' '
}

# program_bytes <form> <count>: the size of a release program that holds so many tools.
program_bytes() {
    local name=$1_program_$2 dependencies=$third_party
    [ "$1" = hand ] || dependencies=$own
    manifest "$name" "$dependencies"
    "$1_tools" "$2" >"$work/$name/src/tools.rs"
    printf 'mod tools;\nfn main() { std::hint::black_box(tools::toolbox()); }\n' >"$work/$name/src/main.rs"
    cargo build --quiet --release --manifest-path "$work/$name/Cargo.toml" 2>/dev/null
    strip -o "$work/stripped" "$CARGO_TARGET_DIR/release/$name"
    stat -c %s "$work/stripped"
}

edit() {
    local count=${1:-300} form
    for form in macro hand; do
        local dependencies=$third_party
        [ "$form" = hand ] || dependencies=$own
        manifest "${form}_$count" "$dependencies"
        "${form}_tools" "$count" >"$work/${form}_$count/src/lib.rs"
        echo "one body of $count edited ($form): check and build, user time: $(edit_seconds "${form}_$count")"
    done
    for form in macro hand; do
        local one many
        one=$(program_bytes "$form" 1) many=$(program_bytes "$form" "$count")
        echo "release bytes of each further tool ($form): $(((many - one) / (count - 1)))"
    done
}

features() {
    local name dependencies
    while IFS='|' read -r name dependencies; do
        manifest "$name" "$dependencies"
        echo >"$work/$name/src/lib.rs"
        # Those that the workspace does not lock are resolved anew; rig asks for a newer compiler than builds it.
        cargo fetch --quiet --manifest-path "$work/$name/Cargo.toml" 2>/dev/null
        rm -rf "$CARGO_TARGET_DIR"
        local seconds
        seconds=$({ time cargo build --quiet --ignore-rust-version --manifest-path "$work/$name/Cargo.toml" 2>/dev/null; } 2>&1)
        printf '  %-34s %4s crates  %8s s\n' "$name" "$(crates "$name" normal)" "$seconds"
    done <<LIST
toolbox|$own
toolbox_agent_openai|llm-toolbox = { path = "$root/toolbox", features = ["agent", "openai"] }
toolbox_mcp_server|llm-toolbox = { path = "$root/toolbox", features = ["mcp-server"] }
toolbox_mcp|llm-toolbox = { path = "$root/toolbox", features = ["mcp"] }
toolbox_cli|llm-toolbox = { path = "$root/toolbox", features = ["cli"] }
rmcp_stdio_server|rmcp = { version = "=3.9.0", features = ["server", "macros", "transport-io"] }
rmcp_client_and_http_server|rmcp = { version = "=3.9.0", features = ["client", "server", "macros", "transport-io", "transport-child-process", "transport-streamable-http-client-reqwest", "transport-streamable-http-server"] }
rig_openai|rig-core = "=0.46.0"
LIST
}

case ${1:-all} in
    tools) tools "${2:-300}" ;;
    build) build ;;
    split) split ;;
    edit) edit "${2:-300}" ;;
    features) features ;;
    all) tools 300 && build ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
