//! Sinks that are full, gone, slow or broken.

use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use toolbox::event::{EventKind, EventSink};
use toolbox::{ToolBox, ToolCall, tool, tools};

use super::Seen;
use support::{now, quietly};

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn adding(sinks: impl IntoIterator<Item = EventSink>) -> ToolBox {
    let builder = sinks.into_iter().fold(ToolBox::builder(), toolbox::ToolBoxBuilder::events);
    builder.tools(tools![add]).build().unwrap()
}

/// Calls once; without a runtime, and without ever waiting.
fn call(toolbox: &ToolBox) {
    let result = now(toolbox.call(ToolCall::new("c", "add", r#"{"a":2,"b":3}"#)));
    assert_eq!(result.text(), "5");
}

#[tokio::test]
async fn a_queue_that_nobody_reads_drops_and_counts() {
    let (sink, mut events) = EventSink::bounded(3);
    let toolbox = adding([sink.clone()]);
    (0..5).for_each(|_| call(&toolbox));
    assert_eq!((sink.dropped(), events.dropped()), (7, 7));
    // What it took is there, in order, and it takes more once there is room.
    let first: Vec<u64> =
        std::iter::from_fn(|| events.try_next()).map(|event| event.sequence).collect();
    assert!(first.len() == 3 && first.is_sorted());
    call(&toolbox);
    assert!(matches!(events.next().await.unwrap().kind, EventKind::ToolStarted { .. }));
    assert_eq!(sink.dropped(), 7);
}

#[tokio::test]
async fn a_queue_whose_receiver_is_gone_counts_every_event() {
    let (sink, events) = EventSink::bounded(100);
    let toolbox = adding([sink.clone()]);
    drop(events);
    call(&toolbox);
    assert_eq!(sink.dropped(), 2);
}

#[tokio::test]
async fn the_end_of_a_box_is_the_end_of_its_queue() {
    let (sink, mut events) = EventSink::bounded(100);
    let toolbox = adding([sink]);
    call(&toolbox);
    drop(toolbox);
    assert!(events.next().await.is_some() && events.next().await.is_some());
    assert!(events.next().await.is_none());
}

#[test]
fn a_sink_that_panics_loses_its_events_and_no_other_does() {
    quietly();
    let seen = Seen::default();
    let broken = EventSink::from_fn(|_| std::panic::panic_any("explicit panic"));
    let toolbox = adding([broken.clone(), seen.sink()]);
    call(&toolbox);
    assert_eq!((broken.dropped(), seen.words().len()), (2, 2));
}

#[test]
fn a_sink_that_is_reached_twice_hears_once() {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&count);
    let sink = EventSink::from_fn(move |_| {
        counter.fetch_add(1, SeqCst);
    });
    let toolbox = adding([sink.clone(), sink.clone().with_content()]);
    call(&toolbox);
    assert_eq!(count.load(SeqCst), 2);
}
