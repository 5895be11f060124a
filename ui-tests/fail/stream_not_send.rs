use std::rc::Rc;

use futures_util::stream::{self, Stream, StreamExt as _};
use toolbox::tool;

/// Reads a log.
#[tool]
fn tail() -> impl Stream<Item = String> {
    let shared = Rc::new(String::new());
    stream::iter([1]).map(move |_| shared.to_string())
}

fn main() {}
