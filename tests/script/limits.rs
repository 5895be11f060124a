//! The limits of a script, and its world.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use toolbox::context::CancellationToken;
use toolbox::{Tool, ToolBox, ToolContext};
use toolbox_script::Limits;

use crate::bounded::tokio;
use crate::hostile::until_none_is_at_work;
use crate::{call, run, run_in, scripted};

fn limited(limits: Limits) -> ToolBox {
    let toolbox = ToolBox::from(Tool::new("one", "x").call(|_| "1"));
    toolbox.register(crate::over(&toolbox).with_limits(limits));
    toolbox
}

#[tokio::test]
async fn each_limit_says_what_it_is() {
    let default = Limits::default;
    let all = "let made = 0; for (let i = 0; i < 5; i++) { try { await tools.one(); made++ } catch (e) { return made + e.message } } return made";
    for (limits, script, expected) in [
        (Limits { calls: 3, ..default() }, all, "3not called: a script may make 3 calls"),
        (Limits { calls: 5, ..default() }, all, "5"),
        (
            Limits { script_bytes: 3, ..default() },
            "return 1",
            "the script has 8 bytes; at most 3 are run",
        ),
        (
            Limits { console_bytes: 10, ..default() },
            "console.log('0123456789'); console.log('x'); return 1",
            "1\n\nconsole:\n0123456789\n(3 bytes of the console were left out)",
        ),
        (
            Limits { value_bytes: 5, ..default() },
            "return 123456",
            "the script failed: the returned value has 6 bytes of JSON; at most 5 are returned\nno call was made",
        ),
        (
            Limits { compute: Duration::from_millis(500), ..default() },
            "await tools.one(); while (true);",
            "the script failed: the script was stopped: it computed longer than 500 ms\ncalls that were made, which a new script need not repeat:\n- one {}: ok",
        ),
        (
            Limits { scripts: 0, ..default() },
            "return 1",
            "0 scripts are at work; run it again later",
        ),
    ] {
        assert_eq!(run(&limited(limits), script).await.text(), expected, "{script}");
    }
}

/// The time in which tools work is none of the script's.
#[tokio::test]
async fn waiting_is_no_computing() {
    let slow = Tool::new("slow", "x").call_async(|_| async {
        tokio::time::sleep(Duration::from_millis(400)).await;
        "done"
    });
    let toolbox = ToolBox::from(slow);
    let limits = Limits { compute: Duration::from_millis(200), ..Limits::default() };
    toolbox.register(crate::over(&toolbox).with_limits(limits));
    assert_eq!(run(&toolbox, "return await tools.slow()").await.text(), "done");
}

/// A script computes beside the runtime, also one of a single thread.
#[tokio::test]
async fn a_script_does_not_hold_up_the_runtime() {
    let toolbox = limited(Limits { compute: Duration::from_millis(100), ..Limits::default() });
    let mut script = std::pin::pin!(run(&toolbox, "while (true);"));
    let mut turns = 0_u32;
    let result = loop {
        tokio::select! {
            biased;
            result = &mut script => break result,
            () = tokio::task::yield_now() => turns += 1,
        }
    };
    assert!(result.is_error() && turns > 10, "{turns}");
}

/// A script ends with its call: dropped or cancelled, computing or waiting.
#[tokio::test]
async fn a_script_ends_with_its_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&calls);
    let wait = Tool::new("wait", "x").call_async(move |_| {
        seen.fetch_add(1, SeqCst);
        std::future::pending::<&str>()
    });
    let toolbox = ToolBox::from(wait);
    let limits = Limits { compute: Duration::from_secs(600), ..Limits::default() };
    toolbox.register(crate::over(&toolbox).with_limits(limits));
    let begun = async |script: &str, before: usize| {
        tokio::time::sleep(Duration::from_millis(20)).await;
        while script.contains("wait") && calls.load(SeqCst) == before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    for script in ["while (true);", "await tools.wait(); await tools.wait()"] {
        let (token, before) = (CancellationToken::new(), calls.load(SeqCst));
        let context = ToolContext::new().with_cancellation(token.clone());
        let cancelled = run_in(&context, &toolbox, script);
        let cancel = async {
            begun(script, before).await;
            token.cancel();
        };
        let (result, ()) = tokio::join!(cancelled, cancel);
        assert_eq!(result.code(), Some("call.cancelled"), "{}", result.text());
        let before = calls.load(SeqCst);
        tokio::select! {
            result = run(&toolbox, script) => panic!("{}", result.text()),
            () = begun(script, before) => {}
        }
    }
    until_none_is_at_work().await;
    assert_eq!(calls.load(SeqCst), 2);
}

#[tokio::test]
async fn scripts_at_once_are_bounded_and_see_nothing_of_each_other() {
    let toolbox = limited(Limits { scripts: 8, ..Limits::default() });
    let script = "globalThis.seen = (globalThis.seen ?? 0) + 1; Array.prototype.own = 1; await tools.one(); return [seen, typeof {}.own]";
    let calls = (0..8).map(|at| {
        let mut call = call(script);
        call.id = format!("s{at}");
        call
    });
    for result in toolbox.call_all(calls).await {
        assert_eq!(result.text(), r#"[1,"undefined"]"#);
    }
}

/// Time stands still, whatever the zone of the machine is, and randomness is that of the record.
#[tokio::test]
async fn the_world_of_a_script_is_fixed() {
    let toolbox = scripted(ToolBox::from(Tool::new("one", "x").call(|_| "1")));
    for (script, expected) in [
        (
            "const a = Date.now(); for (let i = 0; i < 1e6; i++); await tools.one(); return Date.now() - a",
            "0",
        ),
        ("return new Date() - Date.now()", "0"),
        ("return Math.abs(Date.now() - new Date('2026-01-01')) > 0", "true"),
        ("return new Date('2025-01-02T10:00').toISOString()", "2025-01-02T10:00:00.000Z"),
        ("return new Date('2025-01-02T10:00+02:00').toISOString()", "2025-01-02T08:00:00.000Z"),
        ("return new Date('Jan 5, 2025 10:00').toISOString()", "2025-01-05T10:00:00.000Z"),
        ("return new Date('2025-03-04').getDate()", "4"),
        ("return new Date(2025, 1, 3, 4).toISOString()", "2025-02-03T04:00:00.000Z"),
        (
            "const d = new Date(2025, 0, 31); d.setMonth(1); return d.toLocaleDateString() + d.getTimezoneOffset()",
            "2025-03-030",
        ),
        ("return String(new Date(0))", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("return String(new Date('x')) + Date.parse('x')", "Invalid DateNaN"),
        ("return new Date(0) instanceof Date && typeof Date()", "string"),
        ("return new (class Own extends Date {})(5).getTime()", "5"),
        ("return JSON.stringify({d: new Date(0)})", r#"{"d":"1970-01-01T00:00:00.000Z"}"#),
        (
            "const r = Array.from({length: 100}, Math.random); return r.every((x) => x >= 0 && x < 1) && new Set(r).size",
            "100",
        ),
    ] {
        let result = run(&toolbox, script).await;
        assert_eq!(result.text(), expected, "{script}");
    }
}
