//! Random conversations: whatever the model and the calls do, each request keeps the rules of every
//! service, and each call is answered once, in order.

use std::collections::HashSet;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use toolbox::agent::{Agent, JobPolicy, RunErrorKind};
use toolbox::context::{ApprovalRequest, CancellationToken, Decision};
use toolbox::model::{Finish, History, ModelErrorKind, Part, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall};

use crate::dispatch::handlers::waits;
use crate::support::{quietly, says};
use crate::wire::keeps_the_rules_everywhere;

/// A turn of the model.
#[derive(Debug, Clone)]
enum Turn {
    Says { text: &'static str, calls: Vec<Call>, finish: Option<Finish> },
    Fails,
    Panics,
}

#[derive(Debug, Clone)]
struct Call {
    id: &'static str,
    name: &'static str,
    arguments: &'static str,
}

fn call() -> impl Strategy<Value = Call> {
    let ids = vec!["a", "a", "b", "", "c d", "ünï"];
    let names = vec![
        "fine",
        "fine",
        "fails",
        "panics",
        "slow",
        "hangs",
        "cancels",
        "job",
        "asks",
        "forbidden",
        "none",
        "Fine",
        "child",
        "no such\ntool",
        "",
        "web.search",
    ];
    let arguments = vec![
        "{}",
        "",
        "null",
        r#"{"task":"go"}"#,
        r#"{"task":"#,
        "[]",
        "nonsense",
        r#"{"n":1,"n":2}"#,
        r#"{"n":1e999}"#,
        "\"{}\"",
        "{}{}",
        "\u{0}",
    ];
    let pick = prop::sample::select::<&'static str>;
    (pick(ids), pick(names), pick(arguments)).prop_map(|(id, name, arguments)| Call {
        id,
        name,
        arguments,
    })
}

fn turn() -> impl Strategy<Value = Turn> {
    let finish = prop::sample::select(vec![
        Finish::Length,
        Finish::Refusal,
        Finish::Pause,
        Finish::MalformedCall,
        Finish::Other("odd".into()),
    ]);
    let text = prop::sample::select(vec!["", " ", "Well."]);
    let says = (text, vec(call(), 0..5), prop::option::weighted(0.2, finish))
        .prop_map(|(text, calls, finish)| Turn::Says { text, calls, finish });
    prop_oneof![30 => says, 1 => Just(Turn::Fails), 1 => Just(Turn::Panics)]
}

fn script(turns: &[Turn]) -> ScriptedModel {
    turns.iter().fold(ScriptedModel::new(), |model, turn| match turn.clone() {
        Turn::Says { text, calls, finish } => {
            let calls = calls.iter().map(|call| ToolCall::new(call.id, call.name, call.arguments));
            let parts = std::iter::once(Part::text(text)).chain(calls.map(Part::call));
            let reply = Reply::new(parts.collect());
            let model = model.reply(reply).after(Duration::from_millis(70));
            match finish {
                Some(finish) => model.finishing(finish),
                None => model,
            }
        }
        Turn::Fails => model.error(ModelErrorKind::Unavailable, "overloaded"),
        Turn::Panics => model.respond(|_| std::panic::panic_any("explicit panic")),
    })
}

fn tools(token: &CancellationToken, cancels: bool) -> Vec<Tool> {
    let token = token.clone();
    let child =
        Agent::builder(ScriptedModel::new().calls("forbidden", "{}").text("done").forever());
    let child = child.tools(says("forbidden", "ran")).build().unwrap();
    let sleeps = |name: &str, seconds: u64| {
        waits(name, move |_| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            "late".to_owned()
        })
    };
    vec![
        says("fine", "fine"),
        says("forbidden", "ran"),
        says("web.search", "hits"),
        Tool::new("fails", "d").call(|_| Err::<String, _>("no")),
        Tool::new("panics", "d").call(|_| -> String { std::panic::panic_any("explicit panic") }),
        sleeps("slow", 5),
        sleeps("hangs", 100_000),
        sleeps("job", 1).background(),
        Tool::new("cancels", "d").call(move |_| {
            if cancels {
                token.cancel();
            }
            "cancelled"
        }),
        says("asks", "asked").with_approver(|request: ApprovalRequest| async move {
            match request.arguments.as_str() {
                "{}" => Decision::Approve,
                "" => Decision::Edit("{}".into()),
                _ => Decision::Deny("no".into()),
            }
        }),
        child.as_tool("child", "d"),
    ]
}

/// Each call has one result, under its id, and no id stands twice.
fn is_answered(history: &History) -> Result<(), TestCaseError> {
    let mut ids = HashSet::new();
    for step in history.steps() {
        prop_assert_eq!(step.reply().tool_calls().count(), step.results().len());
        for (call, result) in step.calls() {
            prop_assert_eq!(&call.id, result.call_id());
            prop_assert!(ids.insert(call.id.clone()), "{} stands twice", call.id);
            prop_assert!(call.name != "forbidden" || result.is_error());
        }
    }
    Ok(())
}

async fn run(
    turns: &[Turn],
    parallel: bool,
    cancels: bool,
    jobs: JobPolicy,
) -> Result<(), TestCaseError> {
    let token = CancellationToken::new();
    let model = script(turns);
    let toolbox = ToolBox::builder()
        .tools(tools(&token, cancels))
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap();
    let agent = Agent::builder(model.clone())
        .toolbox(toolbox)
        .blacklist_tool("forbidden")
        .parallel_tools(parallel)
        .max_iterations(8)
        .jobs(jobs)
        .build()
        .unwrap();
    let history = match agent.run("go").with_cancellation(token).await {
        Ok(outcome) => outcome.history,
        Err(error) => {
            prop_assert!(matches!(error.kind, RunErrorKind::Model(_)), "{}", error);
            error.history
        }
    };
    is_answered(&history)?;
    keeps_the_rules_everywhere(&history);
    for request in model.requests() {
        is_answered(&request.history)?;
        keeps_the_rules_everywhere(&request.history);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_request_of_any_script_keeps_the_rules(
        turns in vec(turn(), 0..6),
        parallel: bool,
        cancels: bool,
        jobs in prop::sample::select(vec![JobPolicy::Wait, JobPolicy::Leave, JobPolicy::Cancel]),
    ) {
        quietly();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(&turns, parallel, cancels, jobs))?;
    }
}
