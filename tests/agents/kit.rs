//! The kit for tests of one's own tools: its checks hold what they say, and fail with the call.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, UNIX_EPOCH};

use serde::Serialize;
use serde_json::{Value, json};
use toolbox::context::{Answer, AskError, Clock, Decision};
use toolbox::model::{Deltas, Finish, History, Model, ModelRequest};
use toolbox::testing::{
    RecordingApprover, ResultCheck, ScriptedModel, ScriptedPerson, call, call_in,
};
use toolbox::{ToolBox, ToolContext, tool, tools};

use crate::bounded::tokio;

#[derive(Serialize, schemars::JsonSchema)]
struct Sum {
    sum: i64,
    text: &'static str,
}

/// Adds.
#[tool]
fn add(#[arg(range = ..=100)] a: i64, b: i64) -> Result<Sum, String> {
    if b == 13 { Err("unlucky".into()) } else { Ok(Sum { sum: a + b, text: "a sum" }) }
}

/// Greets.
#[tool]
fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}

/// Deletes everything.
#[tool(approval)]
fn wipe(clock: Clock) -> String {
    format!("{:?}", clock.now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Asks twice.
#[tool]
async fn survey(context: &ToolContext) -> Result<String, AskError> {
    let size: u32 = context.ask("What size?").await?;
    let color: String = context.ask("What color?").await?;
    Ok(format!("{size} {color}"))
}

type Script = fn(ScriptedModel) -> ScriptedModel;

#[tokio::test(start_paused = true)]
async fn the_turn_added_last_is_changed_also_where_it_is_played_forever() {
    let second = Duration::from_secs(1);
    // (what, the script, the text of three replies, those that are cut off after a second)
    let cases: [(&str, Script, [&str; 3], [bool; 3]); 6] = [
        ("the same", |m| m.text("a").forever(), ["a"; 3], [false; 3]),
        ("twice", |m| m.text("a").text("b").forever().forever(), ["a", "b", "b"], [false; 3]),
        ("after it", |m| change(m.text("a").forever()), ["a"; 3], [true; 3]),
        (
            "not the one before",
            |m| change(m.text("a").text("b").forever()),
            ["a", "b", "b"],
            [false, true, true],
        ),
        (
            "one that came later",
            |m| change(m.text("a").forever().text("b")),
            ["b", "a", "a"],
            [true, false, false],
        ),
        (
            "another forever",
            |m| change(m.text("a").forever().text("b").forever()),
            ["b"; 3],
            [true; 3],
        ),
    ];
    for (what, script, texts, changed) in cases {
        let model = script(ScriptedModel::new());
        for (text, changed) in texts.into_iter().zip(changed) {
            let began = tokio::time::Instant::now();
            let request = ModelRequest::new(History::from("x"));
            let reply = Model::respond(&model, &request, Deltas::none()).await.unwrap().reply;
            let is_late = began.elapsed() >= second;
            let is_cut_off = reply.finish == Finish::Length;
            assert_eq!(
                (&*reply.content(), is_late, is_cut_off),
                (text, changed, changed),
                "{what}"
            );
        }
    }
    let request = ModelRequest::new(History::from("x"));
    let model = ScriptedModel::answering("a").forever();
    assert_eq!(
        Model::respond(&model, &request, Deltas::none()).await.unwrap().reply.content(),
        "a"
    );
    // Where no turn is, none is changed.
    let empty = change(ScriptedModel::new().forever());
    assert!(Model::respond(&empty, &request, Deltas::none()).await.is_err());
}

fn change(model: ScriptedModel) -> ScriptedModel {
    model.after(Duration::from_secs(1)).finishing(Finish::Length)
}

type Check = fn(ResultCheck) -> ResultCheck;

#[tokio::test]
async fn a_check_holds_what_it_says_and_fails_with_the_call() {
    let toolbox = ToolBox::from(tools![add, greet]);
    let cases: [(&str, Value, Check, Check, &str); 9] = [
        (
            "greet",
            json!({"name": "Ada"}),
            |c| c.returns("Hello, Ada!"),
            |c| c.returns("Hello"),
            "not to \"Hello\"",
        ),
        (
            "greet",
            json!({"name": "Ada"}),
            |c| c.says("Ada"),
            |c| c.says("Bob"),
            "does not say \"Bob\"",
        ),
        (
            "greet",
            json!({}),
            |c| c.fails("args.missing"),
            |c| c.fails("args.type"),
            "came to args.missing, not to args.type",
        ),
        (
            "greet",
            json!({}),
            |c| c.says("name"),
            |c| c.returns("the arguments"),
            "not to \"the arguments\"",
        ),
        (
            "add",
            json!({"a": 1, "b": 2}),
            |c| c.returns_json(json!({"text": "a sum", "sum": 3})),
            |c| c.returns_json(json!({"sum": 3})),
            "not to {\"sum\":3}",
        ),
        (
            "add",
            json!({"a": 1, "b": 2}),
            |c| c.has_faults([]),
            |c| c.has_faults([("a", "args.type")]),
            "with the faults []",
        ),
        (
            "add",
            json!({"a": 500, "c": 2}),
            |c| {
                c.has_faults([
                    ("c", "args.unknown_name"),
                    ("b", "args.missing"),
                    ("a", "args.out_of_range"),
                ])
            },
            |c| c.has_faults([("a", "args.out_of_range")]),
            "(\"b\", \"args.missing\")",
        ),
        (
            "add",
            json!({"a": 1, "b": 13}),
            |c| c.fails("tool.failed").says("unlucky"),
            |c| c.returns("unlucky"),
            "tool.failed",
        ),
        (
            "add",
            json!({"a": "1", "b": 2}),
            |c| c.says("3"),
            ResultCheck::has_no_repairs,
            "read the string",
        ),
    ];
    for (name, arguments, holds, fails, told) in cases {
        let check = call(&toolbox, name, arguments.clone()).await;
        holds(check.clone());
        let panic = catch_unwind(AssertUnwindSafe(|| fails(check))).unwrap_err();
        let text = panic.downcast_ref::<String>().unwrap();
        assert!(text.starts_with(&format!("`{name}` with {arguments} came to ")), "{text}");
        assert!(text.contains(told), "{told}: {text}");
    }
    call(&toolbox, "nosuch", json!({})).await.fails("tool.not_found");
}

#[tokio::test]
async fn a_scripted_person_answers_in_order_and_then_dismisses() {
    let toolbox = ToolBox::from(tools![survey]);
    for (person, text, asked, left) in [
        (ScriptedPerson::new().answers(3).answers("red"), "3 red", 2, 0),
        (
            ScriptedPerson::new().answers(json!({"answer": 3})).answers("red").answers(1),
            "3 red",
            2,
            1,
        ),
        (ScriptedPerson::new().answers(3).declines(), "does not want to answer", 2, 0),
        (ScriptedPerson::new().answers(3), "", 2, 0),
        (ScriptedPerson::new().dismisses().answers(3), "", 1, 1),
        (ScriptedPerson::new().answers(Answer::Nobody), "", 1, 0),
    ] {
        let context = ToolContext::new().with_asker(person.clone());
        let result =
            call_in(&context, &toolbox, "survey", json!({})).await.says(text).into_result();
        assert_eq!(result.is_error(), !text.contains("red"), "{}", result.text());
        assert_eq!((person.questions().len(), person.answers_left()), (asked, left), "{text}");
    }
}

#[tokio::test]
async fn a_recording_approver_decides_one_way_and_remembers_the_calls() {
    for (approver, code) in [
        (RecordingApprover::approving(), None),
        (RecordingApprover::denying("no"), Some("tool.not_approved")),
        (RecordingApprover::deciding(Decision::Answer("told".into())), None),
    ] {
        let toolbox = ToolBox::builder().tool(wipe::tool()).approver(approver.clone());
        let toolbox =
            toolbox.state(Clock::fixed(UNIX_EPOCH + Duration::from_secs(7))).build().unwrap();
        let result = call(&toolbox, "wipe", json!({})).await.into_result();
        assert_eq!(result.code(), code, "{}", result.text());
        assert_eq!(approver.calls().len(), 1);
        assert_eq!(
            (&*approver.calls()[0].name, approver.calls()[0].arguments.as_str()),
            ("wipe", "{}")
        );
        // What would be refused is not asked about.
        call(&toolbox, "wipe", json!({"fast": true})).await.fails("args.unknown_name");
        assert_eq!(approver.calls().len(), 1);
    }
}

#[tokio::test]
async fn the_clock_is_that_of_the_call_then_of_the_box_then_of_the_system() {
    let fixed = |seconds| Clock::fixed(UNIX_EPOCH + Duration::from_secs(seconds));
    let plain = ToolBox::builder().tool(wipe::tool()).approver(RecordingApprover::approving());
    let plain = plain.build().unwrap();
    let own = ToolBox::builder().tool(wipe::tool()).approver(RecordingApprover::approving());
    let own = own.state(fixed(7)).build().unwrap();
    call(&own, "wipe", json!({})).await.returns("7s");
    call_in(&ToolContext::new().with(fixed(9)), &own, "wipe", json!({})).await.returns("9s");
    call_in(&ToolContext::new().with(fixed(9)), &plain, "wipe", json!({})).await.returns("9s");
    let text = call(&plain, "wipe", json!({})).await.into_result().into_text();
    assert!(text.len() > "1700000000s".len(), "{text}");
}
