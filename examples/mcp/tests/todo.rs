//! The todo server as an MCP host uses it: a child process over standard streams.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::{ToolBox, ToolCall, ToolResult};

/// The example, which `cargo test` has built beside this test.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.ancestors().nth(2).expect("the folder of this build").join("examples");
    folder.join(format!("todo{}", std::env::consts::EXE_SUFFIX))
}

async fn call(toolbox: &ToolBox, name: &str, arguments: Value) -> ToolResult {
    toolbox.call(ToolCall::new("1", format!("todo_{name}"), arguments.to_string())).await
}

fn structured(result: &ToolResult) -> Value {
    serde_json::from_str(result.text().as_ref()).expect("a result in JSON")
}

async fn use_it() {
    let toolbox = ToolBox::new();
    let servers = Servers::builder()
        .server("todo", ServerConfig::command(program().to_string_lossy()))
        .mount(&toolbox)
        .await
        .expect("a server that is mounted");
    assert_eq!(toolbox.definitions().len(), 6);

    let due = |day: u8| format!("2026-12-{day:02}T10:00:00+02:00");
    let late = call(&toolbox, "add_todo", json!({"title": "Paint", "due": due(20)})).await;
    let soon = call(
        &toolbox,
        "add_todo",
        json!({"title": "Water", "due": due(2), "priority": "high", "tags": ["home"]}),
    )
    .await;
    let (late, soon) = (structured(&late), structured(&soon));
    assert_eq!(soon["due"], "2026-12-02T08:00:00Z");

    for (filter, expected) in [
        (json!({}), vec!["Water", "Paint"]),
        (json!({"due_before": due(10)}), vec!["Water"]),
        (json!({"priority": "high"}), vec!["Water"]),
        (json!({"tag": "work"}), vec![]),
        (json!({"done": true}), vec![]),
    ] {
        let list = structured(&call(&toolbox, "list_todos", filter.clone()).await);
        let titles: Vec<&Value> =
            list.as_array().expect("a list").iter().map(|todo| &todo["title"]).collect();
        assert_eq!(titles, expected, "{filter}");
    }

    let id = json!({"id": soon["id"]});
    assert_eq!(call(&toolbox, "complete_todo", id.clone()).await.text(), "ok");
    assert!(call(&toolbox, "complete_todo", id.clone()).await.text().contains("done already"));
    let moved = json!({"id": late["id"], "due": due(1)});
    assert_eq!(structured(&call(&toolbox, "reschedule_todo", moved).await)["title"], "Paint");
    assert_eq!(call(&toolbox, "delete_todo", id.clone()).await.text(), r#"deleted "Water""#);
    assert!(call(&toolbox, "get_todo", id).await.text().contains("there is no entry"));

    for (arguments, words) in [
        (json!({"title": "x", "due": "tomorrow"}), "`due` must be a date and time"),
        (json!({"title": "x", "priority": "urgent"}), r#"`priority` must be one of "low""#),
        (json!({"title": " "}), "a title needs"),
    ] {
        let wrong = call(&toolbox, "add_todo", arguments).await;
        assert!(wrong.is_error() && wrong.text().contains(words), "{}", wrong.text());
    }
    servers.close().await;
}

#[tokio::test]
async fn a_host_keeps_a_list() {
    tokio::time::timeout(Duration::from_secs(60), use_it()).await.expect("an end");
}
