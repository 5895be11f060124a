//! Functions that `mcp_tools!` makes of a lock file, and the calls they make.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use toolbox::client::ClientError;
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::{Tool, ToolBox, ToolContext};

use crate::bounded::tokio;
use support::web::{Reply, Request, answer, modern, serve};

/// The lock file, as the library wrote it for [`tools`]: `TOOLBOX_BLESS=1` writes it anew.
const LOCK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/client/typed.lock.json");

toolbox::mcp_tools!("typed.lock.json", servers = ["notes"]);

/// The tools of a server whose names and texts are all but identifiers and comments.
fn tools() -> Value {
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required});
    json!([
        {
            "name": "read-file",
            "description": "Reads a file.\n\n```\nstd::process::exit(3);\n```\n\n    panic!()\n\n<script>alert(1)</script> [x](javascript:y) */ \u{202e}end",
            "inputSchema": object(json!({
                "path": {"type": "string", "description": "Where it is."},
                "head": {"type": "integer", "minimum": 0},
                "encoding": {"enum": ["utf-8", "latin 1"]},
                "call": {"type": "boolean"},
            }), &["path"]),
        },
        {
            "name": "readFile",
            "inputSchema": object(json!({"type": {"type": "string"}, "päth": {"type": "number"}, "self": {"type": ["string", "null"]}}), &["type", "päth", "self"]),
        },
        {
            "name": "find",
            "description": "Finds notes.",
            "inputSchema": object(json!({
                "filter": {
                    "type": "object",
                    "properties": {
                        "tags": {"type": "array", "items": {"type": "string"}},
                        "not-before": {"type": "string"},
                        "weights": {"type": "object", "additionalProperties": {"type": "number"}},
                    },
                    "required": ["tags"],
                },
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            }), &["filter"]),
            "outputSchema": {
                "type": "object",
                "properties": {"notes": {"type": "array", "items": {"$ref": "#/$defs/note"}}, "state": {"enum": ["done", "more"]}},
                "required": ["notes", "state"],
                "$defs": {"note": object(json!({
                    "title": {"type": "string"},
                    "parent": {"anyOf": [{"$ref": "#/$defs/note"}, {"type": "null"}]},
                    "stars": {"type": ["integer", "null"]},
                }), &["title", "stars"])},
            },
        },
        {"name": "string", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "properties": {"ok": {"type": "boolean"}}}},
        {"name": "either", "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
        {"name": "type", "inputSchema": {"type": "object"}},
        {"name": "fails", "inputSchema": {"type": "object"}},
    ])
}

/// A server of these tools, which returns what it was asked.
fn notes(request: &Request) -> Reply {
    let result = match request.body["method"].as_str() {
        Some("tools/list") => {
            json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "tools": tools()})
        }
        Some("tools/call") => {
            let arguments = &request.body["params"]["arguments"];
            let text = |text: &str| json!([{"type": "text", "text": text}]);
            let mut result =
                json!({"resultType": "complete", "content": text(&arguments.to_string())});
            match request.body["params"]["name"].as_str() {
                Some("find") => {
                    let parent = json!({"title": "root", "stars": 3});
                    let note = json!({"title": arguments["filter"]["tags"][0], "stars": null, "parent": parent});
                    let state = if arguments["limit"].is_null() { "done" } else { "stopped" };
                    result["structuredContent"] = json!({"notes": [note], "state": state});
                }
                Some("string") => result["structuredContent"] = json!({}),
                Some("fails") => {
                    result["isError"] = json!(true);
                    result["content"] = text("the disk is gone");
                }
                _ => {}
            }
            result
        }
        _ => return modern(request),
    };
    Reply::Json(200, answer(request, &result))
}

async fn mounted(lock: &Path) -> (ToolBox, Servers) {
    let (url, _) = serve(notes).await;
    let toolbox = ToolBox::new();
    let builder = Servers::builder().server("notes", ServerConfig::url(url)).lock_file(lock);
    let servers = builder.mount(&toolbox).await.expect("the lock is readable");
    (toolbox, servers)
}

/// Makes a copy of the lock file: a run may write it.
fn scratch() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let lock = folder.path().join("tools.lock.json");
    std::fs::copy(LOCK, &lock).expect("the lock is there");
    (folder, lock)
}

#[tokio::test]
async fn the_lock_file_is_what_the_library_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let lock = folder.path().join("tools.lock.json");
    let (_, servers) = mounted(&lock).await;
    servers.close().await;
    let written = std::fs::read_to_string(&lock).expect("it was written");
    if std::env::var_os("TOOLBOX_BLESS").is_some() {
        std::fs::write(LOCK, &written).expect("the folder can be written");
    }
    assert_eq!(written, std::fs::read_to_string(LOCK).unwrap_or_default());
}

#[tokio::test]
async fn functions_call_the_tools_they_are_named_after() {
    let (_folder, lock) = scratch();
    let (toolbox, servers) = mounted(&lock).await;
    let asked =
        |result: toolbox::ToolResult| serde_json::from_str::<Value>(&result.text()).unwrap();

    let call = notes::read__2d_file__(notes::ReadFile { path: "a".into() });
    assert_eq!(asked(call.clone().call(&toolbox).await.unwrap()), json!({"path": "a"}));
    let call = call.head(3).encoding(notes::ReadFileEncoding::Latin1).call__(true);
    let expected = json!({"path": "a", "head": 3, "encoding": "latin 1", "call": true});
    assert_eq!(asked(call.call(&toolbox).await.unwrap()), expected);

    let required = notes::ReadFile2 { r#type: "b".into(), p_th: 0.5, self_: None };
    let result = notes::read__46_ile__(required).call(&toolbox).await.unwrap();
    assert_eq!(asked(result), json!({"type": "b", "päth": 0.5, "self": null}));

    let filter = notes::FindFilter {
        tags: vec!["x".into()],
        not_before: None,
        weights: Some(BTreeMap::from([("w".into(), 2.0)])),
    };
    let find = notes::find(notes::Find { filter });
    let found: notes::FindResult = find.clone().call(&toolbox).await.unwrap();
    assert_eq!(found.state, notes::FindResultState::Done);
    let note = &found.notes[0];
    assert_eq!((note.title.as_str(), note.stars), ("x", None));
    assert_eq!(note.parent.as_ref().unwrap().stars, Some(3));
    // The definition does not say so.
    let error = find.clone().limit(1).call(&toolbox).await.unwrap_err();
    let expected = "/state is \"stopped\", and not one of the texts that the definition has";
    assert!(error.to_string().ends_with(expected), "{error}");
    // Nor is this the definition's.
    let other = Tool::new("find", "Finds").call(|_| r#"{"notes": 1}"#);
    let other = other.with_unchecked_arguments().from_source("notes");
    let error = find.call(&ToolBox::from(other)).await.unwrap_err();
    let expected = "the result is not what the tool's definition says: /notes is 1, and not a list";
    assert_eq!(error.to_string(), expected);

    let result = notes::string().call_in(&toolbox, &ToolContext::new()).await.unwrap();
    assert_eq!(result, notes::StringResult { ok: None });
    let arguments = toolbox::client::Map::from_iter([("a".to_owned(), json!(1))]);
    assert_eq!(asked(notes::either(arguments).call(&toolbox).await.unwrap()), json!({"a": 1}));
    assert_eq!(asked(notes::r#type().call(&toolbox).await.unwrap()), json!({}));
    servers.close().await;
}

#[tokio::test]
async fn what_gives_no_value_is_told_apart() {
    let (_folder, lock) = scratch();
    let (toolbox, servers) = mounted(&lock).await;
    let error = notes::fails().call(&toolbox).await.unwrap_err();
    assert!(matches!(error, ClientError::Failed(_)) && error.to_string() == "the disk is gone");
    // A rule of the box holds for these calls as for any other.
    toolbox.blacklist("notes_type");
    let error = notes::r#type().call(&toolbox).await.unwrap_err();
    assert!(matches!(error, ClientError::Failed(_)), "{error}");
    let error = notes::r#type().call(&ToolBox::new()).await.unwrap_err();
    let expected = "no tool `type` of a server `notes` is in the box: mount the server";
    assert_eq!(error.to_string(), expected);
    servers.close().await;
}
