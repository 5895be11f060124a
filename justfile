# The commands of every day: `just` lists them. Each is one line, which can be typed as well.

# Lists the commands
default:
    @just --list

# Runs the tests of one wing: just test mcp NAME
test wing="core" *names:
    cargo test -q -p toolbox-tests-{{ wing }} {{ names }}

# Runs all tests
all:
    cargo test

# Formats the code
fmt:
    cargo fmt --all

# Runs the lints
lint:
    cargo clippy --workspace --all-targets -- -D warnings

# Builds the documentation of the crates
doc:
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps

# Builds the site from docs/
site:
    .ci/site

# Builds the page in the browser, and runs its flows
page *words:
    .ci/page {{ words }}

# Runs all that a change has to pass
change:
    .ci/run

# Runs parts of the heavier checks: just nightly features
nightly *parts:
    .ci/nightly {{ parts }}

# Checks a release, up to the upload
release:
    .ci/release
