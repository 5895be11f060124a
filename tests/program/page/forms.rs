//! The forms of calls and questions that wait.

use serde_json::json;
use tokio::time::timeout;
use toolbox::context::AskError;
use toolbox::page::{Inbox, Page};
use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};

use super::{Opened, PATIENCE, pay};
use crate::bounded::tokio;

#[tokio::test]
async fn forms_of_what_waits_are_checked_while_they_are_written() {
    /// Asks for a number.
    #[tool]
    async fn count(context: &ToolContext) -> Result<String, AskError> {
        Ok(format!("counted {}", context.ask::<u8>("How many?").await?))
    }

    let inbox = Inbox::new();
    let toolbox = ToolBox::builder()
        .tools(tools![pay, count])
        .approver(inbox.clone())
        .asker(inbox.clone())
        .build()
        .unwrap();
    let opened = Opened::new(Page::new(toolbox.clone()).inbox(inbox)).await;
    let halves = opened.enter().await;
    let forms = [
        ("pay", r#"{"cents": 5}"#, "cents", "edit", "arguments", r#"{"cents": 3}"#, "paid 3"),
        ("count", "{}", "answer", "accept", "answer", r#"{"answer": 7}"#, "counted 7"),
        // The value of an only field may be given alone.
        ("count", "{}", "answer", "accept", "answer", "8", "counted 8"),
    ];
    for (tool, arguments, field, word, member, good, done) in forms {
        let (toolbox, call) = (toolbox.clone(), ToolCall::new("c1", tool, arguments));
        let call = tokio::spawn(async move { toolbox.call(call).await });
        let id = opened.waiting(&halves).await[0]["id"].take();
        let values = [
            (format!(r#"{{"{field}": "x"}}"#), Some(field)),
            ("{}".to_owned(), Some(field)),
            ("{".to_owned(), Some("")),
            (format!(r#"{{"{field}": 3}}"#), None),
        ];
        for (value, fault) in &values {
            let check = json!({"entry": id, "arguments": value});
            let faults = opened.post("/api/check", &halves, &check).await.json();
            assert_eq!(faults["faults"][0]["path"].as_str(), *fault, "{value}: {faults}");
        }
        // What has faults decides nothing.
        let unfit = json!({"id": id, "word": word, member: values[0].0});
        let refusal = opened.post("/api/decide", &halves, &unfit).await;
        assert_eq!((refusal.status, &refusal.json()["faults"][0]["path"]), (422, &json!(field)));
        let fit = json!({"id": id, "word": word, member: good});
        assert_eq!(opened.post("/api/decide", &halves, &fit).await.status, 200);
        assert_eq!(timeout(PATIENCE, call).await.unwrap().unwrap().text(), done);
    }
    // What waits no longer has no form.
    let check = json!({"entry": 1, "arguments": "{}"});
    let faults = opened.post("/api/check", &halves, &check).await.json();
    assert_eq!(faults, json!({"faults": []}));
    opened.stop().await;
}
