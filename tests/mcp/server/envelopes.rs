//! Calls through a gateway that is served, and through one that is mounted: what stands beside the
//! arguments runs nothing, and no event shows a secret.

use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::event::EventSink;
use toolbox::mcp::{ServerConfig, Servers, Service};
use toolbox::search::Gateway;
use toolbox::{Tool, ToolBox, ToolCall};

use super::peer::{ERAS, Peer, text_of};
use super::web::Served;

type Ran = Arc<Mutex<Vec<String>>>;

/// A gateway to a tool that takes a secret, and what that tool ran with.
fn gateway() -> (ToolBox, Ran) {
    let ran = Ran::default();
    let own = Arc::clone(&ran);
    let schema = json!({"type": "object", "properties": {"user": {"type": "string"},
        "pin": {"type": "string", "writeOnly": true}}, "additionalProperties": false});
    let login = Tool::raw("login", "Signs in.", schema, move |arguments: Arguments| {
        own.lock().unwrap().push(arguments.to_string());
        async { "signed in" }
    });
    let toolbox = ToolBox::from(login.deferred());
    toolbox.register(Gateway::over(&toolbox));
    (toolbox, ran)
}

#[tokio::test]
async fn a_client_cannot_lose_arguments_beside_those_of_the_gateway() {
    let cases = [
        (
            json!({"name": "login", "user": "ada"}),
            "`user` stands beside `arguments`: put it inside",
        ),
        (json!({"name": "login", "args": {"user": "ada"}}), "call it `arguments`"),
        (json!({"name": "login", "arguments": {}, "user": "ada"}), "put it inside"),
        (json!({"tool_name": "login", "arguments": {}}), "call it `name`"),
        (json!({"name": "login", "arguments": ["ada"]}), "`arguments`"),
    ];
    for era in ERAS {
        let (toolbox, ran) = gateway();
        let mut peer = Peer::connect(Service::new(toolbox), era).await;
        for (arguments, says) in &cases {
            let (text, is_error) = text_of(&peer.call("toolbox_execute", arguments.clone()).await);
            assert!(is_error && text.contains(says), "{era:?} {arguments}: {text}");
        }
        assert_eq!(*ran.lock().unwrap(), [""; 0], "{era:?}");
        let whole = json!({"name": "login", "arguments": {"user": "ada"}});
        assert_eq!(text_of(&peer.call("toolbox_execute", whole).await).0, "signed in");
        assert_eq!(*ran.lock().unwrap(), [r#"{"user":"ada"}"#]);
    }
}

#[tokio::test]
async fn a_gateway_that_is_mounted_shows_nothing_of_what_it_carries() {
    const SECRET: &str = "hunter2";
    let (behind, ran) = gateway();
    let served = Served::start(Service::new(behind)).await;
    let lines = Arc::new(Mutex::new(String::new()));
    let own = Arc::clone(&lines);
    let sink = EventSink::from_fn(move |event| {
        own.lock().unwrap().push_str(&serde_json::to_string(&event).unwrap());
    });
    let toolbox = ToolBox::builder().events(sink.with_content()).build().unwrap();
    let url = format!("http://{}/mcp", served.address);
    let servers =
        Servers::builder().server("s", ServerConfig::url(url)).mount(&toolbox).await.unwrap();
    toolbox.register(Gateway::over(&toolbox));
    let pin = json!({"user": "ada", "pin": SECRET});
    let call = |arguments: Value| json!({"name": "login", "arguments": arguments});
    let through = |arguments: Value| json!({"name": "s_toolbox_execute", "arguments": arguments});
    let text = call(pin.to_string().into());
    let calls = [
        ("s_toolbox_execute", text.clone()),
        ("toolbox_execute", through(text.clone())),
        ("toolbox_execute", through(text.to_string().into())),
    ];
    for (tool, arguments) in calls {
        let result = toolbox.call(ToolCall::new("1", tool, arguments.to_string())).await;
        assert_eq!(result.text(), "signed in", "{arguments}");
        let last = ran.lock().unwrap().pop().unwrap();
        assert_eq!(serde_json::from_str::<Value>(&last).unwrap(), pin);
    }
    let lines = lines.lock().unwrap().clone();
    assert!(lines.contains("tool_started") && !lines.contains(SECRET), "{lines}");
    servers.close().await;
    served.stop().await;
}
