//! What does the page show of a box with every kind of argument and result?
//!
//! It opens the page over tools of its own, and prints the link. `--tools NUMBER` adds that many
//! more, `--hostile` adds a server that means harm, `--journal` a journal in which two have spent,
//! `--http ADDRESS` and `--sessions FILE` are those of `toolbox page`.
//!
//! `cargo run -p toolbox-mcp-examples --example page`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::unnecessary_wraps,
    reason = "an example shows what it does"
)]

mod agents;
mod arguments;
mod hostile;
mod results;
mod talk;

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use toolbox::context::Principal;
use toolbox::durable::Journal;
use toolbox::event::EventSink;
use toolbox::page::{Inbox, Page};
use toolbox::{Tool, ToolBox, ToolContext};
use toolbox_script::{KeptPins, KeptScript, Scripts};

/// The words of the command line.
struct Wanted {
    http: String,
    sessions: Option<String>,
    tools: usize,
    hostile: bool,
    journal: bool,
    idle: Option<Duration>,
    token: Option<String>,
    host: Option<String>,
}

fn wanted() -> Wanted {
    let mut wanted = Wanted {
        http: "127.0.0.1:0".into(),
        sessions: None,
        tools: 0,
        hostile: false,
        journal: false,
        idle: None,
        token: None,
        host: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().unwrap_or_else(|| panic!("{word} takes a value"));
        match word.as_str() {
            "--http" => wanted.http = value(),
            "--sessions" => wanted.sessions = Some(value()),
            "--tools" => wanted.tools = value().parse().expect("a number of tools"),
            "--idle-ms" => {
                let time = value().parse().expect("a number of milliseconds");
                wanted.idle = Some(Duration::from_millis(time));
            }
            "--token" => wanted.token = Some(value()),
            "--host" => wanted.host = Some(value()),
            "--hostile" => wanted.hostile = true,
            "--journal" => wanted.journal = true,
            other => panic!("{other} is no option"),
        }
    }
    wanted
}

/// Returns a tool that only fills the list.
fn filler(number: usize) -> Tool {
    let verbs = ["list", "create", "delete", "update", "find", "merge", "export", "archive"];
    let nouns = ["issue", "invoice", "customer", "branch", "file", "ticket", "order", "report"];
    let (verb, noun) = (verbs[number % 8], nouns[number / 8 % 8]);
    let schema = json!({
        "type": "object",
        "properties": {"id": {"type": "integer", "description": "The number of it"}},
        "required": ["id"],
    });
    let description = format!("The {verb} of one {noun} in the system number {}", number / 64);
    Tool::from_map(
        format!("system{}_{verb}_{noun}", number / 64),
        description,
        schema,
        |arguments: &std::collections::HashMap<String, serde_json::Value>| {
            Ok::<_, String>(format!("{}", arguments["id"]))
        },
    )
    .with_tags([noun])
    .from_source(format!("system{}", number / 64))
}

/// Returns a tool that is a kept script.
fn kept(toolbox: &ToolBox, scripts: &Scripts) -> Result<Tool, Box<dyn std::error::Error>> {
    let schema = json!({
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    });
    let text = "const once = await tools.echo({ text: input.text });\n\
        return once + await tools.echo({ text: once });";
    let twice = KeptScript::new("twice", "Says a text twice", schema, ["echo"], text)?;
    let pins = KeptPins::of(&twice, toolbox)?;
    Ok(scripts.kept(&twice, pins)?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = wanted();
    let inbox = Inbox::new();
    let (sink, events) = EventSink::bounded(8192);
    let toolbox = ToolBox::builder()
        .tools(arguments::tools())
        .approver(inbox.clone())
        .asker(inbox.clone())
        .events(sink.with_content())
        .max_result_bytes(4 << 20)
        .build()?;
    toolbox.register(results::tools(&toolbox));
    toolbox.register(agents::tools(&toolbox)?);
    let scripts = Scripts::over(&toolbox);
    toolbox.register(kept(&toolbox, &scripts)?);
    toolbox.register(scripts);
    if wanted.hostile {
        toolbox.register(hostile::tools());
    }
    toolbox.register((0..wanted.tools).map(filler).collect::<Vec<_>>());

    let journal = wanted.journal.then(Journal::in_memory).transpose()?;
    let agent = talk::agent(&toolbox, journal.as_ref())?;
    let mut page =
        Page::new(toolbox).inbox(inbox).events(events).title("example").chat(agent.clone());
    if let Some(journal) = journal {
        for name in ["ada", "<img src=x onerror=\"window.hacked=1\">\u{202e}"] {
            let context = ToolContext::new().with(Principal::new(name));
            agent.run("Hello").in_context(context).await?;
        }
        page = page.journal(journal);
    }
    if let Some(file) = wanted.sessions {
        page = page.session_file(file);
    }
    if let Some(time) = wanted.idle {
        page = page.session_idle(time);
    }
    if let Some(token) = wanted.token {
        page = page.token(token);
    }
    if let Some(host) = wanted.host {
        page = page.allow_host(host);
    }
    let listener = tokio::net::TcpListener::bind(&wanted.http).await?;
    println!("{}", page.link(&format!("http://{}", listener.local_addr()?)));
    std::io::stdout().flush()?;
    page.serve(listener, async { drop(tokio::signal::ctrl_c().await) }).await?;
    Ok(())
}
