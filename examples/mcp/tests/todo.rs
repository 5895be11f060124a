//! The todo server as an MCP host uses it: a child process over standard streams.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::ToolBox;
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::testing::{ResultCheck, call};

/// The example, which `cargo test` has built beside this test.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    let folder = test.ancestors().nth(2).expect("the folder of this build").join("examples");
    folder.join(format!("todo{}", std::env::consts::EXE_SUFFIX))
}

fn structured(check: ResultCheck) -> Value {
    check.into_result().structured_content().expect("a result in JSON")
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
    let late = call(&toolbox, "todo_add_todo", json!({"title": "Paint", "due": due(20)})).await;
    let soon = call(
        &toolbox,
        "todo_add_todo",
        json!({"title": "Water", "due": due(2), "priority": "high", "tags": ["home"]}),
    )
    .await;
    let (late, soon) = (structured(late), structured(soon));
    assert_eq!(soon["due"], "2026-12-02T08:00:00Z");

    for (filter, expected) in [
        (json!({}), vec!["Water", "Paint"]),
        (json!({"due_before": due(10)}), vec!["Water"]),
        (json!({"priority": "high"}), vec!["Water"]),
        (json!({"tag": "work"}), vec![]),
        (json!({"done": true}), vec![]),
    ] {
        let list = structured(call(&toolbox, "todo_list_todos", filter.clone()).await);
        let titles: Vec<&Value> =
            list.as_array().expect("a list").iter().map(|todo| &todo["title"]).collect();
        assert_eq!(titles, expected, "{filter}");
    }

    let id = json!({"id": soon["id"]});
    call(&toolbox, "todo_complete_todo", id.clone()).await.returns("ok");
    call(&toolbox, "todo_complete_todo", id.clone()).await.says("done already");
    let moved = json!({"id": late["id"], "due": due(1)});
    assert_eq!(structured(call(&toolbox, "todo_reschedule_todo", moved).await)["title"], "Paint");
    call(&toolbox, "todo_delete_todo", id.clone()).await.returns(r#"deleted "Water""#);
    call(&toolbox, "todo_get_todo", id).await.says("there is no entry");

    for (arguments, code, words) in [
        (json!({"title": "x", "due": "tomorrow"}), "tool.failed", "`due` must be a date and time"),
        (
            json!({"title": "x", "priority": "urgent"}),
            "args.not_one_of",
            r#""low", "normal", "high""#,
        ),
        (json!({"title": " "}), "tool.failed", "a title needs"),
    ] {
        call(&toolbox, "todo_add_todo", arguments).await.fails(code).says(words);
    }
    servers.close().await;
}

#[tokio::test]
async fn a_host_keeps_a_list() {
    tokio::time::timeout(Duration::from_secs(60), use_it()).await.expect("an end");
}
