//! Servers that misbehave: each ends in a clear result within its time, and no other server
//! notices.

use crate::bounded::tokio;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use toolbox::call::FailureKind;
use toolbox::context::CancellationToken;
use toolbox::mcp::{Connect, ServerConfig, ServerState, Servers, WithheldReason};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext};

use super::support::{Mounted, call, eventually, misbehaving};

/// The time limit for a momentary operation, on a slow machine.
const MOMENT: Duration = Duration::from_secs(5);

#[tokio::test]
async fn a_server_that_dies_in_mid_call_is_back_with_the_next() {
    let mounted = Mounted::new(&[]).await;
    let before = mounted.text("pid").await;
    let started = Instant::now();
    let result = mounted.call("die", "{}").await;
    let took = started.elapsed();
    assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure));
    let text = result.text();
    assert!(text.contains("exited with code 3") && text.contains("out of cheese"), "{text}");
    // Long before the call's own time is over.
    assert!(took < MOMENT, "{took:?}");
    let after = mounted.call("pid", "{}").await;
    assert!(!after.is_error(), "{}", after.text());
    assert_ne!(before, after.text());
    mounted.close().await;
}

#[tokio::test]
async fn calls_in_flight_all_end_when_their_server_dies() {
    let mounted = Mounted::new(&[]).await;
    let never = (0..20).map(|at| ToolCall::new(format!("n{at}"), "s_never", "{}"));
    let die = ToolCall::new("d", "s_die", "{}");
    let calls: Vec<ToolCall> = never.chain([die]).collect();
    let results = tokio::time::timeout(MOMENT, mounted.toolbox.call_all(calls)).await;
    let results = results.expect("all end");
    assert!(
        results.iter().all(|result| result.failure_kind() == Some(FailureKind::Infrastructure))
    );
    mounted.close().await;
}

#[tokio::test]
async fn a_crashed_server_comes_back_by_itself_and_zero_retries_mean_none() {
    for (retries, comes_back) in [(2, true), (0, false)] {
        let mounted = Mounted::of(misbehaving(&[]).retries(retries)).await;
        mounted.call("die", "{}").await;
        eventually(async || mounted.status().state == ServerState::Failed).await;
        if comes_back {
            eventually(async || mounted.status().state == ServerState::Ready).await;
        } else {
            tokio::time::sleep(Duration::from_millis(600)).await;
            assert_eq!(mounted.status().state, ServerState::Failed);
        }
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_server_that_never_answers_fails_in_its_time() {
    let started = Instant::now();
    let config = misbehaving(&["silent"]).connect_timeout(Duration::from_millis(500)).retries(0);
    let mounted = Mounted::of(config).await;
    assert!(started.elapsed() < MOMENT);
    let status = mounted.status();
    assert_eq!(status.state, ServerState::Failed);
    let error = status.error.unwrap_or_default();
    assert!(error.contains("did not answer within 0.5 seconds"), "{error}");
    mounted.close().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_or_ends_at_once_says_so() {
    let cases = [
        (ServerConfig::command("no-such-program-anywhere"), "was not found"),
        (
            misbehaving(&["exit-at-once"]),
            "exited with code 4; its last words: no such database / set DATABASE_URL",
        ),
        (misbehaving(&["list-dies"]), "exited with code 6"),
    ];
    for (config, expected) in cases {
        let mounted = Mounted::of(config.retries(0)).await;
        let error = mounted.status().error.unwrap_or_default();
        assert!(error.contains(expected), "{error}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn a_call_without_an_answer_ends_in_time_and_is_cancelled() {
    let mounted = Mounted::of(misbehaving(&[]).timeout(Duration::from_millis(300))).await;
    let result = mounted.call("never", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
    eventually(async || mounted.text("cancelled").await == "1").await;
    mounted.close().await;
}

#[tokio::test]
async fn a_cancelled_call_is_cancelled_at_the_server() {
    let mounted = Mounted::new(&["modern"]).await;
    let token = CancellationToken::new();
    let context = ToolContext::new().with_cancellation(token.clone());
    let toolbox = mounted.toolbox.clone();
    let calling = tokio::spawn(async move {
        toolbox.call_in(&context, ToolCall::new("c", "s_never", "{}")).await
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    token.cancel();
    let result = calling.await.expect("no panic");
    assert_eq!(result.failure_kind(), Some(FailureKind::Cancelled));
    eventually(async || mounted.text("cancelled").await == "1").await;
    mounted.close().await;
}

#[tokio::test]
async fn the_shorter_deadline_counts() {
    let mounted = Mounted::of(misbehaving(&[]).timeout(Duration::from_secs(60))).await;
    let context = ToolContext::new().with_deadline(Instant::now() + Duration::from_millis(200));
    let call = ToolCall::new("c", "s_never", "{}");
    let result = tokio::time::timeout(MOMENT, mounted.toolbox.call_in(&context, call)).await;
    assert_eq!(result.expect("it ends").failure_kind(), Some(FailureKind::TimedOut));
    mounted.close().await;
}

#[tokio::test]
async fn an_answer_among_garbage_lines_is_found() {
    let mounted = Mounted::new(&[]).await;
    assert_eq!(mounted.text("garbage").await, "after the noise");
    let notices = mounted.status().notices.join("\n");
    assert!(notices.contains("200003 lines between its messages were no messages"), "{notices}");
    mounted.close().await;
}

#[tokio::test]
async fn a_line_past_the_limit_fails_its_call_at_once_and_no_other() {
    if !is_alone("a_line_past_the_limit_fails_its_call_at_once_and_no_other") {
        return;
    }
    let mounted = Mounted::new(&[]).await;
    for tool in ["big", "big_id_last"] {
        let before = peak_memory();
        let result = mounted.call(tool, r#"{"mib": 100}"#).await;
        let text = result.text();
        assert!(text.contains("longer than the limit"), "{tool}: {text}");
        let grown = peak_memory().saturating_sub(before) / 1024;
        // The limit is 16 MiB.
        assert!(grown < 40, "{tool}: {grown} MiB");
        assert_eq!(mounted.text("echo").await, "echo: {}");
    }
    let notices = mounted.status().notices.join("\n");
    assert!(notices.contains("2 of its messages were longer"), "{notices}");
    mounted.close().await;
}

#[tokio::test]
async fn a_line_that_never_ends_takes_the_call_to_its_deadline() {
    let mounted = Mounted::of(misbehaving(&[]).timeout(Duration::from_millis(500))).await;
    let result = mounted.call("drip", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut));
    mounted.close().await;
}

#[tokio::test]
async fn a_result_that_nests_too_deep_fails_at_once() {
    let mounted = Mounted::new(&[]).await;
    let result = tokio::time::timeout(MOMENT, mounted.call("deep", "{}")).await.expect("it ends");
    assert_eq!(result.failure_kind(), Some(FailureKind::InvalidOutput));
    let text = result.text();
    assert!(text.contains("cannot be read") && text.contains("recursion"), "{text}");
    mounted.close().await;
}

#[tokio::test]
async fn a_call_has_one_result_however_often_it_is_answered() {
    let mounted = Mounted::new(&[]).await;
    let cases = [
        ("twice", "first"),
        ("foreign_id", "for somebody"),
        ("string_id", "under a string"),
        ("both", "server `s` refused the call of `s_both` (error -1): no"),
    ];
    for (tool, expected) in cases {
        assert_eq!(mounted.text(tool).await, expected);
    }
    let notices = mounted.status().notices.join("\n");
    assert!(notices.contains("4 of its answers belonged to no request"), "{notices}");
    mounted.close().await;
}

#[tokio::test]
async fn a_repeating_cursor_ends_the_list() {
    // (the list, its tools, what is said of it)
    let cases = [
        ("repeats", 30, None),
        ("blank", 30, None),
        ("blank_once", 30, None),
        ("blank_page", 30, None),
        ("renamed", 30, Some("repeats a page")),
        ("stuck", 2, Some("repeats a page or a cursor")),
        ("endless", 100, Some("goes on after 100 pages")),
    ];
    for (list, tools, notice) in cases {
        let mounted = Mounted::new(&["list", list]).await;
        let status = mounted.status();
        assert_eq!((status.tools.len(), &status.error), (tools, &None), "{list}");
        assert!(status.withheld.is_empty(), "{list}: {:?}", status.withheld);
        let said = status.notices.join("\n");
        assert_eq!(status.is_cut, notice.is_some(), "{list}");
        match notice {
            Some(notice) => assert!(said.contains(notice), "{list}: {said}"),
            None => assert!(!said.contains("list of tools"), "{list}: {said}"),
        }
        mounted.close().await;
    }
}

#[tokio::test]
async fn every_page_of_a_list_is_read() {
    let whole = Mounted::new(&[]).await;
    let paged = Mounted::new(&["list", "paged"]).await;
    assert_eq!(paged.status().tools, whole.status().tools);
    paged.close().await;
    whole.close().await;
}

#[tokio::test]
async fn a_malformed_tool_spoils_no_other() {
    let mounted = Mounted::new(&["list", "malformed"]).await;
    let status = mounted.status();
    assert_eq!(status.tools.len(), 30);
    let withheld: Vec<_> =
        status.withheld.iter().map(|tool| (tool.name.as_str(), tool.reason)).collect();
    let invalid = WithheldReason::Invalid;
    assert_eq!(
        withheld,
        [
            ("no_schema", invalid),
            ("", invalid),
            ("", invalid),
            ("odd_schema", invalid),
            ("", invalid)
        ]
    );
    assert!(status.withheld[0].detail.contains("inputSchema"), "{:?}", status.withheld);
    mounted.close().await;
}

#[tokio::test]
async fn a_byte_that_is_no_utf_8_costs_itself_alone() {
    let mounted = Mounted::new(&["list", "latin"]).await;
    let status = mounted.status();
    assert_eq!((status.tools.len(), status.withheld.len()), (30, 0), "{status:?}");
    assert!(status.notices.iter().any(|notice| notice.contains("no UTF-8")), "{status:?}");
    assert!(mounted.toolbox.definitions().iter().any(|tool| tool.description == "caf\u{fffd}"));
    mounted.close().await;
}

#[tokio::test]
async fn the_first_of_two_tools_of_one_name_is_used() {
    let mounted = Mounted::new(&["list", "twice"]).await;
    let status = mounted.status();
    assert_eq!(status.tools.len(), 30);
    assert_eq!(status.withheld[0].name, "echo");
    let tool = mounted.toolbox.get("s_echo").expect("the first is there");
    assert_eq!(tool.description(), "Does what `echo` says.");
    mounted.close().await;
}

#[tokio::test]
async fn lists_are_capped_and_the_cap_is_told() {
    // In a build without optimizations such a list takes seconds to read, and more beside other
    // work.
    let patient = misbehaving(&["list", "many"]).connect_timeout(Duration::from_secs(60));
    let mounted = Mounted::of(patient).await;
    let status = mounted.status();
    assert_eq!(status.tools.len(), 10_000);
    assert!(status.notices.join("\n").contains("only the first 10000 tools are used"));
    mounted.close().await;
    let mounted = Mounted::new(&["list", "long"]).await;
    let tool = mounted.toolbox.get("s_echo").expect("the tool is there");
    let (kept, note) = tool.description().split_at(32 * 1024);
    let more = note.strip_prefix("\n[cut: ").and_then(|note| note.split_once(' ')).expect(note);
    assert_eq!(more.1, "more bytes of this description]");
    assert!(!kept.contains("[cut") && more.0.parse::<usize>().is_ok_and(|more| more > 0), "{note}");
    assert!(mounted.status().notices.join("\n").contains("was cut to 32768 bytes"));
    mounted.close().await;
}

#[tokio::test]
async fn a_flood_of_changes_is_read_once_a_second() {
    for era in ["legacy", "modern"] {
        let mounted = Mounted::new(&[era]).await;
        let before: u32 = mounted.text("listings").await.parse().expect("a number");
        let started = Instant::now();
        assert_eq!(mounted.text("flood").await, "flooded");
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let after: u32 = mounted.text("listings").await.parse().expect("a number");
        let most = 2 + u32::try_from(started.elapsed().as_secs()).unwrap_or(0);
        assert!(
            after > before && after - before <= most,
            "{era}: {before} to {after}, at most {most}"
        );
        mounted.close().await;
    }
}

#[tokio::test]
async fn tools_come_and_go_in_the_box_while_a_call_runs() {
    let mounted = Mounted::new(&[]).await;
    let order = mounted.toolbox.names();
    let result = mounted.call("change_list", "{}").await;
    assert_eq!(result.text(), "changed");
    eventually(async || mounted.toolbox.has("s_late")).await;
    assert!(!mounted.toolbox.has("s_change_list"));
    let mut expected: Vec<_> = order.into_iter().filter(|name| name != "s_change_list").collect();
    expected.push("s_late".to_owned());
    assert_eq!(mounted.toolbox.names(), expected);
    assert_eq!(mounted.text("late").await, "echo: {}");
    mounted.close().await;
}

#[tokio::test]
async fn a_suspicious_description_is_flagged_and_quoted() {
    let mounted = Mounted::new(&["list", "hostile"]).await;
    let tool = mounted.toolbox.get("s_echo").expect("it is there");
    let description = tool.description();
    assert!(
        description.starts_with("A tool of the server `s`, which describes it in these words"),
        "{description}"
    );
    assert!(description.contains("\"\"\"\nBefore using any tool"), "{description}");
    let notices = mounted.status().notices.join("\n");
    assert!(
        notices.contains("`s_echo` is described in suspicious words: \"before using any\""),
        "{notices}"
    );
    mounted.close().await;
}

#[tokio::test]
async fn nothing_unseen_reaches_model_or_terminal() {
    let mounted = Mounted::new(&["list", "hostile"]).await;
    let tool = mounted.toolbox.get("s_ask").expect("it is there");
    assert_eq!(tool.description(), "Asks plainly.");
    let schema = &tool.definition().input_schema;
    assert_eq!(schema["properties"]["text"]["description"], "Say hidden it");
    assert_eq!(schema["properties"]["kind"]["enum"][0], "a\u{200b}");
    let notices = mounted.status().notices.join("\n");
    assert!(
        notices.contains("`ask`: a name or a choice in it holds invisible characters"),
        "{notices}"
    );
    assert_eq!(mounted.text("talk_dirty").await, "red\u{200b} hello 👨\u{200d}👩 ok\r\nnext");
    assert_eq!(mounted.status().instructions.as_deref(), Some("Be careful."));
    mounted.close().await;
}

#[tokio::test]
async fn a_description_that_speaks_of_another_server_is_flagged() {
    let mounted = Mounted::new(&["list", "hostile"]).await;
    let notices = mounted.status().notices.join("\n");
    assert!(notices.contains("the description of `s_big` speaks of `other_echo`"), "{notices}");
    mounted.close().await;
}

#[tokio::test]
async fn a_hint_of_a_server_spares_no_approval() {
    let mounted = Mounted::new(&["list", "hostile"]).await;
    let tool = mounted.toolbox.get("s_big_id_last").expect("it is there");
    assert_eq!(tool.definition().annotations.read_only, Some(true));
    let guarded = ToolBox::from(tool.needs_approval());
    let result = call(&guarded, "s_big_id_last", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::NotApproved));
    mounted.toolbox.blacklist("s_*");
    let result = mounted.call("big_id_last", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Blacklisted));
    mounted.close().await;
}

#[tokio::test]
async fn a_server_that_ignores_its_end_is_ended() {
    // The program `env` runs it with the signal that asks it to end ignored.
    let own = crate::program("misbehaving");
    let config = ServerConfig::command("env").args(["--ignore-signal=TERM", own, "ignore-end"]);
    let mounted = Mounted::of(config).await;
    let pid = mounted.text("pid").await;
    assert!(is_alive(&pid));
    mounted.close().await;
    assert!(!is_alive(&pid));
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_server_leaves_behind_is_ended_too() {
    for (how, flag) in
        [("in its group", "grandchild"), ("in a session of its own", "escaped-grandchild")]
    {
        for end in ["close", "drop", "die"] {
            let file = scratch(&format!("{flag}-{end}"));
            let path = file.to_str().expect("a plain path");
            let mounted = Mounted::of(misbehaving(&[flag, path]).retries(0)).await;
            eventually(async || file.exists()).await;
            let pid = std::fs::read_to_string(&file).expect("a number");
            assert!(is_alive(&pid));
            match end {
                "close" => mounted.close().await,
                "drop" => drop(mounted),
                _ => drop(mounted.call("die", "{}").await),
            }
            let gone = tokio::time::timeout(MOMENT, async {
                while is_alive(&pid) {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            });
            assert!(gone.await.is_ok(), "a grandchild {how} outlives `{end}`");
        }
    }
}

#[test]
fn dropping_without_a_runtime_panics_nothing_and_leaves_nothing() {
    let runtime = ::tokio::runtime::Runtime::new().expect("a runtime");
    let (mounted, pid) = runtime.block_on(async {
        let mounted = Mounted::new(&["ignore-end"]).await;
        let pid = mounted.text("pid").await;
        (mounted, pid)
    });
    assert!(is_alive(&pid));
    drop(runtime);
    let Mounted { toolbox, servers } = mounted;
    drop(servers);
    assert_eq!(toolbox.len(), 0);
    let until = Instant::now() + MOMENT;
    while is_alive(&pid) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!is_alive(&pid));
}

#[tokio::test]
async fn a_flood_of_errors_blocks_nobody() {
    if !is_alone("a_flood_of_errors_blocks_nobody") {
        return;
    }
    let before = peak_memory();
    let mounted = Mounted::new(&["stderr-flood"]).await;
    assert_eq!(mounted.text("echo").await, "echo: {}");
    let result = mounted.call("die", "{}").await;
    assert!(result.text().len() < 2000);
    let grown = peak_memory().saturating_sub(before) / 1024;
    assert!(grown < 40, "{grown} MiB");
    mounted.close().await;
}

#[tokio::test]
async fn and_p28_a_server_gets_no_input_from_a_client_that_has_nobody_to_ask() {
    let mounted = Mounted::new(&["modern"]).await;
    let result = mounted.call("input_required", "{}").await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Reported));
    let text = result.text();
    assert!(
        text.contains("asks for elicitation/create") && text.contains("nobody here can answer"),
        "{text}"
    );
    mounted.close().await;
    let mounted = Mounted::new(&[]).await;
    let answers: Vec<serde_json::Value> =
        serde_json::from_str(&mounted.text("ask").await).expect("answers");
    assert_eq!(answers.len(), 3);
    for answer in answers {
        let action = answer["result"]["action"].as_str();
        assert!(answer["error"].is_object() || action == Some("cancel"), "{answer}");
    }
    mounted.close().await;
}

#[tokio::test]
async fn a_child_gets_the_variables_that_the_configuration_names() {
    let config = misbehaving(&[]).env("GIVEN", "by name");
    let mounted = Mounted::of(config).await;
    let names: Vec<String> = serde_json::from_str(&mounted.text("env").await).expect("names");
    assert!(names.contains(&"GIVEN".to_owned()) && names.contains(&"PATH".to_owned()));
    // Cargo sets a number of variables for a test, which stand for the secrets of a shell.
    assert!(!names.iter().any(|name| name.starts_with("CARGO")), "{names:?}");
    let target = mounted.status().target;
    assert_eq!(target, [crate::program("misbehaving")]);
    mounted.close().await;
}

#[tokio::test]
async fn nothing_is_left_running_after_close() {
    let runtime = tokio::runtime::Handle::current();
    let before = (runtime.metrics().num_alive_tasks(), children());
    for arguments in [&["modern"][..], &["ignore-end"], &["silent"], &["list", "endless"]] {
        let config = misbehaving(arguments).connect_timeout(Duration::from_secs(2)).retries(0);
        let mounted = Mounted::of(config).await;
        for tool in ["echo", "twice", "die", "echo"] {
            mounted.call(tool, "{}").await;
        }
        let toolbox = mounted.toolbox.clone();
        let never = tokio::spawn(async move { call(&toolbox, "s_never", "{}").await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        mounted.close().await;
        let result = tokio::time::timeout(MOMENT, never).await.expect("it ends").expect("no panic");
        assert!(result.is_error());
    }
    eventually(async || runtime.metrics().num_alive_tasks() <= before.0).await;
    // The tests beside this one have children as well, so only those of this one are counted.
    drop(before.1);
}

#[tokio::test]
async fn a_server_is_connected_when_that_was_asked_for() {
    for when in [Connect::Now, Connect::InBackground, Connect::OnFirstUse] {
        let toolbox = ToolBox::new();
        let servers = Servers::builder()
            .server("s", misbehaving(&[]))
            .server("off", misbehaving(&[]).enabled(false))
            .connect_when(when)
            .mount(&toolbox)
            .await
            .expect("valid names");
        let states: Vec<ServerState> = servers.status().iter().map(|status| status.state).collect();
        match when {
            Connect::Now => assert_eq!(states, [ServerState::Ready, ServerState::Disabled]),
            Connect::OnFirstUse => {
                assert_eq!(states, [ServerState::Waiting, ServerState::Disabled]);
            }
            _ => {}
        }
        servers.ready().await;
        assert_eq!(servers.status()[0].state, ServerState::Ready, "{when:?}");
        assert!(toolbox.has("s_echo"));
        servers.close().await;
        assert_eq!(servers.status()[0].state, ServerState::Closed);
    }
}

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("toolbox-{}-{name}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

/// Returns whether a process is there and has not ended.
fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| {
        !stat.rsplit(')').next().unwrap_or("").trim_start().starts_with(['Z', 'X'])
    })
}

/// Returns the processes that this one started and that are still there.
fn children() -> Vec<String> {
    let own = std::process::id();
    let list = std::fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    list.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Returns the most memory that this process ever had, in KiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn a_server_that_never_came_to_be_is_gone_after_close_as_well() {
    for (how, wait) in [("while it connects", 300), ("after its time is up", 900)] {
        let file = scratch(&format!("unborn-{wait}"));
        let path = file.to_str().expect("a plain path");
        let config = misbehaving(&["silent", "ignore-term", "grandchild", path]);
        let toolbox = ToolBox::new();
        let servers = Servers::builder()
            .server("s", config.connect_timeout(Duration::from_millis(700)).retries(0))
            .connect_when(Connect::InBackground)
            .mount(&toolbox)
            .await
            .expect("the names are valid");
        tokio::time::sleep(Duration::from_millis(wait)).await;
        let pid = std::fs::read_to_string(&file).expect("a number");
        tokio::time::timeout(Duration::from_secs(6), servers.close()).await.expect("closing ends");
        assert!(!is_alive(&pid), "a child outlives the end {how}");
    }
}

/// Runs a test once more in a process of its own, since the tests beside it take memory, files and
/// children as well; returns whether this is that process.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "TOOLBOX_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let own = std::env::current_exe().expect("a program knows its path");
    let name = format!("client::faults::{test}");
    let mut alone = std::process::Command::new(own);
    let alone = alone.args([&name, "--exact"]).env(ALONE, "1").output().expect("it starts");
    let told = String::from_utf8_lossy(&alone.stdout);
    assert!(told.contains("1 passed"), "{told}");
    false
}

#[test]
fn connecting_and_closing_over_and_over_leaves_nothing() {
    const ROUNDS: usize = 40;
    if !is_alone("connecting_and_closing_over_and_over_leaves_nothing") {
        return;
    }
    let runtime = ::tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let files = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let round = async |at: usize| {
        let how: &[&str] = match at % 5 {
            0 => &["modern"],
            1 => &["list-dies"],
            2 => &["exit-at-once"],
            3 => &["list", "repeats"],
            _ => &["silent"],
        };
        let config = misbehaving(how).connect_timeout(Duration::from_millis(400)).retries(0);
        let toolbox = ToolBox::new();
        let servers = Servers::builder().server("s", config).connect_when(Connect::InBackground);
        let servers = servers.mount(&toolbox).await.expect("the names are valid");
        tokio::time::sleep(Duration::from_millis(at as u64 % 50)).await;
        let never = toolbox.clone();
        let never = tokio::spawn(async move { call(&never, "s_never", "{}").await });
        if at.is_multiple_of(3) {
            servers.ready().await;
        }
        servers.close().await;
        assert!(never.await.expect("no panic").is_error());
    };
    runtime.block_on(round(0));
    let before = (files(), runtime.metrics().num_alive_tasks());
    for at in 0..ROUNDS {
        runtime.block_on(round(at));
    }
    let so = async || files() <= before.0 + 2 && runtime.metrics().num_alive_tasks() <= before.1;
    runtime.block_on(eventually(so));
    let mine = std::process::id().to_string();
    let parents =
        std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|process| {
            let stat = std::fs::read_to_string(process.path().join("stat")).ok()?;
            stat.rsplit_once(')')?.1.split_whitespace().nth(1).map(str::to_owned)
        });
    assert_eq!(parents.filter(|parent| *parent == mine).count(), 0, "children are left");
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_not_blamed_on_the_program() {
    let config = misbehaving(&[]).current_dir("/no/such/directory").retries(0);
    let mounted = Mounted::of(config).await;
    let error = mounted.status().error.unwrap_or_default();
    assert!(error.contains("the directory `/no/such/directory`"), "{error}");
    mounted.close().await;
}

#[tokio::test]
async fn a_tool_that_took_the_place_of_a_mounted_one_stays() {
    let mounted = Mounted::new(&[]).await;
    mounted.toolbox.register(Tool::new("s_echo", "One of the program's own.").call(|_| "own"));
    mounted.call("change_list", "{}").await;
    eventually(async || mounted.toolbox.has("s_late")).await;
    assert_eq!(mounted.text("echo").await, "own");
    let spare = mounted.toolbox.names().into_iter().find(|name| name.starts_with("s_echo_"));
    let result =
        call(&mounted.toolbox, &spare.expect("the server's under another name"), "{}").await;
    assert_eq!(result.text(), "echo: {}");
    mounted.servers.close().await;
    assert_eq!(mounted.toolbox.names(), ["s_echo"]);
}

#[tokio::test]
async fn reports_that_belong_to_no_call_take_no_memory_and_hide_no_others() {
    if !is_alone("reports_that_belong_to_no_call_take_no_memory_and_hide_no_others") {
        return;
    }
    let mounted = Mounted::new(&["list", "few", "only", "progress_of_nobody"]).await;
    let before = resident_kib();
    assert_eq!(mounted.text("progress_of_nobody").await, "told nobody");
    let grown = resident_kib().saturating_sub(before);
    assert!(grown < 30 << 10, "{grown} KiB more");
    mounted.close().await;
}

/// The memory of this process that is in use.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

/// A box is empty once everything is closed, and stays so, wherever the servers were at that
/// moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_comes_into_the_box_after_close() {
    for round in 0..60_u64 {
        let toolbox = ToolBox::new();
        let servers = Servers::builder()
            .server("a", misbehaving(&["list", "few", "only", "flood,echo"]))
            .server("b", misbehaving(&["list", "few", "only", "echo"]))
            .connect_when(Connect::InBackground)
            .mount(&toolbox)
            .await
            .expect("the names are valid");
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(round / 2)).await;
        } else {
            servers.ready().await;
            let flood = toolbox.clone();
            tokio::spawn(async move { call(&flood, "a_flood", "{}").await });
            tokio::time::sleep(Duration::from_millis(round / 2)).await;
        }
        servers.close().await;
        assert_eq!(toolbox.names(), Vec::<String>::new(), "round {round}");
        tokio::time::sleep(Duration::from_millis(5)).await;
        assert_eq!(toolbox.names(), Vec::<String>::new(), "round {round}, later");
    }
}

#[tokio::test]
async fn what_ends_a_process_ends_no_more_than_the_process_of_its_tool() {
    let config = || ServerConfig::command(crate::program("served"));
    // A panic is no such thing: the server itself contains it.
    let ways = [
        ("exit", true),
        ("abort", true),
        ("overflow", true),
        ("double panic", true),
        ("panic", false),
    ];
    for (how, dies) in ways {
        let mounted = Mounted::of(config()).await;
        let other = call(&mounted.toolbox, "other_pid", "{}").await.text().into_owned();
        let arguments = serde_json::json!({"how": how}).to_string();
        let calls = [
            ToolCall::new("fatal", "s_ends", arguments),
            ToolCall::new("beside", "other_echo", "{}"),
        ];
        let results = tokio::time::timeout(MOMENT * 6, mounted.toolbox.call_all(calls)).await;
        let results = results.unwrap_or_else(|_| panic!("{how}: no answer"));
        // The host goes on, with one result for each call.
        assert_eq!(results.len(), 2);
        assert_eq!((results[0].call_id(), results[0].is_error()), ("fatal", true), "{how}");
        assert_eq!(results[1].text(), "other: {}", "{how}");
        let text = results[0].text();
        if dies {
            assert_eq!(
                results[0].failure_kind(),
                Some(FailureKind::Infrastructure),
                "{how}: {text}"
            );
        } else {
            assert_eq!(text, "tool `ends` panicked");
        }
        if how == "exit" {
            assert!(text.contains("exited with code 7"), "{text}");
        }
        // So does the tool, in another process.
        let again = tokio::time::timeout(MOMENT * 6, mounted.call("prints", "{}")).await;
        assert_eq!(again.expect("the server is back").text(), "printed", "{how}");
        assert_eq!(call(&mounted.toolbox, "other_pid", "{}").await.text(), other, "{how}");
        mounted.close().await;
    }
}

#[tokio::test]
async fn no_timer_stands_between_a_death_and_its_answer() {
    // Whatever time was given is an hour: the answer comes of the death itself.
    let hour = Duration::from_secs(3600);
    let mounted = Mounted::of(misbehaving(&[]).timeout(hour).connect_timeout(hour)).await;
    let other = call(&mounted.toolbox, "other_pid", "{}").await.text().into_owned();
    for round in 0..3 {
        let result = tokio::time::timeout(MOMENT, mounted.call("die", "{}")).await;
        let result = result.unwrap_or_else(|_| panic!("round {round}: no answer"));
        assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure), "round {round}");
        // It is back soon, and others are not started anew.
        eventually(async || !mounted.call("pid", "{}").await.is_error()).await;
        assert_eq!(call(&mounted.toolbox, "other_pid", "{}").await.text(), other, "round {round}");
    }
    mounted.close().await;
}

/// A home with a key in it, and tools for files of a folder beside it.
#[tokio::test]
async fn a_call_that_a_description_asks_for_is_stopped_by_the_folder() {
    use toolbox::agent::Agent;
    use toolbox::builtin::files::Files;
    use toolbox::testing::ScriptedModel;

    let home = std::env::temp_dir().join(format!("toolbox-p15-{}", std::process::id()));
    let key = home.join(".ssh/id_rsa");
    std::fs::create_dir_all(home.join("work")).unwrap();
    std::fs::create_dir_all(home.join(".ssh")).unwrap();
    std::fs::write(&key, "the private key").unwrap();
    std::fs::write(home.join("work/notes"), "the notes").unwrap();
    let mounted = Mounted::new(&["list", "hostile"]).await;
    mounted.toolbox.register(Files::in_folder(home.join("work")).unwrap());
    // The model does what the description says, in every spelling of the path, and hands on what it
    // got.
    let paths = [
        "~/.ssh/id_rsa",
        "../.ssh/id_rsa",
        key.to_str().unwrap(),
        "./../.ssh/./id_rsa",
        "/proc/self/root/../.ssh/id_rsa",
    ];
    let mut model = ScriptedModel::new();
    for path in paths {
        model = model.calls("file_read", serde_json::json!({"path": path}));
    }
    model = model
        .calls("file_read", r#"{"path": "notes"}"#)
        .calls("s_echo", r#"{"sidenote": "?"}"#)
        .text("done");
    let agent =
        Agent::builder(model).toolbox(mounted.toolbox.clone()).max_iterations(20).build().unwrap();
    let outcome = agent.run("Use the tools.").await.unwrap();
    assert_eq!(outcome.content, "done");
    let results: Vec<_> =
        outcome.history.steps().flat_map(|step| step.results().to_vec()).collect();
    assert_eq!(results.len(), paths.len() + 2);
    for (path, result) in paths.iter().zip(&results) {
        assert!(result.is_error(), "{path}: {}", result.text());
    }
    // Inside of the folder it reads, and the server's own tool is one that may be called.
    assert!(results[paths.len()].text().contains("the notes"), "{}", results[paths.len()].text());
    assert!(!results[paths.len() + 1].is_error());
    assert!(!format!("{:?}", outcome.history).contains("the private key"));
    std::fs::remove_dir_all(home).unwrap();
    mounted.toolbox.unregister("file_read");
    mounted.servers.close().await;
}
