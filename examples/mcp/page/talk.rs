//! The model of the tab *Chat*: a script that does what the last message names.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use toolbox::agent::Agent;
use toolbox::durable::Journal;
use toolbox::model::{
    Delta, Deltas, Message, ModelError, ModelErrorKind, ModelRequest, ModelResponse, Part, Reply,
    Usage,
};
use toolbox::{BoxFuture, Model, ToolBox, ToolCall};

use crate::agents::prices;

/// Text that would be a script, if it were drawn as one.
const HOSTILE: &str = "<script>window.hacked = 1</script><img src=x onerror=\"window.hacked = 2\">\n\n\
    [a link](javascript:window.hacked=3) and **bold** \u{202e}turned\u{202c} text";

/// A call that runs a script, which waits for an approval.
const SCRIPT: &str = r#"{"script": "const sum = await tools.add({ a: 2, b: 3 });\nawait tools.pay({ cents: 5, to: 'Talia' });\nreturn sum;"}"#;

/// A model that plays a part by the last message of the user.
struct Talker;

/// Returns a call of the model, whose id no other call of the conversation has.
fn call(request: &ModelRequest, tool: &str, arguments: &str) -> Reply {
    let id = format!("talk_{}", request.history.messages().len());
    Reply::calls([ToolCall::new(id, tool, arguments)])
}

fn reply(request: &ModelRequest) -> Result<Reply, ModelError> {
    let text = request.history.last_user_text().unwrap_or_default().into_owned();
    let results: usize = match request.history.messages().last() {
        Some(Message::Step(step)) => step.results().len(),
        _ => 0,
    };
    let users = request.history.messages().iter().filter(|own| matches!(own, Message::User(_)));
    let words: Vec<&str> = text.split_whitespace().collect();
    Ok(match (words.as_slice(), results) {
        (["pay", cents, to], 0) => {
            call(request, "pay", &format!(r#"{{"cents": {cents}, "to": "{to}"}}"#))
        }
        (["book", restaurant], 0) => {
            call(request, "book", &format!(r#"{{"restaurant": "{restaurant}"}}"#))
        }
        (["picture"], 0) => call(request, "picture", "{}"),
        (["count"], 0) => call(request, "count_slowly", r#"{"steps": 20, "pause": 100}"#),
        (["unknown"], 0) => call(request, "no_such_tool", r#"{"a": 1}"#),
        (["garbage"], 0) => call(request, "add", r#"{"a": "many", "b"#),
        (["script"], 0) => call(request, "run_script", SCRIPT),
        (["editor"], 0) => call(request, "editor", r#"{"task": "Write"}"#),
        (["hostile"], _) => Reply::text(HOSTILE),
        (["key"], _) => {
            return Err(ModelError::new(ModelErrorKind::Unauthorized, "the key was refused"));
        }
        (["long"], _) => Reply::text("A line of **text** that goes on.\n\n".repeat(4000)),
        (_, 0) => Reply::new(vec![
            Part::Reasoning { text: "The user says something.".to_owned(), echo: None },
            Part::text(format!("You said *{text}*; messages of yours: {}.", users.count())),
        ]),
        _ => Reply::text("That is **done**."),
    })
}

impl Model for Talker {
    fn name(&self) -> &'static str {
        "scripted-talker"
    }

    fn respond<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: Deltas<'a>,
    ) -> BoxFuture<'a, Result<ModelResponse, ModelError>> {
        Box::pin(async move {
            let pause = || tokio::time::sleep(Duration::from_millis(30));
            let text = request.history.last_user_text().unwrap_or_default().into_owned();
            if text == "endless" {
                loop {
                    deltas.send(Delta::Text("and so on ".to_owned()));
                    pause().await;
                }
            }
            if text == "flaky" && !is_second() {
                return Err(ModelError::new(ModelErrorKind::RateLimited, "429, slow down"));
            }
            let reply = reply(request)?;
            for part in &reply.parts {
                match part {
                    Part::Text { text, .. } if text.len() < 1000 => {
                        for word in text.split_inclusive(' ') {
                            deltas.send(Delta::Text(word.to_owned()));
                            pause().await;
                        }
                    }
                    Part::Reasoning { text, .. } => deltas.send(Delta::Reasoning(text.clone())),
                    _ => {}
                }
            }
            Ok(ModelResponse::from(reply).with_usage(Usage::new(1000, 20)))
        })
    }
}

/// Returns `true` for every second request.
fn is_second() -> bool {
    static FAILED: AtomicBool = AtomicBool::new(false);
    FAILED.fetch_xor(true, Ordering::Relaxed)
}

/// Returns the agent of the page, whose spending a journal may count.
pub(crate) fn agent(
    toolbox: &ToolBox,
    journal: Option<&Journal>,
) -> Result<Agent, Box<dyn std::error::Error>> {
    let agent = Agent::builder(Talker).name("talker").prices(prices()).toolbox(toolbox.clone());
    let agent = match journal {
        Some(journal) => agent.spending_limits(journal.spending_limits()),
        None => agent,
    };
    Ok(agent.system("You are the model of an example.").build()?)
}
