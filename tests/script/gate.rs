//! The calls of a script are calls like any other.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use support::Seen;
use toolbox::agent::{Agent, SharedBudget, StopReason, UsageLimits};
use toolbox::audit::AuditLog;
use toolbox::context::{Decision, Principal, Taint};
use toolbox::cost::Money;
use toolbox::model::{ModelRequest, Usage};
use toolbox::testing::ScriptedModel;
use toolbox::tool::Tool;
use toolbox::{ToolBox, ToolContext};
use toolbox_script::Limits;

use crate::bounded::tokio;
use crate::{call, run, run_in, scripted};

/// A tool that notes each call of it.
fn noted(name: &str, seen: &Arc<Mutex<Vec<String>>>) -> Tool {
    let (own, seen) = (name.to_owned(), Arc::clone(seen));
    Tool::new(name, "Notes its call.").call(move |_| {
        seen.lock().unwrap().push(own.clone());
        "done"
    })
}

/// Returns the error that a script gets, as its code and text.
fn caught(tool: &str) -> String {
    format!(
        "try {{ await tools.{tool}({{}}); return 'ran' }} catch (e) {{ return e.code + ': ' + e.message }}"
    )
}

type Forbid = fn(&ToolBox);

#[tokio::test]
async fn what_may_not_be_called_is_refused_in_a_script_as_outside() {
    let seen = Arc::default();
    let tools = || [noted("open", &seen), noted("closed", &seen)];
    let blacklisted = "tool.blacklisted: tool `closed` is blacklisted: it may not be called";
    let rules: [(&str, Forbid, ToolContext); 3] = [
        ("blacklist", |toolbox| toolbox.blacklist("closed"), ToolContext::new()),
        (
            "allow-list",
            |toolbox| toolbox.allow_only(["open", "run_script"]).unwrap(),
            ToolContext::new(),
        ),
        ("context", |_| {}, ToolContext::new().with_blacklist("clos*")),
    ];
    for (name, forbid, context) in rules {
        for limited in [false, true] {
            let toolbox = ToolBox::from(tools());
            let scripts = crate::over(&toolbox);
            toolbox.register(if limited {
                scripts.with_tools(["open", "closed"])
            } else {
                scripts
            });
            forbid(&toolbox);
            let result = run_in(&context, &toolbox, &caught("closed")).await;
            assert_eq!(result.text(), blacklisted, "{name}");
            assert_eq!(run_in(&context, &toolbox, &caught("open")).await.text(), "ran", "{name}");
        }
    }
    assert!(!seen.lock().unwrap().contains(&"closed".to_owned()));
}

#[tokio::test]
async fn a_rule_that_comes_while_a_script_runs_holds_for_its_next_call() {
    let toolbox = ToolBox::new();
    let own = toolbox.downgrade();
    toolbox.register(Tool::new("forbid", "Forbids.").call(move |_| {
        own.upgrade().unwrap().blacklist("later");
        "done"
    }));
    let seen = Arc::default();
    toolbox.register(noted("later", &seen));
    let script = format!("await tools.later(); await tools.forbid(); {}", caught("later"));
    for (runs, is_selected) in [(1, false), (2, true)] {
        let scripts = crate::over(&toolbox);
        toolbox.lift_blacklist("later");
        let selected = is_selected.then(|| scripts.clone().with_tools(["later", "forbid"]));
        toolbox.register(selected.unwrap_or(scripts));
        let result = run(&toolbox, &script).await;
        assert!(result.text().starts_with("tool.blacklisted"), "{}", result.text());
        assert_eq!(seen.lock().unwrap().len(), runs);
    }
}

#[tokio::test]
async fn an_approver_decides_each_call_of_a_script() {
    let seen = Arc::default();
    let asked = Arc::new(AtomicUsize::new(0));
    let toolbox = |decision: Option<Decision>| {
        let asked = Arc::clone(&asked);
        let mut builder = ToolBox::builder().tool(noted("pay", &seen).needs_approval());
        if let Some(decision) = decision {
            builder = builder.approver(move |request: toolbox::context::ApprovalRequest| {
                asked.fetch_add(1, SeqCst);
                assert_eq!((request.tool_name(), request.context.call_id()), ("pay", "s-1"));
                let decision = decision.clone();
                async move { decision }
            });
        }
        scripted(builder.build().unwrap())
    };
    for (decision, expected, runs) in [
        (None, "tool.not_approved: tool `pay` needs approval, and nobody here can give it", 0),
        (Some(Decision::Deny("too much".into())), "tool.not_approved: too much", 0),
        (Some(Decision::Approve), "ran", 1),
        (Some(Decision::Answer("said".into())), "ran", 0),
    ] {
        seen.lock().unwrap().clear();
        assert_eq!(run(&toolbox(decision), &caught("pay")).await.text(), expected);
        assert_eq!(seen.lock().unwrap().len(), runs, "{expected}");
    }
    assert_eq!(asked.load(SeqCst), 3);
}

/// Taint goes both ways: into the calls of a script, and out of its result.
#[tokio::test]
async fn a_script_is_untrusted_if_one_of_its_results_is() {
    let tool = |name: &str| Tool::new(name, "x").call(|_| "text");
    let tools =
        [tool("page").untrusted(), tool("own"), tool("send").needs_approval_while_tainted()];
    let toolbox = scripted(ToolBox::from(tools));
    for (script, is_untrusted) in [
        ("return await tools.own()", false),
        ("return await tools.page()", true),
        ("try { await tools.none() } catch {} return 1", false),
        ("await tools.page(); throw 'x'", true),
        ("await Promise.all([tools.own(), tools.page()]); return 1", true),
    ] {
        let context = ToolContext::new().with(Taint::new());
        let result = run_in(&context, &toolbox, script).await;
        assert_eq!(result.is_untrusted(), is_untrusted, "{script}");
        assert_eq!(context.is_tainted(), is_untrusted, "{script}");
        // Also where the program keeps no taint.
        assert_eq!(run(&toolbox, script).await.is_untrusted(), is_untrusted, "{script}");
    }
    let script = format!("await tools.page(); {}", caught("send"));
    let refused = "tool.not_approved: tool `send` needs approval, and nobody here can give it";
    assert_eq!(run(&toolbox, &script).await.text(), refused);
    assert_eq!(run(&toolbox, &caught("send")).await.text(), "ran");
    let tainted = ToolContext::new().with(Taint::new());
    tainted.get::<Taint>().unwrap().mark();
    assert_eq!(run_in(&tainted, &toolbox, &caught("send")).await.text(), refused);
}

#[tokio::test]
async fn a_script_calls_the_tools_that_were_selected_and_never_itself() {
    let seen = Arc::default();
    let mut tagged = noted("tagged", &seen);
    tagged = tagged.with_tags(["money"]);
    let toolbox = ToolBox::from([tagged, noted("other", &seen)]);
    let scripts = || crate::over(&toolbox);
    toolbox.register(scripts());
    toolbox.register(scripts().named("by_tag").with_tags(["money"]));
    toolbox.register(scripts().named("by_name").with_tools(["other"]));
    toolbox.register(scripts().named("by_search").with_search("tagged", 1));
    let codes = |result: toolbox::ToolResult| result.into_text();
    for (tool, expected) in [
        ("run_script", ["ran", "ran", "tool.blacklisted"]),
        ("by_tag", ["ran", "tool.not_found", "tool.not_found"]),
        ("by_name", ["tool.not_found", "ran", "tool.not_found"]),
        ("by_search", ["ran", "tool.not_found", "tool.not_found"]),
    ] {
        for (inner, expected) in ["tagged", "other", tool].into_iter().zip(expected) {
            let mut call = call(&caught(inner));
            call.name = tool.to_owned();
            let text = codes(toolbox.call(call).await);
            assert!(text.starts_with(expected), "{tool} {inner}: {text}");
        }
    }
}

#[tokio::test]
async fn results_arguments_and_calls_have_the_limits_of_the_box() {
    let slow = Tool::new("slow", "x").call_async(|_| async {
        std::future::pending::<()>().await;
        "never"
    });
    let large = Tool::new("large", "x").call(|_| "x".repeat(5000));
    let tools = [slow.with_timeout(std::time::Duration::from_millis(30)), large];
    let toolbox = ToolBox::builder()
        .tools(Vec::from(tools))
        .max_result_bytes(2000)
        .max_argument_bytes(1000)
        .build()
        .unwrap();
    let toolbox = scripted(toolbox);
    for (script, expected) in [
        (caught("slow"), "tool.timed_out"),
        ("return (await tools.large({})).length < 2100".to_owned(), "true"),
        (
            "try { await tools.large({x: 'y'.repeat(1000)}) } catch (e) { return e.code }"
                .to_owned(),
            "args.too_large",
        ),
    ] {
        let result = run(&toolbox, &script).await;
        assert!(result.text().starts_with(expected), "{script}: {}", result.text());
    }
}

/// Calls run beside each other, no more than a script may have at once, nor than their tool.
#[tokio::test]
async fn parallel_calls_are_bounded() {
    for (own, of_tool, expected) in [(4, 100, 4), (100, 3, 3), (0, 100, 1)] {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let seen = (Arc::clone(&now), Arc::clone(&most));
        let busy = Tool::new("busy", "x").call_async(move |_| {
            let (now, most) = (Arc::clone(&seen.0), Arc::clone(&seen.1));
            async move {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                for _ in 0..50 {
                    tokio::task::yield_now().await;
                }
                now.fetch_sub(1, SeqCst);
                "done"
            }
        });
        let toolbox = ToolBox::from(busy.with_max_concurrency(of_tool));
        let limits = Limits { parallel_calls: own, ..Limits::default() };
        toolbox.register(crate::over(&toolbox).with_limits(limits));
        let script = "const all = await Promise.all(Array.from({length: 20}, () => tools.busy())); return all.length";
        assert_eq!(run(&toolbox, script).await.text(), "20");
        assert_eq!(most.load(SeqCst), expected, "{own} {of_tool}");
    }
}

/// A script under limits that its own call holds needs no second permit.
#[tokio::test]
async fn a_script_does_not_wait_for_itself() {
    let seen = Arc::default();
    let toolbox = ToolBox::builder().tool(noted("one", &seen).exclusive());
    let toolbox = toolbox.max_concurrency(1).build().unwrap();
    let tool = crate::over(&toolbox).into_tool().exclusive();
    toolbox.register(tool);
    assert_eq!(run(&toolbox, "await tools.one(); return await tools.one()").await.text(), "done");
}

#[tokio::test]
async fn calls_of_scripts_are_in_events_and_in_the_audit_below_the_script() {
    let folder = tempfile::tempdir().unwrap();
    let log = AuditLog::builder(folder.path().join("audit")).synchronous(true).open().unwrap();
    let (noted_calls, events) = (Arc::default(), Seen::default());
    let toolbox = ToolBox::builder()
        .tools(vec![noted("one", &noted_calls), noted("two", &noted_calls)])
        .audit(&log)
        .events(events.sink())
        .build()
        .unwrap();
    let toolbox = scripted(toolbox);
    let context = ToolContext::new().with(Principal::new("ada"));
    let script =
        "await Promise.all([tools.one(), tools.two()]); try { await tools.none() } catch {}";
    run_in(&context, &toolbox, script).await;
    let ends: Vec<_> = events.words().into_iter().filter(|word| word.ends_with(" ok")).collect();
    assert_eq!(ends, ["s-1 one ok", "s-2 two ok", "s run_script ok"]);
    let events = events.events();
    let inner = events.iter().find(|event| event.call_id() == Some("s-1")).unwrap();
    assert_eq!(inner.parent_call_id.as_deref(), Some("s"));
    assert_eq!(inner.principal.as_deref(), Some("ada"));
    let mut lines = String::new();
    for file in std::fs::read_dir(folder.path()).unwrap() {
        lines += &std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
    }
    for id in ["\"s\"", "\"s-1\"", "\"s-2\"", "\"s-3\""] {
        assert!(lines.contains(id), "{id}: {lines}");
    }
}

/// The budget of an agent counts the calls of its scripts, and no requests for them.
#[tokio::test]
async fn budgets_of_the_run_bound_its_scripts() {
    let seen = Arc::default();
    let model = |script: &str| {
        ScriptedModel::new().calls("run_script", serde_json::json!({"script": script})).text("ok")
    };
    let script = "for (let i = 0; i < 10; i++) await tools.one(); return 'all'";
    for (most, runs) in [(100, 10), (5, 4)] {
        let seen: &Arc<Mutex<Vec<String>>> = &seen;
        seen.lock().unwrap().clear();
        let toolbox = scripted(ToolBox::from(noted("one", seen)));
        let budget = SharedBudget::new(UsageLimits::new().max_calls(most).max_requests(2));
        let agent = Agent::builder(model(script)).toolbox(toolbox).build().unwrap();
        let outcome =
            agent.run("go").in_context(ToolContext::new().with(budget.clone())).await.unwrap();
        assert_eq!(seen.lock().unwrap().len(), runs);
        assert_eq!(outcome.reason, StopReason::Answered);
        let told = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
        let stopped = "agent `run_script` was stopped: what may be spent is spent";
        assert_eq!(told, if most == 100 { "all" } else { stopped });
    }
}

/// An agent is a function like any other; it cannot run a script below the script.
#[tokio::test]
async fn agents_are_functions_of_scripts() {
    let reply = |request: &ModelRequest| {
        let steps = request.history.steps().next();
        Ok(steps.map_or("none", |step| step.results()[0].code().unwrap_or("ran")).into())
    };
    let inner = serde_json::json!({"script": "return 1"});
    for (helps, tasks, expected) in [
        (ScriptedModel::answering("helped"), "'a', 'b'", "helped,helped"),
        (ScriptedModel::new().calls("run_script", inner).respond(reply), "'a'", "tool.blacklisted"),
    ] {
        let script = format!(
            "const all = await Promise.all([{tasks}].map((task) => tools.helper({{task}}))); return all.join()"
        );
        let toolbox = scripted(ToolBox::new());
        let helper = Agent::builder(helps).toolbox(toolbox.clone()).build().unwrap();
        toolbox.register(helper.as_tool("helper", "Helps"));
        let boss = ScriptedModel::new();
        let boss = boss.calls("run_script", serde_json::json!({ "script": script })).text("ok");
        let agent = Agent::builder(boss).toolbox(toolbox).build().unwrap();
        let outcome = agent.run("go").await.unwrap();
        let told = outcome.history.steps().next().unwrap().results()[0].text().into_owned();
        assert_eq!(told, expected);
    }
}

/// A script costs nothing, where the money of a run is limited and its model has a price.
#[tokio::test]
async fn a_script_needs_no_price() {
    let price = |_: &str, model: &str, _: &Usage| (model == "scripted").then_some(Money::ZERO);
    let model = ScriptedModel::new().calls("run_script", serde_json::json!({"script": "return 7"}));
    let agent = Agent::builder(model.text("ok"))
        .toolbox(scripted(ToolBox::new()))
        .max_cost(Money::from_dollars(1))
        .prices(price)
        .build()
        .unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.history.steps().next().unwrap().results()[0].text(), "7");
}
