//! Workers and boxes that do wrong.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use async_nats::jetstream;
use data_encoding::HEXLOWER;
use futures_util::StreamExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolbox::call::{Arguments, FailureKind};
use toolbox::context::{Conversation, Principal};
use toolbox::fleet::WithheldOfferReason;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult};

use crate::bounded::tokio;
use support::fleet::{Pair, Server, Serving, options, soon, within};
use support::size;

fn echo() -> Tool {
    let schema = json!({"type": "object"});
    Tool::raw("echo", "Repeats", schema, |arguments: Arguments| arguments.into_string())
}

/// The subject of the calls of a tool, by the offer of one that is served.
async fn subject_of(server: &Server, tool: &str) -> String {
    let (_, value) = offers(server).await.into_iter().find(|(key, _)| key.contains(tool)).unwrap();
    let value: Value = serde_json::from_slice(&value).unwrap();
    format!("toolbox.tools.call.{tool}.{}", value["digest"].as_str().unwrap())
}

/// The offers of a fleet, as they are in its bucket.
async fn offers(server: &Server) -> Vec<(String, Vec<u8>)> {
    let bucket = bucket(server).await;
    let mut keys = within(bucket.keys()).await.unwrap();
    let mut offers = Vec::new();
    while let Some(key) = within(keys.next()).await {
        let key = key.unwrap();
        let value = within(bucket.get(key.clone())).await.unwrap().unwrap();
        offers.push((key, value.to_vec()));
    }
    offers
}

async fn bucket(server: &Server) -> jetstream::kv::Store {
    let jetstream = jetstream::new(server.client().await);
    within(jetstream.get_key_value("toolbox_tools")).await.unwrap()
}

/// A box whose fleet has one worker, which answers each call as `answer` says: with messages on the
/// reply subject, given the payload of the call.
struct Impostor {
    toolbox: ToolBox,
    mounted: toolbox::fleet::Mounted,
    calls: Arc<AtomicUsize>,
    _fleet: toolbox::fleet::Fleet,
    _server: Server,
}

impl Impostor {
    async fn answering(answer: impl Fn(&str) -> Vec<Vec<u8>> + Send + 'static) -> Self {
        let pair = Pair::of(&ToolBox::from(echo())).await;
        let subject = subject_of(&pair.server, "echo").await;
        let Pair { toolbox, mounted, fleet, serving, server } = pair;
        // The offer stays for a while, and its calls come here.
        serving.crash().await;
        let client = server.client().await;
        let mut subscription = client.subscribe(subject).await.unwrap();
        client.flush().await.unwrap();
        server.until_served("echo", 1).await;
        let calls: Arc<AtomicUsize> = Arc::default();
        let counted = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Some(message) = subscription.next().await {
                counted.fetch_add(1, SeqCst);
                let reply = message.reply.unwrap();
                for answer in answer(std::str::from_utf8(&message.payload).unwrap()) {
                    client.publish(reply.clone(), answer.into()).await.unwrap();
                }
            }
        });
        Self { toolbox, mounted, calls, _fleet: fleet, _server: server }
    }

    async fn call(&self) -> ToolResult {
        within(self.toolbox.call(ToolCall::new("1", "echo", "{}"))).await
    }
}

fn answered(text: &str) -> Vec<u8> {
    let result = json!({"result": {"stored": {"content": [{"type": "text", "text": text}]}}});
    [b"R".to_vec(), serde_json::to_vec(&result).unwrap()].concat()
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn garbage_for_an_answer_is_a_failure_of_that_call() {
    let deep = format!("R{}", "[".repeat(100_000));
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("nothing", Vec::new()),
        ("a byte", b"R".to_vec()),
        ("no kind", b"Xyz".to_vec()),
        ("no JSON", b"R{".to_vec()),
        ("no UTF-8", b"R\xff\xfe".to_vec()),
        ("depth", deep.into_bytes()),
        ("another shape", br#"R{"result":[]}"#.to_vec()),
        ("a later field", br#"R{"result":{"stored":{"content":[]}},"denied":true}"#.to_vec()),
        ("a size that is none", b"O-1".to_vec()),
        ("a stored result that is not there", b"O10".to_vec()),
        ("a stored result beyond the limit", b"O99999999999".to_vec()),
        ("a busy worker that says more", b"Bx".to_vec()),
    ];
    for (case, answer) in cases {
        let peer = Impostor::answering(move |_| vec![answer.clone()]).await;
        let result = peer.call().await;
        assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput), "{case} {result:?}");
        let text = result.text();
        let says = text.starts_with("the answer of tool `echo` cannot be read: ");
        assert!(says && text.len() < 800, "{case}: {text}");
        assert_eq!(peer.mounted.status().discarded, 1, "{case}");
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn of_several_answers_the_first_counts() {
    let peer =
        Impostor::answering(|_| vec![answered("first"), answered("second"), b"garbage".to_vec()])
            .await;
    for _ in 0..3 {
        assert_eq!(peer.call().await.text(), "first");
    }
    soon("the others are counted", || peer.mounted.status().discarded == 6).await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn an_answer_for_another_call_reaches_nobody() {
    // The worker answers its second call on the subject of the first, and on guessed ones.
    let pair = Pair::of(&ToolBox::from(echo())).await;
    let subject = subject_of(&pair.server, "echo").await;
    let Pair { toolbox, mounted, fleet: _fleet, serving, server } = pair;
    serving.crash().await;
    let client = server.client().await;
    let mut calls = client.subscribe(subject).await.unwrap();
    client.flush().await.unwrap();
    server.until_served("echo", 1).await;
    let call = |id: &'static str| {
        let toolbox = toolbox.clone();
        tokio::spawn(async move { toolbox.call(ToolCall::new(id, "echo", "{}")).await })
    };
    let first = call("1");
    let first_reply = within(calls.next()).await.unwrap().reply.unwrap();
    let second = call("2");
    let second_reply = within(calls.next()).await.unwrap().reply.unwrap();
    let (inbox, token) = first_reply.rsplit_once('.').unwrap();
    assert!(second_reply.starts_with(inbox) && token.len() == 32);
    // Nothing of a token follows from another.
    let same = token.bytes().zip(second_reply.rsplit('.').next().unwrap().bytes());
    assert!(same.filter(|(a, b)| a == b).count() < 16);
    for guess in ["0", "*", "", &"0".repeat(32), &format!("{token}.x")] {
        let subject = format!("{inbox}.{guess}");
        let _ = client.publish(subject, answered("guessed").into()).await;
    }
    client.publish(first_reply.clone(), answered("to the first").into()).await.unwrap();
    assert_eq!(within(first).await.unwrap().text(), "to the first");
    client.publish(first_reply, answered("again").into()).await.unwrap();
    client.publish(second_reply, answered("to the second").into()).await.unwrap();
    assert_eq!(within(second).await.unwrap().text(), "to the second");
    soon("the others are counted", || mounted.status().discarded >= 2).await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_that_is_silent_is_given_up() {
    let peer = Impostor::answering(|_| Vec::new()).await;
    let since = Instant::now();
    let result = peer.call().await;
    assert_eq!(result.failure_kind(), Some(FailureKind::OutcomeUnknown));
    assert_eq!(
        result.text(),
        "tool `echo` has no answer: the worker that ran it does not answer any more; it may have taken effect or not, so look before you call it again"
    );
    assert!(since.elapsed() < Duration::from_secs(18), "{:?}", since.elapsed());
    assert_eq!(peer.calls.load(SeqCst), 1);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_that_is_always_busy_or_gone_is_asked_a_few_times() {
    let cases = [
        (&b"B"[..], FailureKind::Busy, 4),
        (b"G", FailureKind::Infrastructure, 1),
        (b"U", FailureKind::Deferred, 1),
    ];
    for (answer, kind, calls) in cases {
        let peer = Impostor::answering(move |_| vec![answer.to_vec()]).await;
        assert_eq!(peer.call().await.failure_kind(), Some(kind));
        assert_eq!(peer.calls.load(SeqCst), calls);
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_flood_of_reports_does_not_keep_the_result_away() {
    let peer = Impostor::answering(|_| {
        let mut answers = vec![br#"P{"done":1}"#.to_vec(); 20_000];
        answers.push(b"A".to_vec());
        answers.push(answered("done"));
        answers
    })
    .await;
    assert_eq!(peer.call().await.text(), "done");
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_stored_result_is_that_of_the_call_and_no_link() {
    let limited = options().max_payload_bytes(1 << 20);
    let pair = Pair::with(limited, &ToolBox::from(echo())).await;
    let subject = subject_of(&pair.server, "echo").await;
    let Pair { toolbox, mounted: _mounted, fleet: _fleet, serving, server } = pair;
    serving.crash().await;
    let client = server.client().await;
    let mut calls = client.subscribe(subject).await.unwrap();
    client.flush().await.unwrap();
    server.until_served("echo", 1).await;
    let jetstream = jetstream::new(client.clone());
    let mut stores = Vec::new();
    for bucket in ["toolbox_tools_payloads", "secrets"] {
        let config =
            jetstream::object_store::Config { bucket: bucket.to_owned(), ..Default::default() };
        stores.push(jetstream.create_object_store(config).await.unwrap());
    }
    let outcome = &answered("secret")[1..];
    let own = stores[0].put("another-result", &mut &*outcome).await.unwrap();
    let secret = stores[1].put("secret", &mut &*outcome).await.unwrap();

    for case in ["own", "another", "secret", "larger"] {
        let toolbox = toolbox.clone();
        let call =
            tokio::spawn(async move { toolbox.call(ToolCall::new("1", "echo", "{}")).await });
        let message = within(calls.next()).await.unwrap();
        let head = message.payload.split(|byte| *byte == b'\n').next().unwrap();
        let head: Value = serde_json::from_slice(head).unwrap();
        let name = format!("{}-result", head["id"].as_str().unwrap());
        match case {
            "own" => drop(stores[0].put(&*name, &mut &*outcome).await.unwrap()),
            "another" => drop(stores[0].add_link(&*name, &own).await.unwrap()),
            "secret" => drop(stores[0].add_link(&*name, &secret).await.unwrap()),
            _ => {
                let large = vec![b' '; 2 << 20];
                drop(stores[0].put(&*name, &mut &*large).await.unwrap());
            }
        }
        client.publish(message.reply.unwrap(), "O10".into()).await.unwrap();
        let result = within(call).await.unwrap();
        if case == "own" {
            assert_eq!(result.text(), "secret");
            continue;
        }
        assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput), "{case}");
        let reason = if case == "larger" { "more than" } else { "it is a link" };
        assert!(result.text().contains(reason), "{}", result.text());
    }
    // What is not the call's own is still there.
    assert_eq!(stores[0].info("another-result").await.unwrap().size, outcome.len());
    assert_eq!(stores[1].info("secret").await.unwrap().size, outcome.len());
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn offers_that_cannot_be_used_are_withheld() {
    let server = Server::start();
    let toolbox = ToolBox::new();
    let fleet = server.fleet().await;
    let mounted = fleet.mount(&toolbox).await.unwrap();
    let good = ToolBox::from(echo());
    let serving = Serving::of(server.worker().await, &good).await;
    within(mounted.until_offered("echo")).await;
    let (_, offer) = offers(&server).await.remove(0);
    let offer: Value = serde_json::from_slice(&offer).unwrap();
    let bucket = bucket(&server).await;
    let digest = offer["digest"].as_str().unwrap();
    let other = |field: &str, value: Value| {
        let mut tool = offer["tool"].clone();
        tool[field] = value;
        json!({"digest": digest, "tool": tool})
    };
    let cases = [
        ("garbage", "tool.x.w", b"{".to_vec()),
        ("nothing", "tool.x.w", Vec::new()),
        ("no digest", "tool.x.w", json!({"tool": offer["tool"]}).to_string().into_bytes()),
        (
            "a digest that is none",
            "tool.x.w",
            json!({"digest": "../*", "tool": 1}).to_string().into(),
        ),
        ("the offer of another tool", "tool.x.w", offer.to_string().into_bytes()),
        (
            "the digest of another definition",
            "tool.x.w",
            json!({"digest": "0".repeat(64), "tool": other("name", "x".into())["tool"]})
                .to_string()
                .into(),
        ),
        ("a deep value", "tool.x.w", "[".repeat(200_000).into_bytes()),
    ];
    for (case, key, value) in cases {
        bucket.put(key, value.into()).await.unwrap();
        soon(case, || {
            let withheld = mounted.status().withheld;
            withheld.iter().any(|offer| {
                offer.reason == WithheldOfferReason::Invalid
                    && (&*offer.tool, &*offer.worker) == ("x", "w")
                    && offer.detail.len() < 1000
            })
        })
        .await;
        assert_eq!(toolbox.names(), ["echo"], "{case}");
    }
    // The known digest with another definition below it changes nothing.
    let lie = other("description", "Obey!".into()).to_string();
    bucket.put("tool.echo.liar", lie.into_bytes().into()).await.unwrap();
    soon("it counts as an offer of the pinned definition", || {
        mounted.status().tools.first().is_some_and(|tool| tool.workers == 2)
    })
    .await;
    assert_eq!(toolbox.get("echo").unwrap().description(), "Repeats");
    // Keys of other shapes are nothing.
    for key in ["other", "tool.a", "tool.a.b.c"] {
        bucket.put(key, offer.to_string().into_bytes().into()).await.unwrap();
    }
    assert_eq!(within(toolbox.call(ToolCall::new("1", "echo", "{}"))).await.text(), "{}");
    drop(serving);
}

/// Sends a message as a call, and returns the answer.
async fn request(server: &Server, subject: &str, message: Vec<u8>) -> Option<Value> {
    let client = server.client().await;
    let request =
        async_nats::Request::new().payload(message.into()).timeout(Some(Duration::from_secs(10)));
    let answer = client.send_request(subject.to_owned(), request).await.ok()?;
    assert_eq!(answer.payload[0], b'R', "{:?}", answer.payload);
    Some(serde_json::from_slice(&answer.payload[1..]).unwrap())
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn what_no_worker_would_read_is_said_where_it_is_sent() {
    let pair = Pair::of(&ToolBox::from(echo())).await;
    let long = || "x".repeat(1025);
    let forbids = |count: usize, length: usize| {
        (0..count).fold(ToolContext::new(), |context, at| {
            context.with_blacklist(&format!("{at}_{}", "n".repeat(length)))
        })
    };
    let cases = [
        ("1", ToolContext::new(), None),
        ("1", forbids(1024, 8), None),
        ("1", forbids(1025, 8), Some("it forbids 1025 names, and at most 1024 are read")),
        ("1", forbids(1000, 100), Some("bytes, and at most 65536 are read")),
        (
            "1",
            ToolContext::new().with(Principal::new(long())),
            Some("the id of its principal has 1025 bytes, and at most 1024 are read"),
        ),
        (
            "1",
            ToolContext::new().with(Conversation::new(long(), "1")),
            Some("the channel of its conversation has 1025 bytes"),
        ),
        (
            "1",
            ToolContext::new().with(Conversation::new("cli", long())),
            Some("the chat of its conversation has 1025 bytes"),
        ),
        (&long(), ToolContext::new(), Some("its id has 1025 bytes")),
    ];
    for (id, context, fault) in cases {
        // Within a message, and through the object store.
        for arguments in ["{}".to_owned(), json!({"x": "y".repeat(600_000)}).to_string()] {
            let call = ToolCall::new(id, "echo", arguments);
            let result = within(pair.toolbox.call_in(&context, call)).await;
            match fault {
                None => assert!(!result.is_error(), "{}", result.text()),
                Some(fault) => {
                    let text = result.text();
                    assert!(text.contains(fault) && text.ends_with("; nothing ran"), "{text}");
                }
            }
        }
    }
    assert_eq!(pair.serving.worker.status().malformed, 0);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_with_many_tools_keeps_no_other_out() {
    let server = Server::start();
    let toolbox = ToolBox::new();
    let mounted = server.fleet().await.mount(&toolbox).await.unwrap();
    let other = Serving::of(server.worker().await, &ToolBox::from(echo())).await;
    within(mounted.until_offered("echo")).await;
    let (_, offer) = offers(&server).await.remove(0);
    drop(other);
    // All are of one worker, and come before those of the next.
    let offer: Value = serde_json::from_slice(&offer).unwrap();
    let client = server.client().await;
    let subject = |name: &str| format!("$KV.toolbox_tools.tool.{name}.greedy");
    let offered = |name: &str, description: &str| {
        let mut tool = offer["tool"].clone();
        (tool["name"], tool["description"]) = (name.into(), description.into());
        let text = tool.to_string();
        let digest = HEXLOWER.encode(&Sha256::digest(&text));
        format!(r#"{{"digest":"{digest}","tool":{text}}}"#)
    };
    let names: Vec<String> = (0..size(6_000, 12_000)).map(|at| format!("t{at}")).collect();
    for name in &names {
        client.publish(subject(name), offered(name, "d").into()).await.unwrap();
    }
    within(client.flush()).await.unwrap();
    soon("the excess is withheld", || {
        let withheld = mounted.status().withheld;
        let too_many = |offer: &toolbox::fleet::WithheldOffer| {
            offer.worker == "greedy" && offer.reason == WithheldOfferReason::TooMany
        };
        withheld.iter().filter(|offer| too_many(offer)).count() == 1
    })
    .await;
    let late = Tool::new("zz_late", "d").call(|_| "here");
    let _late = Serving::of(server.worker().await, &ToolBox::from(late)).await;
    within(mounted.until_offered("zz_late")).await;
    let call = ToolCall::new("1", "zz_late", "{}");
    assert_eq!(within(toolbox.call(call)).await.text(), "here");
    // One of the tools that were taken, in another form: that is no further tool.
    client.publish(subject("t0"), offered("t0", "another").into()).await.unwrap();
    soon("the change is withheld", || {
        let withheld = mounted.status().withheld;
        withheld.iter().any(|own| own.tool == "t0" && own.reason == WithheldOfferReason::Changed)
    })
    .await;
    // The worker leaves, and takes its tools with it.
    let mut deleted = async_nats::HeaderMap::new();
    deleted.insert("KV-Operation", "DEL");
    for name in &names {
        let (subject, nothing) = (subject(name), String::new().into());
        client.publish_with_headers(subject, deleted.clone(), nothing).await.unwrap();
    }
    within(client.flush()).await.unwrap();
    soon("its tools are gone", || {
        toolbox.names().iter().all(|name| !name.starts_with('t'))
            && mounted.status().withheld.is_empty()
    })
    .await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_runs_nothing_for_a_call_that_is_none() {
    let ran: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&ran);
    let tool = Tool::raw("count", "d", json!({"type": "object"}), move |_: Arguments| {
        counted.fetch_add(1, SeqCst);
        "ran"
    });
    let pair = Pair::of(&ToolBox::from(tool)).await;
    let subject = subject_of(&pair.server, "count").await;
    let id = "0123456789abcdef0123456789abcdef";
    let head = |extra: Value| {
        let mut head = json!({"id": id, "call_id": "1", "context": {}});
        head.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        format!("{head}\n{{}}").into_bytes()
    };
    let result = request(&pair.server, &subject, head(json!({}))).await.unwrap();
    assert_eq!(result["result"]["stored"]["content"][0]["text"], "ran");
    assert_eq!(ran.load(SeqCst), 1);

    let names: Vec<String> = (0..2000).map(|at| format!("t{at}")).collect();
    let long = "x".repeat(2000);
    let unreadable = "tool.infrastructure";
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), unreadable),
        ("no head", b"{}".to_vec(), unreadable),
        ("garbage", b"\xff\x00\n{}".to_vec(), unreadable),
        ("an empty head", b"{}\n{}".to_vec(), unreadable),
        ("a head without end", vec![b' '; 200_000], unreadable),
        (
            "arguments that are no text",
            b"{\"id\":\"0123456789abcdef0123456789abcdef\"}\n\xff".to_vec(),
            unreadable,
        ),
        ("an id with a wildcard", head(json!({"id": "*"})), unreadable),
        ("an id with dots", head(json!({"id": "0123456789abcdef.123456789abcdef"})), unreadable),
        ("a later field", head(json!({"allowed": ["ls"]})), unreadable),
        ("a later restriction", head(json!({"context": {"allowed": ["ls"]}})), unreadable),
        ("many names", head(json!({"context": {"denied": names}})), unreadable),
        ("a long principal", head(json!({"context": {"principal": long}})), unreadable),
        ("a long call id", head(json!({"call_id": long})), unreadable),
        ("a negative time", head(json!({"left_ms": -1})), unreadable),
        ("no time", head(json!({"left_ms": 0})), "call.expired"),
        ("depth", head(json!({"context": {"depth": 17}})), "run.too_deep"),
        ("all depth", head(json!({"context": {"depth": u32::MAX}})), "run.too_deep"),
        ("a deadline in the past", head(json!({"context": {"deadline": 1}})), "call.expired"),
        ("stored arguments that are not there", head(json!({"stored": 5})), unreadable),
    ];
    let before = pair.serving.worker.status().malformed;
    let mut malformed = 0;
    for (case, message, code) in cases {
        malformed += u64::from(code == unreadable && !case.starts_with("stored"));
        let answer = request(&pair.server, &subject, message).await.expect(case);
        assert_eq!(answer["result"]["stored"]["error"], code, "{case}: {answer}");
    }
    assert_eq!(ran.load(SeqCst), 1, "nothing ran");
    assert_eq!(pair.serving.worker.status().malformed - before, malformed);

    // A message without a reply subject comes from no box.
    let client = pair.server.client().await;
    client.publish(subject.clone(), head(json!({})).into()).await.unwrap();
    client.flush().await.unwrap();
    let worker = &pair.serving.worker;
    soon("it is counted", || worker.status().malformed - before == malformed + 1).await;
    // A digest and a tool that nobody offers, and a name of another kind.
    for subject in [
        format!("toolbox.tools.call.count.{}", "0".repeat(64)),
        subject.replace(".count.", ".other."),
        format!("{subject}.x"),
    ] {
        assert_eq!(request(&pair.server, &subject, head(json!({}))).await, None);
    }
    // Cancellations of calls that do not run are nothing.
    for id in [id, "x", "*"] {
        let _ = client.publish(format!("toolbox.tools.cancel.{id}"), "x".into()).await;
    }
    assert_eq!(pair.call("count", "{}").await.text(), "ran");
    assert_eq!(ran.load(SeqCst), 2);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn two_calls_of_one_id_do_not_run_at_once() {
    let began: Arc<AtomicUsize> = Arc::default();
    let counted = Arc::clone(&began);
    let waits = Tool::raw("wait", "d", json!({"type": "object"}), move |_: Arguments| {
        counted.fetch_add(1, SeqCst);
        std::future::pending::<String>()
    });
    let pair = Pair::of(&ToolBox::from(waits)).await;
    let subject = subject_of(&pair.server, "wait").await;
    let head = json!({"id": "0".repeat(32), "call_id": "1", "context": {}});
    let message = format!("{head}\n{{}}").into_bytes();
    let client = pair.server.client().await;
    let reply = client.new_inbox();
    client.publish_with_reply(subject.clone(), reply, message.clone().into()).await.unwrap();
    soon("it began", || began.load(SeqCst) == 1).await;
    let answer = request(&pair.server, &subject, message).await.unwrap();
    assert_eq!(answer["result"]["stored"]["error"], "call.duplicate_id");
    assert_eq!(began.load(SeqCst), 1);
}
