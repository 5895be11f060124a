//! The tools that are served in the tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use toolbox::context::{Conversation, TraceContext};
use toolbox::mcp::{Caller, MissingCapability, Service};
use toolbox::{State, ToolBox, ToolContext, ToolResult, tool, tools};

/// Counts who is at work, and tells of each that begins and of each that ends.
#[derive(Clone)]
pub(super) struct Watch {
    at_work: Arc<AtomicUsize>,
    told: mpsc::UnboundedSender<&'static str>,
}

/// A handler at work: counted as long as it lives.
pub(super) struct AtWork(Watch);

impl Watch {
    pub(super) fn new() -> (Self, mpsc::UnboundedReceiver<&'static str>) {
        let (told, events) = mpsc::unbounded_channel();
        (Self { at_work: Arc::default(), told }, events)
    }

    pub(super) fn enter(&self) -> AtWork {
        self.at_work.fetch_add(1, Ordering::SeqCst);
        let _ = self.told.send("begins");
        AtWork(self.clone())
    }

    pub(super) fn at_work(&self) -> usize {
        self.at_work.load(Ordering::SeqCst)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::SeqCst);
        let _ = self.0.told.send("ends");
    }
}

/// Adds two numbers.
#[tool(read_only, title = "Adder")]
pub(super) fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Repeats a word.
#[tool]
pub(super) fn echo(word: &str) -> String {
    word.to_owned()
}

/// Panics.
#[tool]
pub(super) fn panics() -> String {
    panic!("on purpose")
}

/// Sleeps for some milliseconds.
#[tool]
pub(super) async fn sleep(ms: u64, watch: Option<State<Watch>>) -> String {
    let _at_work = watch.as_ref().map(|watch| watch.enter());
    tokio::time::sleep(Duration::from_millis(ms)).await;
    format!("slept {ms}")
}

/// Never ends by itself.
#[tool(timeout = "1h")]
pub(super) async fn hang(watch: Option<State<Watch>>) -> String {
    let _at_work = watch.as_ref().map(|watch| watch.enter());
    std::future::pending().await
}

/// Does not end in its time.
#[tool(timeout = "50ms")]
pub(super) async fn slow() -> String {
    std::future::pending().await
}

/// Says how far it is: backwards, not at all, and on.
#[tool]
pub(super) fn progress(context: &ToolContext) -> String {
    for done in [1.0, 0.5, f64::NAN, 1.0, 2.0] {
        context.report_progress(done, Some(2.0), "");
    }
    "done".into()
}

/// Says what it knows of its call.
#[tool]
pub(super) fn whoami(context: &ToolContext, caller: Caller, trace: Option<TraceContext>) -> String {
    let place = context.get::<Conversation>().map(|place| place.channel.clone());
    format!(
        "{} {} {} depth {} trace {} at {}",
        caller.name(),
        caller.protocol(),
        caller.supports("sampling"),
        context.depth(),
        trace.map_or_else(|| "none".to_owned(), |trace| trace.traceparent),
        place.as_deref().unwrap_or("nowhere"),
    )
}

/// Needs a client that can do more.
#[tool]
pub(super) fn demanding(caller: Caller) -> Result<String, MissingCapability> {
    caller.require("elicitation.url")?;
    Ok("asked".into())
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Hit {
    title: String,
}

/// Finds one.
#[tool]
pub(super) fn find_one(title: String) -> Hit {
    Hit { title }
}

/// Finds many.
#[tool]
pub(super) fn find_many(titles: Vec<String>) -> Vec<Hit> {
    titles.into_iter().map(|title| Hit { title }).collect()
}

/// Finds nothing.
#[tool]
pub(super) fn find_none() -> Result<Hit, String> {
    Err("nothing is there".into())
}

/// Has a text for the user as well.
#[tool]
pub(super) fn for_two() -> ToolResult {
    ToolResult::new("for the model").with_user_text("for the user")
}

/// Has nothing for the user.
#[tool]
pub(super) fn hushed() -> ToolResult {
    ToolResult::silent("for the model alone")
}

#[derive(Deserialize, JsonSchema)]
pub(super) struct Place {
    /// Where to look.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// Looks somewhere.
#[tool]
pub(super) fn look(#[arg(flatten)] place: Place) -> String {
    format!("looked in {}", place.region)
}

pub(super) fn all() -> ToolBox {
    ToolBox::from(tools![
        add, echo, panics, sleep, hang, slow, progress, whoami, demanding, find_one, find_many,
        find_none, for_two, hushed, look,
    ])
}

pub(super) fn service() -> Service {
    Service::new(all())
}

/// Returns a box whose tools that wait are counted.
pub(super) fn watched() -> (ToolBox, Watch, mpsc::UnboundedReceiver<&'static str>) {
    let (watch, events) = Watch::new();
    let builder = ToolBox::builder().tools(tools![add, sleep, hang]).state(watch.clone());
    (builder.build().unwrap(), watch, events)
}

/// Keeps the panics that a test makes on purpose out of its output.
pub(super) fn quietly() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>() != Some(&"on purpose") {
                before(info);
            }
        }));
    });
}
