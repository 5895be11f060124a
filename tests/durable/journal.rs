//! One process and its journal: what is accepted, what becomes of it, who may see it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use toolbox::call::{Arguments, FailureKind, JobId};
use toolbox::context::{CancellationToken, Conversation, Principal};
use toolbox::durable::{
    CallFilter, CallState, Journal, JournalBuilder, RecordedCall, Recovered, Worker,
};
use toolbox::tool::ToolFn;
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, ToolError, tool, tools};

use crate::bounded::tokio;
use crate::bounded::tokio::sync::Notify;
use crate::memory::MemoryBacklog;
use support::Scratch;

/// Adds one to a counter that the program can read.
#[tool(durable)]
fn count(by: u32, counter: State<AtomicU32>) -> u32 {
    counter.fetch_add(by, Ordering::SeqCst) + by
}

/// Fails.
#[tool(durable)]
fn fail() -> Result<String, ToolError> {
    Err(ToolError::reported("no such customer"))
}

/// Panics.
#[tool(idempotent)]
fn panic(counter: State<AtomicU32>) -> String {
    counter.fetch_add(1, Ordering::SeqCst);
    panic!("at once")
}

/// Waits until it is cancelled.
#[tool(durable)]
async fn wait(counter: State<AtomicU32>) -> String {
    counter.fetch_add(1, Ordering::SeqCst);
    std::future::pending().await
}

/// Names the user that asks.
#[tool]
fn whoami(principal: Principal, context: &ToolContext) -> String {
    let place = context.get::<Conversation>().map_or("nowhere", |place| &place.chat_id);
    format!("{} in {place}, secret allowed: {}", principal.as_str(), context.permits("secret"))
}

fn raw<Form>(name: &str, function: impl ToolFn<Arguments, Form>) -> Tool {
    Tool::raw(name, "A tool", serde_json::json!({"type": "object"}), function)
}

struct Fixture {
    journal: Journal,
    toolbox: ToolBox,
    counter: Arc<AtomicU32>,
}

fn fixture(journal: Journal) -> Fixture {
    let counter = Arc::new(AtomicU32::new(0));
    let toolbox = ToolBox::builder()
        .tools(tools![count, fail, panic, wait, whoami])
        .shared_state(Arc::clone(&counter))
        .journal(&journal)
        .build()
        .unwrap();
    Fixture { journal, toolbox, counter }
}

/// Runs a test over each engine.
async fn each_engine(settings: impl Fn() -> JournalBuilder, test: impl AsyncFn(Fixture)) {
    test(fixture(settings().in_memory().unwrap())).await;
    test(fixture(settings().over(MemoryBacklog::default()).unwrap())).await;
}

impl Fixture {
    async fn kept(&self, id: &JobId) -> RecordedCall {
        self.journal.get(id).await.unwrap().expect("the call is kept")
    }

    async fn submitted(&self, context: &ToolContext, tool: &str, arguments: &str) -> JobId {
        let call = ToolCall::new("c1", tool, arguments);
        let result = self.toolbox.submit(&self.journal, context, call).await;
        assert!(result.is_pending(), "{result:?}");
        result.job().expect("it was accepted").clone()
    }

    async fn work(&self) {
        Worker::new(self.toolbox.clone(), &self.journal).run_until_idle().await.unwrap();
    }
}

fn running() -> CallFilter {
    CallFilter::default().with_state(CallState::Running)
}

#[tokio::test]
async fn a_durable_call_has_its_result_in_the_journal_before_its_caller_has_it() {
    each_engine(Journal::builder, async |fixture| {
        for (tool, arguments, state, code) in [
            ("count", r#"{"by": 2}"#, CallState::Done, None),
            ("fail", "{}", CallState::Failed, Some("tool.failed")),
        ] {
            let result = fixture.toolbox.call(ToolCall::new("c1", tool, arguments)).await;
            let kept = fixture.kept(result.job().unwrap()).await;
            assert_eq!((kept.state, result.code()), (state, code), "{tool}");
            assert_eq!((kept.attempt, kept.call_id.as_str()), (1, "c1"));
            assert_eq!(kept.result, Some(result), "{tool}");
        }
        assert_eq!(fixture.counter.load(Ordering::SeqCst), 2);
    })
    .await;
}

#[tokio::test]
async fn what_the_gate_refuses_is_not_accepted() {
    each_engine(Journal::builder, async |fixture| {
        fixture.toolbox.blacklist("fail");
        let context = ToolContext::new();
        for (tool, arguments, kind) in [
            ("missing", "{}", FailureKind::NotFound),
            ("fail", "{}", FailureKind::Blacklisted),
            ("count", r#"{"by": "many"}"#, FailureKind::InvalidArguments),
            ("count", "{", FailureKind::InvalidArguments),
        ] {
            let call = ToolCall::new("c1", tool, arguments);
            let result = fixture.toolbox.submit(&fixture.journal, &context, call.clone()).await;
            assert_eq!(result.failure_kind(), Some(kind), "{tool}");
            assert_eq!(fixture.toolbox.call(call).await.failure_kind(), Some(kind), "{tool}");
        }
        assert!(fixture.journal.calls(CallFilter::default()).await.unwrap().is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_durable_tool_needs_a_journal() {
    let error = ToolBox::builder().tools(tools![fail]).build().unwrap_err();
    assert!(error.to_string().contains("`fail` is durable"), "{error}");
    let toolbox = ToolBox::new();
    assert!(toolbox.try_register(fail::tool()).is_err());
    toolbox.register(fail::tool());
    let result = toolbox.call(ToolCall::new("1", "fail", "{}")).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::Infrastructure), "{result:?}");
}

#[tokio::test]
async fn a_durable_call_goes_on_when_its_caller_is_dropped() {
    each_engine(Journal::builder, async |fixture| {
        let gate = Arc::new(tokio::sync::Semaphore::new(0));
        let (entered, open) = (Arc::clone(&gate), Arc::new(tokio::sync::Notify::new()));
        let opened = Arc::clone(&open);
        let slow = raw("slow", move |_: Arguments| {
            let (entered, opened) = (Arc::clone(&entered), Arc::clone(&opened));
            async move {
                entered.add_permits(1);
                opened.notified().await;
                "done"
            }
        });
        fixture.toolbox.register(slow.durable());
        let call = fixture.toolbox.call(ToolCall::new("1", "slow", "{}"));
        tokio::select! {
            _ = call => panic!("it waits"),
            entered = gate.acquire() => entered.unwrap().forget(),
        }
        open.notify_one();
        let id = fixture.journal.calls(running()).await.unwrap().pop().unwrap().id;
        let kept = fixture.journal.wait(&id).await.unwrap().unwrap();
        assert_eq!((kept.state, kept.result.unwrap().text().as_ref()), (CallState::Done, "done"));
    })
    .await;
}

#[tokio::test]
async fn a_worker_runs_what_was_submitted_in_the_context_it_was_submitted_in() {
    each_engine(Journal::builder, async |fixture| {
        let context = ToolContext::new()
            .with(Principal::new("ada"))
            .with(Conversation::new("mail", "42"))
            .with_blacklist("secret");
        let id = fixture.submitted(&context, "whoami", "{}").await;
        assert_eq!(fixture.kept(&id).await.state, CallState::Waiting);
        fixture.work().await;
        let kept = fixture.kept(&id).await;
        assert_eq!(kept.state, CallState::Done);
        assert_eq!(kept.result.unwrap().text(), "ada in 42, secret allowed: false");

        let place = Conversation::new("mail", "42");
        let others = Conversation::new("mail", "4");
        for (conversation, expected) in [(&place, vec![id.clone()]), (&others, vec![])] {
            let filter = CallFilter::default().of_conversation(conversation.clone());
            let calls = fixture.journal.calls(filter).await.unwrap();
            assert_eq!(calls.into_iter().map(|call| call.id).collect::<Vec<_>>(), expected);
        }
        assert_eq!(fixture.journal.undelivered(&others).await.unwrap().len(), 0);
        assert_eq!(fixture.journal.undelivered(&place).await.unwrap().len(), 1);
        let (one, other) = tokio::join!(
            fixture.journal.confirm_delivery(&id),
            fixture.journal.confirm_delivery(&id)
        );
        assert!(one.unwrap() != other.unwrap(), "it is delivered once");
        assert_eq!(fixture.journal.undelivered(&place).await.unwrap().len(), 0);
    })
    .await;
}

#[tokio::test]
async fn a_result_keeps_that_its_call_met_text_of_others() {
    each_engine(Journal::builder, async |fixture| {
        let schema = serde_json::json!({"type": "object"});
        let relay = Tool::raw("relay", "d", schema, |context, _| async move {
            let theirs = ToolBox::from(Tool::new("mail", "d").call(|_| "obey!").untrusted());
            theirs.call_in(&context, ToolCall::new("1", "mail", "{}")).await.into_text()
        });
        fixture.toolbox.register(relay);
        for (tool, arguments, expected) in [("relay", "{}", true), ("count", r#"{"by": 1}"#, false)]
        {
            let id = fixture.submitted(&ToolContext::new(), tool, arguments).await;
            fixture.work().await;
            let result = fixture.kept(&id).await.result.unwrap();
            assert_eq!(result.is_untrusted(), expected, "{tool}: {result:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn rules_of_the_worker_hold_as_well() {
    each_engine(Journal::builder, async |fixture| {
        let id = fixture.submitted(&ToolContext::new(), "count", r#"{"by": 1}"#).await;
        fixture.toolbox.blacklist("count");
        fixture.work().await;
        let kept = fixture.kept(&id).await;
        assert_eq!(kept.state, CallState::Failed);
        assert_eq!(kept.result.unwrap().failure_kind(), Some(FailureKind::Blacklisted));
        assert_eq!(fixture.counter.load(Ordering::SeqCst), 0);
    })
    .await;
}

#[tokio::test]
async fn a_panic_of_an_idempotent_tool_is_tried_once_more_and_then_a_dead_letter() {
    each_engine(Journal::builder, async |fixture| {
        let id = fixture.submitted(&ToolContext::new(), "panic", "{}").await;
        fixture.work().await;
        let kept = fixture.kept(&id).await;
        assert_eq!((kept.state, kept.attempt, kept.is_dead), (CallState::Failed, 2, true));
        assert_eq!(kept.result.unwrap().failure_kind(), Some(FailureKind::Panicked));
        assert_eq!(fixture.counter.load(Ordering::SeqCst), 2);
        assert_eq!(fixture.journal.dead_letters().await.unwrap().len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_full_journal_refuses_with_a_result() {
    each_engine(
        || Journal::builder().max_open(2),
        async |fixture| {
            let context = ToolContext::new();
            for _ in 0..2 {
                fixture.submitted(&context, "count", r#"{"by": 1}"#).await;
            }
            let call = ToolCall::new("c3", "count", r#"{"by": 1}"#);
            for result in [
                fixture.toolbox.submit(&fixture.journal, &context, call.clone()).await,
                fixture.toolbox.call(call).await,
            ] {
                assert_eq!(result.failure_kind(), Some(FailureKind::Busy), "{result:?}");
                assert!(result.text().contains("2 calls wait already"), "{result:?}");
            }
            assert_eq!(fixture.counter.load(Ordering::SeqCst), 0);
        },
    )
    .await;
}

#[tokio::test]
async fn calls_that_wait_and_calls_that_run_can_be_cancelled() {
    each_engine(Journal::builder, async |fixture| {
        let id = fixture.submitted(&ToolContext::new(), "count", r#"{"by": 1}"#).await;
        assert!(fixture.journal.cancel(&id).await.unwrap());
        assert!(!fixture.journal.cancel(&id).await.unwrap(), "it has ended");
        assert!(!fixture.journal.cancel(&JobId::from_text("job_none")).await.unwrap());
        fixture.work().await;
        assert_eq!(fixture.kept(&id).await.state, CallState::Cancelled);
        assert_eq!(fixture.counter.load(Ordering::SeqCst), 0);

        let token = CancellationToken::new();
        for by_caller in [true, false] {
            let context = ToolContext::new().with_cancellation(token.clone());
            let before = fixture.counter.load(Ordering::SeqCst);
            let call = fixture.toolbox.call_in(&context, ToolCall::new("1", "wait", "{}"));
            let cancel = async {
                while fixture.counter.load(Ordering::SeqCst) == before {
                    tokio::task::yield_now().await;
                }
                if by_caller {
                    token.cancel();
                } else {
                    let id = fixture.journal.calls(running()).await.unwrap().pop().unwrap().id;
                    fixture.journal.cancel(&id).await.unwrap();
                }
            };
            let (result, ()) = if by_caller {
                tokio::join!(call, cancel)
            } else {
                let free = ToolContext::new();
                let call = fixture.toolbox.call_in(&free, ToolCall::new("1", "wait", "{}"));
                tokio::join!(call, cancel)
            };
            assert_eq!(result.failure_kind(), Some(FailureKind::Cancelled), "{result:?}");
            assert_eq!(fixture.kept(result.job().unwrap()).await.state, CallState::Cancelled);
        }
    })
    .await;
}

#[tokio::test]
async fn a_call_whose_time_is_over_expires_and_does_not_run() {
    each_engine(
        || Journal::builder().expires_after(Duration::ZERO),
        async |fixture| {
            let id = fixture.submitted(&ToolContext::new(), "count", r#"{"by": 1}"#).await;
            fixture.work().await;
            let kept = fixture.journal.wait(&id).await.unwrap().unwrap();
            assert_eq!(kept.state, CallState::Expired);
            assert_eq!(kept.result.unwrap().failure_kind(), Some(FailureKind::Expired));
            assert_eq!(fixture.counter.load(Ordering::SeqCst), 0);
        },
    )
    .await;
}

#[tokio::test]
async fn a_worker_that_is_dropped_leaves_no_call_open() {
    let scratch = Scratch::new();
    let journal =
        Journal::builder().lease(Duration::from_secs(1)).open(scratch.path().join("j.db")).unwrap();
    let fixture = fixture(journal);
    let id = fixture.submitted(&ToolContext::new(), "wait", "{}").await;
    let worker = Worker::new(fixture.toolbox.clone(), &fixture.journal);
    let stop = async {
        while fixture.counter.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
    };
    worker.grace(Duration::ZERO).run_until(stop).await;
    let kept = fixture.journal.wait(&id).await.unwrap().unwrap();
    assert_eq!(kept.state, CallState::OutcomeUnknown);
    assert!(kept.result.unwrap().text().contains("Check that before you call it again"));
}

#[tokio::test]
async fn another_process_of_another_schema_does_not_take_a_call() {
    each_engine(Journal::builder, async |fixture| {
        let id = fixture.submitted(&ToolContext::new(), "count", r#"{"by": 1}"#).await;
        let other = Tool::raw(
            "count",
            "Counts otherwise",
            serde_json::json!({"type": "object", "properties": {"by": {"type": "string"}}}),
            |_: Arguments| "other",
        );
        Worker::new(ToolBox::from(other), &fixture.journal).run_until_idle().await.unwrap();
        assert_eq!(fixture.kept(&id).await.state, CallState::Waiting);
        fixture.work().await;
        assert_eq!(fixture.kept(&id).await.state, CallState::Done);
    })
    .await;
}

/// Waits, the first time, until it is told to go on; returns the number of its runs.
#[tool(idempotent)]
async fn stall(counter: State<AtomicU32>, go_on: State<Notify>) -> u32 {
    let run = counter.fetch_add(1, Ordering::SeqCst) + 1;
    if run == 1 {
        go_on.notified().await;
    }
    run
}

/// A call of `stall` that a worker of one call at a time has begun.
struct Stalled {
    path: PathBuf,
    go_on: Arc<Notify>,
    id: JobId,
    worker: tokio::task::JoinHandle<()>,
}

async fn stalled(scratch: &Scratch) -> (Fixture, Stalled) {
    let path = scratch.path().join("j.db");
    let fixture = fixture(Journal::open(&path).unwrap());
    let go_on = Arc::new(Notify::new());
    fixture.toolbox.register(stall::tool().with_state(Arc::clone(&go_on)));
    let id = fixture.submitted(&ToolContext::new(), "stall", "{}").await;
    let worker = Worker::new(fixture.toolbox.clone(), &fixture.journal).concurrency(1);
    let worker = tokio::spawn(async move { worker.run_until_idle().await.unwrap() });
    while fixture.counter.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    (fixture, Stalled { path, go_on, id, worker })
}

#[tokio::test]
async fn an_attempt_that_another_process_took_over_ends_nothing() {
    let scratch = Scratch::new();
    let (fixture, stalled) = stalled(&scratch).await;
    // What a process writes that finds the owner of an idempotent call gone.
    let file = rusqlite::Connection::open(&stalled.path).unwrap();
    let freed = file.execute("UPDATE call SET state = 'waiting', owner = NULL", []).unwrap();
    assert_eq!(freed, 1);
    let other = Journal::open(&stalled.path).unwrap();
    Worker::new(fixture.toolbox.clone(), &other).run_until_idle().await.unwrap();
    let ended = fixture.kept(&stalled.id).await;
    assert_eq!((ended.state, ended.attempt, ended.late), (CallState::Done, 2, 0));

    stalled.go_on.notify_one();
    stalled.worker.await.unwrap();
    let kept = fixture.kept(&stalled.id).await;
    assert_eq!((kept.attempt, kept.late, kept.ended), (2, 1, ended.ended));
    assert_eq!(kept.result.unwrap().text(), "2");
}

#[tokio::test]
async fn a_call_whose_owners_vanish_again_and_again_is_a_dead_letter() {
    for (attempt, state, text) in
        [(2, CallState::Done, "2"), (3, CallState::Failed, "was begun 3 times")]
    {
        let scratch = Scratch::new();
        let (fixture, stalled) = stalled(&scratch).await;
        // The owner of the last attempt has no lock file.
        let file = rusqlite::Connection::open(&stalled.path).unwrap();
        file.execute("UPDATE call SET owner = 'nobody', attempt = ?", [attempt]).unwrap();
        let settings = Journal::builder().lease(Duration::from_millis(1));
        let other = settings.open(&stalled.path).unwrap();
        while other.recover().await.unwrap() == Recovered::default() {
            tokio::task::yield_now().await;
        }
        Worker::new(fixture.toolbox.clone(), &other).run_until_idle().await.unwrap();
        let kept = fixture.kept(&stalled.id).await;
        assert_eq!((kept.state, kept.attempt, kept.is_dead), (state, 3, attempt == 3));
        let result = kept.result.unwrap();
        assert!(result.text().contains(text), "{result:?}");
        assert_eq!(fixture.counter.load(Ordering::SeqCst), 4 - attempt);
        stalled.go_on.notify_one();
        stalled.worker.await.unwrap();
    }
}

#[tokio::test]
async fn an_owner_that_lives_keeps_its_calls_whatever_the_file_is_called() {
    use std::fs::{copy, create_dir, remove_dir_all, rename};
    use std::os::unix::fs::symlink;

    /// The folder of the lock files of the journal.
    fn workers(path: &Path) -> PathBuf {
        path.with_extension("db.workers")
    }
    // What happens to the file and its locks, and the name by which another process opens it.
    type Case = (&'static str, fn(&Path) -> PathBuf);
    let cases: [Case; 12] = [
        ("the same name", |path| path.to_owned()),
        ("a link beside it", |path| {
            symlink(path, path.with_file_name("other.db")).unwrap();
            path.with_file_name("other.db")
        }),
        ("a link elsewhere", |path| {
            let folder = path.with_file_name("elsewhere");
            create_dir(&folder).unwrap();
            symlink("../j.db", folder.join("k.db")).unwrap();
            folder.join("k.db")
        }),
        ("a link to its folder", |path| {
            symlink(path.parent().unwrap(), path.with_file_name("folder")).unwrap();
            path.with_file_name("folder").join("j.db")
        }),
        ("a longer way", |path| {
            create_dir(path.with_file_name("deep")).unwrap();
            path.with_file_name("deep").join("../j.db")
        }),
        ("the name of an open file", |path| {
            let file = std::fs::File::open(path).unwrap();
            let name = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
            // It stays open for as long as the process.
            std::mem::forget(file);
            name.into()
        }),
        ("a folder that was renamed", |path| {
            let folder = path.parent().unwrap();
            let renamed = folder.with_extension("renamed");
            rename(folder, &renamed).unwrap();
            symlink(&renamed, folder).unwrap();
            renamed.join("j.db")
        }),
        ("the locks are replaced by others of their names", |path| {
            for file in std::fs::read_dir(workers(path)).unwrap().flatten() {
                std::fs::remove_file(file.path()).unwrap();
                std::fs::write(file.path(), "").unwrap();
            }
            path.to_owned()
        }),
        ("the folder of the locks is another's", |path| {
            let other = path.with_file_name("other.workers");
            create_dir(&other).unwrap();
            remove_dir_all(workers(path)).unwrap();
            symlink(&other, workers(path)).unwrap();
            path.to_owned()
        }),
        ("the locks are cleaned away", |path| {
            remove_dir_all(workers(path)).unwrap();
            path.to_owned()
        }),
        ("the locks are cleaned away, and a link", |path| {
            remove_dir_all(workers(path)).unwrap();
            symlink(path, path.with_file_name("other.db")).unwrap();
            path.with_file_name("other.db")
        }),
        ("the locks are put back from a copy", |path| {
            let copies = path.with_file_name("copies");
            create_dir(&copies).unwrap();
            for file in std::fs::read_dir(workers(path)).unwrap().flatten() {
                copy(file.path(), copies.join(file.file_name())).unwrap();
            }
            remove_dir_all(workers(path)).unwrap();
            rename(copies, workers(path)).unwrap();
            path.to_owned()
        }),
    ];
    for (name, change) in cases {
        let scratch = Scratch::new();
        let (fixture, stalled) = stalled(&scratch).await;
        let path = change(&stalled.path);
        let other = Journal::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let worker = Worker::new(fixture.toolbox.clone(), &other);
        let idle = std::pin::pin!(worker.run_until_idle());
        // It may wait for the call of the other.
        let _ = tokio::time::timeout(Duration::from_millis(300), idle).await;
        let kept = fixture.kept(&stalled.id).await;
        assert_eq!((kept.state, kept.attempt), (CallState::Running, 1), "{name}");
        assert_eq!(fixture.counter.load(Ordering::SeqCst), 1, "{name}");
        stalled.go_on.notify_one();
        stalled.worker.await.unwrap();
        let kept = fixture.kept(&stalled.id).await;
        assert_eq!((kept.state, kept.attempt, kept.late), (CallState::Done, 1, 0), "{name}");
        let _ = remove_dir_all(scratch.path().with_extension("renamed"));
    }
    // By a hard link, each would miss what the other wrote.
    let scratch = Scratch::new();
    let path = scratch.path().join("j.db");
    let journal = Journal::open(&path).unwrap();
    std::fs::hard_link(&path, scratch.path().join("k.db")).unwrap();
    let refused = Journal::open(scratch.path().join("k.db")).unwrap_err();
    assert!(format!("{refused:?}").contains("hard link"), "{refused:?}");
    drop(journal);
}

#[tokio::test]
async fn files_of_owners_that_are_gone_are_deleted_once_they_own_nothing() {
    let scratch = Scratch::new();
    let path = scratch.path().join("j.db");
    let count = || std::fs::read_dir(path.with_extension("db.workers")).unwrap().count();
    for _ in 0..3 {
        drop(Journal::open(&path).unwrap());
    }
    assert_eq!(count(), 3);
    let fixture = fixture(Journal::open(&path).unwrap());
    // A journal that was dropped in the middle of a beat is gone after it.
    while count() > 1 {
        fixture.work().await;
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(count(), 1);
}

#[tokio::test]
async fn a_call_that_expires_while_others_run_is_not_taken() {
    let scratch = Scratch::new();
    let (fixture, stalled) = stalled(&scratch).await;
    let id = fixture.submitted(&ToolContext::new(), "count", r#"{"by": 10}"#).await;
    let file = rusqlite::Connection::open(&stalled.path).unwrap();
    file.execute("UPDATE call SET expires = 1 WHERE id = ?", [id.as_str()]).unwrap();
    stalled.go_on.notify_one();
    stalled.worker.await.unwrap();
    assert_eq!(fixture.counter.load(Ordering::SeqCst), 1);
    fixture.work().await;
    assert_eq!(fixture.kept(&id).await.state, CallState::Expired);
}

#[tokio::test]
async fn calls_of_a_recorded_handler_have_records_of_their_own() {
    each_engine(Journal::builder, async |Fixture { journal, toolbox, counter }| {
        let inner = toolbox.clone();
        let outer = raw("outer", move |context: ToolContext, _: Arguments| {
            let inner = inner.clone();
            async move {
                let call = |tool, arguments| ToolCall::new("c2", tool, arguments);
                let counted = inner.call_in(&context, call("count", r#"{"by": 5}"#)).await;
                // This one is not durable, and has no record.
                let plain = inner.call_in(&context, call("whoami", "{}")).await;
                format!("{} and {}", counted.text(), plain.is_error())
            }
        });
        let toolbox = ToolBox::builder().tools(outer).journal(&journal).build().unwrap();
        let fixture = Fixture { journal, toolbox, counter };
        let ada = ToolContext::new().with(Principal::new("ada"));
        let id = fixture.submitted(&ada, "outer", "{}").await;
        fixture.work().await;
        assert_eq!(fixture.kept(&id).await.result.unwrap().text(), "5 and false");
        let all = fixture.journal.calls(CallFilter::default()).await.unwrap();
        let mut tools: Vec<_> = all.iter().map(|call| (&*call.tool, call.state)).collect();
        tools.sort_by_key(|(tool, _)| tool.to_owned());
        assert_eq!(tools, [("count", CallState::Done), ("outer", CallState::Done)]);
    })
    .await;
}

#[tokio::test]
async fn a_background_tool_is_in_the_journal_under_its_job() {
    each_engine(Journal::builder, async |fixture| {
        fixture.toolbox.register(raw("later", |_: Arguments| "done").background());
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        let context = ToolContext::new().with_completions(sender);
        let result = fixture.toolbox.call_in(&context, ToolCall::new("1", "later", "{}")).await;
        let completion = receiver.recv().await.unwrap();
        assert_eq!(result.job(), Some(&completion.job));
        let kept = fixture.kept(&completion.job).await;
        assert_eq!((kept.state, kept.attempt), (CallState::Done, 1));
        assert_eq!(kept.result, Some(completion.result));
    })
    .await;
}

#[tokio::test]
async fn results_of_every_kind_survive_the_file() {
    use toolbox::ToolResult;
    use toolbox::call::Content;

    #[derive(serde::Deserialize)]
    struct Which {
        index: usize,
    }

    let scratch = Scratch::new();
    let path = scratch.path().join("j.db");
    let results = [
        ToolResult::new("text"),
        ToolResult::silent("for the model"),
        ToolResult::user("for both").with_user_text("for the user"),
        ToolResult::from(vec![Content::text("a"), Content::image(vec![1_u8, 2, 3], "image/png")]),
        ToolResult::new("shown").with_structured_content(serde_json::json!({"a": [1, 2.5, null]})),
        ToolResult::new("with meta").with_meta("x/y", serde_json::json!({"z": 1})),
        ToolResult::failure(FailureKind::Infrastructure, "no database"),
        ToolResult::new("found").with_references(vec!["a".to_owned(), "b".to_owned()]),
    ];
    let journal = Journal::open(&path).unwrap();
    let given = results.clone();
    let toolbox = ToolBox::builder()
        .tools(
            raw("give", move |arguments: Arguments| {
                given[arguments.parse::<Which>().unwrap().index].clone()
            })
            .durable(),
        )
        .journal(&journal)
        .build()
        .unwrap();
    let mut ids = Vec::new();
    for (index, expected) in results.iter().enumerate() {
        let arguments = serde_json::json!({"index": index}).to_string();
        let result = toolbox.call(ToolCall::new("1", "give", arguments)).await;
        assert_eq!((result.content(), result.code()), (expected.content(), expected.code()));
        ids.push((result.job().unwrap().clone(), result));
    }
    drop((toolbox, journal));
    let journal = Journal::open(&path).unwrap();
    for (id, result) in ids {
        let kept = journal.get(&id).await.unwrap().unwrap().result.unwrap();
        assert_eq!(kept, result);
        assert_eq!(kept.structured_content(), result.structured_content());
        assert_eq!((kept.meta(), kept.references()), (result.meta(), result.references()));
    }
}

#[test]
fn one_new_file_is_opened_by_many_at_once() {
    for _ in 0..20 {
        let scratch = Scratch::new();
        let path = scratch.path().join("new.db");
        let start = std::sync::Barrier::new(8);
        let opened: Vec<_> = std::thread::scope(|scope| {
            let open = || {
                start.wait();
                Journal::open(&path).map(drop)
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(opened.iter().all(Result::is_ok), "{opened:?}");
    }
}
