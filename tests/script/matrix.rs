//! Each rule by each way to a tool: what it forbids has no effect, and a script is told what the
//! model would have been.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use support::Seen;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
use toolbox::agent::{Agent, Paused, RunOutcome, SharedBudget, UsageLimits};
use toolbox::audit::AuditLog;
use toolbox::collection::ToolBoxBuilder;
use toolbox::context::{ApprovalRequest, Decision, Principal, Taint};
use toolbox::mcp::Service;
use toolbox::search::{EXECUTE, Gateway};
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolContext};
use toolbox_script::Scripts;

use crate::bounded::tokio;

/// How often a tool had its effect.
#[derive(Clone, Default)]
struct Effects(Arc<AtomicUsize>);

impl Effects {
    fn add(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    fn take(&self) -> usize {
        self.0.swap(0, SeqCst)
    }
}

/// A rule for the tool `target`.
#[derive(Clone, Copy)]
struct Rule {
    name: &'static str,
    /// The code of the refusal; none if the tool runs.
    code: Option<&'static str>,
    target: fn(Effects) -> Tool,
    builder: fn(ToolBoxBuilder) -> ToolBoxBuilder,
    rules: fn(&ToolBox),
    context: fn() -> ToolContext,
    /// The tool that is called first.
    before: Option<&'static str>,
    /// `true` if the rule is one of the caller's context, which a client does not bring along.
    is_of_caller: bool,
}

const NO_RULE: Rule = Rule {
    name: "none",
    code: None,
    target: plain,
    builder: |builder| builder,
    rules: |_| {},
    context: ToolContext::new,
    before: None,
    is_of_caller: false,
};

fn plain(effects: Effects) -> Tool {
    let tool = Tool::new("target", "Has an effect.").call(move |_| {
        effects.add();
        "done"
    });
    tool.with_tags(["x"]).deferred()
}

fn stuck(effects: Effects) -> Tool {
    let tool = Tool::new("target", "Has an effect.").call_async(move |_| {
        let effects = effects.clone();
        async move {
            std::future::pending::<()>().await;
            effects.add();
            "done"
        }
    });
    tool.with_timeout(Duration::from_millis(20)).with_tags(["x"]).deferred()
}

/// An agent whose only call has the effect, and which may not be below another.
fn agent(effects: Effects) -> Tool {
    let own = plain(effects);
    let model = ScriptedModel::new().calls("target", json!({})).text("done");
    let agent = Agent::builder(model).toolbox(ToolBox::from(own)).max_depth(1).build().unwrap();
    let schema = json!({"type": "object"});
    let definition = toolbox::ToolDefinition::new("target", "Has an effect.", schema);
    let start = move |_: &ToolContext, _: &str| Ok(agent.run("go"));
    toolbox::agent::tool_from_fn(definition, start).unwrap().with_tags(["x"]).deferred()
}

fn denying(builder: ToolBoxBuilder) -> ToolBoxBuilder {
    builder.approver(|request: ApprovalRequest| async move {
        if request.tool_name() == "target" {
            Decision::Deny("no".into())
        } else {
            Decision::Approve
        }
    })
}

fn is_ada(context: &ToolContext) -> bool {
    context.get::<Principal>().is_some_and(|user| user.as_str() == "ada")
}

const OPEN: [&str; 5] = ["run_script", "page", "wait", "helper", EXECUTE];
const BLACKLISTED: Option<&str> = Some("tool.blacklisted");
const NOT_FOUND: Option<&str> = Some("tool.not_found");
const NOT_APPROVED: Option<&str> = Some("tool.not_approved");

/// The rules. Budgets and exclusive tools have tests of their own: what they forbid is no refusal.
const RULES: &[Rule] = &[
    NO_RULE,
    Rule {
        name: "blacklist by name",
        code: BLACKLISTED,
        rules: |toolbox| toolbox.blacklist("target"),
        ..NO_RULE
    },
    Rule {
        name: "blacklist by pattern",
        code: BLACKLISTED,
        rules: |toolbox| toolbox.blacklist("TAR*"),
        ..NO_RULE
    },
    Rule {
        name: "blacklist by tag",
        code: BLACKLISTED,
        rules: |toolbox| toolbox.blacklist("tag:x"),
        ..NO_RULE
    },
    Rule {
        name: "blacklist by old name",
        code: BLACKLISTED,
        target: |effects| plain(effects).replaces(["old_target"]),
        rules: |toolbox| toolbox.blacklist("old_target"),
        ..NO_RULE
    },
    Rule {
        name: "allow-list",
        code: BLACKLISTED,
        rules: |toolbox| toolbox.allow_only(OPEN).unwrap(),
        ..NO_RULE
    },
    Rule {
        name: "blacklist of the context, by name",
        code: BLACKLISTED,
        context: || ToolContext::new().with_blacklist("target"),
        is_of_caller: true,
        ..NO_RULE
    },
    Rule {
        name: "blacklist of the context, by tag",
        code: BLACKLISTED,
        context: || ToolContext::new().with_blacklist("tag:x"),
        is_of_caller: true,
        ..NO_RULE
    },
    Rule {
        name: "available_if of the tool",
        code: NOT_FOUND,
        target: |effects| plain(effects).available_if(|_| false),
        ..NO_RULE
    },
    Rule {
        name: "available_if of the box",
        code: NOT_FOUND,
        builder: |builder| builder.available_if("tag:x", |_| false).unwrap(),
        ..NO_RULE
    },
    Rule {
        name: "available to another principal",
        code: NOT_FOUND,
        target: |effects| plain(effects).available_if(is_ada),
        context: || ToolContext::new().with(Principal::new("bob")),
        ..NO_RULE
    },
    Rule {
        name: "available to the principal",
        target: |effects| plain(effects).available_if(is_ada),
        context: || ToolContext::new().with(Principal::new("ada")),
        is_of_caller: true,
        ..NO_RULE
    },
    Rule {
        name: "approval denied",
        code: NOT_APPROVED,
        target: |effects| plain(effects).needs_approval(),
        builder: denying,
        ..NO_RULE
    },
    Rule {
        name: "taint by a result before",
        code: NOT_APPROVED,
        target: |effects| plain(effects).needs_approval_while_tainted(),
        builder: denying,
        before: Some("page"),
        ..NO_RULE
    },
    Rule {
        name: "taint of the caller",
        code: NOT_APPROVED,
        target: |effects| plain(effects).needs_approval_while_tainted(),
        builder: denying,
        context: || {
            let taint = Taint::new();
            taint.mark();
            ToolContext::new().with(taint)
        },
        is_of_caller: true,
        ..NO_RULE
    },
    Rule { name: "timeout", code: Some("tool.timed_out"), target: stuck, ..NO_RULE },
    Rule { name: "depth", code: Some("run.too_deep"), target: agent, ..NO_RULE },
];

/// A way to the tool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Direct,
    Script,
    /// By an agent below whose model runs a script.
    BelowAnAgent,
    /// A script calls the gateway.
    ToTheGateway,
    /// The gateway calls the script.
    BehindTheGateway,
    /// A client of a server whose box has `run_script`.
    Mcp,
    /// A script that paused before.
    Resumed,
    /// A script over some tools of the box.
    OverNames,
    OverTags,
    OverFound,
}

const WAYS: [Way; 10] = [
    Way::Direct,
    Way::Script,
    Way::BelowAnAgent,
    Way::ToTheGateway,
    Way::BehindTheGateway,
    Way::Mcp,
    Way::Resumed,
    Way::OverNames,
    Way::OverTags,
    Way::OverFound,
];

impl Way {
    /// The calls that a budget counts until the tool has its effect: one through the gateway is
    /// one call.
    fn calls(self) -> u64 {
        match self {
            Self::Direct => 1,
            Self::BelowAnAgent | Self::Resumed => 3,
            _ => 2,
        }
    }

    /// Returns the script, which returns the code of the refusal, or `ran`.
    fn script(self, before: Option<&str>) -> String {
        let before = before.map(|tool| format!("await tools.{tool}();")).unwrap_or_default();
        let wait = if self == Self::Resumed { "await tools.wait();" } else { "" };
        let call = match self {
            Self::ToTheGateway => {
                format!("await tools.{EXECUTE}({{name: 'target', arguments: {{}}}})")
            }
            _ => "await tools.target({})".to_owned(),
        };
        format!("{before} {wait} try {{ {call}; return 'ran' }} catch (e) {{ return e.code }}")
    }
}

/// The box of one process.
fn toolbox(rule: &Rule, way: Way, effects: &Effects) -> ToolBox {
    let builder = (rule.builder)(ToolBox::builder());
    toolbox_of(builder, (rule.target)(effects.clone()), way, rule)
}

fn toolbox_of(builder: ToolBoxBuilder, target: Tool, way: Way, rule: &Rule) -> ToolBox {
    let page = Tool::new("page", "Text of others, without effect.").call(|_| "text").untrusted();
    let page = page.with_tags(["x"]);
    let toolbox = builder.tools(vec![target, page, wait::tool()]).build().unwrap();
    toolbox.register(Gateway::over(&toolbox));
    let scripts = crate::over(&toolbox);
    toolbox.register(match way {
        Way::BehindTheGateway => scripts.into_tool().deferred(),
        Way::OverNames => scripts.with_tools(["target", "page"]).into_tool(),
        Way::OverTags => scripts.with_tags(["x"]).into_tool(),
        Way::OverFound => scripts.with_search("effect", 3).into_tool(),
        _ => scripts.into_tool(),
    });
    (rule.rules)(&toolbox);
    toolbox
}

/// Waits for a person.
#[toolbox::tool]
async fn wait(context: &ToolContext) -> String {
    format!("{:?}", context.ask::<bool>("Go on?").await)
}

/// Returns the code that the last call of an agent ended with, or that a script returned.
fn told(outcome: &RunOutcome, way: Way) -> String {
    let mut results = outcome.history.steps().filter_map(|step| step.results().first());
    let Some(result) = results.next_back() else {
        return format!("{:?} {:?}", outcome.reason, outcome.paused);
    };
    match way {
        Way::Direct => result.code().unwrap_or("ran").to_owned(),
        _ => result.text().into_owned(),
    }
}

/// Goes the way, and returns the code of the refusal, or `ran`.
async fn go(rule: &Rule, way: Way, context: ToolContext, make: &dyn Fn() -> ToolBox) -> String {
    let toolbox = make();
    let script = json!({"script": way.script(rule.before)});
    let of_last = |request: &toolbox::model::ModelRequest| {
        let step = request.history.steps().last().unwrap();
        Ok(step.results()[0].text().into_owned().into())
    };
    let model = ScriptedModel::new();
    let (model, toolbox) = match way {
        Way::Direct => {
            let before =
                rule.before.iter().fold(model, |model, tool| model.calls(*tool, json!({})));
            (before.calls("target", json!({})), toolbox)
        }
        Way::BehindTheGateway => {
            (model.calls(EXECUTE, json!({"name": "run_script", "arguments": script})), toolbox)
        }
        Way::BelowAnAgent => {
            let below = ScriptedModel::new().calls("run_script", script).respond(of_last);
            let below = Agent::builder(below).toolbox(toolbox).build().unwrap();
            let above = ToolBox::from(below.as_tool("helper", "Helps."));
            (model.calls("helper", json!({"task": "go"})), above)
        }
        Way::Mcp => return over_mcp(toolbox, script).await,
        _ => (model.calls("run_script", script), toolbox),
    };
    let agent = Agent::builder(model.text("end")).toolbox(toolbox).build().unwrap();
    let mut outcome = agent.run("go").in_context(context.clone()).await.unwrap();
    if way == Way::Resumed {
        let Some(paused) = &outcome.paused else { return "did not pause".to_owned() };
        let reply = Decision::Reply(vec![json!({"answer": true}).into()]);
        outcome = resumed(paused, reply, make(), context).await;
    }
    told(&outcome, way)
}

/// Goes on with a run in another process.
async fn resumed(
    paused: &Paused,
    decision: Decision,
    toolbox: ToolBox,
    context: ToolContext,
) -> RunOutcome {
    let paused: Paused = serde_json::from_str(&serde_json::to_string(paused).unwrap()).unwrap();
    let pending = paused.pending().into_iter();
    let decisions: Vec<_> = pending.map(|call| (call.id, decision.clone())).collect();
    let agent = Agent::builder(ScriptedModel::answering("end")).toolbox(toolbox).build().unwrap();
    agent.resume(paused, decisions).in_context(context).await.unwrap()
}

/// Runs a script by a client that is connected by a stream.
async fn over_mcp(toolbox: ToolBox, script: Value) -> String {
    let (here, there) = duplex(64 << 10);
    let (input, output) = split(there);
    let served = tokio::spawn(async move { Service::new(toolbox).serve(input, output).await });
    let (input, mut output) = split(here);
    let mut lines = BufReader::new(input).lines();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "client", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "run_script", "arguments": script, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    output.write_all(format!("{call}\n").as_bytes()).await.unwrap();
    let answer = loop {
        let line = lines.next_line().await.unwrap().expect("the server closed the connection");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["id"] == 1 {
            break message;
        }
    };
    drop((lines, output));
    let _ = served.await;
    let text = answer["result"]["content"][0]["text"].as_str();
    text.map_or_else(|| answer.to_string(), str::to_owned)
}

#[tokio::test]
async fn no_rule_has_a_way_round() {
    for rule in RULES {
        for way in WAYS {
            if way == Way::Mcp && rule.is_of_caller {
                continue;
            }
            let effects = Effects::default();
            let make = || toolbox(rule, way, &effects);
            let code = go(rule, way, (rule.context)(), &make).await;
            assert_eq!(code, rule.code.unwrap_or("ran"), "{} {way:?}", rule.name);
            let expected = usize::from(rule.code.is_none());
            assert_eq!(effects.take(), expected, "{} {way:?}", rule.name);
        }
    }
}

/// A tool has its effect where the budget has all calls of the way to it, and else never. A server
/// has no budgets.
#[tokio::test]
async fn no_way_is_beside_the_budget() {
    for way in WAYS.into_iter().filter(|way| *way != Way::Mcp) {
        for most in 0..=way.calls() {
            let effects = Effects::default();
            let budget = SharedBudget::new(UsageLimits::new().max_calls(most));
            let make = || toolbox(&NO_RULE, way, &effects);
            go(&NO_RULE, way, ToolContext::new().with(budget), &make).await;
            assert_eq!(effects.take() == 1, most == way.calls(), "{way:?} {most}");
        }
    }
}

/// Of an exclusive tool no two calls run at once, whichever ways they came.
#[tokio::test]
async fn an_exclusive_tool_is_so_by_every_way() {
    let (now, most, all) = (Effects::default(), Effects::default(), Effects::default());
    let seen = (now, most.clone(), all.clone());
    let busy = Tool::new("target", "Has an effect.").call_async(move |_| {
        let (now, most, all) = seen.clone();
        async move {
            most.0.fetch_max(now.0.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(Duration::from_millis(5)).await;
            now.0.fetch_sub(1, SeqCst);
            all.add();
            "done"
        }
    });
    for (tool, ways, is_alone) in
        [(busy.clone(), &[Way::Direct][..], false), (busy.exclusive(), &WAYS, true)]
    {
        let tool = tool.with_tags(["x"]);
        for &way in ways {
            let toolbox = toolbox_of(ToolBox::builder(), tool.clone(), way, &NO_RULE);
            let make = || toolbox.clone();
            let go = |way| go(&NO_RULE, way, ToolContext::new(), &make);
            let [a, b, c] = [way, way, Way::Direct].map(go);
            let ends = tokio::join!(a, b, c);
            assert_eq!(all.take(), 3, "{way:?} {ends:?}");
            assert_eq!(most.take() == 1, is_alone, "{way:?}");
        }
    }
}

/// Each call is in the audit and in the events, with the principal on whose behalf it was made.
#[tokio::test]
async fn each_way_is_in_the_audit() {
    for way in WAYS {
        for (rules, end) in [
            (NO_RULE.rules, "ok"),
            ((|toolbox| toolbox.blacklist("target")) as fn(&ToolBox), "refused"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let log = AuditLog::builder(folder.path().join("audit"));
            let log = log.synchronous(true).open().unwrap();
            let (effects, events) = (Effects::default(), Seen::default());
            let rule = Rule { rules, ..NO_RULE };
            let make = || {
                let builder = ToolBox::builder().audit(&log).events(events.sink());
                toolbox_of(builder, plain(effects.clone()), way, &rule)
            };
            let context = ToolContext::new().with(Principal::new("ada"));
            go(&rule, way, context, &make).await;
            let mut lines = String::new();
            for file in std::fs::read_dir(folder.path()).unwrap() {
                lines += &std::fs::read_to_string(file.unwrap().path()).unwrap_or_default();
            }
            let of_target =
                lines.lines().filter(|line| line.contains(r#""target""#)).collect::<Vec<_>>();
            assert!(!of_target.is_empty(), "{way:?} {end}: {lines}");
            let is_named = of_target.iter().all(|line| line.contains(r#""ada""#));
            assert_eq!(is_named, way != Way::Mcp, "{way:?} {end}: {of_target:?}");
        }
    }
}

/// What a rule forbids or hides, a script reads of nowhere.
#[tokio::test]
async fn what_may_not_be_called_is_not_named() {
    let script = "let text = '';
        for (const name of ['tagret', 'targ']) {
            try { await tools[name]() } catch (e) { text += e.message + ' ' }
        }
        return text + JSON.stringify(await tools.search('has effect')) + await tools.types('*')";
    for rule in RULES {
        let hides = [BLACKLISTED, NOT_FOUND].contains(&rule.code);
        for way in [Way::Script, Way::OverNames, Way::OverTags, Way::OverFound] {
            let toolbox = toolbox(rule, way, &Effects::default());
            let result = crate::run_in(&(rule.context)(), &toolbox, script).await;
            let names_it = result.text().contains("target");
            assert_eq!(names_it, !hides, "{} {way:?}: {}", rule.name, result.text());
        }
    }
}

/// A rule that comes while a call waits for its approval holds when the script goes on.
#[tokio::test]
async fn what_is_forbidden_while_a_script_waits_is_not_called() {
    let effects = Effects::default();
    let forbidding = RULES.iter().filter(|rule| [BLACKLISTED, NOT_FOUND].contains(&rule.code));
    for rule in forbidding.chain([&NO_RULE]) {
        for way in [Way::Script, Way::OverNames, Way::OverTags, Way::OverFound] {
            let make = |rule: &Rule| {
                let target = (rule.target)(effects.clone()).needs_approval();
                toolbox_of((rule.builder)(ToolBox::builder()), target, way, rule)
            };
            let script = json!({"script": way.script(None)});
            let model = ScriptedModel::new().calls("run_script", script);
            let agent = Agent::builder(model).toolbox(make(&NO_RULE)).build().unwrap();
            let (context, first) = ((rule.context)(), ToolContext::new());
            // A pause is its principal's.
            let first = match context.get::<Principal>() {
                Some(user) => first.with(user.clone()),
                None => first,
            };
            let paused = agent.run("go").in_context(first).await.unwrap().paused.unwrap();
            let outcome = resumed(&paused, Decision::Approve, make(rule), context).await;
            assert_eq!(told(&outcome, way), rule.code.unwrap_or("ran"), "{} {way:?}", rule.name);
            assert_eq!(effects.take(), usize::from(rule.code.is_none()), "{} {way:?}", rule.name);
        }
    }
}

/// A change of a box, and the code of a call of `target` after it.
type Change = (fn(&ToolBox), Option<&'static str>);

/// A rule that comes while the script computes holds for the calls that it asks for next.
#[tokio::test]
async fn what_is_forbidden_while_a_script_computes_is_not_called() {
    let selections: [fn(Scripts) -> Scripts; 3] = [
        |scripts| scripts.with_tools(["target", "other"]),
        |scripts| scripts.with_tags(["own"]),
        |all| all,
    ];
    let changes: [Change; 4] = [
        (|whole| whole.blacklist("target"), BLACKLISTED),
        (|whole| whole.blacklist("tag:first"), BLACKLISTED),
        (|whole| whole.allow_only(["other", "run_script"]).unwrap(), BLACKLISTED),
        (|whole| drop(whole.unregister("target")), NOT_FOUND),
    ];
    for select in selections {
        for (change, code) in changes {
            let (effects, toolbox) = (Effects::default(), ToolBox::new());
            let whole = toolbox.clone();
            // Whether a tool is available is asked where the script reads about tools, on its
            // thread.
            let other = Tool::new("other", "x").call(|_| "x").available_if(move |_| {
                if std::thread::current().name() == Some("script") {
                    change(&whole);
                }
                true
            });
            toolbox.register(plain(effects.clone()).with_tags(["own", "first"]));
            toolbox.register(other.with_tags(["own"]));
            toolbox.register(select(crate::over(&toolbox)));
            let script = "await tools.types('other'); await tools.target(); return 'ran'";
            let result = crate::run(&toolbox, script).await;
            assert!(result.text().contains(code.unwrap()), "{code:?}: {}", result.text());
            assert_eq!(effects.take(), 0, "{code:?}");
        }
    }
}

/// Whatever the tools that run scripts are called, none is one for a script.
#[tokio::test]
async fn no_script_runs_a_script() {
    let inner = json!({"script": "await tools.target(); return 'ran'"});
    for outer in ["run_script", "other", "renamed"] {
        for tool in ["run_script", "other", "renamed", "helper", EXECUTE] {
            for own in ["run_script", "other", "renamed"] {
                let effects = Effects::default();
                let toolbox = ToolBox::from(plain(effects.clone()));
                let scripts = || crate::over(&toolbox);
                toolbox.register(scripts());
                toolbox.register(scripts().named("other").with_tools(["target", tool, own]));
                toolbox.register(scripts().named("first").into_tool().renamed("renamed"));
                toolbox.register(Gateway::over(&toolbox));
                let of_last = |request: &toolbox::model::ModelRequest| {
                    let step = request.history.steps().last().unwrap();
                    Ok(step.results()[0].code().unwrap_or("ran").into())
                };
                let helps = ScriptedModel::new().calls(own, inner.clone()).respond(of_last);
                let helper = Agent::builder(helps).toolbox(toolbox.clone()).build().unwrap();
                toolbox.register(helper.as_tool("helper", "Helps."));
                let call = match tool {
                    "helper" => "tools.helper({task: 'go'})".to_owned(),
                    EXECUTE => format!("tools.{EXECUTE}({{name: '{own}', arguments: {inner}}})"),
                    _ => format!("tools.{tool}({inner})"),
                };
                let script = format!("try {{ return await {call} }} catch (e) {{ return e.code }}");
                let mut call = crate::call(&script);
                call.name = outer.to_owned();
                let text = toolbox.call(call).await.into_text();
                assert_eq!(
                    (&*text, effects.take()),
                    ("tool.blacklisted", 0),
                    "{outer} {tool} {own}"
                );
            }
        }
    }
}
