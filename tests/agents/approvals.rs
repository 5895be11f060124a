//! Approval before a call: approve, deny, edit, defer; and runs that wait for it.

use crate::bounded::tokio;
use std::future::IntoFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use serde::Deserialize;
use serde_json::json;
use toolbox::agent::{Agent, EventKind, Paused, StopReason};
use toolbox::context::{ApprovalRequest, Decision};
use toolbox::testing::{ScriptedModel, check};
use toolbox::{Tool, ToolBox, ToolCall, tool};

use super::Log;
use support::counted;

/// Sends money.
#[tool]
fn pay(to: &str, cents: u64) -> String {
    format!("{to} got {cents}")
}

#[derive(Deserialize)]
struct Payment {
    cents: u64,
}

fn pays(cents: u64) -> ScriptedModel {
    ScriptedModel::new().calls("pay", format!(r#"{{"to":"Bo","cents":{cents}}}"#)).respond(
        |request| {
            Ok(request.history.steps().last().unwrap().results()[0].text().into_owned().into())
        },
    )
}

#[tokio::test]
async fn a_rule_of_a_tool_decides_by_its_arguments() {
    let asked = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&asked);
    let tool = pay::tool().with_approval_rule(move |payment: Payment, request: ApprovalRequest| {
        own.fetch_add(1, SeqCst);
        async move {
            assert_eq!(request.tool_name(), "pay");
            match payment.cents {
                0..10 => Decision::Approve,
                10..100 => Decision::Edit(r#"{"to":"Bo","cents":9}"#.into()),
                100..1000 => Decision::Deny("too much".into()),
                _ => Decision::Edit(r#"{"to":"Bo"}"#.into()),
            }
        }
    });
    let cases = [
        (5, "Bo got 5"),
        (50, "Bo got 9"),
        (500, "too much"),
        // What an approver writes is checked like what a model writes.
        (
            5000,
            "the arguments for `pay` were refused:\n- missing required argument `cents` (integer)",
        ),
    ];
    for (cents, told) in cases {
        let agent = support::agent(&pays(cents), vec![tool.clone()]);
        let outcome = agent.run("x").await.unwrap();
        assert_eq!(outcome.content, told);
        // The transcript says what the tool ran with.
        if cents == 50 {
            check(&outcome.history).calls("pay", json!({"cents": 9})).returns("Bo got 9");
        }
    }
    assert_eq!(asked.load(SeqCst), 4);
    // Nobody is asked about arguments that are not valid.
    let model = ScriptedModel::new().calls("pay", "{}").text("ok");
    support::agent(&model, vec![tool]).run("x").await.unwrap();
    assert_eq!(asked.load(SeqCst), 4);
}

#[tokio::test]
async fn the_nearest_approver_decides() {
    let denies =
        |who: &'static str| move |_: ApprovalRequest| async move { Decision::Deny(who.into()) };
    let plain = pay::tool().needs_approval();
    let own = pay::tool().with_approver(denies("tool"));
    let with_box =
        |tool: Tool| ToolBox::builder().tools(tool).approver(denies("box")).build().unwrap();
    let without = |tool: Tool| ToolBox::from(tool);
    for (toolbox, who) in
        [(with_box(own), "tool"), (with_box(plain.clone()), "box"), (without(plain), "agent")]
    {
        let agent = Agent::builder(pays(1)).toolbox(toolbox).approver(denies("agent"));
        let outcome = agent.build().unwrap().run("x").await.unwrap();
        assert_eq!(outcome.content, who);
    }
}

#[tokio::test]
async fn a_run_waits_for_a_decision_in_another_process() {
    let count = Arc::new(AtomicUsize::new(0));
    let tools = || vec![pay::tool().needs_approval(), counted("note", &count)];
    let model = ScriptedModel::new().calls_all([
        ("pay", r#"{"to":"Bo","cents":5}"#),
        ("note", "{}"),
        ("pay", r#"{"to":"Al","cents":7}"#),
        ("pay", r#"{"to":"Cy","cents":9}"#),
    ]);
    let log = Log::default();
    let outcome = support::agent(&model, tools()).run("x").on_event(log.listener()).await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    assert_eq!(count.load(SeqCst), 1, "what needs no approval ran");
    let deferred = log.events().into_iter();
    let deferred =
        deferred.filter(|event| matches!(event.kind, EventKind::ApprovalDeferred { .. }));
    assert_eq!(deferred.count(), 3);
    let kept = serde_json::to_string(&outcome.paused.unwrap()).unwrap();

    // Elsewhere, later.
    let paused: Paused = serde_json::from_str(&kept).unwrap();
    let pending = paused.pending();
    let ids: Vec<_> = pending.iter().map(|call| (call.id.as_str(), call.tool.as_str())).collect();
    assert_eq!(ids, [("call_1", "pay"), ("call_3", "pay"), ("call_4", "pay")]);
    let model = ScriptedModel::answering("done");
    let agent = support::agent(&model, tools());
    let decisions = [("call_1", Decision::Approve), ("call_3", Decision::Deny("not him".into()))];
    let outcome = agent.resume(paused, decisions).await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded, "one is still undecided");
    let paused = outcome.paused.unwrap();
    assert_eq!(paused.pending().len(), 1);
    let edited = Decision::Edit(r#"{"to":"Cy","cents":1}"#.into());
    let outcome = agent.resume(paused, [("call_4", edited)]).await.unwrap();
    check(&outcome.history)
        .calls("pay", json!({"to": "Bo"}))
        .returns("Bo got 5")
        .calls("note", json!({}))
        .returns("1")
        .calls("pay", json!({"to": "Al"}))
        .fails("tool.not_approved")
        .calls("pay", json!({"to": "Cy", "cents": 1}))
        .returns("Cy got 1")
        .answers("done");
    assert_eq!((outcome.iterations, outcome.usage.input_tokens), (2, 20));
}

#[tokio::test]
async fn what_was_forbidden_meanwhile_does_not_run_on_resume() {
    let model = pays(5);
    let agent = support::agent(&model, vec![pay::tool().needs_approval()]);
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    agent.blacklist_tool("pay");
    let outcome = agent.resume(paused, [("call_1", Decision::Approve)]).await.unwrap();
    check(&outcome.history).calls("pay", json!({})).fails("tool.blacklisted");
}

#[tokio::test]
async fn edited_arguments_are_checked_on_resume() {
    let agent = support::agent(&pays(5), vec![pay::tool().needs_approval()]);
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let edited = Decision::Edit(r#"{"to":7}"#.into());
    let outcome = agent.resume(paused, [("call_1", edited)]).await.unwrap();
    check(&outcome.history).calls("pay", json!({"to": 7})).fails("args.missing");
}

#[tokio::test]
async fn an_approval_two_agents_down_stops_and_resumes_them_all() {
    let build = |child_model: &ScriptedModel, boss_model: &ScriptedModel| {
        let child = support::agent(child_model, vec![pay::tool().needs_approval()]);
        support::agent(boss_model, vec![child.as_tool("cashier", "Pays")])
    };
    let boss_model = ScriptedModel::new()
        .calls_all([("cashier", r#"{"task":"a"}"#), ("cashier", r#"{"task":"b"}"#)]);
    let child_model = ScriptedModel::new()
        .respond(|request| {
            let task = request.history.last_user_text().unwrap().into_owned();
            let arguments = format!(r#"{{"to":"{task}","cents":1}}"#);
            Ok(toolbox::model::Reply::calls([ToolCall::new("p", "pay", arguments)]).into())
        })
        .forever();
    let outcome = build(&child_model, &boss_model).run("x").await.unwrap();
    let text = serde_json::to_string(&outcome.paused.unwrap()).unwrap();
    let paused: Paused = serde_json::from_str(&text).unwrap();
    let pending = paused.pending();
    let ids: Vec<_> = pending.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call_1/p", "call_2/p"]);
    assert_eq!(
        (pending[0].path.as_slice(), pending[0].tool.as_str()),
        (&["cashier".to_owned()][..], "pay")
    );

    let says = ScriptedModel::new()
        .respond(|request| {
            Ok(request.history.steps().last().unwrap().results()[0].text().into_owned().into())
        })
        .forever();
    let boss = build(&says, &ScriptedModel::answering("done"));
    let decisions = [("call_1/p", Decision::Approve), ("call_2/p", Decision::Deny("no".into()))];
    let outcome = boss.resume(paused, decisions).await.unwrap();
    check(&outcome.history)
        .calls("cashier", json!({"task": "a"}))
        .returns("a got 1")
        .calls("cashier", json!({"task": "b"}))
        .returns("no")
        .answers("done");
}

#[tokio::test]
async fn outside_of_an_agent_a_deferred_call_is_a_failure() {
    let defers = |_: ApprovalRequest| async { Decision::Defer };
    let toolbox = ToolBox::from(pay::tool().with_approver(defers));
    let result = toolbox.call(ToolCall::new("1", "pay", r#"{"to":"Bo","cents":1}"#)).await;
    assert_eq!(result.code(), Some("tool.deferred"));
    assert_eq!(result.text(), "tool `pay` waits for approval; it has not run");
}

#[tokio::test]
async fn decisions_have_a_form_on_the_wire() {
    let cases = [
        (Decision::Approve, r#""approve""#),
        (Decision::Deny("no".into()), r#"{"deny":"no"}"#),
        (Decision::Edit("{}".into()), r#"{"edit":"{}"}"#),
        (Decision::Defer, r#""defer""#),
    ];
    for (decision, text) in cases {
        assert_eq!(serde_json::to_string(&decision).unwrap(), text);
        assert_eq!(serde_json::from_str::<Decision>(text).unwrap(), decision);
    }
}

#[tokio::test]
async fn an_approver_that_panics_or_hangs_is_a_refusal() {
    support::quietly();
    let panics = |_: ApprovalRequest| async { std::panic::panic_any("explicit panic") };
    let agent = support::agent(&pays(1), vec![pay::tool().with_approver(panics)]);
    assert_eq!(agent.run("x").await.unwrap().content, "tool `pay` panicked");

    let token = toolbox::context::CancellationToken::new();
    let own = token.clone();
    let hangs = move |_: ApprovalRequest| {
        own.cancel();
        std::future::pending::<Decision>()
    };
    let agent = support::agent(&pays(1), vec![pay::tool().with_approver(hangs)]);
    let outcome = agent.run("x").with_cancellation(token).into_future().await.unwrap();
    assert_eq!(outcome.reason, StopReason::Cancelled);
    check(&outcome.history).calls("pay", json!({})).fails("call.cancelled");
}

#[tokio::test]
async fn an_altered_document_does_not_stand_in_for_a_decision() {
    let count = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new().calls("pay", "{}").text("never");
    let agent = support::agent(&model, vec![counted("pay", &count).needs_approval()]);
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let mut altered = serde_json::to_value(&paused).unwrap();
    altered["nested"] = json!({"call_1": altered.clone()});
    let paused: Paused = serde_json::from_value(altered).unwrap();
    let outcome = agent.resume(paused, [("call_2", Decision::Approve)]).await.unwrap();
    assert_eq!((outcome.reason, count.load(SeqCst)), (StopReason::ApprovalNeeded, 0));
}

#[tokio::test]
async fn a_call_that_a_tool_makes_in_turn_cannot_wait_for_a_decision() {
    // To approve of the outer call would make it again, and the inner one would wait again.
    let child = support::agent(&pays(5), vec![pay::tool().needs_approval()]);
    for (inner, arguments, told) in [
        (pay::tool().needs_approval(), r#"{"to":"Bo","cents":5}"#, "nobody here can give it"),
        (child.as_tool("pay", "d"), r#"{"task":"go"}"#, "nobody here can give it"),
    ] {
        let outer = Tool::raw("outer", "d", json!({"type": "object"}), {
            move |context: toolbox::ToolContext, _: toolbox::call::Arguments| {
                let inner = ToolBox::from(inner.clone());
                async move { inner.call_in(&context, ToolCall::new("n", "pay", arguments)).await }
            }
        });
        let model = ScriptedModel::new().calls("outer", "{}").text("ok");
        let outcome = support::agent(&model, vec![outer]).run("x").await.unwrap();
        assert_eq!(outcome.content, "ok");
        check(&outcome.history).calls("outer", json!({})).fails("tool.not_approved");
        let step = outcome.history.steps().next().unwrap();
        assert!(step.results()[0].text().ends_with(told), "{step:?}");
    }
}

#[tokio::test]
async fn an_agent_in_the_background_does_not_wait_for_a_decision() {
    let child = support::agent(&pays(5), vec![pay::tool().needs_approval()]);
    let model = ScriptedModel::new().calls("child", r#"{"task":"t"}"#).text("wait").text("end");
    let agent = support::agent(&model, vec![child.as_tool("child", "d").background()]);
    let outcome = agent.run("x").await.unwrap();
    let told = outcome.history.last_user_text().unwrap().into_owned();
    let why = "agent `child` needs an approval, and nobody here can give it";
    assert!(outcome.is_answered() && told.ends_with(why), "{told}");
}

#[tokio::test]
async fn a_resumed_run_has_what_is_left_of_its_budget() {
    let build = |model: &ScriptedModel| {
        let tools = pay::tool().needs_approval();
        Agent::builder(model.clone()).tools(tools).max_total_calls(2).max_total_tokens(40)
    };
    let model = (0..9).fold(ScriptedModel::new(), |model, at| {
        model.calls("pay", format!(r#"{{"to":"Bo","cents":{at}}}"#))
    });
    let agent = build(&model).build().unwrap();
    let mut outcome = agent.run("x").await.unwrap();
    let mut resumed = 0;
    while let Some(paused) = outcome.paused.take() {
        resumed += 1;
        let kept = serde_json::to_string(&paused).unwrap();
        let paused: Paused = serde_json::from_str(&kept).unwrap();
        let decisions = paused.pending().into_iter().map(|call| (call.id, Decision::Approve));
        outcome = agent.resume(paused, decisions.collect::<Vec<_>>()).await.unwrap();
    }
    assert_eq!((outcome.reason, resumed, outcome.iterations), (StopReason::Budget, 2, 3));
    check(&outcome.history)
        .calls("pay", json!({"cents": 1}))
        .returns("Bo got 1")
        .calls("pay", json!({"cents": 2}))
        .fails("run.over_budget");

    // Tokens of the runs before count as well.
    let model = ScriptedModel::new()
        .calls("pay", r#"{"to":"Bo","cents":1}"#)
        .calls("pay", r#"{"to":"Bo","cents":2}"#);
    let agent = build(&model).max_total_tokens(30).build().unwrap();
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let paused = agent.resume(paused, [("call_1", Decision::Approve)]).await.unwrap().paused;
    let outcome = agent.resume(paused.unwrap(), [("call_2", Decision::Approve)]).await.unwrap();
    assert_eq!((outcome.reason, outcome.iterations), (StopReason::Budget, 2));
}

#[tokio::test]
async fn a_failure_that_ends_the_run_does_so_after_the_decision() {
    let down =
        Tool::new("db", "d").call(|_| Err::<String, _>(toolbox::ToolError::infrastructure("down")));
    let model = ScriptedModel::new().calls_all([("db", "{}"), ("note", "{}")]).text("never");
    let count = Arc::new(AtomicUsize::new(0));
    let agent = Agent::builder(model)
        .tools(vec![down, counted("note", &count).needs_approval()])
        .on_infrastructure_failure(toolbox::agent::InfrastructurePolicy::Abort)
        .build()
        .unwrap();
    let paused = agent.run("x").await.unwrap().paused.unwrap();
    let error = agent.resume(paused, [("call_2", Decision::Approve)]).await.unwrap_err();
    assert_eq!(error.to_string(), "tool `db` failed: down");
    check(&error.history).calls("note", json!({})).returns("1");
}

#[tokio::test]
async fn what_was_edited_is_made_again_as_it_was_edited() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let own = Arc::clone(&seen);
    let flaky =
        Tool::raw("db", "d", json!({"type": "object"}), move |given: toolbox::call::Arguments| {
            let mut seen = own.lock().unwrap();
            seen.push(given.into_string());
            if seen.len() < 2 {
                return Err(toolbox::ToolError::infrastructure("down"));
            }
            Ok("here".to_owned())
        });
    let asked = AtomicUsize::new(0);
    let flaky =
        flaky.with_approver(move |_: ApprovalRequest| {
            let first = asked.fetch_add(1, SeqCst) == 0;
            async move {
                if first { Decision::Edit(r#"{"safe":true}"#.into()) } else { Decision::Approve }
            }
        });
    let mut annotations = toolbox::definition::ToolAnnotations::default();
    annotations.read_only = Some(true);
    let agent = Agent::builder(ScriptedModel::new().calls("db", "{}").text("ok"))
        .tools(flaky.with_annotations(annotations))
        .on_infrastructure_failure(toolbox::agent::InfrastructurePolicy::Retry(2))
        .build()
        .unwrap();
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [r#"{"safe":true}"#; 2]);
    check(&outcome.history).calls("db", json!({"safe": true})).returns("here");
}
