//! `contract`: the file, the changes, the exit codes.

use serde_json::{Value, json};

use super::{Folder, own, run, toolbox_program};

#[test]
fn the_exit_code_says_what_changed() {
    let folder = Folder::new();
    let path = folder.path("tools.json");
    let file = path.to_str().expect("a path");
    let written = || -> Value {
        serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON")
    };
    let check = || own(&["contract", "--check", file]);
    check().check(3, "", "there is no contract");
    own(&["contract", "--update", file]).check(0, "tools.json: 9 tools", "");
    check().check(0, "9 tools, as in the contract", "");
    let whole = written();
    assert_eq!(own(&["contract", "--json"]).json()["tools"], whole["tools"]);
    let (input, schema) = ("/tools/sum/input_schema", "/tools/sum/input_schema/properties/label");
    // The file is made into what was before.
    let was = |pointer: &str, name: &str, value: Option<Value>| {
        let mut old = whole.clone();
        let map = old.pointer_mut(pointer).and_then(Value::as_object_mut).expect("an object");
        match value {
            Some(value) => drop(map.insert(name.to_owned(), value)),
            None => drop(map.remove(name)),
        }
        folder.write("tools.json", &format!("{old:#}\n"));
    };
    for (pointer, name, value, code, text) in [
        (
            "/tools/sum",
            "description",
            Some(json!("Adds.")),
            5,
            "wording: sum: `description` changed (FILE:",
        ),
        (
            input,
            "required",
            Some(json!(["numbers", "label"])),
            6,
            "widening: sum: argument `label`: is no longer required (FILE:",
        ),
        (
            schema,
            "maxLength",
            Some(json!(3)),
            6,
            "widening: sum: argument `label`: `maxLength` is gone, and was 3 (FILE:",
        ),
        (
            input,
            "required",
            Some(json!([])),
            7,
            "breaking: sum: argument `numbers`: is required now (FILE:",
        ),
        ("/tools", "sum", None, 6, "widening: sum: the tool is new (new line "),
        (
            "/tools",
            "summ",
            Some(whole["tools"]["sum"].clone()),
            7,
            "breaking: summ: the tool is gone",
        ),
    ] {
        was(pointer, name, value);
        let found = check();
        found.check(code, &text.replace("FILE", file), "");
        found.check(code, &format!("to accept: contract --update {file}"), "");
        let told = own(&["contract", "--check", file, "--json"]).json();
        assert_eq!(told["changes"].as_array().map(Vec::len), Some(1), "{told}");
        assert_eq!(told["kind"], told["changes"][0]["kind"]);
    }
    own(&["contract", "--check", file, "--update"]).check(0, "breaking: summ", "");
    assert_eq!(written(), whole);
    own(&["contract", "--update"]).check(2, "", "--update needs the file");
    folder.write("tools.json", "{\n  \"version\": 1,\n<<<<<<< HEAD\n");
    check().check(3, "", "tools.json:3:1 is damaged: key must be a string");
    own(&["contract", "--update", file]).check(3, "", "is damaged");
}

/// The tools of a server that is not there are not removed.
#[test]
fn nothing_is_compared_without_all_servers() {
    let folder = Folder::new();
    let config = json!({"mcp": {"gone": {"type": "local", "command": ["/nowhere/program"]}}});
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let path = folder.path("tools.json");
    for option in ["--check", "--update"] {
        let words = ["contract", option, path.to_str().expect("a path")];
        run(toolbox_program(), &config, &words, "").check(4, "", "nothing is compared or written");
    }
    assert!(!path.exists());
}
