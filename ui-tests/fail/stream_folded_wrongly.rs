use futures_util::stream::{self, Stream};
use toolbox::tool;

#[derive(serde::Serialize)]
struct Sum(u64);

fn no_default(sum: Sum, item: &u64) -> Sum {
    Sum(sum.0 + item)
}

fn by_value(sum: u64, item: u64) -> u64 {
    sum + item
}

/// Sums up.
#[tool(collect = no_default)]
fn first() -> impl Stream<Item = u64> {
    stream::iter([1])
}

/// Sums up.
#[tool(collect = by_value)]
fn second() -> impl Stream<Item = u64> {
    stream::iter([1])
}

fn main() {}
