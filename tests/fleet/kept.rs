//! Large results of workers: the box of the caller keeps them, also if the workers' boxes keep results of their own.

use serde_json::json;
use toolbox::context::{Conversation, Principal, Taint};
use toolbox::durable::Journal;
use toolbox::fleet::Relay;
use toolbox::results::MemoryResults;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext};

use crate::bounded::tokio;
use support::fleet::{Server, Serving, within};

/// The program that runs on both sides.
fn program() -> ToolBox {
    let log = Tool::new("log", "Reads the log").call(|_| {
        (1..=60_000).fold(String::new(), |text, n| text + &format!("{n} line of a log\n"))
    });
    ToolBox::builder().tools([log.untrusted()]).keep_results(MemoryResults::new()).build().unwrap()
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn the_box_of_the_caller_keeps_what_a_worker_returns() {
    let server = Server::start();
    let _serving = Serving::of(server.worker().await.durable(), &program()).await;
    let toolbox = ToolBox::builder().keep_results(MemoryResults::new()).build().unwrap();
    let mounted = server.fleet().await.mount(&toolbox).await.unwrap();
    within(mounted.until_offered("log")).await;
    let journal = Journal::in_memory().unwrap();
    let relay = Relay::new(&mounted, &journal);
    let _relaying = tokio::spawn(async move { relay.run_until(std::future::pending()).await });

    let of = |user: &str| {
        ToolContext::new().with(Principal::new(user)).with(Conversation::new("test", "1"))
    };
    for (user, is_durable) in [("ada", false), ("bo", true)] {
        let context = of(user);
        let call = ToolCall::new("1", "log", "{}");
        let result = if is_durable {
            let accepted = within(toolbox.submit(&journal, &context, call)).await;
            let id = accepted.job().expect("a job").clone();
            within(journal.wait(&id)).await.unwrap().unwrap().result.unwrap()
        } else {
            within(toolbox.call_in(&context, call)).await
        };
        assert!(
            result.text().starts_with("[r1: text of 60000 lines"),
            "{user}: {:.300}",
            result.text()
        );
        for (reader, is_found) in [(user, true), ("eve", false)] {
            let taint = Taint::new();
            let context = of(reader).with(taint.clone());
            let read = json!({"handle": "r1", "lines": "31415"}).to_string();
            let read = ToolCall::new("2", "result_read", read);
            let read = within(toolbox.call_in(&context, read)).await;
            assert_eq!(read.text() == "31415 line of a log\n", is_found, "{reader}: {read:?}");
            assert_eq!(taint.is_tainted(), is_found, "{reader}: {read:?}");
        }
    }
}
