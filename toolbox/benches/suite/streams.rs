//! What an item of a tool that streams costs, where nobody listens: calls of one item and of many, beside the stream
//! alone.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::Stream;
use toolbox::{ToolBox, tool, tools};

use super::{answer, call};
use crate::harness::Suite;

/// The items of the long call: fewer than those after which a call lets others run.
const ITEMS: u64 = 31;

/// Counts down, and is never pending.
struct Down(u64);

impl Stream for Down {
    type Item = u64;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u64>> {
        let left = self.0.checked_sub(1);
        self.0 = left.unwrap_or_default();
        Poll::Ready(left)
    }
}

/// Counts down, and returns the last number.
#[tool(collect = "last")]
fn last(from: u64) -> impl Stream<Item = u64> {
    Down(from)
}

/// Counts down, and returns all numbers.
#[tool]
fn all(from: u64) -> impl Stream<Item = u64> {
    Down(from)
}

fn add_one(sum: u64, item: &u64) -> u64 {
    sum + item
}

/// Counts down, and returns the sum.
#[tool(collect = add_one)]
fn sum(from: u64) -> impl Stream<Item = u64> {
    Down(from)
}

pub fn add(suite: &mut Suite) {
    let poll_all = |mut stream: Down| {
        let mut context = Context::from_waker(std::task::Waker::noop());
        while let Poll::Ready(Some(item)) = Pin::new(&mut stream).poll_next(&mut context) {
            std::hint::black_box(item);
        }
    };
    suite.case(format!("stream of {ITEMS}/polled alone"), 16, || Down(ITEMS), poll_all);
    for name in ["last", "all", "sum"] {
        for items in [1, ITEMS] {
            let toolbox = ToolBox::from(tools![last, all, sum]);
            let arguments = format!(r#"{{"from":{items}}}"#);
            let make = move || call(name, &arguments);
            let run = move |call| answer(&toolbox, call);
            suite.case(format!("stream of {items}/{name}"), 16, make, run);
        }
    }
}
