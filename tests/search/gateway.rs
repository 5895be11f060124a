//! Three tools in place of many: search, read the schema, call.

use crate::bounded::tokio;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use toolbox::agent::{Agent, StopReason};
use toolbox::call::Arguments;
use toolbox::context::Decision;
use toolbox::dialect::Dialect;
use toolbox::model::ModelRequest;
use toolbox::search::{Catalog, EXECUTE, Gateway, Ranking, SEARCH_PATTERN, SEARCH_WORDS};
use toolbox::testing::{ScriptedModel, check};
use toolbox::wire::{Anthropic, Format, Gemini, OpenAiChat, OpenAiResponses};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool};

use support::says;

/// Get current time in a specific timezone
#[tool(deferred)]
fn time_get_current_time(
    /// IANA timezone name
    timezone: &str,
) -> Value {
    json!({"time": "2026-01-07T02:15:00+09:00", "timezone": timezone})
}

/// Opens a pull request.
#[tool(deferred, name = "createPullRequest")]
fn create_pull_request(title: &str, #[arg(default = 1, range = 1..=9)] reviewers: u8) -> String {
    format!("{title} for {reviewers}")
}

/// A box with the tools above, sixty others behind the gateway, and ten in front of it.
fn toolbox() -> ToolBox {
    let toolbox = ToolBox::new();
    toolbox.register_all((0..10).map(|at| says(&format!("builtin_{at}"), "ok")));
    let other = |at: usize| {
        let description = format!("Does thing number {at} with widgets and gadgets.");
        says(&format!("widget_{at:02}"), "ok").with_description(description).deferred()
    };
    toolbox.register_all((0..60).map(other));
    toolbox.register_all([time_get_current_time::tool(), create_pull_request::tool()]);
    toolbox.register(Gateway::over(&toolbox));
    toolbox
}

async fn call(toolbox: &ToolBox, name: &str, arguments: Value) -> ToolResult {
    toolbox.call(ToolCall::new("c", name, arguments)).await
}

async fn found(toolbox: &ToolBox, name: &str, arguments: Value) -> Vec<String> {
    let result = call(toolbox, name, arguments).await;
    assert!(!result.is_error(), "{result:?}");
    let reply: Value = serde_json::from_str(&result.text()).unwrap();
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    let names: Vec<String> = reply["tools"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(names, result.references());
    names
}

#[tokio::test]
async fn a_gateway_ranks_by_the_formula_it_was_given() {
    let toolbox = ToolBox::new();
    let tool = |name: &str, description: &str| {
        says(name, "ok").with_description(description.to_owned()).deferred()
    };
    // The word in a name weighs more in the tuned ranking, and how often it stands somewhere in the
    // plain one.
    toolbox.register([
        tool("zoo", "calendar calendar calendar calendar calendar"),
        tool(
            "calendar",
            "Shows what is on which day, for one person or several, this week or any other week",
        ),
        tool("other", "Does something else altogether"),
    ]);
    let mut orders = Vec::new();
    for ranking in [Ranking::default(), Ranking::plain(), Ranking::Plain { k1: 0.5, b: 0.1 }] {
        let gateway = Gateway::over(&toolbox).ranking(ranking);
        let catalog = gateway.catalog();
        toolbox.register(gateway);
        let names = found(&toolbox, SEARCH_WORDS, json!({"text": "calendar"})).await;
        let expected = catalog.search("calendar").ranking(ranking).hits();
        let expected: Vec<_> = expected.iter().map(|hit| hit.definition.name.clone()).collect();
        assert_eq!(names, expected, "{ranking:?}");
        orders.push(names);
    }
    assert_eq!((&*orders[0][0], &*orders[1][0]), ("calendar", "zoo"));
}

#[test]
fn the_gateway_is_three_tools() {
    let toolbox = ToolBox::from(time_get_current_time::tool());
    toolbox.register(Gateway::over(&toolbox));
    let definitions = toolbox.definitions();
    let names: Vec<&str> = definitions.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, [SEARCH_WORDS, SEARCH_PATTERN, EXECUTE]);
    assert!(definitions.iter().all(|tool| !tool.description.is_empty()));
    // At four characters a token, in the largest form.
    for dialect in toolbox::dialect::Dialect::ALL {
        let bytes = toolbox.definitions_for(dialect).json().len();
        assert!(bytes <= 1200, "{dialect:?}: {bytes}");
    }
}

#[test]
fn what_is_behind_the_gateway_is_not_in_the_list() {
    let toolbox = toolbox();
    let names: Vec<String> = toolbox.definitions().iter().map(|tool| tool.name.clone()).collect();
    assert_eq!((names.len(), toolbox.len()), (13, 75));
    assert!(names.iter().all(|name| name.starts_with("builtin_") || name.starts_with("toolbox_")));
}

#[test]
fn the_schemas_are_those_of_the_specification() {
    let toolbox = toolbox();
    let schema = |name: &str| toolbox.get(name).unwrap().definition().input_schema.clone();
    let types = |schema: &Value| -> Vec<(String, Value)> {
        let properties = schema["properties"].as_object().unwrap();
        properties.iter().map(|(name, own)| (name.clone(), own["type"].clone())).collect()
    };
    let words = schema(SEARCH_WORDS);
    assert_eq!(
        types(&words),
        [("text".into(), json!("string")), ("limit".into(), json!("number"))]
    );
    assert_eq!(words["required"], json!(["text"]));
    let pattern = schema(SEARCH_PATTERN);
    assert_eq!(
        types(&pattern),
        [("pattern".into(), json!("string")), ("limit".into(), json!("number"))]
    );
    assert_eq!(pattern["required"], json!(["pattern"]));
    let execute = schema(EXECUTE);
    assert_eq!(
        types(&execute),
        [("name".into(), json!("string")), ("arguments".into(), json!("string"))]
    );
}

#[tokio::test]
async fn hits_bring_their_whole_schemas_in_compact_json() {
    let toolbox = toolbox();
    let result = call(&toolbox, SEARCH_WORDS, json!({"text": "time timezone"})).await;
    let definition = time_get_current_time::tool().definition().clone();
    let reply: Value = serde_json::from_str(&result.text()).unwrap();
    assert_eq!(
        reply["tools"][0],
        json!({"name": "time_get_current_time", "description": "Get current time in a specific timezone", "schema": definition.input_schema})
    );
    assert!(!result.text().contains('\n') && !result.text().contains(": "));
}

#[tokio::test]
async fn arguments_come_as_text_or_as_an_object() {
    let toolbox = toolbox();
    let wanted = json!({"timezone": "Asia/Tokyo"});
    let forms = [
        json!({"name": "time_get_current_time", "arguments": wanted.to_string()}),
        json!({"name": "time_get_current_time", "arguments": wanted}),
        json!({"toolId": "time_get_current_time", "arguments": wanted.to_string()}),
        // Text in text is what the gate itself unwraps, once.
        json!({"name": "time_get_current_time", "arguments": Value::from(wanted.to_string()).to_string()}),
    ];
    for form in forms {
        let result = call(&toolbox, EXECUTE, form.clone()).await;
        assert_eq!(
            result.text(),
            r#"{"time":"2026-01-07T02:15:00+09:00","timezone":"Asia/Tokyo"}"#,
            "{form}"
        );
        assert_eq!(result.call_id(), "c");
    }
    let nothing = call(&toolbox, EXECUTE, json!({"name": "widget_03"})).await;
    assert_eq!(nothing.text(), "ok");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_refused_with_the_schema() {
    let toolbox = toolbox();
    let call = |arguments: Value| {
        call(&toolbox, EXECUTE, json!({"name": "createPullRequest", "arguments": arguments}))
    };
    let result = call(json!({"titel": "x", "reviewers": 12})).await;
    let text = result.text().into_owned();
    assert_eq!(result.code(), Some("args.missing"));
    for part in [
        "missing required argument `title`",
        "did you mean `title`",
        "at most 9",
        "the schema of its arguments: {\"type\":\"object\"",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    for broken in ["{\"title\":", "[]", "nonsense"] {
        assert!(call(broken.into()).await.code().unwrap().starts_with("args."), "{broken}");
    }
    // Of a large schema, only the part that matters.
    let many: serde_json::Map<String, Value> = (0..200)
        .map(|at| {
            (
                format!("field_{at}"),
                json!({"type": "string", "description": "Something to fill in"}),
            )
        })
        .collect();
    let large =
        Tool::raw("large", "d", json!({"type": "object", "properties": many}), |_: Arguments| "ok");
    let own = ToolBox::from(large.deferred());
    own.register(Gateway::over(&own));
    let arguments = json!({"name": "large", "arguments": {"field_7": 1}});
    let result = own.call(ToolCall::new("c", EXECUTE, arguments)).await;
    let text = result.text().into_owned();
    assert!(text.contains("field_7") && text.len() < 1000, "{text}");
}

#[tokio::test]
async fn limits_are_clamped() {
    let toolbox = toolbox();
    for (limit, count) in [
        (json!(null), 5),
        (json!(1), 1),
        (json!(0), 1),
        (json!(-7), 1),
        (json!(2.9), 2),
        (json!(1e300), 20),
        (json!(10_000), 20),
    ] {
        let arguments = if limit.is_null() {
            json!({"text": "widget"})
        } else {
            json!({"text": "widget", "limit": limit})
        };
        assert_eq!(found(&toolbox, SEARCH_WORDS, arguments).await.len(), count, "{limit}");
        let arguments = if limit.is_null() {
            json!({"pattern": "^widget"})
        } else {
            json!({"pattern": "^widget", "limit": limit})
        };
        assert_eq!(found(&toolbox, SEARCH_PATTERN, arguments).await.len(), count, "{limit}");
    }
}

#[tokio::test]
async fn a_pattern_that_is_none_says_where() {
    let toolbox = toolbox();
    for (pattern, code, says) in [
        ("x".repeat(201), "pattern_too_long", "201"),
        ("ab(".to_owned(), "invalid_pattern", "character 2"),
        ("(?:a{1000}){1000}".to_owned(), "pattern_too_large", "fewer"),
    ] {
        let result = call(&toolbox, SEARCH_PATTERN, json!({ "pattern": pattern })).await;
        assert_eq!(result.code(), Some(code));
        assert!(result.text().contains(says), "{}", result.text());
    }
}

#[tokio::test]
async fn what_is_blacklisted_is_neither_found_nor_run() {
    let count = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&count);
    let secret = Tool::new("launch_rocket", "Launches a rocket.").call(move |_| {
        own.fetch_add(1, SeqCst);
        "up"
    });
    let toolbox = toolbox();
    toolbox.register(secret.deferred());
    assert_eq!(
        found(&toolbox, SEARCH_WORDS, json!({"text": "launch rocket"})).await[0],
        "launch_rocket"
    );
    let forbidden = ToolContext::new().with_blacklist("LAUNCH_*");
    let executes = || ToolCall::new("c", EXECUTE, r#"{"name":"launch_rocket","arguments":"{}"}"#);
    // By the context of a call, then by the box.
    assert_eq!(toolbox.call_in(&forbidden, executes()).await.code(), Some("tool.blacklisted"));
    let search = ToolCall::new("c", SEARCH_WORDS, r#"{"text":"launch_rocket"}"#);
    assert!(
        !toolbox
            .call_in(&forbidden, search)
            .await
            .references()
            .contains(&"launch_rocket".to_owned())
    );
    toolbox.blacklist("launch_rocket");
    assert_eq!(toolbox.call(executes()).await.code(), Some("tool.blacklisted"));
    let names =
        found(&toolbox, SEARCH_PATTERN, json!({"pattern": "launch|rocket", "limit": 20})).await;
    assert!(!names.contains(&"launch_rocket".to_owned()));
    assert_eq!(count.load(SeqCst), 0);
}

#[tokio::test]
async fn tools_that_come_and_go_are_seen_by_the_next_search() {
    let toolbox = toolbox();
    let search = || found(&toolbox, SEARCH_WORDS, json!({"text": "translate a poem"}));
    assert!(!search().await.contains(&"translate".to_owned()));
    toolbox.register(says("translate", "ok").with_description("Translates poems.").deferred());
    assert_eq!(search().await[0], "translate");
    // Another definition of the same name takes its place.
    toolbox.register(says("translate", "ok").with_description("Grinds coffee.").deferred());
    assert_eq!(
        found(&toolbox, SEARCH_WORDS, json!({"text": "grind coffee"})).await[0],
        "translate"
    );
    toolbox.unregister("translate");
    assert!(!search().await.contains(&"translate".to_owned()));
}

#[tokio::test]
async fn a_search_for_a_server_finds_its_tools() {
    let toolbox = ToolBox::from(vec![
        says("list", "ok").with_description("Lists things.").from_source("jira").deferred(),
        says("send", "ok").with_description("Sends things.").from_source("gmail").deferred(),
    ]);
    toolbox.register(Gateway::over(&toolbox));
    assert_eq!(found(&toolbox, SEARCH_WORDS, json!({"text": "jira"})).await, ["list"]);
}

#[tokio::test]
async fn the_dialogue_of_the_specification() {
    let model = ScriptedModel::new()
        .calls(SEARCH_WORDS, r#"{"text":"time timezone"}"#)
        .respond(|request| {
            let step = request.history.steps().next_back().unwrap();
            let reply: Value = serde_json::from_str(&step.results()[0].text()).unwrap();
            let tool = &reply["tools"][0];
            assert_eq!(tool["schema"]["properties"]["timezone"]["type"], "string");
            let arguments =
                json!({"name": tool["name"], "arguments": r#"{"timezone":"Asia/Tokyo"}"#});
            let call = ToolCall::new("call_2", EXECUTE, arguments);
            Ok(toolbox::model::Reply::calls([call]).into())
        })
        .text("The current time in Tokyo is 2:15 AM on Jan 7, 2026");
    let agent = Agent::builder(model).toolbox(toolbox()).build().unwrap();
    let outcome = agent.run("What time is it in Tokyo?").await.unwrap();
    check(&outcome.history)
        .calls(SEARCH_WORDS, json!({"text": "time timezone"}))
        .calls(EXECUTE, json!({"name": "time_get_current_time"}))
        .returns(r#"{"time":"2026-01-07T02:15:00+09:00","timezone":"Asia/Tokyo"}"#)
        .answers("The current time in Tokyo is 2:15 AM on Jan 7, 2026");
}

#[tokio::test]
async fn found_tools_join_the_next_requests_for_a_while() {
    let toolbox = ToolBox::from(time_get_current_time::tool());
    toolbox.register(Gateway::over(&toolbox).promoting_for(2));
    let model = ScriptedModel::new()
        .calls(SEARCH_WORDS, r#"{"text":"time"}"#)
        .calls("time_get_current_time", r#"{"timezone":"Asia/Tokyo"}"#)
        .calls("time_get_current_time", r#"{"timezone":"Europe/Paris"}"#)
        .text("done");
    let agent = Agent::builder(model.clone()).toolbox(toolbox).build().unwrap();
    agent.run("x").await.unwrap();
    let offered: Vec<bool> = model
        .requests()
        .iter()
        .map(|request| request.tools.iter().any(|tool| tool.name == "time_get_current_time"))
        .collect();
    assert_eq!(offered, [false, true, true, false]);
}

fn sent<F: Format>(request: &ModelRequest) -> Value {
    serde_json::from_str(&F::body(request, "m", false)).unwrap()
}

fn of_type<'a>(list: &'a Value, kind: &str) -> Vec<&'a Value> {
    list.as_array().unwrap().iter().filter(|item| item["type"] == kind).collect()
}

#[tokio::test]
async fn services_with_a_search_of_their_own_are_asked_in_their_form() {
    let toolbox = toolbox();
    toolbox.blacklist("widget_00");
    let model = ScriptedModel::new()
        .calls(SEARCH_WORDS, r#"{"text":"time timezone","limit":1}"#)
        .calls("time_get_current_time", r#"{"timezone":"Asia/Tokyo"}"#)
        .calls(SEARCH_WORDS, r#"{"text":"zzzz"}"#)
        .text("Noon.");
    let agent = Agent::builder(model.clone())
        .toolbox(toolbox.clone())
        .native_tool_search(true)
        .blacklist_tool("widget_01")
        .build()
        .unwrap();
    let outcome = agent.run("What time is it in Tokyo?").await.unwrap();
    check(&outcome.history)
        .calls(SEARCH_WORDS, json!({"text": "time timezone"}))
        .calls("time_get_current_time", json!({"timezone": "Asia/Tokyo"}))
        .returns(r#"{"time":"2026-01-07T02:15:00+09:00","timezone":"Asia/Tokyo"}"#)
        .answers("Noon.");

    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    let first = requests[0].search.as_ref().unwrap();
    for (step, request) in requests.iter().enumerate() {
        let search = request.search.as_ref().unwrap();
        assert_eq!(search.tool, SEARCH_WORDS);
        assert_eq!(search.deferred.len(), 60);
        assert!(search.deferred.iter().all(|tool| !tool.name.starts_with("widget_00")));
        // Nothing changed in between, so it is one list, lowered once.
        assert!(Arc::ptr_eq(
            &search.deferred.lowered(Dialect::Mcp),
            &first.deferred.lowered(Dialect::Mcp)
        ));

        let body = sent::<Anthropic>(request);
        let tools = body["tools"].as_array().unwrap();
        let deferred: Vec<_> = tools.iter().filter(|tool| tool["defer_loading"] == true).collect();
        assert_eq!((tools.len(), deferred.len()), (73, 60));
        assert!(deferred.iter().all(|tool| tool["cache_control"].is_null()));
        let results: Vec<&Value> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|message| of_type(&message["content"], "tool_result"))
            .collect();
        assert_eq!(results.len(), step);
        for (at, result) in results.iter().enumerate() {
            let reference =
                json!([{"type": "tool_reference", "tool_name": "time_get_current_time"}]);
            assert_eq!(result["content"] == reference, at == 0, "{result}");
            assert_eq!(result["content"].is_string(), at > 0, "{result}");
        }

        let body = sent::<OpenAiResponses>(request);
        let searches = of_type(&body["tools"], "tool_search");
        assert_eq!(searches.len(), 1);
        assert_eq!(searches[0]["execution"], "client");
        assert_eq!(searches[0]["parameters"]["required"], json!(["text"]));
        assert_eq!(of_type(&body["tools"], "function").len(), 12);
        let asked = of_type(&body["input"], "tool_search_call");
        let found = of_type(&body["input"], "tool_search_output");
        assert_eq!((asked.len(), found.len()), ([0, 1, 1, 2][step], [0, 1, 1, 2][step]));
        for (asked, found) in asked.iter().zip(&found) {
            assert!(asked["arguments"].is_object());
            assert_eq!(asked["call_id"], found["call_id"]);
        }
        if let Some(first) = found.first() {
            assert_eq!(first["tools"][0]["name"], "time_get_current_time");
            assert!(first["tools"][0]["strict"].is_boolean());
        }
        if let Some(second) = found.get(1) {
            assert_eq!(second["tools"], json!([]));
        }
        let called = of_type(&body["input"], "function_call");
        assert_eq!(called.len(), [0, 0, 1, 1][step]);
        assert!(called.iter().all(|call| call["name"] == "time_get_current_time"));

        // The others are asked as ever.
        let mut plain = request.clone();
        plain.search = None;
        assert_eq!(sent::<OpenAiChat>(request), sent::<OpenAiChat>(&plain));
        assert_eq!(sent::<Gemini>(request), sent::<Gemini>(&plain));
    }
}

#[tokio::test]
async fn a_search_follows_the_box_and_the_rules() {
    let toolbox = toolbox();
    let model = ScriptedModel::new()
        .calls("builtin_0", "{}")
        .calls("change", "{}")
        .calls("forbid", "{}")
        .calls("time_get_current_time", r#"{"timezone":"UTC"}"#)
        .text("done");
    let agent: Arc<OnceLock<Agent>> = Arc::default();
    let (own, later) = (toolbox.clone(), Arc::clone(&agent));
    toolbox.register(Tool::new("change", "d").call(move |_| {
        own.unregister("widget_07");
        "changed"
    }));
    toolbox.register(Tool::new("forbid", "d").call(move |_| {
        later.get().unwrap().blacklist_tool("time_*");
        "forbidden"
    }));
    let built = Agent::builder(model.clone()).toolbox(toolbox).native_tool_search(true).build();
    let outcome = agent.get_or_init(|| built.unwrap()).run("x").await.unwrap();
    let counts: Vec<usize> = model
        .requests()
        .iter()
        .map(|request| request.search.as_ref().unwrap().deferred.len())
        .collect();
    assert_eq!(counts, [62, 62, 61, 60, 60]);
    let last = outcome.history.steps().nth(3).unwrap();
    assert_eq!(last.results()[0].code(), Some("tool.blacklisted"));
}

#[tokio::test]
async fn a_search_is_native_only_where_it_can_work() {
    let deferred = || time_get_current_time::tool();
    let with = |toolbox: ToolBox, native: bool| async move {
        let model = ScriptedModel::answering("done");
        let agent = Agent::builder(model.clone()).toolbox(toolbox).native_tool_search(native);
        agent.build().unwrap().run("x").await.unwrap();
        model.requests()[0].search.is_some()
    };
    let complete = |tool: Tool, direct: bool| {
        let toolbox = ToolBox::builder().tools(tool).deferred_calls(direct).build().unwrap();
        toolbox.register(Gateway::over(&toolbox));
        toolbox
    };
    assert!(with(complete(deferred(), true), true).await);
    assert!(!with(complete(deferred(), true), false).await);
    // Found tools could not be called by their names.
    assert!(!with(complete(deferred(), false), true).await);
    // There is nothing to find.
    assert!(!with(complete(says("own", "ok"), true), true).await);
    // There is nothing to find it with, or it may not be called.
    assert!(!with(ToolBox::from(deferred()), true).await);
    let forbidden = complete(deferred(), true);
    forbidden.blacklist(SEARCH_WORDS);
    assert!(!with(forbidden, true).await);
}

#[tokio::test]
async fn a_hidden_tool_may_be_called_by_its_name_or_only_through_the_gateway() {
    let tool = time_get_current_time::tool();
    let direct = || ToolCall::new("c", "time_get_current_time", r#"{"timezone":"UTC"}"#);
    for (allowed, code) in [(true, None), (false, Some("tool.not_found"))] {
        let toolbox =
            ToolBox::builder().tools(tool.clone()).deferred_calls(allowed).build().unwrap();
        toolbox.register(Gateway::over(&toolbox));
        assert_eq!(toolbox.call(direct()).await.code(), code);
        let through = json!({"name": "time_get_current_time", "arguments": {"timezone": "UTC"}});
        assert!(!call(&toolbox, EXECUTE, through).await.is_error());
    }
}

#[tokio::test]
async fn a_tool_behind_the_gateway_waits_for_approval_once() {
    let guarded = says("launch", "up").with_description("Launches.").needs_approval().deferred();
    let build = |model: &ScriptedModel| {
        let toolbox = ToolBox::from(guarded.clone());
        toolbox.register(Gateway::over(&toolbox));
        Agent::builder(model.clone()).toolbox(toolbox).build().unwrap()
    };
    let model =
        ScriptedModel::new().calls(EXECUTE, r#"{"name":"launch","arguments":"{}"}"#).text("done");
    let agent = build(&model);
    let outcome = agent.run("x").await.unwrap();
    assert_eq!(outcome.reason, StopReason::ApprovalNeeded);
    let outcome =
        agent.resume(outcome.paused.unwrap(), [("call_1", Decision::Approve)]).await.unwrap();
    check(&outcome.history).calls(EXECUTE, json!({"name": "launch"})).returns("up").answers("done");
}

#[tokio::test]
async fn a_reply_keeps_its_budget() {
    let long = "x".repeat(3000);
    let tool = |at: usize| {
        let schema =
            json!({"type": "object", "properties": {"a": {"type": "string", "description": long}}});
        Tool::raw(format!("widget_{at}"), "A widget.", schema, |_: Arguments| "ok").deferred()
    };
    let toolbox: ToolBox = (0..10).map(tool).collect();
    toolbox.register(Gateway::over(&toolbox).max_reply_bytes(4000));
    let result = call(&toolbox, SEARCH_WORDS, json!({"text": "widget", "limit": 10})).await;
    let reply: Value = serde_json::from_str(&result.text()).unwrap();
    let tools = reply["tools"].as_array().unwrap();
    assert!(result.text().len() <= 4000, "{}", result.text().len());
    assert!(tools[0]["schema"].is_object() && tools[9]["schema"].is_null());
    let nothing = call(&toolbox, SEARCH_WORDS, json!({"text": "zzzz"})).await;
    assert_eq!(nothing.text(), r#"{"tools":[],"note":"nothing was found; try other words"}"#);
}

#[tokio::test]
async fn the_gateway_does_not_call_itself() {
    let toolbox = toolbox();
    for name in [SEARCH_WORDS, SEARCH_PATTERN, EXECUTE] {
        let result =
            call(&toolbox, EXECUTE, json!({"name": name, "arguments": {"text": "x"}})).await;
        assert!(result.text().contains("by itself"), "{}", result.text());
    }
    let missing = call(&toolbox, EXECUTE, json!({"name": "no_such", "arguments": "{}"})).await;
    assert_eq!(missing.text(), "tool not found: no_such");
    // The tools behind it are those that it may name.
    let near = toolbox.definitions().iter().map(|own| own.name.clone()).collect::<Vec<_>>();
    let behind = toolbox.tools().into_iter().find(|tool| !near.contains(&tool.name().to_owned()));
    let behind = behind.unwrap().name().to_owned();
    for (name, advice) in [
        (format!("{behind}x"), format!("the nearest names are {behind}")),
        (format!("functions.{behind}"), format!("the name of the tool is `{behind}`")),
    ] {
        let missing = call(&toolbox, EXECUTE, json!({"name": name, "arguments": "{}"})).await;
        let text = missing.text();
        assert!(text.starts_with(&format!("tool not found: {name}; {advice}")), "{text}");
        // By itself, a tool behind the gateway is not there.
        let missing = call(&toolbox, &name, json!({})).await;
        assert_eq!(missing.text(), format!("tool not found: {name}"));
    }
    for garbage in ["", "[]", "{}", "{\"name\":7}", "\u{0}"] {
        let result = toolbox.call(ToolCall::new("c", EXECUTE, garbage)).await;
        assert_eq!(result.code(), Some("args.invalid"), "{garbage}");
    }
}

/// A model for whom a word and its translation mean the same.
struct Dictionary {
    broken: bool,
}

impl toolbox::search::Embedder for Dictionary {
    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> toolbox::BoxFuture<'a, Result<Vec<Vec<f32>>, toolbox::call::SharedError>> {
        Box::pin(async move {
            if self.broken {
                return Err(
                    Arc::new(std::io::Error::other("no model")) as toolbox::call::SharedError
                );
            }
            let about_mail = |text: &String| text.contains("Brief") || text.contains("letter");
            Ok(texts.iter().map(|text| vec![f32::from(u8::from(about_mail(text))), 0.1]).collect())
        })
    }
}

#[tokio::test]
async fn a_model_for_meaning_finds_what_no_word_names() {
    use toolbox::search::Embeddings;
    for (broken, first) in [(false, Some("post")), (true, None)] {
        let toolbox = ToolBox::from(vec![
            says("post", "ok").with_description("Sends a letter.").deferred(),
            says("bake", "ok").with_description("Bakes bread.").deferred(),
        ]);
        let embeddings = Embeddings::new(Dictionary { broken });
        toolbox.register(Gateway::over(&toolbox).with_embeddings(embeddings));
        let names = found(&toolbox, SEARCH_WORDS, json!({"text": "Brief", "limit": 1})).await;
        assert_eq!(names.first().map(String::as_str), first);
    }
}

#[tokio::test]
async fn one_server_takes_no_more_than_three_in_five_places() {
    let toolbox = ToolBox::new();
    let add = |server: &str, name: &str, description: &str| {
        let handler = |_: Arguments| async { "" };
        let tool = Tool::raw(name, description, json!({"type": "object"}), handler);
        toolbox.register(tool.from_source(server.to_owned()).deferred());
    };
    for at in 0..8 {
        add("greedy", &format!("greedy_weather_{at}"), "Weather forecast for a city");
    }
    add("modest", "modest_weather_0", "Weather forecast for a city");
    add("other", "mellow_weather_0", "Weather forecast for a city");
    // By themselves the words would give all five places to one.
    let catalog = toolbox.tools().iter().map(|tool| tool.definition().clone()).collect::<Catalog>();
    let plain = catalog.search("weather forecast for a city").limit(5).hits();
    assert!(plain.iter().all(|hit| hit.definition.name.starts_with("greedy")), "{plain:?}");
    toolbox.register(Gateway::over(&toolbox));
    let search = async |text: &str| {
        let call = ToolCall::new("1", "toolbox_search_bm25", json!({"text": text}));
        toolbox.call(call).await.references().to_vec()
    };
    let found = search("weather forecast for a city").await;
    assert_eq!(found.len(), 5);
    assert_eq!(found.iter().filter(|name| name.starts_with("greedy")).count(), 3, "{found:?}");
    assert!(found.contains(&"modest_weather_0".to_owned()), "{found:?}");
    assert!(found.contains(&"mellow_weather_0".to_owned()), "{found:?}");
    // Where nobody else has anything to offer, it has all of them.
    toolbox.unregister("modest_weather_0");
    toolbox.unregister("mellow_weather_0");
    add("other", "other_sum", "Adds numbers in a list, without any forecast");
    let found = search("weather forecast for a city").await;
    assert!(found.iter().all(|name| name.starts_with("greedy")), "{found:?}");
}

#[tokio::test]
async fn a_server_with_many_equal_tools_leaves_places_to_others() {
    for (many, limit) in [(20, 5), (40, 5), (300, 3), (300, 20)] {
        let toolbox = ToolBox::new();
        let add = |server: &str, name: &str, description: &str| {
            let handler = |_: Arguments| async { "" };
            let tool = Tool::raw(name, description, json!({"type": "object"}), handler);
            toolbox.register(tool.from_source(server.to_owned()).deferred());
        };
        for at in 0..many {
            add("greedy", &format!("greedy_weather_{at}"), "Weather forecast for a city");
        }
        add("modest", "modest_weather_0", "Weather forecast for a city");
        toolbox.register(Gateway::over(&toolbox).default_limit(limit));
        let arguments = json!({"text": "weather forecast for a city"});
        let call = ToolCall::new("1", "toolbox_search_bm25", arguments);
        let found = toolbox.call(call).await.references().to_vec();
        assert_eq!(found.len(), limit, "{many} {limit}");
        assert!(found.contains(&"modest_weather_0".to_owned()), "{many} {limit}: {found:?}");
    }
}
