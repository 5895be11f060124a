//! Calls of streams whose pieces are not what they should be, through an agent: what runs, how
//! often, and with what.

use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::Tool;
use toolbox::agent::{Agent, RunErrorKind};
use toolbox::call::Arguments;
use toolbox::model::ModelErrorKind;

use super::server::{Server, events};

/// A reply by its name and the pieces of its calls, and the tools that run with their arguments;
/// `None` if the reply is refused.
type PieceCase = (&'static str, Vec<Value>, Option<&'static [&'static str]>);

#[tokio::test]
async fn what_runs_is_what_was_called() {
    let piece =
        |name: &str, arguments: &str| json!({"function": {"name": name, "arguments": arguments}});
    let at_zero = |name: &str, arguments: &str| json!({"index": 0, "id": "", "function": {"name": name, "arguments": arguments}});
    let tmp = r#"{"filter":"*.tmp"}"#;
    let cases: [PieceCase; 6] = [
        (
            "one call, its name in each piece, the arguments after it",
            vec![piece("wipe", ""), piece("wipe", tmp)],
            None,
        ),
        (
            "the same, with the arguments from the first piece on",
            vec![piece("wipe", r#"{"filter":"#), piece("wipe", r#""*.tmp"}"#)],
            Some(&[r#"wipe {"filter":"*.tmp"}"#]),
        ),
        (
            "two calls at one index, the first without arguments",
            vec![at_zero("wipe", ""), at_zero("list", tmp)],
            Some(&["wipe {}", r#"list {"filter":"*.tmp"}"#]),
        ),
        (
            "two whole calls at one index",
            vec![at_zero("wipe", tmp), at_zero("list", "{}")],
            Some(&[r#"wipe {"filter":"*.tmp"}"#, "list {}"]),
        ),
        (
            "two whole calls of one tool at one index",
            vec![at_zero("wipe", tmp), at_zero("wipe", r#"{"filter":"*.log"}"#)],
            Some(&[r#"wipe {"filter":"*.tmp"}"#, r#"wipe {"filter":"*.log"}"#]),
        ),
        ("a call that was sent twice", vec![at_zero("wipe", tmp), at_zero("wipe", tmp)], None),
    ];
    for (case, pieces, expected) in cases {
        let mut chunks: Vec<Value> = pieces
            .iter()
            .map(|piece| json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]}))
            .collect();
        chunks.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}));
        let text = |chunks: &[Value]| {
            let lines: Vec<String> =
                chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
            lines.concat() + "data: [DONE]\n\n"
        };
        let done = json!({"choices": [{"index": 0, "delta": {"content": "done"}, "finish_reason": "stop"}]});
        for is_watched in [false, true] {
            let server =
                Server::start([events(&text(&chunks)), events(&text(std::slice::from_ref(&done)))])
                    .await;
            let ran = Arc::new(Mutex::new(Vec::new()));
            let tool = |name: &'static str| {
                let ran = Arc::clone(&ran);
                let schema = json!({"type": "object", "properties": {"filter": {"type": "string"}},
                    "additionalProperties": false});
                Tool::raw(name, "Works on files", schema, move |arguments: Arguments| {
                    ran.lock().unwrap().push(format!("{name} {arguments}").trim().to_owned());
                    async { "done" }
                })
            };
            let model = super::model(&server).retries(0);
            let agent =
                Agent::builder(model).tools(vec![tool("wipe"), tool("list")]).build().unwrap();
            let run = agent.run("clean up");
            let outcome = if is_watched { run.on_event(|_| {}).await } else { run.await };
            let mut ran = ran.lock().unwrap().clone();
            // Calls of one reply run at once.
            ran.sort_unstable();
            let mut right = expected.unwrap_or_default().to_vec();
            right.sort_unstable();
            assert_eq!(ran, right, "{case}");
            match outcome {
                Ok(outcome) => assert_eq!(
                    (outcome.content.as_str(), expected.is_some()),
                    ("done", true),
                    "{case}"
                ),
                Err(error) => {
                    assert!(expected.is_none(), "{case}: {error}");
                    let RunErrorKind::Model(model) = &error.kind else { panic!("{case}: {error}") };
                    assert_eq!(model.kind(), ModelErrorKind::InvalidResponse, "{case}");
                }
            }
        }
    }
}
