//! Users who sign in in the middle of a call.

use crate::bounded::tokio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use toolbox::context::{Answer, Question, QuestionForm};
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::{ToolBox, ToolCall, ToolContext};

use super::oauth::{Kept, sign_in};
use support::sign_in::{Browser, World};

#[tokio::test]
async fn the_user_of_a_call_signs_in_in_the_middle_of_it() {
    let (sign_in_text, further) =
        ("Sign in, so that the call can be made.", "The call needs further permission: write.");
    let (agrees, refuses) = (Some(Browser::Agrees), Some(Browser::Refuses));
    // (the scope that calls require, a user who opens pages or declines, asked or not, the question,
    // the outcome)
    let cases = [
        ("", agrees, true, Some(sign_in_text), true),
        ("write", agrees, true, Some(further), true),
        ("", refuses, true, Some(sign_in_text), false),
        ("write", refuses, true, Some(further), false),
        ("", None, true, Some(sign_in_text), false),
        ("write", None, true, Some(further), false),
        ("", agrees, false, None, false),
        ("write", agrees, false, None, false),
    ];
    for (number, (required, browser, asks, question, succeeds)) in cases.into_iter().enumerate() {
        let kept = Kept::new(&format!("middle-{number}"));
        let (world, file) = (Arc::new(World::new().await), kept.file());
        sign_in(&world, Browser::Agrees, &file).await.expect("signed in");
        let toolbox = ToolBox::new();
        let servers = Servers::builder().server("s", ServerConfig::url(&world.url));
        let servers = servers.credentials(file).ask_to_sign_in(asks);
        let servers = servers.mount(&toolbox).await.expect("mounted");
        {
            let mut given = world.given.lock().unwrap();
            given.required = required;
            if required.is_empty() {
                given.good.clear();
                given.renewing.clear();
            }
        }
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (seen, place) = (Arc::clone(&asked), Arc::clone(&world));
        let context = ToolContext::new().with_asker(move |question: Question| {
            seen.lock().unwrap().push((question.message.clone(), question.server.clone()));
            let world = Arc::clone(&place);
            async move {
                let QuestionForm::Url(page) = &question.form else { return Answer::Nobody };
                let Some(browser) = browser else { return Answer::Declined };
                browser.open(&world, page).await;
                Answer::from(json!({}))
            }
        });
        let called = toolbox.call_in(&context, ToolCall::new("c", "s_json", "{}"));
        let result = tokio::time::timeout(Duration::from_secs(30), called).await.expect("it ends");
        assert_eq!(result.text() == "by json", succeeds, "{number}: {}", result.text());
        let expected = question.map(|text| (text.to_owned(), Some("s".to_owned())));
        assert_eq!(*asked.lock().unwrap(), Vec::from_iter(expected), "{number}");
        let tokens = world.given.lock().unwrap().count;
        assert_eq!(tokens, if succeeds { 2 } else { 1 }, "{number}");
        assert_eq!(servers.status()[0].wants_sign_in, !succeeds, "{number}");
    }
}
