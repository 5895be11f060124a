//! Random conversations: whatever the model, the calls and the program do, each request keeps the
//! rules of every service, and each call is answered once, in order.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use toolbox::agent::{
    Agent, ContextLength, ContextRule, Event, EventKind, JobPolicy, Paused, RunErrorKind, RunHandle,
};
use toolbox::context::{ApprovalRequest, CancellationToken, Decision};
use toolbox::model::{Finish, History, ModelErrorKind, Part, Reply};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall};

use crate::wire::keeps_the_rules_everywhere;
use support::waits;
use support::{quietly, says};

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

/// What the program does with a run at work.
#[derive(Debug, Clone)]
struct Hand {
    /// The most tokens of a request.
    limit: Option<usize>,
    compacts: bool,
    /// The requests before which the transcript loses messages: which of them.
    clears: Option<(usize, std::ops::Range<usize>)>,
    replaces: bool,
    steers_at: Option<u32>,
    pauses_at: Option<u32>,
}

fn hand() -> impl Strategy<Value = Hand> {
    let limit = prop::option::weighted(0.6, 250_usize..900);
    let clears = prop::option::of((0_usize..5, 0_usize..4, 0_usize..6));
    let step = || prop::option::of(0_u32..5);
    (limit, any::<bool>(), clears, any::<bool>(), step(), step()).prop_map(
        |(limit, compacts, clears, replaces, steers_at, pauses_at)| Hand {
            limit,
            compacts,
            clears: clears.map(|(at, from, count)| (at, from..from + count)),
            replaces,
            steers_at,
            pauses_at,
        },
    )
}

impl Hand {
    fn rules(&self) -> Vec<ContextRule> {
        let (clears, replaces) = (self.clears.clone(), self.replaces);
        let requests = AtomicUsize::new(0);
        let edit = move |history: &mut History, _: &ContextLength| {
            let request = requests.fetch_add(1, SeqCst);
            let Some((_, range)) = clears.clone().filter(|(at, _)| *at == request) else { return };
            if replaces {
                history.replace(range.clone(), "Something was here.");
                history.replace_text(range.start, "");
                history.push_reply("Noted.");
            } else {
                history.remove(range);
            }
        };
        let oldest = if self.compacts {
            ContextRule::summarize_oldest(|removed: History| async move {
                Ok::<_, std::convert::Infallible>(format!("{} messages", removed.len()))
            })
        } else {
            ContextRule::drop_oldest()
        };
        vec![ContextRule::edit(edit), ContextRule::old_results(1), oldest]
    }

    fn listener(&self, handle: RunHandle) -> impl Fn(Event) + Send + Sync + 'static {
        let Self { steers_at, pauses_at, .. } = *self;
        move |event| {
            let is_reply = matches!(event.kind, EventKind::ModelFinished { .. });
            if event.depth() > 0 || !is_reply {
                return;
            }
            if steers_at == Some(event.step) {
                handle.steer(if event.step % 2 == 0 { "Also look at X." } else { "" });
            }
            if pauses_at == Some(event.step) {
                handle.pause();
            }
        }
    }
}

async fn run(
    turns: &[Turn],
    parallel: bool,
    cancels: bool,
    jobs: JobPolicy,
    hand: &Hand,
) -> Result<(), TestCaseError> {
    let token = CancellationToken::new();
    let model = script(turns);
    let toolbox = ToolBox::builder()
        .tools(tools(&token, cancels))
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap();
    let mut builder = Agent::builder(model.clone())
        .toolbox(toolbox)
        .blacklist_tool("forbidden")
        .parallel_tools(parallel)
        .max_iterations(8)
        .context_rules(hand.rules())
        .jobs(jobs);
    if let Some(limit) = hand.limit {
        // The definitions take their part.
        builder = builder.max_context_tokens(500 + limit);
    }
    let agent = builder.build().unwrap();
    let mut next = agent.run("go");
    if hand.pauses_at == Some(0) {
        next.handle().pause();
    }
    let history = loop {
        let handle = next.handle();
        let run = next.with_cancellation(token.clone()).on_event(hand.listener(handle));
        match run.await {
            Ok(outcome) => match outcome.paused {
                Some(paused) => {
                    let text = serde_json::to_string(&paused).unwrap();
                    let read: Paused = serde_json::from_str(&text).unwrap();
                    prop_assert_eq!(&read, &paused);
                    next = agent.go_on(read).with_input("And go on.");
                }
                None => break outcome.history,
            },
            Err(error) => {
                prop_assert!(matches!(error.kind, RunErrorKind::Model(_)), "{}", error);
                break error.history;
            }
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
    #![proptest_config(ProptestConfig { cases: support::cases(100, 300), ..ProptestConfig::default() })]

    #[test]
    fn every_request_of_any_script_keeps_the_rules(
        turns in vec(turn(), 0..6),
        parallel: bool,
        cancels: bool,
        jobs in prop::sample::select(vec![JobPolicy::Wait, JobPolicy::Leave, JobPolicy::Cancel]),
        hand in hand(),
    ) {
        quietly();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(run(&turns, parallel, cancels, jobs, &hand))?;
    }
}
