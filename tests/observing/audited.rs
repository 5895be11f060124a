//! A box whose calls are recorded, for the tests and for the programs that they kill.

#![allow(clippy::print_stdout, reason = "the tests read what it prints")]

use std::path::Path;

use toolbox::audit::AuditLog;
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::{Tool, ToolBox, ToolCall};

pub(crate) fn login() -> Tool {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"user": {"type": "string"}, "pin": {"type": "string", "writeOnly": true}},
    });
    Tool::raw("login", "Signs in.", schema, |_: toolbox::call::Arguments| "signed in")
}

pub(crate) fn boxed(log: &AuditLog) -> ToolBox {
    let ping = Tool::new("ping", "Answers.").call(|_| "pong");
    let pay = Tool::new("pay", "Pays.").call(|_| "paid").needs_approval();
    let fails = Tool::new("fails", "Fails.").call(|_| Err::<String, _>("no"));
    ToolBox::builder()
        .tools(vec![ping, pay, fails, login()])
        .approver(|_: ApprovalRequest| async { Decision::Deny("not today".into()) })
        .audit(log)
        .build()
        .unwrap()
}

/// Makes calls without end, and prints the number of each result.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn writes_for_ever() {
    let folder = std::env::args_os().nth(1).expect("a folder");
    let path = Path::new(&folder).join("audit.jsonl");
    let log = AuditLog::builder(path).synchronous(true).max_bytes(1500).open().unwrap();
    let toolbox = boxed(&log);
    for call in 0_u64.. {
        assert!(!toolbox.call(ToolCall::new("c", "ping", "{}")).await.is_error());
        println!("handed on {call}");
    }
}

/// Makes calls where files may hold only so much.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn writes_to_a_full_disk() {
    let folder = std::env::args_os().nth(1).expect("a folder");
    let open = |name: &str, synchronous| {
        let path = Path::new(&folder).join(name);
        AuditLog::builder(path).synchronous(synchronous).open().unwrap()
    };
    let log = open("waits.jsonl", true);
    let toolbox = boxed(&log);
    let mut results = Vec::new();
    for _ in 0..10 {
        results.push(toolbox.call(ToolCall::new("c", "ping", "{}")).await);
    }
    let last = results.last().unwrap();
    assert_eq!(last.code(), Some("audit.not_recorded"));
    assert!(last.text().contains("is withheld"), "{}", last.text());
    assert!(!results[0].is_error());
    let refused = toolbox.call(ToolCall::new("c", "none", "{}")).await;
    assert_eq!(refused.code(), Some("audit.not_recorded"));
    let undecided = toolbox.call(ToolCall::new("c", "pay", "{}")).await;
    assert!(undecided.text().contains("has not run") || undecided.is_error());

    let log = open("drops.jsonl", false);
    let toolbox = boxed(&log);
    for _ in 0..10 {
        assert!(!toolbox.call(ToolCall::new("c", "ping", "{}")).await.is_error());
    }
    log.flush().await.unwrap();
    assert!(log.dropped() > 4);
    println!("all done");
}
