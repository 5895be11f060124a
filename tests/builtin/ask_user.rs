use crate::bounded::tokio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolbox::builtin::ask_user::AskUser;
use toolbox::context::{Answer, Asker, CancellationToken, Conversation, Question};
use toolbox::{ToolBox, ToolCall, ToolContext};

use crate::calls::call;

/// An asker, the arguments of the call, and the text of its result.
type Case = (Option<Box<dyn Asker>>, Value, &'static str);

#[tokio::test(start_paused = true)]
async fn a_question_gets_an_answer_or_says_why_not() {
    // Answers with what it was asked.
    let echo = || -> Option<Box<dyn Asker>> {
        Some(Box::new(|question: Question| async move {
            let place = question.context.get::<Conversation>().map(|place| place.chat_id.clone());
            Answer::from(format!("{} {:?} {place:?}", question.message, question.options()))
        }))
    };
    let fixed = |answer: Answer| -> Option<Box<dyn Asker>> {
        Some(Box::new(move |_| {
            let answer = answer.clone();
            async { answer }
        }))
    };
    let never = || -> Option<Box<dyn Asker>> { Some(Box::new(|_| std::future::pending())) };
    let asked = json!({"question": "Which?", "options": ["red", "blue"]});
    let cases: Vec<Case> = vec![
        (echo(), asked.clone(), r#"the user answers: Which? ["red", "blue"] Some("42")"#),
        (echo(), json!({"question": "Why?"}), r#"the user answers: Why? [] Some("42")"#),
        (fixed(Answer::from(" ")), asked.clone(), "the user gave an empty answer"),
        (
            fixed(Answer::Declined),
            asked.clone(),
            "!the user does not want to answer; go on without",
        ),
        (fixed(Answer::Nobody), asked.clone(), "!there is nobody to ask; go on without"),
        (None, asked.clone(), "!there is nobody to ask; go on without"),
        (
            never(),
            asked,
            "!the user did not answer within 60s; go on without, or say what you need to know",
        ),
        (echo(), json!({"question": " "}), "!`question` is empty"),
    ];
    for (asker, arguments, expected) in cases {
        // The time that a person takes does not count.
        let builder = ToolBox::builder().timeout(Duration::from_secs(5));
        let builder = match asker {
            Some(own) => builder.asker(move |question| own.ask(question)),
            None => builder,
        };
        let ask = AskUser::new().timeout(Duration::from_secs(60));
        let toolbox = builder.tools(ask).build().unwrap();
        let context = ToolContext::new().with(Conversation::new("telegram", "42"));
        let result =
            toolbox.call_in(&context, ToolCall::new("1", "ask_user", arguments.clone())).await;
        let mark = if result.is_error() { "!" } else { "" };
        assert_eq!(format!("{mark}{}", result.text()), expected, "{arguments}");
    }
    let toolbox = ToolBox::from(AskUser::new());
    for arguments in
        [json!({}), json!({"question": ""}), json!({"question": "?", "options": vec!["x"; 11]})]
    {
        assert!(call(&toolbox, "ask_user", arguments).await.is_error());
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_cancelled_is_taken_back() {
    struct Shown(Arc<AtomicBool>);
    impl Drop for Shown {
        fn drop(&mut self) {
            self.0.store(false, Ordering::Relaxed);
        }
    }
    let is_shown = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&is_shown);
    let asker = move |_: Question| {
        flag.store(true, Ordering::Relaxed);
        let shown = Shown(Arc::clone(&flag));
        async move {
            let _shown = shown;
            std::future::pending().await
        }
    };
    let toolbox = ToolBox::builder().tools(AskUser::new()).asker(asker).build().unwrap();
    let token = CancellationToken::new();
    let context = ToolContext::new().with_cancellation(token.clone());
    let calling = tokio::spawn(async move {
        toolbox.call_in(&context, ToolCall::new("1", "ask_user", r#"{"question": "?"}"#)).await
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(is_shown.load(Ordering::Relaxed));
    token.cancel();
    assert_eq!(calling.await.unwrap().code(), Some("call.cancelled"));
    assert!(!is_shown.load(Ordering::Relaxed));
}
