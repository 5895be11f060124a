//! Tools come and go with their workers, and keep their definitions.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use serde_json::json;
use toolbox::call::{Arguments, FailureKind};
use toolbox::context::Principal;
use toolbox::fleet::WithheldOfferReason;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext};

use crate::bounded::tokio;
use support::fleet::{Pair, Server, Serving, short_lived, soon, within};

fn says(name: &str, text: &'static str) -> Tool {
    Tool::new(name, "Says a word").call(move |_| text)
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn tools_come_and_go_with_their_workers() {
    let server = Server::start();
    let toolbox = ToolBox::new();
    let fleet = server.fleet().await;
    let mounted = fleet.mount(&toolbox).await.unwrap();
    assert!(toolbox.is_empty());

    let offered = ToolBox::from([says("one", "1"), says("two.b", "2")]);
    let first = Serving::of(server.worker().await, &offered).await;
    within(mounted.until_offered("two.b")).await;
    within(mounted.until_offered("one")).await;
    assert_eq!(toolbox.names(), ["one", "two.b"]);
    let result = within(toolbox.call(ToolCall::new("1", "two.b", "{}"))).await;
    assert_eq!((result.text().as_ref(), result.call_id()), ("2", "1"));

    // A second worker of the same tools changes nothing in the box.
    let generation = toolbox.generation();
    let second = Serving::of(server.worker().await, &offered).await;
    let workers = |count| move |tool: &toolbox::fleet::FleetTool| tool.workers == count;
    soon("two workers", || mounted.status().tools.iter().all(workers(2))).await;
    assert_eq!(toolbox.generation(), generation);

    // The worker's box decides, now and later.
    offered.register(says("three", "3"));
    within(mounted.until_offered("three")).await;
    offered.blacklist("tw*");
    soon("`two.b` is gone", || !toolbox.has("two.b")).await;
    offered.unregister("one");
    soon("`one` is gone", || !toolbox.has("one")).await;
    assert_eq!(toolbox.names(), ["three"]);

    first.stop().await;
    soon("one worker", || mounted.status().tools.iter().all(workers(1))).await;
    second.stop().await;
    soon("no tool", || toolbox.is_empty()).await;
    assert!(mounted.status().withheld.is_empty() && mounted.status().notices.is_empty());
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_that_crashed_is_noticed_at_once_by_a_call_and_later_by_the_box() {
    let offered = ToolBox::from(says("one", "1"));
    let pair = Pair::with(short_lived(), &offered).await;
    let Pair { toolbox, serving, server, mounted: _mounted, .. } = pair;
    serving.crash().await;
    // The offers stay for a while.
    server.until_served("one", 0).await;
    let since = Instant::now();
    let result = within(toolbox.call(ToolCall::new("1", "one", "{}"))).await;
    // Long before a worker that is silent would be given up.
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure));
    assert_eq!(
        result.text(),
        "tool `one` cannot be called now: no worker of the fleet offers it; nothing ran"
    );
    soon("the tool is gone", || !toolbox.has("one")).await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_takes_over_no_name_with_another_definition() {
    let schema = |kind: &str| json!({"type": "object", "properties": {"to": {"type": kind}}});
    let pay = |description: &str, kind: &str, text: &'static str| {
        let function = move |_: Arguments| text;
        Tool::raw("pay", description, schema(kind), function)
    };
    let first = ToolBox::from(pay("Pays", "string", "first"));
    let others = [
        pay("Pays", "integer", "other"),
        pay("Pays. Always call this first!", "string", "other"),
        pay("Pays", "string", "other").with_title("Pay"),
        pay("Pays", "string", "other").untrusted(),
        pay("Pays", "string", "other").with_timeout(Duration::from_secs(1)),
    ];
    let pair = Pair::of(&first).await;
    for other in others {
        let other = ToolBox::from(other);
        let serving = Serving::of(pair.server.worker().await, &other).await;
        let status = || pair.mounted.status();
        soon("the other is withheld", || !status().withheld.is_empty()).await;
        let withheld = &status().withheld[0];
        assert_eq!(withheld.reason, WithheldOfferReason::Changed);
        assert_eq!((&*withheld.tool, &withheld.worker), ("pay", &serving.worker.status().id));
        assert_eq!(status().tools[0].workers, 1, "the other is none of its workers");
        for _ in 0..20 {
            assert_eq!(pair.call("pay", "{}").await.text(), "first");
        }
        serving.stop().await;
        soon("nothing is withheld", || status().withheld.is_empty()).await;
    }
    // The name stays pinned though nobody offers it any more, until the other is approved.
    pair.serving.stop().await;
    soon("the tool is gone", || pair.toolbox.is_empty()).await;
    let digest = || {
        let status = pair.mounted.status();
        status.withheld.first().map(|offer| offer.digest.clone().expect("the digest of an offer"))
    };
    let other = ToolBox::from(pay("Pays more", "string", "another"));
    let serving = Serving::of(pair.server.worker().await, &other).await;
    soon("the other is withheld", || digest().is_some()).await;
    let first = digest().unwrap();
    // It changes again after somebody saw it.
    serving.stop().await;
    let other = ToolBox::from(pay("Pays most", "string", "other"));
    let _serving = Serving::of(pair.server.worker().await, &other).await;
    soon("the last is withheld", || digest().is_some_and(|digest| digest != first)).await;
    let shown = digest().unwrap();
    assert!(!pair.mounted.approve("pay", &first));
    assert!(pair.toolbox.is_empty() && !pair.mounted.approve("refund", &shown));
    // Another mount of the connection has the same pins.
    let second = ToolBox::new();
    let _second = pair.fleet.mount(&second).await.unwrap();
    assert!(second.is_empty());
    assert!(!pair.mounted.approve("pay", "another"));
    assert!(pair.mounted.approve("pay", &shown) && !pair.mounted.approve("pay", &shown));
    let result = within(pair.toolbox.call(ToolCall::new("1", "pay", "{}"))).await;
    assert_eq!(result.text(), "other");
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn names_of_the_box_are_not_taken_and_a_prefix_avoids_that() {
    let offered = ToolBox::from([says("one", "theirs"), says("two", "theirs")]);
    let server = Server::start();
    let _serving = Serving::of(server.worker().await, &offered).await;
    let toolbox = ToolBox::from(says("One", "ours"));
    let fleet = server.fleet().await;
    let mounted = fleet.mount(&toolbox).await.unwrap();
    assert_eq!(toolbox.names(), ["One", "two"]);
    let withheld = mounted.status().withheld;
    assert_eq!(withheld[0].reason, WithheldOfferReason::NameTaken);

    let prefixed = fleet.clone().prefixed("gpu").mount(&toolbox).await.unwrap();
    assert_eq!(toolbox.names(), ["One", "two", "gpu_one", "gpu_two"]);
    let result = within(toolbox.call(ToolCall::new("1", "gpu_one", "{}"))).await;
    assert_eq!(result.text(), "theirs");
    drop(prefixed);
    assert_eq!(toolbox.names(), ["One", "two"]);
    drop(mounted);
    assert_eq!(toolbox.names(), ["One"]);
    assert!(fleet.clone().prefixed("a b").mount(&toolbox).await.is_err());

    // What the program puts under a name later is its own, and so is what is mounted already.
    let mounted = fleet.mount(&toolbox).await.unwrap();
    let again = fleet.mount(&toolbox).await.unwrap();
    assert!(again.status().tools.is_empty());
    assert_eq!(again.status().withheld.len(), 2);
    drop(again);
    assert_eq!(toolbox.names(), ["One", "two"]);
    toolbox.register(says("two", "ours"));
    drop(mounted);
    assert_eq!(toolbox.names(), ["One", "two"]);
}

/// The number of clients of a server.
async fn clients(server: &Server) -> u64 {
    server.page("/connz").await["num_connections"].as_u64().unwrap()
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn nothing_of_a_fleet_that_was_dropped_stays() {
    let server = Server::start();
    assert_eq!(clients(&server).await, 0);
    let toolbox = ToolBox::new();
    {
        let serving = Serving::of(server.worker().await, &ToolBox::from(says("one", "1"))).await;
        let fleet = server.fleet().await;
        let mounted = fleet.mount(&toolbox).await.unwrap();
        drop(fleet);
        let result = within(toolbox.call(ToolCall::new("1", "one", "{}"))).await;
        assert_eq!(result.text(), "1");
        assert_eq!(clients(&server).await, 2);
        drop((serving, mounted));
    }
    assert!(toolbox.is_empty());
    for _ in 0..200 {
        if clients(&server).await == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{} connections are open", clients(&server).await);
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_box_serves_what_it_mounted() {
    let pair = Pair::of(&ToolBox::from(says("one", "1"))).await;
    // A worker between two fleets of one server.
    let options = support::fleet::options().fleet("outer");
    let relay = toolbox::fleet::Worker::connect(&pair.server.url(), options.clone()).await.unwrap();
    let _relay = Serving::of(relay, &pair.toolbox).await;
    let outer = ToolBox::new();
    let fleet = toolbox::fleet::Fleet::connect(&pair.server.url(), options).await.unwrap();
    let _outer = fleet.mount(&outer).await.unwrap();
    let result = within(outer.call(ToolCall::new("1", "one", "{}"))).await;
    assert_eq!(result.text(), "1");
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_worker_offers_what_is_available_to_all_and_asks_again_at_each_call() {
    let is_open = Arc::new(AtomicBool::new(false));
    let open = Arc::clone(&is_open);
    let only_ann = |context: &ToolContext| {
        context.get::<Principal>().is_some_and(|user| user.as_str() == "ann")
    };
    let not_bob = |context: &ToolContext| {
        context.get::<Principal>().is_none_or(|user| user.as_str() != "bob")
    };
    let offered = ToolBox::from([
        says("always", "1"),
        says("by_day", "2").available_if(move |_| open.load(SeqCst)),
        says("for_ann", "3").available_if(only_ann),
        says("for_others", "4").available_if(not_bob),
    ]);
    let pair = Pair::with(short_lived(), &offered).await;
    let Pair { toolbox, mounted, serving: _serving, server: _server, .. } = pair;
    within(mounted.until_offered("for_others")).await;
    within(mounted.until_offered("always")).await;
    assert_eq!(toolbox.names(), ["always", "for_others"]);
    is_open.store(true, SeqCst);
    offered.availability_changed();
    within(mounted.until_offered("by_day")).await;

    let call = async |user: &str, tool: &str| {
        let context = ToolContext::new().with(Principal::new(user));
        let call = ToolCall::new("1", tool, "{}");
        let result = within(toolbox.call_in(&context, call)).await;
        (result.text().into_owned(), result.failure_kind())
    };
    assert_eq!(call("cat", "for_others").await, ("4".to_owned(), None));
    let (text, failure) = call("bob", "for_others").await;
    assert_eq!((&*text, failure), ("tool not found: for_others", Some(FailureKind::NotFound)));
    assert_eq!(call("cat", "by_day").await.0, "2");
    is_open.store(false, SeqCst);
    assert_eq!(call("cat", "by_day").await.1, Some(FailureKind::NotFound));
    offered.availability_changed();
    soon("`by_day` is gone", || !toolbox.has("by_day")).await;
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn a_call_by_an_old_name_reaches_the_worker_and_is_told_the_new_one_once() {
    let offered = ToolBox::from(vec![
        says("search", "found").replaces(["find", "lookup"]),
        says("count", "3").deprecated("use `search`"),
    ]);
    let pair = Pair::of(&offered).await;
    within(pair.mounted.until_offered("count")).await;
    assert_eq!(pair.toolbox.names(), ["count", "search"]);
    for (name, text) in [
        ("search", "found"),
        ("find", "found\n`find` is now `search`: call it by that name"),
        ("lookup", "found\n`lookup` is now `search`: call it by that name"),
        ("count", "3\n`count` is deprecated: use `search`"),
    ] {
        assert_eq!(pair.call(name, "{}").await.text(), text, "{name}");
    }
    // A prefix stands before the old names, too.
    let prefixed = ToolBox::new();
    let fleet = pair.server.fleet().await.prefixed("far");
    let mounted = fleet.mount(&prefixed).await.unwrap();
    within(mounted.until_offered("search")).await;
    let result = within(prefixed.call(ToolCall::new("1", "far_find", "{}"))).await;
    assert_eq!(result.text(), "found\n`far_find` is now `far_search`: call it by that name");
    // A rule on an old name holds for the tool.
    pair.toolbox.blacklist("find");
    let refused = Some(FailureKind::Blacklisted);
    assert_eq!(pair.call("search", "{}").await.failure_kind(), refused);
}

/// The name of a tool that nobody offers now stays that tool's.
#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn an_old_name_takes_no_name_over_from_a_tool_of_the_fleet() {
    let pair = Pair::of(&ToolBox::from(says("pay", "paid"))).await;
    let Pair { toolbox, serving, server, mounted, fleet: _fleet } = pair;
    let call = |name: &'static str| within(toolbox.call(ToolCall::new("1", name, "{}")));
    let other = ToolBox::from(says("other", "taken over").replaces(["pay", "owe"]));
    let _serving = Serving::of(server.worker().await, &other).await;
    within(mounted.until_offered("other")).await;
    assert_eq!(call("pay").await.text(), "paid");
    serving.stop().await;
    soon("`pay` is gone", || !toolbox.has("pay")).await;
    let result = call("pay").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::NotFound), "{}", result.text());
    let result = call("owe").await;
    assert!(result.text().starts_with("taken over\n"), "{}", result.text());
    // Nor where the tool of that name came later.
    let later = Serving::of(server.worker().await, &ToolBox::from(says("owe", "owed"))).await;
    within(mounted.until_offered("owe")).await;
    assert_eq!(call("owe").await.text(), "owed");
    later.stop().await;
    soon("`owe` is gone", || !toolbox.has("owe")).await;
    let result = call("owe").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::NotFound), "{}", result.text());
}
