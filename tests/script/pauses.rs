//! Scripts that wait for a person: they pause with their run, and go on in another process.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolbox::agent::{Agent, Paused, RunOutcome, StopReason};
use toolbox::call::Arguments;
use toolbox::context::{Answer, Decision};
use toolbox::testing::ScriptedModel;
use toolbox::{State, Tool, ToolBox, ToolContext, tool};

use crate::bounded::tokio;
use crate::scripted;

type Calls = Arc<Mutex<Vec<String>>>;

/// A tool that notes its calls, with their arguments.
fn noted(name: &str, calls: &Calls) -> Tool {
    let (own, calls) = (name.to_owned(), Arc::clone(calls));
    let schema = json!({"type": "object", "properties": {"n": {}}});
    Tool::raw(name, "Notes its call.", schema, move |input: Arguments| {
        let input: Value = input.parse().unwrap();
        calls.lock().unwrap().push(format!("{own} {}", input["n"]));
        format!("{own} {}", input["n"])
    })
}

/// Asks the person.
#[tool]
async fn ask(context: &ToolContext, calls: State<Calls>) -> String {
    let answer = context.ask::<bool>("Really?").await;
    calls.lock().unwrap().push("ask".to_owned());
    format!("{answer:?}")
}

/// The box of one process.
fn toolbox(calls: &Calls) -> ToolBox {
    let tools = vec![
        noted("read", calls),
        noted("pay", calls).needs_approval(),
        noted("page", calls).untrusted(),
        ask::tool().with_state(Arc::clone(calls)),
    ];
    scripted(tools.into_iter().collect())
}

fn agent(calls: &Calls, model: ScriptedModel) -> Agent {
    Agent::builder(model).toolbox(toolbox(calls)).build().unwrap()
}

/// Runs a script in an agent until it ends, or waits.
async fn begun(calls: &Calls, script: &str) -> RunOutcome {
    let model = ScriptedModel::new().calls("run_script", json!({ "script": script })).text("done");
    agent(calls, model).run("go").await.unwrap()
}

/// Takes a run to another process, decides on each pending call by its tool, and goes on.
async fn resumed(
    calls: &Calls,
    paused: &Value,
    decide: impl Fn(&str) -> Option<Decision>,
) -> RunOutcome {
    let paused: Paused = serde_json::from_str(&paused.to_string()).unwrap();
    let pending = paused.pending().into_iter();
    let decisions: Vec<_> =
        pending.filter_map(|call| Some((call.id.clone(), decide(&call.tool)?))).collect();
    let agent = agent(calls, ScriptedModel::new().text("done"));
    agent.resume(paused, decisions).await.unwrap()
}

/// Returns the result of the call that ran the script.
fn told(outcome: &RunOutcome) -> String {
    assert_eq!(outcome.reason, StopReason::Answered, "{:?}", outcome.paused);
    outcome.history.steps().next().unwrap().results()[0].text().into_owned()
}

fn json_of(outcome: &RunOutcome) -> Value {
    let paused = outcome.paused.as_ref();
    serde_json::to_value(paused.unwrap_or_else(|| panic!("{:?}", outcome.history))).unwrap()
}

/// A script, the decisions that it waits for, the calls that it makes, and its value.
type Case<'a> = (&'a str, Vec<Decision>, &'a [&'a str], &'a str);

/// Each script waits for each of the decisions, in a process of its own, and makes these calls: each
/// once.
#[tokio::test]
async fn a_script_goes_on_in_another_process() {
    let yes = || Decision::Approve;
    let three = "return [await tools.read({n: 1}), await tools.pay({n: 2}), await tools.read({n: 3})].join()";
    let caught =
        "try { return await tools.pay({n: 1}) } catch (e) { return e.code + ' ' + e.message }";
    let edited = || Decision::Edit(json!({"n": 9}).into());
    let cases: [Case<'_>; 10] = [
        (three, vec![yes()], &["read 1", "pay 2", "read 3"], "read 1,pay 2,read 3"),
        (caught, vec![yes()], &["pay 1"], "pay 1"),
        (caught, vec![Decision::Deny("too much".into())], &[], "tool.not_approved too much"),
        (caught, vec![Decision::Answer("said".into())], &[], "said"),
        (
            "return await tools.pay({n: 1}) + await tools.read({n: 2})",
            vec![edited()],
            &["pay 9", "read 2"],
            "pay 9read 2",
        ),
        (
            "let all = ''; for (let n = 0; n < 3; n++) { all += await tools.pay({n}); await tools.read({n}) } return all",
            vec![yes(), yes(), yes()],
            &["pay 0", "read 0", "pay 1", "read 1", "pay 2", "read 2"],
            "pay 0pay 1pay 2",
        ),
        (
            "return (await Promise.all([tools.read({n: 1}), tools.pay({n: 2}), tools.read({n: 3})])).join()",
            vec![yes()],
            &["read 1", "read 3", "pay 2"],
            "read 1,pay 2,read 3",
        ),
        // The record has the time and the randomness: with others, the calls would be others.
        (
            "const t = [Date.now(), Math.random()]; await tools.read({n: t}); await tools.pay({n: t}); return String(t[0] === Date.now())",
            vec![yes()],
            &["read", "pay"],
            "true",
        ),
        (
            "return await tools.ask()",
            vec![Decision::Reply(vec![Answer::from(json!({"answer": true}))])],
            &["ask"],
            "Ok(true)",
        ),
        (
            "console.log('before'); await tools.pay({n: 1}); console.log('after'); return 1",
            vec![yes()],
            &["pay 1"],
            "1\n\nconsole:\nbefore\nafter",
        ),
    ];
    for (script, decisions, made, expected) in cases {
        let calls = Calls::default();
        let mut outcome = begun(&calls, script).await;
        for decision in decisions {
            outcome = resumed(&calls, &json_of(&outcome), |_| Some(decision.clone())).await;
        }
        assert_eq!(told(&outcome), expected, "{script}");
        let calls = calls.lock().unwrap();
        assert_eq!(calls.len(), made.len(), "{script}: {calls:?}");
        for (call, made) in calls.iter().zip(made) {
            assert!(call.starts_with(made), "{script}: {calls:?}");
        }
    }
}

#[tokio::test]
async fn what_waits_is_named_with_its_path() {
    let outcome =
        begun(&Calls::default(), "await Promise.all([tools.pay({n: 1}), tools.ask()])").await;
    let pending = outcome.paused.unwrap().pending();
    let shown: Vec<_> = pending
        .iter()
        .map(|call| (call.tool.as_str(), call.path.join("/"), call.questions.len()))
        .collect();
    assert_eq!(shown, [("pay", "run_script".to_owned(), 0), ("ask", "run_script".to_owned(), 1)]);
    let (first, own) = pending[0].id.split_once('/').unwrap();
    assert_eq!(own, format!("{first}-1"));
}

/// Of several calls that wait, some are decided: the others still wait, and none runs twice.
#[tokio::test]
async fn calls_are_decided_one_after_the_other() {
    let calls = Calls::default();
    let script =
        "return (await Promise.all([tools.pay({n: 1}), tools.ask(), tools.read({n: 2})])).join()";
    let outcome = begun(&calls, script).await;
    let only = |tool: &'static str, decision: Decision| {
        move |name: &str| (name == tool).then(|| decision.clone())
    };
    let outcome = resumed(&calls, &json_of(&outcome), only("pay", Decision::Approve)).await;
    let outcome = resumed(&calls, &json_of(&outcome), |_| None).await;
    let reply = Decision::Reply(vec![Answer::from(json!({"answer": false}))]);
    let outcome = resumed(&calls, &json_of(&outcome), only("ask", reply)).await;
    assert_eq!(told(&outcome), "pay 1,Ok(false),read 2");
    assert_eq!(*calls.lock().unwrap(), ["read 2", "pay 1", "ask"]);
}

type Change = fn(&mut Value);

/// A record that is not that of the script is an error, and no call is made for it.
#[tokio::test]
async fn a_record_that_was_changed_is_refused() {
    let script = "const a = await tools.read({n: 1}); if (a === 'read 3') return a; await tools.pay({n: a}); return await tools.read({n: 3})";
    let outcome = begun(&Calls::default(), script).await;
    let paused = json_of(&outcome);
    let differs = "the calls in its record are not those that it asks for";
    let id = paused["nested"].as_object().unwrap().keys().next().unwrap().clone();
    let changes: [(&str, Change); 6] = [
        ("a result with which it ends", |below| {
            below["open"]["history"][1]["results"][0]["content"][0]["text"] = "read 3".into();
        }),
        ("another script", |below| {
            let first = &mut below["open"]["history"][0]["content"][0]["text"];
            *first = first.as_str().unwrap().replace("n: 3", "n: 4").into();
        }),
        ("another result", |below| {
            below["open"]["history"][1]["results"][0]["content"][0]["text"] = "read 2".into();
        }),
        ("a call more", |below| {
            let step = below["open"]["history"][1].clone();
            below["open"]["history"].as_array_mut().unwrap().insert(1, step);
        }),
        ("a call less", |below| {
            below["open"]["history"].as_array_mut().unwrap().remove(1);
        }),
        ("no script", |below| below["open"]["history"][0]["content"][0]["text"] = "go".into()),
    ];
    for (name, change) in changes {
        let mut other = paused.clone();
        change(&mut other["nested"][&id]);
        let calls = Calls::default();
        let outcome = resumed(&calls, &other, |_| Some(Decision::Approve)).await;
        assert!(told(&outcome).contains(differs), "{name}: {}", told(&outcome));
        assert!(!calls.lock().unwrap().contains(&"read 3".to_owned()), "{name}");
    }
    let calls = Calls::default();
    let outcome = resumed(&calls, &paused, |_| Some(Decision::Approve)).await;
    assert_eq!(told(&outcome), "read 3");
}

/// What a script met before it paused counts after it.
#[tokio::test]
async fn a_resumed_script_is_as_untrusted_as_before() {
    for (script, is_untrusted) in [
        ("await tools.page({n: 1}); await tools.pay({n: 2}); return 'x'", true),
        ("await tools.read({n: 1}); await tools.pay({n: 2}); return 'x'", false),
    ] {
        let outcome = begun(&Calls::default(), script).await;
        let outcome =
            resumed(&Calls::default(), &json_of(&outcome), |_| Some(Decision::Approve)).await;
        let step = outcome.history.steps().next().unwrap();
        assert_eq!(step.results()[0].is_untrusted(), is_untrusted, "{script}");
    }
}

/// What a script was told about tools stays what it was, though the box is another by then.
#[tokio::test]
async fn what_a_script_was_told_is_in_its_record() {
    let calls = Calls::default();
    let script = "const found = (await tools.search('special')).map((one) => one.name);
        const types = await tools.types('special*');
        await tools.read({n: found.length + types.length}); await tools.pay({n: 1});
        return found.join() + (await tools.search('special')).length";
    let model = ScriptedModel::new().calls("run_script", json!({ "script": script }));
    let first = agent(&calls, model);
    first.toolbox().register(noted("special", &calls));
    let outcome = first.run("go").await.unwrap();
    let outcome = resumed(&calls, &json_of(&outcome), |_| Some(Decision::Approve)).await;
    assert_eq!(told(&outcome), "special0");
}
