//! Names that tools had before: calls by them, rules on them, and tools that claim one name.

use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::json;
use toolbox::agent::Agent;
use toolbox::call::FailureKind;
use toolbox::dialect::Dialect;
use toolbox::testing::ScriptedModel;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool};

use support::now;

/// Searches the library.
#[tool(replaces = ["find", "lookup"])]
fn search(words: &str) -> Result<String, String> {
    if words.is_empty() { Err("no words".to_owned()) } else { Ok(format!("found {words}")) }
}

fn called(toolbox: &ToolBox, name: &str, arguments: &str) -> ToolResult {
    now(toolbox.call(ToolCall::new("7", name, arguments)))
}

const NOTE: &str = "`find` is now `search`: call it by that name";

#[test]
fn a_call_by_an_old_name_runs_the_tool_and_names_the_new_one() {
    let toolbox = ToolBox::from(search::tool());
    let cases = [
        ("search", r#"{"words":"a"}"#, "found a".to_owned(), None),
        ("find", r#"{"words":"a"}"#, format!("found a\n{NOTE}"), None),
        (
            "lookup",
            r#"{"words":"a"}"#,
            format!("found a\n{}", NOTE.replace("find", "lookup")),
            None,
        ),
        ("find", r#"{"words":""}"#, format!("no words\n{NOTE}"), Some(FailureKind::Reported)),
    ];
    for (name, arguments, text, failure) in cases {
        let result = called(&toolbox, name, arguments);
        assert_eq!(result.text(), text, "{name}");
        assert_eq!((result.failure_kind(), result.call_id()), (failure, "7"), "{name}");
    }
    let wrong = called(&toolbox, "find", "{}");
    assert_eq!(wrong.failure_kind(), Some(FailureKind::InvalidArguments));
    assert!(wrong.text().ends_with(NOTE), "{}", wrong.text());
    assert!(toolbox.check(&ToolCall::new("1", "find", r#"{"words":"a"}"#)).is_ok());
    assert_eq!(toolbox.names(), ["search"]);
    let own = |old: &str| (old.to_owned(), "search".to_owned());
    assert_eq!(toolbox.old_names(), [own("find"), own("lookup")]);
    let listed = toolbox.definitions_for(Dialect::Mcp);
    assert!(!listed.json().contains("lookup"), "{}", listed.json());
    assert!(called(&toolbox, "lokup", "{}").text().ends_with("the nearest names are search"));
}

#[test]
fn the_note_is_a_part_of_its_own_beside_structured_content() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = Tool::new("sum", "Sums.")
        .call(|_| ToolResult::new("three").with_structured_content(json!({"n": 3})))
        .with_output_schema(schema)
        .replaces(["add"]);
    let result = called(&ToolBox::from(tool), "add", "{}");
    assert_eq!(result.structured_content(), Some(json!({"n": 3})));
    let texts: Vec<_> = result.content().iter().filter_map(toolbox::Content::to_text).collect();
    assert_eq!(texts, ["three", "`add` is now `sum`: call it by that name"]);
}

#[test]
fn rules_on_either_name_hold_for_both() {
    #[allow(clippy::type_complexity, reason = "a table")]
    let cases: [(&str, &[&str], Option<&[&str]>, bool); 7] = [
        ("none", &[], None, true),
        ("the old name", &["find"], None, false),
        ("another old name in another case", &["LOOK*"], None, false),
        ("the new name", &["search"], None, false),
        ("another tool", &["finds"], None, true),
        ("an allow-list of the new name", &[], Some(&["search"]), true),
        ("an allow-list of the old name", &[], Some(&["find"]), false),
    ];
    for (case, denied, allowed, is_open) in cases {
        for is_first in [true, false] {
            let toolbox = ToolBox::new();
            let rules = || {
                for rule in denied {
                    toolbox.blacklist(rule);
                }
                if let Some(allowed) = allowed {
                    toolbox.allow_only(allowed.iter().copied()).expect("rules");
                }
            };
            if is_first {
                rules();
            }
            toolbox.register(search::tool());
            if !is_first {
                rules();
            }
            for name in ["search", "find", "lookup"] {
                let result = called(&toolbox, name, r#"{"words":"a"}"#);
                let failure = (!is_open).then_some(FailureKind::Blacklisted);
                assert_eq!(result.failure_kind(), failure, "{case}: {name}");
                assert!(is_open || !result.text().contains("is now"), "{case}: {}", result.text());
                assert_eq!(toolbox.permits(name), is_open, "{case}: {name}");
            }
            assert_eq!(toolbox.definitions().len(), usize::from(is_open), "{case}");
        }
    }
}

#[test]
fn two_tools_that_claim_one_name_are_refused() {
    let tool = |name: &str, old: &[&str]| {
        Tool::new(name, "Does.").call(|_| "done").replaces(old.iter().copied())
    };
    let cases = [
        ([tool("a", &["x"]), tool("b", &["x"])], Some("x")),
        ([tool("a", &[]), tool("b", &["a"])], Some("a")),
        ([tool("a", &["b"]), tool("b", &[])], Some("b")),
        ([tool("a", &["x"]), tool("b", &["y"])], None),
    ];
    for (tools, claimed) in cases {
        let toolbox = ToolBox::new();
        let refused = toolbox.try_register(tools.to_vec()).err().map(|error| error.to_string());
        assert_eq!(refused.is_some(), claimed.is_some(), "{refused:?}");
        if let (Some(refused), Some(name)) = (refused, claimed) {
            let end = format!("both claim the name `{name}`: take it out of `replaces`");
            assert!(refused.ends_with(&end), "{refused}");
            assert!(toolbox.is_empty());
        }
        let made = catch_unwind(AssertUnwindSafe(|| ToolBox::from(tools.to_vec())));
        assert_eq!(made.is_err(), claimed.is_some());
    }
    assert!(catch_unwind(|| tool("a", &["no name"])).is_err());
}

#[test]
fn an_old_name_goes_with_its_tool() {
    let toolbox = ToolBox::from(search::tool());
    let other = toolbox.prefixed("lib");
    assert_eq!(
        called(&other, "lib_find", r#"{"words":"a"}"#).text(),
        "found a\n`lib_find` is now `lib_search`: call it by that name"
    );
    toolbox.register(search::tool().replaces(["seek"]));
    let is_there = |name| called(&toolbox, name, r#"{"words":"a"}"#).failure_kind().is_none();
    assert_eq!((is_there("seek"), is_there("find")), (true, false));
    toolbox.unregister("search");
    assert!(!is_there("seek"));
    assert!(toolbox.old_names().is_empty());
    let context = ToolContext::new();
    let call = ToolCall::new("1", "lib_lookup", r#"{"words":"b"}"#);
    assert!(now(other.call_in(&context, call)).text().starts_with("found b\n"));
}

#[test]
fn a_rule_of_an_agent_on_an_old_name_holds_for_both() {
    for (rule, is_open) in [("find", false), ("look*", false), ("search", false), ("other", true)] {
        for name in ["search", "find"] {
            let model = ScriptedModel::new().calls(name, r#"{"words":"a"}"#).respond(|request| {
                let last = request.history.steps().next_back().expect("a step");
                Ok(last.results()[0].text().into_owned().into())
            });
            let toolbox = ToolBox::from(search::tool());
            let agent = Agent::builder(model).toolbox(toolbox).blacklist_tool(rule).build();
            let answer = now(agent.expect("an agent").run("x").into_future()).expect("an answer");
            assert_eq!(
                answer.content.starts_with("found a"),
                is_open,
                "{rule}: {}",
                answer.content
            );
        }
    }
}
