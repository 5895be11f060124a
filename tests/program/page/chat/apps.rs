//! Messages and contexts of apps in a conversation: their limits, and their taint.

use toolbox::Tool;

use super::*;
use crate::bounded::tokio;

/// Returns a page whose tool `board` has an app, and whose model pays with its first reply.
async fn opened(model: &ScriptedModel) -> Opened {
    let inbox = Inbox::new();
    let board = Tool::new("board", "Shows a board")
        .call(|_| "shown")
        .with_meta("ui", json!({"resourceUri": "ui://boards/one"}));
    let toolbox =
        ToolBox::builder().tools(tools![add, pay]).approver(inbox.clone()).build().unwrap();
    toolbox.register(board);
    let agent = Agent::builder(model.clone()).toolbox(toolbox.clone()).build().unwrap();
    Opened::new(Page::new(toolbox).inbox(inbox).chat(agent)).await
}

#[tokio::test]
async fn the_context_of_an_app_is_read_before_the_message_and_taints_the_conversation() {
    let model = ScriptedModel::new().calls("pay", r#"{"cents": 5}"#).text("Done.").text("Again.");
    let opened = opened(&model).await;
    let halves = opened.enter().await;
    let context = json!({"tool": "board", "text": "https://example.com/of-the-app"});
    let message = json!({"chat": "a", "text": "Pay", "contexts": [context]});
    assert_eq!(opened.post("/api/chat/send", &halves, &message).await.status, 200);
    let waiting = opened.waiting(&halves).await;
    assert_eq!(waiting[0]["taint"], json!([{"kind": "app", "tool": "board"}]), "{waiting}");
    opened.decide(&halves, json!({"word": "approve"})).await;
    let shown = opened.until(&halves, "a", |shown| shown["running"] == false).await;
    let kinds: Vec<_> = items(&shown).map(|item| (&item["kind"], &item["app"])).collect();
    assert_eq!(kinds[0], (&json!("context"), &json!("board")), "{shown}");
    assert_eq!(kinds[1], (&json!("user"), &Value::Null), "{shown}");

    let history = model.requests().pop().unwrap().history;
    let Some(Message::User(parts)) = history.messages().first() else { panic!("{history:?}") };
    let [Content::Resource(context), Content::Text(text)] = &parts[..] else { panic!("{parts:?}") };
    assert_eq!((context.uri.as_str(), &**text), ("ui://boards/one", "Pay"));
    assert!(context.text.as_ref().unwrap().starts_with("The app of the tool `board` shows this"));

    // The taint is that of the conversation, and a new one has none.
    let again = json!({"chat": "b", "text": "Pay", "app": "board"});
    assert_eq!(opened.post("/api/chat/send", &halves, &again).await.status, 200);
    let shown = opened.until(&halves, "b", |shown| shown["running"] == false).await;
    assert_eq!(items(&shown).next().unwrap()["app"], "board", "{shown}");
    opened.stop().await;
}

#[tokio::test]
async fn texts_of_apps_are_bounded_and_of_tools_that_have_one() {
    let opened = opened(&ScriptedModel::answering("Hello.")).await;
    let halves = opened.enter().await;
    let long = "x".repeat((16 << 10) + 1);
    let board = |text: &str| json!({"tool": "board", "text": text});
    for (more, status, why) in [
        (json!({"app": "add"}), 422, "no app"),
        (json!({"app": "nothing"}), 422, "no app"),
        (json!({"app": "board", "text": long}), 413, "at most 16384"),
        (json!({"contexts": [board(&long)]}), 413, "at most 16384"),
        (json!({"contexts": vec![board("x"); 9]}), 413, "at most 8"),
        (json!({"contexts": [{"tool": "add", "text": "x"}]}), 422, "no app"),
        (json!({"contexts": vec![board(&long[1..]); 8]}), 200, "{}"),
    ] {
        let mut message = json!({"chat": "a", "text": "Hello"});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let answer = opened.post("/api/chat/send", &halves, &message).await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.body.contains(why), "{}", answer.body);
    }
    opened.stop().await;
}
