//! A program over a box of its own: commands, and an MCP server that behaves.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]
#![allow(clippy::print_stderr, reason = "it tells a test that it waits")]

use std::process::ExitCode;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt as _};
use toolbox::call::Arguments;
use toolbox::prompt::PromptMessage;
use toolbox::{
    Content, Tool, ToolBox, ToolContext, ToolResult, prompt, prompts, resource, resources, tool,
    tools,
};

/// Get current time in a specific timezone
#[tool(read_only)]
fn get_current_time(
    /// IANA timezone name (e.g., 'America/New_York')
    timezone: &str,
) -> serde_json::Value {
    serde_json::json!({"time": "2026-01-07T02:15:00+09:00", "timezone": timezone})
}

/// Adds numbers and labels the sum.
#[tool(read_only, idempotent, example(numbers = vec![1, 2], label = Some("three")))]
fn sum(
    /// What is added
    numbers: Vec<i64>,
    /// What stands before the sum
    label: Option<&str>,
    /// Whether the sum is negated
    #[arg(default = false)]
    negate: bool,
) -> String {
    let sum: i64 = numbers.iter().sum();
    format!(
        "{}{}",
        label.map(|label| format!("{label}: ")).unwrap_or_default(),
        if negate { -sum } else { sum }
    )
}

/// Deletes everything there is.
#[tool(destructive, approval)]
fn wipe() -> &'static str {
    if let Some(path) = std::env::var_os("WIPED") {
        let _ = std::fs::write(path, "wiped");
    }
    "wiped"
}

/// Fails with a reason.
#[tool]
fn fail() -> Result<(), String> {
    Err("the disk is \u{1b}[31mfull\u{1b}[0m".to_owned())
}

/// Waits for ever, and says so.
#[tool(timeout = "60s")]
async fn wait(context: &ToolContext) {
    context.report_progress(1.0, Some(2.0), "half-way");
    eprintln!("waiting");
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

/// Draws a dot, and says where.
#[tool]
fn draw() -> ToolResult {
    vec![Content::text("a dot"), Content::image(b"\x89PNG", "image/png")].into()
}

/// Writes a variable of the environment, or nothing.
#[tool]
fn variable(
    /// Its name
    name: &str,
) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Writes many lines.
#[tool]
fn lines() -> String {
    "a line\n".repeat(20_000)
}

/// Runs a command. Only there with the variable `SHELL_TOOL`.
#[tool(destructive)]
fn shell_exec(
    /// The command
    command: &str,
) -> String {
    command.to_owned()
}

/// Sends money. Only there with the variable TRANSFERS, since the other tests count the tools.
#[tool(approval)]
fn transfer(
    /// The amount in cents
    #[arg(range = 1..=100_000)]
    cents: u64,
    /// The recipient
    to: &str,
) -> String {
    format!("sent {cents} to {to}")
}

/// Returns many parts.
#[tool]
fn album(
    /// The part to leave out
    without: Option<&str>,
) -> Vec<Content> {
    let parts = [
        ("text", Content::text("two pictures")),
        ("image", Content::image(b"\x89PNG", "image/png")),
        ("audio", Content::audio(b"RIFF\0", "audio/wav")),
        ("document", Content::resource_bytes("a://b", "application/pdf", b"%")),
        ("link", Content::resource_link("a://c", "the rest")),
    ];
    parts.into_iter().filter(|(kind, _)| Some(*kind) != without).map(|(_, part)| part).collect()
}

/// Returns parts that are no file.
#[tool]
fn links(
    /// Their number
    count: usize,
) -> Vec<Content> {
    (0..count).map(|at| Content::resource_link(format!("a://{at}"), "one")).collect()
}

/// Writes a text of 5 MB, which ends in a line of its own.
#[tool]
fn long() -> String {
    "0123456789".repeat(500_000) + "\nend"
}

/// Takes arguments as a server of another author might describe them.
fn described() -> Tool {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {
            "day": {"type": "string", "format": "date", "description": "The day\u{1b}[31m", "examples": ["2026-01-31"]},
            "seats": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
            "tags": {"type": "array", "items": {"enum": ["a b", "c", 3]}, "minItems": 1, "uniqueItems": true},
            "to": {"$ref": "#/$defs/Place"},
            "by": {"anyOf": [
                {"type": "object", "properties": {"email": {"type": "string", "maxLength": 80}}, "required": ["email"]},
                {"type": "object", "properties": {"phone": {"type": "string", "pattern": "^[0-9]+$"}}},
                {"type": "null"}
            ]},
            "rest": {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}
        },
        "required": ["day", "to"],
        "$defs": {"Place": {
            "type": "object",
            "properties": {"town": {"type": "string"}, "near": {"$ref": "#/$defs/Place"}},
            "required": ["town"]
        }}
    });
    Tool::raw("book", "Books a table.", schema, |_: Arguments| "booked")
}

/// Counts, and waits before the end where it is told to.
#[tool]
fn ticks(
    to: u32,
    waits: Option<bool>,
    fails: Option<bool>,
) -> impl Stream<Item = Result<u32, String>> {
    let waits = waits == Some(true);
    let end = stream::iter((fails == Some(true)).then(|| Err("it broke".to_owned())));
    stream::iter(0..to).map(Ok).chain(end).chain(
        stream::once(async move {
            if waits {
                tokio::time::sleep(Duration::from_secs(3600)).await;
            }
        })
        .filter_map(|()| std::future::ready(None)),
    )
}

fn never(_: &ToolContext) -> bool {
    false
}

/// Says a secret. No command knows of it.
#[tool(available = never)]
fn secret() -> &'static str {
    "hush"
}

/// Draws a picture of 1 MB.
#[tool]
fn large() -> Content {
    Content::image(vec![7_u8; 1_000_000], "image/png")
}

/// Seeks a word. Only there with the variable RENAMED.
#[tool(replaces = ["look", "find"], version = "2")]
fn seek(word: &str) -> String {
    format!("found {word}")
}

/// Glances at a word.
#[tool]
#[deprecated(note = "use `seek`")]
fn glance(#[deprecated] word: Option<&str>) -> String {
    format!("saw {word:?}")
}

/// Asks for a number of lines.
#[prompt(title = "Lines")]
fn ask_for(
    /// The number of lines
    number: u32,
    /// The language
    language: Option<&str>,
) -> Vec<PromptMessage> {
    let text = format!("Write {number} lines in {}.", language.unwrap_or("English"));
    vec![PromptMessage::user(text), PromptMessage::assistant("Gladly.")]
}

/// The version of the program.
#[resource("own://version")]
fn own_version() -> &'static str {
    "1.2.3"
}

/// A text of 9 MB.
#[resource("own://large")]
fn own_large() -> String {
    "x".repeat(9_000_000)
}

/// A picture by its name.
#[resource("own://pictures/{name}", mime_type = "image/png")]
fn picture(name: &str) -> Option<Vec<u8>> {
    (name == "dot").then(|| b"\x89PNG".to_vec())
}

pub(crate) fn main() -> ExitCode {
    let toolbox = ToolBox::from(tools![
        get_current_time,
        sum,
        wipe,
        fail,
        wait,
        draw,
        variable,
        lines,
        secret
    ]);
    if let Some(count) =
        std::env::var("MORE_TOOLS").ok().and_then(|count| count.parse::<u32>().ok())
    {
        let more = (0..count).map(|at| {
            Tool::new(
                format!("spare_{at}"),
                format!("Keeps the spare part number {at} in its drawer."),
            )
            .call(|_| "done")
        });
        toolbox.register(more.collect::<Vec<_>>());
    }
    if std::env::var_os("PARTS").is_some() {
        toolbox.register(tools![album, links, long, large, ticks]);
        toolbox.register(described());
        toolbox.prompts().register(prompts![ask_for]);
        toolbox.resources().register(resources![own_version, own_large, picture]);
    }
    if std::env::var_os("RENAMED").is_some() {
        toolbox.register(tools![seek, glance]);
    }
    if std::env::var_os("SHELL_TOOL").is_some() {
        toolbox.register(tools![shell_exec]);
    }
    if std::env::var_os("TRANSFERS").is_some() {
        toolbox.register(tools![transfer]);
    }
    // Only with the variable VERSION, as its author would give it.
    match std::env::var("VERSION") {
        Ok(version) => {
            let name = std::env::var("NAME").unwrap_or_else(|_| "sums".to_owned());
            toolbox::cli::main_as(toolbox, (name, version))
        }
        Err(_) => toolbox::cli::main(toolbox),
    }
}
