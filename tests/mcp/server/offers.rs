//! Prompts, resources, completion and their notifications, in both eras of the protocol.

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::call::ContentAnnotations;
use toolbox::context::AskError;
use toolbox::definition::Icon;
use toolbox::mcp::Service;
use toolbox::prompt::PromptMessage;
use toolbox::tool::CompletionRequest;
use toolbox::{Content, ToolBox, ToolContext, prompt, prompts, resource, resources, tool, tools};

use super::peer::{ERAS, Era, Peer};

fn cities(request: &CompletionRequest) -> Vec<String> {
    match request.arguments.get("country").map(String::as_str) {
        Some("japan") => request.matching(["tokyo", "kyoto"]),
        _ => request.matching(["paris", "porto"]),
    }
}

/// Plans a trip.
#[prompt(title = "Trip")]
fn trip(
    /// The country.
    country: Option<&str>,
    /// The city.
    #[arg(complete = cities)]
    city: &str,
    /// The days.
    #[arg(default = 3, range = 1..=30)]
    days: u8,
) -> Vec<PromptMessage> {
    vec![
        PromptMessage::user(format!("{days} days in {city}, {country:?}")),
        PromptMessage::assistant(Content::audio(b"RIFF", "audio/wav")),
    ]
}

/// Asks back.
#[prompt]
async fn ask_back(context: &ToolContext) -> Result<String, AskError> {
    Ok(format!("About {}.", context.ask::<String>("About what?").key("topic").await?))
}

/// Panics.
#[prompt]
fn panicking() -> String {
    panic!("at once")
}

/// Takes too long.
#[prompt(timeout = "20ms")]
async fn endless() -> String {
    std::future::pending().await
}

/// The manual.
#[resource("docs://manual", mime_type = "text/markdown", fresh_for = "5m", public)]
fn manual() -> &'static str {
    "# Manual"
}

/// A note.
#[resource("notes://{id}")]
async fn note(
    #[arg(complete = ids)] id: u32,
    context: &ToolContext,
) -> Result<Option<String>, AskError> {
    Ok(match id {
        0 => Some(context.ask::<String>("Which note?").key("note").await?),
        1..10 => Some(format!("Note {id}")),
        _ => None,
    })
}

fn ids(request: &CompletionRequest) -> Vec<String> {
    request.matching((1..300).map(|id| id.to_string()))
}

/// A large one.
#[resource("large://{bytes}")]
fn large(bytes: usize) -> Vec<u8> {
    vec![0; bytes]
}

/// Adds two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn toolbox() -> ToolBox {
    let icon = Icon::new("https://example.com/a.png");
    let hints = ContentAnnotations::new().with_priority(0.8);
    let toolbox = ToolBox::builder()
        .tools(tools![add])
        .max_resource_bytes(1 << 20)
        .prompts(prompts![ask_back, panicking, endless])
        .resources(resources![note, large])
        .build()
        .unwrap();
    toolbox.prompts().register(trip::prompt().with_icon(icon).with_meta("com.example/a", 1));
    toolbox.resources().register(manual::resource().with_annotations(hints).with_size(8));
    toolbox
}

fn service(toolbox: &ToolBox) -> Service {
    Service::new(toolbox.clone())
}

#[tokio::test]
async fn capabilities_name_what_the_box_has() {
    for era in ERAS {
        let capabilities = async |service: Service| {
            let mut peer = Peer::silent(service);
            match era {
                Era::Old => {
                    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
                    peer.send(
                        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
                    )
                    .await;
                    peer.next().await["result"]["capabilities"].clone()
                }
                Era::Modern => {
                    peer.request("server/discover", json!({})).await["result"]["capabilities"]
                        .clone()
                }
            }
        };
        let own = |mut capabilities: Value| {
            if era == Era::Modern {
                capabilities["extensions"] = json!({"io.modelcontextprotocol/tasks": {}});
            }
            capabilities
        };
        let with = capabilities(service(&toolbox())).await;
        assert_eq!(
            with,
            own(json!({
                "logging": {},
                "tools": {"listChanged": true},
                "prompts": {"listChanged": true},
                "resources": {"subscribe": true, "listChanged": true},
                "completions": {},
            }))
        );
        let without = capabilities(Service::new(ToolBox::from(tools![add]))).await;
        assert_eq!(without, own(json!({"logging": {}, "tools": {"listChanged": true}})));
    }
}

#[tokio::test]
async fn lists_hold_all_that_is_known() {
    for era in ERAS {
        let mut peer = Peer::connect(service(&toolbox()), era).await;
        let list = peer.request("prompts/list", json!({})).await["result"].clone();
        assert_eq!(
            list["prompts"][3],
            json!({
                "name": "trip",
                "title": "Trip",
                "description": "Plans a trip.",
                "arguments": [
                    {"name": "country", "description": "The country.", "required": false},
                    {"name": "city", "description": "The city.", "required": true},
                    {"name": "days", "description": "The days.", "required": false},
                ],
                "icons": [{"src": "https://example.com/a.png"}],
                "_meta": {"com.example/a": 1},
            })
        );
        assert_eq!(list.get("ttlMs").is_some(), era == Era::Modern);
        let list = peer.request("resources/list", json!({})).await["result"].clone();
        assert_eq!(
            list["resources"],
            json!([{
                "uri": "docs://manual",
                "name": "manual",
                "description": "The manual.",
                "mimeType": "text/markdown",
                "size": 8,
                "annotations": {"priority": 0.8},
            }])
        );
        let list = peer.request("resources/templates/list", json!({})).await["result"].clone();
        let templates: Vec<_> = list["resourceTemplates"].as_array().unwrap().iter().collect();
        assert_eq!(templates[0]["uriTemplate"], "notes://{id}");
        assert_eq!(templates.len(), 2);
    }
    // Older clients do not know icons, titles and `_meta`.
    let mut peer = Peer::silent(service(&toolbox()));
    peer.begin_with("2024-11-05").await;
    let list = peer.request("prompts/list", json!({})).await;
    let members: Vec<_> = list["result"]["prompts"][3].as_object().unwrap().keys().collect();
    assert_eq!(members, ["name", "description", "arguments"]);
}

#[tokio::test]
async fn lists_come_in_pages_whose_cursors_hold() {
    for era in ERAS {
        let toolbox = toolbox();
        for number in 0..25 {
            let name = format!("manual{number}");
            let uri = format!("docs://:{number}:\"x\"");
            let tool = toolbox::Tool::new(&name, "A manual").call(|_| "text");
            let resource = toolbox::resource::Resource::from_tool(uri, tool).unwrap();
            toolbox.resources().register(resource);
        }
        let mut peer = Peer::connect(service(&toolbox).page_size(7), era).await;
        let (mut uris, mut params) = (Vec::new(), json!({}));
        loop {
            let page = peer.request("resources/list", params).await["result"].clone();
            let own = page["resources"].as_array().unwrap().iter();
            uris.extend(own.map(|one| one["uri"].as_str().unwrap().to_owned()));
            // A change between two pages loses nothing and repeats nothing.
            toolbox.resources().unregister("docs://:0:\"x\"");
            match page.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => break,
            }
        }
        assert_eq!(uris.len(), 26, "{uris:?}");
        for cursor in ["", "x", "7", "[]", "[1,2,3]", "[\"a\",\"b\",\"c\"]"] {
            let answer = peer.request("resources/list", json!({"cursor": cursor})).await;
            assert_eq!(answer["error"]["code"], -32602, "{cursor}: {answer}");
        }
    }
}

#[tokio::test]
async fn prompts_are_rendered() {
    for era in ERAS {
        let mut peer = Peer::connect(service(&toolbox()), era).await;
        let params = json!({"name": "trip", "arguments": {"city": "paris", "days": "2"}});
        let result = peer.request("prompts/get", params).await["result"].clone();
        assert_eq!(result["description"], "Plans a trip.");
        assert_eq!(
            result["messages"],
            json!([
                {"role": "user", "content": {"type": "text", "text": "2 days in paris, None"}},
                {"role": "assistant", "content": {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"}},
            ])
        );
        assert_eq!(result.get("resultType").is_some(), era == Era::Modern);
        assert_eq!(result.get("ttlMs"), None);
    }
}

#[tokio::test]
async fn contents_are_read() {
    for era in ERAS {
        let mut peer = Peer::connect(service(&toolbox()), era).await;
        let result =
            peer.request("resources/read", json!({"uri": "docs://manual"})).await["result"].clone();
        let contents =
            json!([{"uri": "docs://manual", "mimeType": "text/markdown", "text": "# Manual"}]);
        assert_eq!(result["contents"], contents);
        let hints = (result.get("ttlMs").cloned(), result.get("cacheScope").cloned());
        match era {
            Era::Old => assert_eq!(hints, (None, None)),
            Era::Modern => assert_eq!(hints, (Some(json!(300_000)), Some(json!("public")))),
        }
        let result =
            peer.request("resources/read", json!({"uri": "notes://7"})).await["result"].clone();
        assert_eq!(result["contents"], json!([{"uri": "notes://7", "text": "Note 7"}]));
        if era == Era::Modern {
            assert_eq!((&result["ttlMs"], &result["cacheScope"]), (&json!(0), &json!("private")));
        }
    }
}

#[tokio::test]
async fn each_mistake_is_the_error_of_its_kind() {
    for era in ERAS {
        let toolbox = toolbox();
        toolbox.resources().blacklist("notes://3");
        let mut peer = Peer::connect(service(&toolbox), era).await;
        let missing = if era == Era::Modern { -32602 } else { -32002 };
        let long = format!("notes://{}", "9".repeat(100_000));
        let reference = json!({"type": "ref/prompt", "name": "trip"});
        let cases = [
            ("prompts/get", json!({}), -32602, "missing field `name`"),
            ("prompts/get", json!({"name": "no"}), -32602, "there is no prompt `no`"),
            ("prompts/get", json!({"name": "trip"}), -32602, "city"),
            ("prompts/get", json!({"name": "trip", "arguments": {"city": 5}}), -32602, "strings"),
            ("prompts/get", json!({"name": "trip", "arguments": ["city"]}), -32602, "object"),
            (
                "prompts/get",
                json!({"name": "trip", "arguments": {"city": "a", "days": "99"}}),
                -32602,
                "days",
            ),
            (
                "prompts/get",
                json!({"name": "trip", "arguments": {"city": "a", "x": "1"}}),
                -32602,
                "x",
            ),
            ("prompts/get", json!({"name": "panicking"}), -32603, "prompt `panicking` panicked"),
            ("prompts/get", json!({"name": "endless"}), -32603, "prompt `endless` did not finish"),
            ("prompts/get", json!({"name": "add"}), -32602, "there is no prompt"),
            ("resources/read", json!({}), -32602, "missing field `uri`"),
            (
                "resources/read",
                json!({"uri": "no://no"}),
                missing,
                "there is no resource `no://no`",
            ),
            ("resources/read", json!({"uri": "notes://70"}), missing, "there is no resource"),
            ("resources/read", json!({"uri": "notes://3"}), missing, "there is no resource"),
            ("resources/read", json!({"uri": "notes://%33"}), missing, "there is no resource"),
            (
                "resources/read",
                json!({"uri": "file:///etc/passwd"}),
                missing,
                "there is no resource",
            ),
            ("resources/read", json!({"uri": "notes://\u{0}"}), missing, "there is no resource"),
            ("resources/read", json!({"uri": "notes://../1"}), missing, "there is no resource"),
            ("resources/read", json!({"uri": long}), missing, "there is no resource"),
            ("resources/read", json!({"uri": "large://1000000"}), -32603, "is larger than"),
            ("completion/complete", json!({}), -32602, "ref"),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/tool", "name": "add"}, "argument": {"name": "a", "value": ""}}),
                -32602,
                "ref/",
            ),
            (
                "completion/complete",
                json!({"ref": reference, "argument": {"name": "no", "value": ""}}),
                -32602,
                "no argument",
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "no"}, "argument": {"name": "a", "value": ""}}),
                -32602,
                "no prompt",
            ),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/resource", "uri": "no://{x}"}, "argument": {"name": "x", "value": ""}}),
                -32602,
                "no resource",
            ),
        ];
        for (method, params, code, text) in cases {
            let answer = peer.request(method, params.clone()).await;
            let error = &answer["error"];
            assert_eq!(error["code"], code, "{era:?} {method} {params}: {answer}");
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(text), "{era:?} {method} {params}: {answer}");
            assert!(message.len() < 1000, "{}", message.len());
        }
        let answer = peer.request("resources/read", json!({"uri": "no://no"})).await;
        assert_eq!(answer["error"]["data"], json!({"uri": "no://no"}));
        // The server still serves.
        assert!(
            peer.request("resources/read", json!({"uri": "notes://1"})).await["result"].is_object()
        );
    }
}

#[tokio::test]
async fn a_server_without_them_does_not_know_their_methods() {
    for era in ERAS {
        let mut peer = Peer::connect(Service::new(ToolBox::from(tools![add])), era).await;
        let methods = [
            "prompts/list",
            "prompts/get",
            "resources/list",
            "resources/templates/list",
            "resources/read",
            "resources/subscribe",
            "completion/complete",
        ];
        for method in methods {
            let answer = peer.request(method, json!({"name": "a", "uri": "a://b"})).await;
            assert_eq!(answer["error"]["code"], -32601, "{era:?} {method}: {answer}");
        }
    }
}

#[tokio::test]
async fn arguments_are_completed() {
    for era in ERAS {
        let mut peer = Peer::connect(service(&toolbox()), era).await;
        let trip = json!({"type": "ref/prompt", "name": "trip"});
        let note = json!({"type": "ref/resource", "uri": "notes://{id}"});
        let cases = [
            (&trip, "city", "p", json!({}), json!(["paris", "porto"]), 2, false),
            (&trip, "city", "O", json!({"country": "japan"}), json!(["tokyo", "kyoto"]), 2, false),
            (&trip, "country", "", json!({}), json!([]), 0, false),
            (
                &note,
                "id",
                "29",
                json!({}),
                json!([
                    "29", "290", "291", "292", "293", "294", "295", "296", "297", "298", "299",
                    "129", "229"
                ]),
                13,
                false,
            ),
        ];
        for (reference, name, value, given, values, total, more) in cases {
            let argument = json!({"name": name, "value": value});
            let params =
                json!({"ref": reference, "argument": argument, "context": {"arguments": given}});
            let result = peer.request("completion/complete", params).await["result"].clone();
            assert_eq!(
                result["completion"],
                json!({"values": values, "total": total, "hasMore": more})
            );
        }
        let argument = json!({"name": "id", "value": ""});
        let params = json!({"ref": note, "argument": argument});
        let completion = &peer.request("completion/complete", params).await["result"]["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), 100);
        assert_eq!((&completion["total"], &completion["hasMore"]), (&json!(299), &json!(true)));
    }
}

#[tokio::test]
async fn a_prompt_and_a_resource_may_ask_the_user() {
    let cases = [
        ("prompts/get", json!({"name": "ask_back"}), "topic", "About rain."),
        ("resources/read", json!({"uri": "notes://0"}), "note", "rain"),
    ];
    for (method, params, key, expected) in cases {
        let capabilities = json!({"elicitation": {}});
        let text = |result: &Value| {
            let text =
                result.pointer("/messages/0/content/text").or(result.pointer("/contents/0/text"));
            text.and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let answer = json!({"action": "accept", "content": {"answer": "rain"}});
        // In the new era the request is made again.
        let mut peer =
            Peer::connect_with(service(&toolbox()), Era::Modern, capabilities.clone()).await;
        let asked = peer.request(method, params.clone()).await["result"].clone();
        assert_eq!(asked["resultType"], "input_required", "{asked}");
        assert_eq!(asked["inputRequests"][key]["method"], "elicitation/create", "{asked}");
        let mut again = params.clone();
        again["inputResponses"] = json!({key: answer});
        again["requestState"] = asked["requestState"].clone();
        let result = peer.request(method, again.clone()).await["result"].clone();
        assert_eq!(text(&result), expected, "{result}");
        // Its state is of this one request, and used once.
        let answered = peer.request(method, again).await;
        assert_eq!(answered["error"]["code"], -32602, "{answered}");
        let asked = peer.request(method, params.clone()).await["result"].clone();
        let other = json!({"uri": "notes://1", "name": "trip", "arguments": {"city": "a"},
            "inputResponses": {key: answer}, "requestState": asked["requestState"]});
        assert_eq!(peer.request(method, other).await["error"]["code"], -32602);
        // In the old era the server asks.
        let mut peer = Peer::connect_with(service(&toolbox()), Era::Old, capabilities).await;
        let id = peer.ask(method, params.clone()).await;
        let question = peer.next().await;
        assert_eq!(question["method"], "elicitation/create");
        peer.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
        assert_eq!(text(&peer.answer(id).await["result"]), expected);
    }
}

/// Waits for a notification, and returns its method and its parameters.
async fn notified(peer: &mut Peer) -> (String, Value) {
    let note = peer.next().await;
    assert!(note.get("id").is_none(), "{note}");
    (note["method"].as_str().unwrap().to_owned(), note["params"].clone())
}

#[tokio::test]
async fn changes_reach_a_session() {
    let toolbox = toolbox();
    let mut peer = Peer::connect(service(&toolbox), Era::Old).await;
    for uri in ["docs://manual", "notes://1"] {
        let answer = peer.request("resources/subscribe", json!({"uri": uri})).await;
        assert_eq!(answer["result"], json!({}));
    }
    let missing = peer.request("resources/subscribe", json!({"uri": "no://no"})).await;
    assert_eq!(missing["error"]["code"], -32002);
    let answer = peer.request("resources/unsubscribe", json!({"uri": "notes://1"})).await;
    assert_eq!(answer["result"], json!({}));
    for uri in ["notes://1", "docs://manual2", "docs://manual", "docs://manual/part"] {
        toolbox.resources().changed(uri);
    }
    for uri in ["docs://manual", "docs://manual/part"] {
        let (method, params) = notified(&mut peer).await;
        assert_eq!(
            (method.as_str(), &params),
            ("notifications/resources/updated", &json!({"uri": uri}))
        );
    }
    toolbox.prompts().unregister("trip");
    assert_eq!(notified(&mut peer).await.0, "notifications/prompts/list_changed");
    toolbox.resources().unregister("notes://{id}");
    assert_eq!(notified(&mut peer).await.0, "notifications/resources/list_changed");
    toolbox.unregister("add");
    assert_eq!(notified(&mut peer).await.0, "notifications/tools/list_changed");
}

#[tokio::test]
async fn changes_reach_those_who_listen_and_no_others() {
    let toolbox = toolbox();
    let mut peer = Peer::connect(service(&toolbox), Era::Modern).await;
    let wanted =
        json!({"promptsListChanged": true, "resourceSubscriptions": ["docs://manual", "x://y"]});
    let id = peer.ask("subscriptions/listen", json!({"notifications": wanted})).await;
    let (method, params) = notified(&mut peer).await;
    assert_eq!(method, "notifications/subscriptions/acknowledged");
    assert_eq!(params["notifications"], wanted);
    toolbox.unregister("add");
    toolbox.resources().unregister("notes://{id}");
    toolbox.resources().changed("notes://1");
    toolbox.resources().changed("docs://manual");
    let (method, params) = notified(&mut peer).await;
    assert_eq!(
        (method.as_str(), &params["uri"]),
        ("notifications/resources/updated", &json!("docs://manual"))
    );
    assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    toolbox.prompts().unregister("trip");
    let (method, params) = notified(&mut peer).await;
    assert_eq!(method, "notifications/prompts/list_changed");
    assert_eq!(params["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    // Too many at once are refused whole.
    let many: Vec<String> = (0..2000).map(|number| format!("a://{number}")).collect();
    let answer = peer
        .request("subscriptions/listen", json!({"notifications": {"resourceSubscriptions": many}}))
        .await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn forbidden_resources_change_for_nobody() {
    // A box, and copies of it: each has the changes and the rules of the first.
    for copy in 0..3 {
        let toolbox = toolbox();
        toolbox.resources().blacklist("notes://1");
        toolbox.resources().blacklist("large://{bytes}");
        let served = match copy {
            0 => toolbox.clone(),
            1 => toolbox.filtered(|_| true),
            _ => toolbox.prefixed("a"),
        };
        let forbidden = ["notes://1", "notes://%31", "large://5"];
        let changed = forbidden.into_iter().chain(["docs://manual"]);
        let mut peer = Peer::connect(service(&served), Era::Old).await;
        for uri in forbidden {
            let answer = peer.request("resources/subscribe", json!({"uri": uri})).await;
            assert_eq!(answer["error"]["code"], -32002, "{copy} {uri}");
        }
        peer.request("resources/subscribe", json!({"uri": "docs://manual"})).await;
        changed.clone().for_each(|uri| toolbox.resources().changed(uri));
        assert_eq!(notified(&mut peer).await.1["uri"], "docs://manual", "{copy}");

        let mut peer = Peer::connect(service(&served), Era::Modern).await;
        let wanted: Vec<&str> = changed.clone().collect();
        let wanted = json!({"notifications": {"resourceSubscriptions": wanted}});
        peer.ask("subscriptions/listen", wanted).await;
        notified(&mut peer).await;
        changed.for_each(|uri| toolbox.resources().changed(uri));
        assert_eq!(notified(&mut peer).await.1["uri"], "docs://manual", "{copy}");
    }
}

#[tokio::test]
async fn a_flood_of_changes_loses_no_resource() {
    let toolbox = toolbox();
    let mut peer = Peer::connect(service(&toolbox), Era::Modern).await;
    let wanted = json!({"resourceSubscriptions": ["docs://manual"]});
    peer.ask("subscriptions/listen", json!({"notifications": wanted})).await;
    notified(&mut peer).await;
    toolbox.resources().changed("docs://manual");
    for number in 0..100_000 {
        toolbox.resources().changed(format!("notes://{number}"));
    }
    let (_, params) = notified(&mut peer).await;
    assert_eq!(params["uri"], "docs://manual");
}

#[tokio::test]
async fn prompts_are_paced_like_calls() {
    let service = service(&toolbox()).max_calls_per_second(1);
    let mut peer = Peer::connect(service, Era::Modern).await;
    let mut refused = 0;
    for _ in 0..10 {
        let answer = peer.request("resources/read", json!({"uri": "docs://manual"})).await;
        if let Some(message) = answer["error"]["message"].as_str() {
            assert!(message.contains("too many calls came at once"), "{message}");
            refused += 1;
        }
    }
    assert!(refused >= 7, "{refused}");
}
