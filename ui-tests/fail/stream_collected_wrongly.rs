use futures_util::stream::{self, Stream};
use toolbox::tool;

/// Reads a log.
#[tool(collect = "line")]
fn tail() -> impl Stream<Item = String> {
    stream::iter([String::new()])
}

/// Reads a log.
#[tool(collect = "fold")]
fn follow() -> impl Stream<Item = String> {
    stream::iter([String::new()])
}

/// Reads a log.
#[tool(collect = 7)]
fn number() -> impl Stream<Item = String> {
    stream::iter([String::new()])
}

/// Reads a log.
#[tool(collect = "all")]
fn list() -> Vec<String> {
    vec![]
}

/// Reads a log.
#[tool(collect = "all")]
fn nothing() {}

fn main() {}
