//! Tools with every kind of result, slow ones, and those that need a person.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::{Arguments, Media, ResourceLink};
use toolbox::context::AskError;
use toolbox::{Content, Tool, ToolBox, ToolCall, ToolContext, tool, tools};

/// Counts slowly, with progress; a call can be cancelled.
#[tool(read_only, timeout = "5m", tags("slow"))]
async fn count_slowly(
    /// The number to count to
    #[arg(default = 10, range = 1..=1000)]
    steps: u32,
    /// Milliseconds for each
    #[arg(default = 200, range = 0..=10_000)]
    pause: u64,
    context: &ToolContext,
) -> String {
    for step in 1..=steps {
        tokio::time::sleep(Duration::from_millis(pause)).await;
        context.report_progress(f64::from(step), Some(f64::from(steps)), format!("step {step}"));
    }
    format!("counted to {steps}")
}

/// Returns a text of any length.
#[tool(read_only, tags("large"))]
fn large(
    /// Its length in bytes
    #[arg(default = 1_000_000, range = 0..=4_000_000)]
    bytes: usize,
) -> String {
    let line = "The quick brown fox jumps over the lazy dog. 0123456789\n";
    line.repeat(bytes / line.len() + 1)[..bytes].to_owned()
}

/// Returns rows.
#[tool(read_only, tags("large"))]
fn rows(
    /// The number of rows
    #[arg(default = 5, range = 0..=20_000)]
    count: u32,
) -> Value {
    let row =
        |at: u32| json!({"id": at, "name": format!("row {at}"), "even": at.is_multiple_of(2)});
    (0..count).map(row).collect()
}

/// Draws a picture of one color.
#[tool(read_only, tags("parts"))]
fn picture() -> Content {
    // Eight by eight pixels.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR4nGNgaHDAioaSBABeyC8BjNOxQwAAAABJRU5ErkJggg==";
    Content::Image(Box::new(Media::from_base64(PNG, "image/png").expect("it is base64")))
}

/// Returns links: to the web, and to elsewhere.
#[tool(read_only, tags("parts"))]
fn links() -> Vec<Content> {
    vec![
        Content::text("Three links:"),
        Content::ResourceLink(Box::new(ResourceLink::new("https://example.com/a?b=c", "a page"))),
        Content::ResourceLink(Box::new(ResourceLink::new("file:///etc/passwd", "a file"))),
        Content::ResourceLink(Box::new(ResourceLink::new("javascript:alert(1)", "a script"))),
    ]
}

/// Fails with a reason.
#[tool(tags("failing"))]
fn fails(
    /// The reason
    #[arg(default = "the disk is full")]
    reason: &str,
) -> Result<String, String> {
    Err(reason.to_owned())
}

/// Panics.
#[tool(tags("failing"))]
fn panics() -> String {
    panic!("it was meant to")
}

/// Pays an amount, once a person approves.
#[tool(approval, destructive, tags("asking"))]
fn pay(
    /// The amount in cents
    #[arg(range = 1..=100_000)]
    cents: u64,
    /// The receiver
    to: &str,
) -> String {
    format!("paid {cents} to {to}")
}

/// A table in a restaurant.
#[derive(Debug, Deserialize, JsonSchema)]
struct Seats {
    /// The number of people
    people: u8,
    /// Outside, if it does not rain
    outside: bool,
}

/// Books a table, and asks for how many.
#[tool(timeout = "5m", tags("asking"))]
async fn book(
    /// The restaurant
    restaurant: &str,
    context: &ToolContext,
) -> Result<String, AskError> {
    let seats = context.ask::<Seats>(format!("A table at {restaurant}: for how many?")).await?;
    let place = if seats.outside { "outside" } else { "inside" };
    Ok(format!("booked {restaurant} for {} {place}", seats.people))
}

/// A visit, as its guest wants it.
#[derive(Debug, Deserialize, JsonSchema, serde::Serialize)]
struct Visit {
    /// The day
    #[schemars(extend("format" = "date"))]
    day: String,
    /// The beginning
    #[schemars(extend("format" = "date-time"))]
    begins: Option<String>,
    /// The number of guests
    #[schemars(range(min = 1, max = 8))]
    guests: u8,
    /// The reason, in a few words
    #[schemars(length(min = 3))]
    reason: String,
}

/// Plans a visit, and asks when.
#[tool(timeout = "5m", tags("asking"))]
async fn plan_visit(
    /// The place
    place: &str,
    context: &ToolContext,
) -> Result<Value, AskError> {
    let visit = context.ask::<Visit>(format!("A visit to {place}: when?")).await?;
    Ok(json!(visit))
}

/// Returns the tools of this module; two of them call others of the box.
pub(crate) fn tools(toolbox: &ToolBox) -> Vec<Tool> {
    let mut all =
        tools![count_slowly, large, rows, picture, links, fails, panics, pay, book, plan_visit];
    let calls = toolbox.clone();
    let schema = json!({
        "type": "object",
        "properties": {
            "calls": {"type": "integer", "minimum": 1, "maximum": 100_000, "description": "The number of calls"},
            "per_second": {"type": "integer", "minimum": 1, "maximum": 10_000, "description": "Calls a second"},
        },
        "required": ["calls", "per_second"],
    });
    let traffic = Tool::raw(
        "traffic",
        "Makes calls of `add`, so many a second, and returns at once",
        schema,
        move |arguments: Arguments| {
            let calls = calls.clone();
            async move {
                let arguments: Value = arguments.parse()?;
                let number = arguments["calls"].as_u64().unwrap_or(1);
                let pause =
                    Duration::from_secs_f64(1.0 / arguments["per_second"].as_f64().unwrap_or(1.0));
                tokio::spawn(async move {
                    let mut clock = tokio::time::interval(pause);
                    for at in 0..number {
                        clock.tick().await;
                        let call =
                            ToolCall::new(format!("traffic-{at}"), "add", json!({"a": at, "b": 1}));
                        calls.call(call).await;
                    }
                });
                Ok::<_, serde_json::Error>(format!("{number} calls begin"))
            }
        },
    );
    let pays = toolbox.clone();
    let schema = json!({
        "type": "object",
        "properties": {"times": {"type": "integer", "minimum": 1, "maximum": 20, "description": "The number of payments"}},
        "required": ["times"],
    });
    let invoices = Tool::raw(
        "invoices",
        "Begins payments that wait for approval, and returns at once",
        schema,
        move |arguments: Arguments| {
            let pays = pays.clone();
            async move {
                let arguments: Value = arguments.parse()?;
                let times = arguments["times"].as_u64().unwrap_or(1);
                for at in 1..=times {
                    let pays = pays.clone();
                    tokio::spawn(async move {
                        let arguments = json!({"cents": at * 100, "to": format!("customer {at}")});
                        pays.call(ToolCall::new(format!("invoice-{at}"), "pay", arguments)).await
                    });
                }
                Ok::<_, serde_json::Error>(format!("{times} payments wait"))
            }
        },
    );
    all.extend([traffic.with_tags(["slow"]), invoices.with_tags(["asking"])]);
    all
}
