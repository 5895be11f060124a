//! Tools that are available to some clients only: their lists, their calls, and who hears of a
//! change.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use toolbox::context::Principal;
use toolbox::mcp::Service;
use toolbox::search::{EXECUTE, Gateway, SEARCH_WORDS};
use toolbox::{Tool, ToolBox, ToolContext};

use super::peer::{ERAS, Era, PATIENCE, Peer, names_of, text_of};
use super::web::{Request, Served};
use crate::bounded::tokio;

/// The names of those to whom the tools are available.
#[derive(Clone, Default)]
struct Guests(Arc<Mutex<HashSet<&'static str>>>);

impl Guests {
    fn of(names: &[&'static str]) -> Self {
        Self(Arc::new(Mutex::new(names.iter().copied().collect())))
    }

    fn add(&self, name: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
    }

    fn let_in(&self) -> impl Fn(&ToolContext) -> bool + use<> {
        let guests = self.clone();
        move |context| {
            let guests = guests.0.lock().unwrap_or_else(PoisonError::into_inner);
            context.get::<Principal>().is_some_and(|user| guests.contains(user.as_str()))
        }
    }

    /// A box with a tool for all, and one for guests whose region a header repeats.
    fn toolbox(&self) -> ToolBox {
        let schema = json!({
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "region"}},
        });
        let open = Tool::new("open", "For all.").call(|_| "open");
        let closed =
            Tool::raw("closed", "For guests.", schema, |_: toolbox::call::Arguments| "closed");
        ToolBox::from([open, closed.available_if(self.let_in())])
    }
}

fn service(toolbox: &ToolBox) -> Service {
    Service::new(toolbox.clone())
        .bearer_token_of(Principal::new("ann"), "a")
        .bearer_token_of(Principal::new("bob"), "b")
}

fn by(token: &str, request: Request) -> Request {
    request.header("authorization", &format!("Bearer {token}"))
}

#[tokio::test]
async fn each_client_has_the_list_of_its_principal() {
    let toolbox = Guests::of(&["ann"]).toolbox();
    let served = Served::start(service(&toolbox)).await;
    for (token, expected) in [("a", &["open", "closed"][..]), ("b", &["open"])] {
        let list = served.send(&by(token, Request::modern("tools/list", json!({})))).await;
        assert_eq!(names_of(&list.message()), expected, "{token}");
        assert_eq!(list.message()["result"]["cacheScope"], "private");
        // In a session of an older version, too.
        let own = ("authorization", format!("Bearer {token}"));
        let session = served.open(&[(own.0, own.1.as_str())]).await;
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let list = Request::old(&list).header("mcp-session-id", &session);
        assert_eq!(names_of(&served.send(&by(token, list)).await.message()), expected, "{token}");
    }
    let region = |value: &str| {
        Request::call("closed", json!({"region": "eu"})).header("mcp-param-region", value)
    };
    assert_eq!(served.send(&by("a", region("eu"))).await.text_of(), "closed");
    assert_eq!(served.send(&by("a", region("us"))).await.status, 400);
    served.stop().await;
}

#[tokio::test]
async fn a_call_of_a_tool_that_is_not_available_is_one_of_no_tool() {
    let toolbox = Guests::of(&["ann"]).toolbox();
    let served = Served::start(service(&toolbox)).await;
    let anonymous = |context: &ToolContext| context.get::<Principal>().is_none();
    toolbox.register(Tool::new("sign_up", "S.").call(|_| "up").available_if(anonymous));
    for (header, name) in [("eu", "closed"), ("us", "closed"), ("eu", "sign_up")] {
        let call = |tool: &str| {
            let call = Request::call(tool, json!({"region": "eu"}));
            by("b", call.header("mcp-param-region", header))
        };
        let (hidden, none) = (served.send(&call(name)).await, served.send(&call("none")).await);
        assert_eq!(hidden.status, none.status, "{header} {name}");
        let error = |answer: &Value| answer["error"].to_string();
        let expected = error(&none.message()).replace("none", name);
        assert_eq!(error(&hidden.message()), expected, "{header} {name}");
        assert!(expected.contains("tool not found: "), "{expected}");
    }
    served.stop().await;
}

#[tokio::test]
async fn over_streams_the_client_has_no_principal() {
    for era in ERAS {
        let toolbox = Guests::of(&["ann"]).toolbox();
        let mut peer = Peer::connect(Service::new(toolbox), era).await;
        assert_eq!(peer.names().await, ["open"], "{era:?}");
        let list = peer.request("tools/list", json!({})).await;
        let scope = matches!(era, Era::Modern).then_some("private");
        assert_eq!(list["result"]["cacheScope"].as_str(), scope);
        let answer = peer.call("closed", json!({})).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        peer.end().await;
    }
}

#[tokio::test]
async fn a_gateway_finds_and_runs_what_is_available_to_its_client() {
    let guests = Guests::of(&["ann"]);
    let hidden = Tool::new("launch_rocket", "Launches a rocket.").call(|_| "up").deferred();
    let toolbox = ToolBox::from(hidden.available_if(guests.let_in()));
    toolbox.register(Gateway::over(&toolbox));
    let served = Served::start(service(&toolbox).list_deferred(false)).await;
    let call = async |token: &str, tool: &str, arguments: Value| {
        served.send(&by(token, Request::call(tool, arguments))).await.message()
    };
    let run = || json!({"name": "launch_rocket", "arguments": "{}"});
    for (token, is_guest) in [("a", true), ("b", false)] {
        let found = call(token, SEARCH_WORDS, json!({"text": "launch a rocket"})).await;
        assert_eq!(text_of(&found).0.contains("launch_rocket"), is_guest, "{found}");
        let ran = text_of(&call(token, EXECUTE, run()).await);
        let expected = if is_guest { "up" } else { "tool not found: launch_rocket" };
        assert_eq!(ran, (expected.to_owned(), !is_guest));
    }
    served.stop().await;
}

/// Opens a stream of changes, and returns it when the server has accepted it.
async fn listen(served: &Served, token: &str) -> TcpStream {
    let wanted = json!({"notifications": {"toolsListChanged": true}});
    let request = by(token, Request::modern("subscriptions/listen", wanted));
    let mut stream = served.connect().await;
    stream.write_all(&request.bytes()).await.expect("sent");
    until(&mut stream, &mut String::new(), "acknowledged", 1).await;
    stream
}

/// Reads until a word was there so many times.
async fn until(stream: &mut TcpStream, text: &mut String, word: &str, times: usize) {
    let mut buffer = [0; 4096];
    while text.matches(word).count() < times {
        let read = timeout(PATIENCE, stream.read(&mut buffer)).await.expect("in time");
        let read = read.expect("a stream");
        assert!(read > 0, "the stream ended: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
}

#[tokio::test]
async fn those_whose_list_changed_hear_of_it() {
    const CHANGED: &str = "tools/list_changed";
    let guests = Guests::default();
    let toolbox = guests.toolbox();
    let served = Served::start(service(&toolbox)).await;
    let (mut ann, mut bob) = (listen(&served, "a").await, listen(&served, "b").await);
    let (mut of_ann, mut of_bob) = (String::new(), String::new());

    guests.add("ann");
    toolbox.availability_changed();
    until(&mut ann, &mut of_ann, CHANGED, 1).await;
    // Nothing changed for anybody.
    toolbox.availability_changed();
    toolbox.register(Tool::new("new", "For all.").call(|_| "new"));
    until(&mut ann, &mut of_ann, CHANGED, 2).await;
    until(&mut bob, &mut of_bob, CHANGED, 1).await;
    served.stop().await;
    for (stream, text, expected) in [(&mut ann, &mut of_ann, 2), (&mut bob, &mut of_bob, 1)] {
        let mut rest = Vec::new();
        let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("in time");
        text.push_str(&String::from_utf8_lossy(&rest));
        assert_eq!(text.matches(CHANGED).count(), expected, "{text}");
    }
}
