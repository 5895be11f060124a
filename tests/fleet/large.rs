//! Arguments and results that are too large for a message.

use async_nats::jetstream;
use futures_util::StreamExt;
use serde_json::json;
use toolbox::call::{Arguments, FailureKind};
use toolbox::fleet::{Fleet, Worker};
use toolbox::{Tool, ToolBox, ToolCall};

use crate::bounded::tokio;
use support::fleet::{Server, Serving, options, within};

const BIG: usize = 8 << 20;

fn large() -> ToolBox {
    let toolbox = ToolBox::builder()
        .max_argument_bytes(BIG + 1024)
        .max_result_bytes(BIG + 1024)
        .build()
        .unwrap();
    let schema = json!({"type": "object"});
    toolbox.register([
        Tool::raw("echo", "d", schema.clone(), |arguments: Arguments| arguments.into_string()),
        Tool::raw("length", "d", schema, |arguments: Arguments| {
            arguments.as_str().len().to_string()
        }),
    ]);
    toolbox
}

fn empty() -> ToolBox {
    ToolBox::builder().max_argument_bytes(BIG + 1024).max_result_bytes(BIG + 1024).build().unwrap()
}

fn arguments(bytes: usize) -> String {
    format!(r#"{{"a":"{}"}}"#, "ä\n".replace('\n', "x").repeat(bytes / 3))
}

/// The bytes of payloads that are stored.
async fn stored(server: &Server) -> u64 {
    let jetstream = jetstream::new(server.client().await);
    let Ok(store) = jetstream.get_object_store("toolbox_tools_payloads").await else { return 0 };
    let mut bytes = 0;
    let mut list = within(store.list()).await.unwrap();
    while let Some(object) = within(list.next()).await {
        bytes += object.unwrap().size as u64;
    }
    bytes
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn large_arguments_and_results_go_both_ways_and_stay_nowhere() {
    // A server with a small limit, and one with a large limit: 512 KiB go within a message.
    for configuration in ["max_payload: 256KB", "max_payload: 8MB"] {
        let server = Server::start_with(configuration);
        let _serving = Serving::of(server.worker().await, &large()).await;
        let toolbox = empty();
        let fleet = server.fleet().await;
        let _mounted = fleet.mount(&toolbox).await.unwrap();
        for bytes in [0, 1000, 180 << 10, 250 << 10, 511 << 10, 513 << 10, 1 << 20, BIG] {
            let text = arguments(bytes);
            for (tool, expected) in [("echo", text.clone()), ("length", text.len().to_string())] {
                let call = ToolCall::new("1", tool, text.clone());
                let result = within(toolbox.call(call)).await;
                assert_eq!(result.code(), None, "{bytes} {:?}", result.error_text());
                assert!(result.text() == expected, "{tool} {bytes}");
            }
        }
        let mut left = u64::MAX;
        for _ in 0..100 {
            left = stored(&server).await;
            if left == 0 {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(left, 0, "payloads are deleted after use");
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn the_limit_of_a_fleet_is_named() {
    let server = Server::start();
    let limited = || options().max_payload_bytes(1 << 20);
    let worker = Worker::connect(&server.url(), limited()).await.unwrap();
    let offered = large();
    offered.register(Tool::new("long", "d").call(|_| "x".repeat(2 << 20)));
    let _serving = Serving::of(worker, &offered).await;
    let toolbox = empty();
    let fleet = Fleet::connect(&server.url(), limited()).await.unwrap();
    let _mounted = fleet.mount(&toolbox).await.unwrap();
    let call = ToolCall::new("1", "length", arguments(2 << 20));
    let result = within(toolbox.call(call)).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::InvalidArguments));
    assert!(
        result
            .text()
            .ends_with("and a fleet takes at most 1048576 (`FleetOptions::max_payload_bytes`)")
    );
    let result = within(toolbox.call(ToolCall::new("1", "long", "{}"))).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::ResultTooLarge));
    assert!(
        result
            .text()
            .ends_with("and a fleet takes at most 1048576 (`FleetOptions::max_payload_bytes`)")
    );
    assert_eq!(stored(&server).await, 0);
}
