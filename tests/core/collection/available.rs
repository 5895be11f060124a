//! Tools that are available to some callers only: lists, calls, messages; and rules by tags.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use toolbox::call::FailureKind;
use toolbox::context::{Principal, State, Taint};
use toolbox::dialect::Dialect;
use toolbox::resource::Resource;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, toolset};

use support::{now, quietly};

fn for_root(context: &ToolContext) -> bool {
    context.get::<Principal>().is_some_and(|user| user.as_str() == "root")
}

fn never(_: &ToolContext) -> bool {
    false
}

/// Deletes all.
#[tool(available = for_root, replaces = "wipe", tags("write"))]
fn delete_all() -> &'static str {
    "deleted"
}

/// Reads.
#[tool(tags("read"))]
fn read_all() -> &'static str {
    "read"
}

struct Store(&'static str);

#[toolset(available = for_root, prefix = "store")]
impl Store {
    /// Puts.
    #[tool]
    fn put(&self) -> &'static str {
        self.0
    }

    /// Drops.
    #[tool(available = never)]
    fn drop_all(&self) -> &'static str {
        self.0
    }
}

fn user(name: &str) -> ToolContext {
    ToolContext::new().with(Principal::new(name))
}

fn called(toolbox: &ToolBox, context: &ToolContext, name: &str) -> ToolResult {
    now(toolbox.call_in(context, ToolCall::new("7", name, "{}")))
}

fn listed(toolbox: &ToolBox, context: &ToolContext) -> BTreeSet<String> {
    toolbox.definitions_in(context).iter().map(|tool| tool.name.clone()).collect()
}

fn names<const N: usize>(all: [&str; N]) -> BTreeSet<String> {
    all.map(str::to_owned).into()
}

/// The tools in every form that a predicate takes, in one box.
fn all() -> ToolBox {
    let toolbox = ToolBox::builder()
        .available_if("tag:ADMIN", for_root)
        .and_then(|builder| builder.available_if("late_*", for_root))
        .expect("rules")
        .build()
        .expect("a box");
    toolbox.register(delete_all::tool());
    toolbox.register(Tool::new("new_one", "N.").call(|_| "new").replaces(["late_two"]));
    toolbox.register(read_all::tool());
    toolbox.register(Store("stored"));
    toolbox.register(Tool::new("closure", "C.").call(|_| "closed").available_if(for_root));
    toolbox.register(Tool::new("tagged", "T.").call(|_| "tagged").with_tags(["admin"]));
    toolbox.register(Tool::new("late_one", "L.").call(|_| "late"));
    toolbox.register(Tool::new("hidden", "H.").call(|_| "hidden").deferred().available_if(never));
    toolbox
}

#[test]
fn a_tool_is_there_for_those_for_whom_its_predicate_holds() {
    let toolbox = all();
    let of_root = ["delete_all", "new_one", "store_put", "closure", "tagged", "late_one"];
    let for_none = ["store_drop_all", "hidden"];
    for (who, context) in
        [("nobody", ToolContext::new()), ("a guest", user("guest")), ("root", user("root"))]
    {
        let is_root = who == "root";
        let mut expected = names(["read_all"]);
        if is_root {
            expected.extend(of_root.map(str::to_owned));
        }
        assert_eq!(listed(&toolbox, &context), expected, "{who}");
        assert_eq!(called(&toolbox, &context, "read_all").text(), "read");
        for name in of_root {
            let result = called(&toolbox, &context, name);
            let failure = (!is_root).then_some(FailureKind::NotFound);
            assert_eq!(result.failure_kind(), failure, "{who}: {name}: {}", result.text());
        }
        for name in for_none {
            let result = called(&toolbox, &context, name);
            assert_eq!(result.failure_kind(), Some(FailureKind::NotFound), "{who}: {name}");
        }
    }
    assert_eq!(toolbox.names().len(), 9, "the program has them all");
}

#[test]
fn without_a_context_a_list_has_what_needs_none() {
    let toolbox = all();
    let own = ["read_all"];
    let definitions = toolbox.definitions();
    assert_eq!(definitions.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), own);
    assert_eq!(toolbox.summaries(), ["- `read_all` - Reads."]);
    for dialect in [Dialect::OpenAiChat, Dialect::Anthropic, Dialect::Gemini, Dialect::Mcp] {
        let list = toolbox.definitions_for(dialect);
        assert!(!list.json().contains("delete_all"), "{dialect:?}");
        assert_eq!(toolbox.tokens(dialect).len(), 1, "{dialect:?}");
    }
    assert_eq!(now(toolbox.execute("read_all", "{}")), Ok("read".to_owned()));
    assert_eq!(now(toolbox.execute("closure", "{}")), Err("tool not found: closure".to_owned()));
    let refusal = toolbox.check(&ToolCall::new("1", "closure", "{}")).expect_err("a refusal");
    assert_eq!(refusal.failure_kind(), Some(FailureKind::NotFound));
    assert!(toolbox.check(&ToolCall::new("1", "read_all", "{}")).is_ok());
}

#[test]
fn no_refusal_names_a_tool_that_is_not_available() {
    let toolbox = all();
    toolbox.register(
        Tool::new("a_very_long_name_for_a_server.of.tools", "Long.")
            .call(|_| "long")
            .available_if(for_root),
    );
    let wrapped = r#"{"tool_uses":[{"recipient_name":"functions.delete_all","parameters":{}}]}"#;
    let cases = [
        ("wipe", "{}"),
        ("Delete_all", "{}"),
        ("delete_al", "{}"),
        ("functions.delete_all", "{}"),
        ("wip", "{}"),
        ("store_putt", "{}"),
        ("a_very_long_name_for_a_server_of_tools", "{}"),
        ("multi_tool_use.parallel", wrapped),
    ];
    let guest = user("guest");
    let nobody = ToolBox::from(read_all::tool());
    for (name, arguments) in cases {
        let call = || ToolCall::new("1", name, arguments);
        let result = now(toolbox.call_in(&guest, call()));
        // As a box says it that has no such tool.
        let expected = now(nobody.call_in(&guest, call()));
        assert_eq!(result.text(), expected.text(), "{name}");
        assert_eq!(result.failure_kind(), Some(FailureKind::NotFound), "{name}");
    }
    let root = user("root");
    assert!(called(&toolbox, &root, "wipe").text().starts_with("deleted\n`wipe` is now"));
    assert!(called(&toolbox, &root, "delete_al").text().contains("delete_all"));
}

#[test]
fn a_predicate_reads_values_states_and_the_taint_and_is_asked_each_time() {
    struct Open(AtomicBool);
    let is_open = |context: &ToolContext| {
        context.state::<Arc<Open>>().is_some_and(|open| open.0.load(SeqCst))
    };
    let open = Arc::new(Open(AtomicBool::new(false)));
    let tool = || Tool::new("enter", "E.").call(|_| "in").available_if(is_open);
    let nobody = ToolContext::new();
    let boxes = [
        ToolBox::builder().state(Arc::clone(&open)).tools(tool()).build().expect("a box"),
        ToolBox::from(tool().with_state(Arc::clone(&open))),
    ];
    let moved = ToolBox::new();
    moved.merge(&boxes[0]);
    for toolbox in boxes.iter().chain([&moved, &boxes[1].filtered(|_| true)]) {
        for is_so in [false, true, false] {
            open.0.store(is_so, SeqCst);
            assert_eq!(called(toolbox, &nobody, "enter").is_error(), !is_so);
            assert_eq!(listed(toolbox, &nobody).len(), usize::from(is_so));
        }
    }
    let of_call = ToolBox::from(tool());
    open.0.store(true, SeqCst);
    assert!(called(&of_call, &nobody, "enter").is_error());
    let context = ToolContext::new().with(State::from(Arc::new(Arc::clone(&open))));
    assert_eq!(called(&of_call, &context, "enter").text(), "in");

    let clean = |context: &ToolContext| !context.is_tainted();
    let send = ToolBox::from(Tool::new("send", "S.").call(|_| "sent").available_if(clean));
    let taint = Taint::new();
    let context = ToolContext::new().with(taint.clone());
    assert_eq!(called(&send, &context, "send").text(), "sent");
    taint.mark();
    assert_eq!(called(&send, &context, "send").failure_kind(), Some(FailureKind::NotFound));
}

#[test]
fn a_predicate_that_panics_hides_its_tool() {
    let tool = Tool::new("odd", "O.").call(|_| "odd").available_if(|_| panic!("a predicate"));
    let toolbox = ToolBox::from(tool);
    let context = ToolContext::new();
    quietly();
    let (list, result) = (listed(&toolbox, &context), called(&toolbox, &context, "odd"));
    assert_eq!((list.len(), &*result.text()), (0, "tool not found: odd"));
}

#[test]
fn rules_hold_beside_predicates() {
    let toolbox = all();
    let root = user("root");
    toolbox.blacklist("closure");
    assert_eq!(called(&toolbox, &root, "closure").failure_kind(), Some(FailureKind::Blacklisted));
    // To others, there is nothing to forbid.
    let guest = called(&toolbox, &user("guest"), "closure");
    assert_eq!(guest.failure_kind(), Some(FailureKind::NotFound));
    let denied = root.with_blacklist("store_put");
    assert_eq!(
        called(&toolbox, &denied, "store_put").failure_kind(),
        Some(FailureKind::Blacklisted)
    );
    assert!(!listed(&toolbox, &denied).contains("store_put"));
}

#[test]
fn predicates_go_with_tools_into_other_boxes() {
    let toolbox = all();
    let merged = ToolBox::new();
    merged.merge(&toolbox);
    let boxes = [
        ("merged", merged, "delete_all"),
        ("filtered", toolbox.filtered(|tool| tool.name() != "read_all"), "delete_all"),
        ("prefixed", toolbox.prefixed("x"), "x_delete_all"),
        ("the tools", ToolBox::from(toolbox.tools()), "delete_all"),
    ];
    for (case, other, name) in boxes {
        assert!(called(&other, &user("guest"), name).is_error(), "{case}");
        assert!(!listed(&other, &user("guest")).contains(name), "{case}");
        assert_eq!(called(&other, &user("root"), name).text(), "deleted", "{case}");
        let tagged = name.replace("delete_all", "tagged");
        assert!(called(&other, &user("guest"), &tagged).is_error(), "{case}");
    }
}

#[test]
fn a_change_that_predicates_read_is_told_by_a_new_generation() {
    let toolbox = all();
    let seen = toolbox.generation();
    toolbox.availability_changed();
    assert!(toolbox.generation() > seen);
}

#[test]
fn rules_take_tags() {
    #[allow(clippy::type_complexity, reason = "a table")]
    let cases: [(&str, &[&str], Option<&[&str]>, [bool; 3]); 11] = [
        ("none", &[], None, [true, true, true]),
        ("a tag", &["tag:write"], None, [true, false, true]),
        ("in another case", &["Tag:WRITE"], None, [true, false, true]),
        ("a part of a tag", &["tag:wr*"], None, [true, false, true]),
        ("two", &["tag:write", "tag:read"], None, [false, false, true]),
        ("a name and a tag", &["plain", "tag:write"], None, [true, false, false]),
        ("a tag that none has", &["tag:writ"], None, [true, true, true]),
        ("a tool's name as a tag", &["tag:plain"], None, [true, true, true]),
        ("only a tag", &[], Some(&["tag:read"]), [true, false, false]),
        ("only a tag and a name", &[], Some(&["tag:read", "plain"]), [true, false, true]),
        ("one tag but not another", &["tag:both"], Some(&["tag:read"]), [false, false, false]),
    ];
    let tool = |name: &str, tags: &[&str]| {
        Tool::new(name, "T.").call(|_| "done").with_tags(tags.iter().copied())
    };
    let tools =
        [tool("reads", &["read", "both"]), tool("writes", &["write", "both"]), tool("plain", &[])];
    for (case, denied, allowed, expected) in cases {
        for is_first in [true, false] {
            let toolbox = ToolBox::new();
            let rules = || toolbox.set_rules(denied, allowed).expect("rules");
            if is_first {
                rules();
            }
            toolbox.register_all(tools.clone());
            if !is_first {
                rules();
            }
            let mut context = ToolContext::new();
            for rule in denied {
                context = context.with_blacklist(rule);
            }
            let free = ToolBox::from(tools.to_vec());
            for (name, is_open) in ["reads", "writes", "plain"].into_iter().zip(expected) {
                let failure = (!is_open).then_some(FailureKind::Blacklisted);
                let result = called(&toolbox, &ToolContext::new(), name);
                assert_eq!(result.failure_kind(), failure, "{case}: {name}");
                assert_eq!(toolbox.permits(name), is_open, "{case}: {name}");
                assert_eq!(listed(&toolbox, &ToolContext::new()).contains(name), is_open, "{case}");
                if allowed.is_none() {
                    let result = called(&free, &context, name);
                    assert_eq!(result.failure_kind(), failure, "{case} of a call: {name}");
                }
            }
        }
    }
    let toolbox = ToolBox::from(tools.to_vec());
    toolbox.blacklist("tag:write");
    assert!(toolbox.lift_blacklist("TAG:write") && toolbox.permits("writes"));
    for rule in ["tag:", "tag:*", "tag: ", "tags:write", "write:tag"] {
        let error = toolbox.try_blacklist(rule).expect_err(rule).to_string();
        assert!(error.contains("`tag:write`"), "{rule}: {error}");
    }
    // A URI may have the scheme `tag`.
    let page = Tool::new("page", "P.").call(|_| "a page");
    let page = Resource::from_tool("tag:example.org,2026:a", page).expect("a URI");
    toolbox.resources().register(page);
    assert_eq!(toolbox.resources().list().len(), 1);
    toolbox.resources().blacklist("tag:example.org,2026:*");
    assert!(toolbox.resources().list().is_empty());
    assert!(toolbox.resources().try_blacklist("tag:*").is_ok());
}
