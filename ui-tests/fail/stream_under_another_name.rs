use futures_util::stream::{self, BoxStream, StreamExt as _};
use toolbox::tool;

type Lines = BoxStream<'static, String>;

/// Reads a log.
#[tool]
fn tail() -> Lines {
    stream::iter([String::new()]).boxed()
}

fn main() {}
