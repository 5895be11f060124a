//! `check --directory`: what the directories of MCP servers refuse.

use serde_json::{Value, json};

use super::{Folder, own, toolbox};

#[test]
fn a_tool_of_the_program_is_refused_with_the_fix() {
    let ended = own(&["check", "--directory"]);
    ended.check(
        1,
        "directory: it has no title: give it one, as in `#[tool(title = \"..\")]`",
        "a directory would refuse 8 tools",
    );
    // Without the option nothing of it is said.
    let ended = own(&["check"]);
    assert!(ended.code == Some(0) && !ended.out.contains("directory"), "{ended:?}");
}

#[test]
fn a_tool_of_a_server_is_refused_for_each_reason_that_its_definition_has() {
    let complete = json!({
        "name": "t",
        "title": "A tool",
        "description": "Does one thing.",
        "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true},
    });
    let no_hint = "its hints say neither that it changes nothing nor whether it destroys";
    // The members that differ, and the reasons.
    let cases: [(Value, &[&str]); 14] = [
        (json!({}), &[]),
        (json!({"annotations": {"destructiveHint": true}}), &[]),
        (json!({"annotations": {"destructiveHint": false}}), &[]),
        (json!({"annotations": {"readOnlyHint": true, "destructiveHint": false}}), &[]),
        (json!({"title": null, "annotations": {"title": "A", "readOnlyHint": true}}), &[]),
        (json!({"description": "é".repeat(1024)}), &[]),
        (json!({"annotations": {}}), &[no_hint]),
        (json!({"annotations": {"readOnlyHint": false}}), &[no_hint]),
        (json!({"annotations": {"idempotentHint": true}}), &[no_hint]),
        (
            json!({"annotations": {"readOnlyHint": true, "destructiveHint": true}}),
            &["its hints say that it changes nothing and that it destroys"],
        ),
        (json!({"title": null}), &["it has no title"]),
        (json!({"title": "  "}), &["it has no title"]),
        (json!({"description": "é".repeat(1025)}), &["its description has 1025 characters"]),
        (json!({"description": "", "annotations": null}), &["it has no description", no_hint]),
    ];
    let mut tools = Vec::new();
    for (at, (members, _)) in cases.iter().enumerate() {
        let mut tool = complete.clone();
        tool["name"] = format!("t{at}").into();
        for (key, value) in members.as_object().expect("members") {
            if value.is_null() {
                tool.as_object_mut().expect("an object").remove(key);
            } else {
                tool[key] = value.clone();
            }
        }
        tools.push(tool);
    }
    let folder = Folder::new();
    let fixture = json!({"tools": tools}).to_string();
    let servers = json!({"s": {"command": [super::program("misbehaving"), "fixture", fixture]}});
    let config = folder.write("c.jsonc", &json!({"mcp": servers}).to_string());
    let ended = toolbox(&config, &["check", "--directory", "--json"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let value = ended.json();
    for (at, (members, reasons)) in cases.iter().enumerate() {
        let name = format!("s_t{at}");
        let tool =
            value["tools"].as_array().into_iter().flatten().find(|tool| tool["name"] == name);
        assert_eq!(tool.map(|tool| &tool["directory_faults"]), Some(&json!(reasons)), "{members}");
    }
}
