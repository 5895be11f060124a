use futures_util::stream::{self, Stream};
use toolbox::tool;

struct Line(u32);

struct Broken;

/// Reads a log.
#[tool]
fn tail() -> impl Stream<Item = Line> {
    stream::iter([Line(1)])
}

/// Reads a log.
#[tool]
fn follow() -> impl Stream<Item = Result<String, Broken>> {
    stream::iter([Err(Broken)])
}

/// Reads a log.
#[tool]
fn open() -> Result<impl Stream<Item = String>, Broken> {
    Ok(stream::iter([String::new()]))
}

fn main() {}
