//! Names: valid for every provider, never guessed, never shadowed.

use crate::bounded::tokio;
use std::collections::HashSet;

use serde_json::json;
use toolbox::call::{Arguments, FailureKind};
use toolbox::collection::RegisterFault;
use toolbox::definition::{InvalidNameError, MAX_NAME_LEN, check_name};
use toolbox::dialect::{Dialect, outbound_name};
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition};

use support::{Dice, echo, now, says};

fn ask(toolbox: &ToolBox, name: &str) -> toolbox::ToolResult {
    now(toolbox.call(ToolCall::new("1", name, "{}")))
}

#[test]
fn names_that_no_provider_takes_make_no_tool() {
    let long = "a".repeat(MAX_NAME_LEN + 1);
    for name in ["", " ", "a b", "a\n", "\u{1}", "a/b", "a:b", "1a", "-a", ".a", "a\0", "é", &long]
    {
        assert!(check_name(name).is_err(), "{name:?}");
        let made = [
            Tool::try_raw(name, "", json!({}), |_: Arguments| "").err(),
            Tool::new(name, "").try_call(|_| "").err(),
            echo().try_renamed(name).err(),
        ];
        assert!(made.iter().all(Option::is_some), "{name:?}");
        let result = ask(&ToolBox::from(echo()), name);
        assert_eq!(result.failure_kind(), Some(FailureKind::NotFound));
        assert!(!result.text().chars().any(char::is_control));
    }
    assert_eq!(check_name(&long), Err(InvalidNameError::TooLong { len: 129 }));
    for name in ["a", "_", "get_weather", "fs.read", "a-b", "A1", &long[1..]] {
        assert_eq!(check_name(name), Ok(()), "{name}");
    }
}

#[test]
fn the_nearest_names_are_told_unless_that_is_switched_off() {
    let names = ["get_weather", "get_time", "search", "send_mail", "hidden", "later"];
    let tools = || {
        names.map(|name| match name {
            "later" => says(name, "").deferred(),
            _ => says(name, ""),
        })
    };
    let told = ToolBox::builder().tools(tools()).blacklist("hidden").build().unwrap();
    let cases = [
        ("get_wether", "tool not found: get_wether; the nearest names are get_weather"),
        ("getTime", "tool not found: getTime; the nearest names are get_time"),
        // What a caller may not call is not named.
        ("hiden", "tool not found: hiden"),
        ("latr", "tool not found: latr"),
        ("functions.hidden", "tool not found: functions.hidden"),
        // A word that both begin with makes no likeness.
        ("get_nosuch", "tool not found: get_nosuch"),
        ("zzzzz", "tool not found: zzzzz"),
        ("", "tool not found: "),
        // What models leave around a name.
        ("functions.search", "tool not found: functions.search; the name of the tool is `search`"),
        ("search:0", "tool not found: search:0; the name of the tool is `search`"),
        (
            "search<|channel|>commentary",
            "tool not found: search<|channel|>commentary; the name of the tool is `search`",
        ),
        (
            "search<|constrain|>json",
            "tool not found: search<|constrain|>json; the name of the tool is `search`",
        ),
        (
            "assistant<|channel|>analysis to=functions.search",
            "tool not found: assistant<|channel|>analysis to=functions.search; the name of the tool is `search`",
        ),
        (
            "functions.serch<|channel|>",
            "tool not found: functions.serch<|channel|>; the nearest names are search",
        ),
    ];
    for (name, expected) in cases {
        assert_eq!(ask(&told, name).text(), expected);
        let refusal = told.check(&ToolCall::new("1", name, "{}")).unwrap_err();
        assert_eq!(refusal.text(), expected);
    }
    let silent = ToolBox::builder().suggest_tools(false).tools(tools()).build().unwrap();
    assert_eq!(ask(&silent, "get_wether").text(), "tool not found: get_wether");
    let long = "x".repeat(1 << 20);
    assert!(ask(&told, &long).text().len() < 200);
    assert!(ask(&told, "\u{1b}[31m\n").text().ends_with("\\u{1b}[31m\\n"));
}

/// Some models make several calls in one, of a tool that nobody has: nothing is run, and the tools
/// are named that they may call.
#[tokio::test]
async fn calls_within_a_call_are_to_be_made_apart() {
    let toolbox = ToolBox::builder()
        .tools(["read", "list", "hidden"].map(|name| says(name, "ran")))
        .blacklist("hidden")
        .build()
        .unwrap();
    let wrapped = |names: &[&str]| {
        let calls: Vec<_> =
            names.iter().map(|name| json!({"recipient_name": name, "parameters": {}})).collect();
        json!({"tool_uses": calls}).to_string()
    };
    let cases = [
        (wrapped(&["functions.read", "functions.list", "functions.read"]), "`read`, `list`"),
        (wrapped(&["functions.hidden", "read"]), "`read`"),
        (wrapped(&["functions.hidden"]), "each tool"),
        ("{".to_owned(), "each tool"),
    ];
    for name in ["multi_tool_use.parallel", "multi_tool_use_parallel"] {
        for (arguments, named) in &cases {
            let result = toolbox.call(ToolCall::new("1", name, arguments.as_str())).await;
            let expected =
                format!("tool not found: {name}; call {named} directly, as separate calls");
            assert_eq!(result.text(), expected);
        }
    }
}

#[test]
fn long_names_get_short_aliases_that_never_collide() {
    let mut dice = Dice(2);
    let mut names = HashSet::new();
    while names.len() < 100_000 {
        // Long common beginnings, so that what is cut off is all that differs.
        let len = 60 + dice.below(MAX_NAME_LEN - 60);
        let tail = len - 50 - dice.below(10);
        let mut name = "a".repeat(len - tail);
        name.extend((0..tail).map(|_| ['a', 'b', '_', '.', '-', '1'][dice.below(6)]));
        names.insert(name);
    }
    // The model providers share one alias, the protocol has its own.
    for dialect in [Dialect::OpenAiChat, Dialect::Mcp] {
        let aliases: HashSet<_> = names.iter().map(|name| outbound_name(name, dialect)).collect();
        assert_eq!(aliases.len(), names.len(), "{dialect:?}");
        let most = if dialect == Dialect::Mcp { 128 } else { 64 };
        let dots = dialect == Dialect::Mcp;
        for alias in &aliases {
            assert!(
                alias.len() <= most && check_name(alias).is_ok() && (dots || !alias.contains('.'))
            );
        }
    }
    for name in names.iter().take(100) {
        let all = [
            Dialect::OpenAiResponses,
            Dialect::Anthropic,
            Dialect::Gemini,
            Dialect::GeminiInteractions,
        ];
        let alias = outbound_name(name, Dialect::OpenAiChat);
        assert!(all.iter().all(|dialect| outbound_name(name, *dialect) == alias));
        let toolbox = ToolBox::from([echo().renamed(name.as_str()), says("other", "")]);
        let list = toolbox.definitions_for(Dialect::OpenAiChat);
        assert_eq!(*list.tools().next().unwrap().name, *alias);
        assert!(!ask(&toolbox, &alias).is_error(), "a call by the alias reaches the tool");
    }
}

#[test]
fn look_alikes_are_neither_registered_nor_corrected() {
    let toolbox =
        ToolBox::builder().suggest_tools(true).tools(says("shell", "ran")).build().unwrap();
    for name in
        ["ѕhell", "ｓｈｅｌｌ", "she\u{200b}ll", "shell\u{feff}", "SHELL", "shell ", "shell\0"]
    {
        assert!(name == "SHELL" || check_name(name).is_err());
        let result = ask(&toolbox, name);
        assert_eq!(result.failure_kind(), Some(FailureKind::NotFound), "{name:?}");
        if !name.is_ascii() {
            assert!(!result.text().contains("nearest"), "{}", result.text());
        }
    }
}

#[test]
fn names_that_differ_by_case_only_are_refused_when_asked_to() {
    let toolbox = ToolBox::from(says("shell", "lower"));
    let error = toolbox.try_register(says("Shell", "upper")).unwrap_err();
    assert!(
        matches!(error.faults(), [RegisterFault::NameTaken { name, taken, .. }] if name == "Shell" && taken == "shell")
    );
    let text = error.to_string();
    assert!(text.contains("`shell`, made at ") && text.contains("differ only by case"), "{text}");
    assert!(text.contains("calls.rs"), "with both origins: {text}");
    assert_eq!(toolbox.len(), 1);
    // `register` cannot fail, and keeps both.
    toolbox.register(says("Shell", "upper"));
    assert_eq!(
        (&*ask(&toolbox, "shell").text(), &*ask(&toolbox, "Shell").text()),
        ("lower", "upper")
    );
    toolbox.blacklist("SHELL");
    for name in ["shell", "Shell"] {
        assert_eq!(ask(&toolbox, name).failure_kind(), Some(FailureKind::Blacklisted));
    }
}

#[test]
fn a_newcomer_does_not_shadow_a_tool_in_silence() {
    let toolbox = ToolBox::from([says("read_file", "own"), says("search", "own")]);
    let theirs =
        [says("write_file", "theirs"), says("read_file", "theirs"), says("search", "theirs")];
    let error = toolbox.try_register(theirs.clone()).unwrap_err();
    assert_eq!(error.faults().len(), 2, "every clash at once: {error}");
    assert_eq!(toolbox.names(), ["read_file", "search"], "and none of them is in");
    toolbox.try_register(ToolBox::from(theirs).prefixed("theirs").tools()).unwrap();
    assert_eq!(
        (&*ask(&toolbox, "read_file").text(), &*ask(&toolbox, "theirs_read_file").text()),
        ("own", "theirs")
    );
}

#[test]
fn a_bare_name_is_no_guess_among_prefixed_ones() {
    let toolbox = ToolBox::builder()
        .suggest_tools(true)
        .tools([says("exa_search", ""), says("brave_search", "")])
        .build()
        .unwrap();
    let result = ask(&toolbox, "search");
    assert!(result.is_error());
    for name in ["exa_search", "brave_search"] {
        assert!(result.text().contains(name), "{}", result.text());
    }
}

#[test]
fn names_that_a_provider_maps_together_stay_apart() {
    let names = ["fs.read", "fs_read", "fs-read", "fs.rea.d", "fs_rea.d", "fs.rea_d"];
    let toolbox = ToolBox::new();
    for (at, name) in names.iter().enumerate() {
        let said: &'static str = ["0", "1", "2", "3", "4", "5"][at];
        toolbox.register(says(name, said));
    }
    for dialect in Dialect::ALL {
        let sent: Vec<String> =
            toolbox.definitions_for(dialect).tools().map(|tool| tool.name.to_string()).collect();
        assert_eq!(sent.iter().collect::<HashSet<_>>().len(), names.len(), "{sent:?}");
        for (at, name) in sent.iter().enumerate() {
            assert_eq!(
                ask(&toolbox, name).text(),
                at.to_string(),
                "{name} leads back to {}",
                names[at]
            );
        }
    }
    // A tool may be called what another's alias is.
    let alias = outbound_name("fs.read", Dialect::Anthropic).into_owned();
    toolbox.register(says(&alias, "own"));
    assert_eq!(ask(&toolbox, &alias).text(), "own");
    let sent = toolbox.definitions_for(Dialect::Anthropic);
    let sent: HashSet<_> = sent.tools().map(|tool| &*tool.name).collect();
    assert_eq!(sent.len(), names.len() + 1);
}

#[tokio::test(start_paused = true)]
async fn a_running_call_keeps_its_tool_when_another_takes_the_name() {
    let version = |text: &'static str, needs: &'static str| {
        let schema = json!({"type": "object", "required": [needs]});
        Tool::raw("t", "", schema, move |_: Arguments| async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            text
        })
    };
    let toolbox = ToolBox::from(version("old", "a"));
    let running = tokio::spawn({
        let toolbox = toolbox.clone();
        async move { toolbox.call(ToolCall::new("1", "t", r#"{"a":1}"#)).await }
    });
    tokio::task::yield_now().await;
    toolbox.register(version("new", "b"));
    assert_eq!(running.await.unwrap().text(), "old");
    assert_eq!(toolbox.call(ToolCall::new("2", "t", r#"{"b":1}"#)).await.text(), "new");
    assert!(toolbox.call(ToolCall::new("3", "t", r#"{"a":1}"#)).await.is_error());
    let definition: ToolDefinition = toolbox.definitions()[0].clone();
    assert_eq!(definition.input_schema["required"], json!(["b"]));
}
