//! Tools that stream: what goes out, what is collected, and how it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use crate::bounded::tokio;
use futures_util::FutureExt as _;
use futures_util::stream::{self, BoxStream, Stream, StreamExt as _};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbox::call::FailureKind;
use toolbox::context::OutputItem;
use toolbox::event::EventKind;
use toolbox::testing::ScriptedModel;
use toolbox::tool::Next;
use toolbox::{Content, Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, tools, toolset};

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Line {
    number: u32,
    text: String,
}

/// Reads the lines of a file.
#[tool]
fn tail(path: &str, count: u32) -> impl Stream<Item = Line> {
    // It borrows an argument for as long as it lives.
    stream::iter(0..count).map(move |number| Line { number, text: format!("{path} {number}") })
}

/// Writes words.
#[tool]
async fn words(count: usize) -> impl Stream<Item = &'static str> {
    tokio::task::yield_now().await;
    stream::iter(["one ", "two ", "three "]).take(count)
}

/// Writes lines.
#[tool(collect = "lines")]
fn lines() -> impl Stream<Item = String> + Send {
    stream::iter([1, 2]).map(|number| format!("line {number}"))
}

/// Counts, and returns the last number.
#[tool(collect = "last")]
fn count(to: u32) -> impl Stream<Item = u32> {
    stream::iter(1..=to)
}

/// Fails in the middle.
#[tool]
fn breaks(after: u32) -> impl Stream<Item = Result<u32, std::io::Error>> {
    let end = stream::once(async { Err(std::io::Error::other("the disk is gone")) });
    stream::iter((0..after).map(Ok)).chain(end)
}

/// Does not begin.
#[tool]
fn refuses() -> Result<BoxStream<'static, u32>, String> {
    Err("no such file".to_owned())
}

/// Begins.
#[tool]
async fn begins()
-> Result<std::pin::Pin<Box<dyn Stream<Item = Result<String, String>> + Send>>, String> {
    Ok(stream::iter([Ok("a".to_owned()), Ok("b".to_owned())]).boxed())
}

type Feed = BoxStream<'static, Value>;

/// Returns a stream under another name.
#[tool(collect = "all")]
fn named() -> Feed {
    stream::iter([json!(1), json!({"a": 2})]).boxed()
}

/// Draws.
#[tool]
fn draws() -> impl Stream<Item = Content> {
    stream::iter([Content::text("a dot"), Content::image(b"\x89PNG", "image/png")])
}

/// Puts out results.
#[tool]
fn results() -> impl Stream<Item = ToolResult> {
    stream::iter([ToolResult::new("own"), ToolResult::new(" text").untrusted()])
}

/// Never ends.
#[tool]
fn endless() -> impl Stream<Item = u32> {
    stream::iter(0..)
}

struct Log(Vec<u32>);

#[toolset]
impl Log {
    /// Lists the entries.
    #[tool]
    fn entries(&self) -> impl Stream<Item = u32> {
        stream::iter(self.0.iter().copied())
    }
}

fn spelled() -> Tool {
    #[derive(Deserialize, JsonSchema)]
    struct Spell {
        word: String,
    }
    Tool::from_stream("spelled", "Spells a word.", |spell: Spell| {
        stream::iter(spell.word.into_bytes())
    })
}

fn toolbox() -> ToolBox {
    let toolbox = ToolBox::from(tools![
        tail, words, lines, count, breaks, refuses, begins, named, draws, results, endless
    ]);
    toolbox.register(Log(vec![7, 8]));
    toolbox.register(spelled());
    toolbox
}

async fn call(name: &str, arguments: &Value) -> ToolResult {
    toolbox().call(ToolCall::new("1", name, arguments.to_string())).await
}

#[tokio::test]
async fn a_result_is_what_was_collected() {
    let tailed = json!([{"number": 0, "text": "log 0"}, {"number": 1, "text": "log 1"}]);
    for (name, arguments, text, structured) in [
        ("tail", json!({"path": "log", "count": 2}), tailed.to_string(), Some(tailed)),
        ("tail", json!({"path": "l\u{e9}\"", "count": 0}), "[]".into(), Some(json!([]))),
        ("words", json!({"count": 2}), "one two ".into(), None),
        ("words", json!({"count": 0}), "the tool put out nothing".into(), None),
        ("lines", json!({}), "line 1\nline 2".into(), None),
        ("count", json!({"to": 9}), "9".into(), Some(json!(9))),
        ("begins", json!({}), "ab".into(), None),
        ("named", json!({}), r#"[1,{"a":2}]"#.into(), None),
        ("entries", json!({}), "[7,8]".into(), Some(json!([7, 8]))),
        ("spelled", json!({"word": "ab"}), "[97,98]".into(), Some(json!([97, 98]))),
        ("results", json!({}), "own text".into(), None),
    ] {
        let result = call(name, &arguments).await;
        assert!(!result.is_error(), "{name}: {}", result.text());
        assert_eq!(result.text(), text, "{name}");
        assert_eq!(result.structured_content(), structured, "{name}");
    }
    assert!(call("results", &json!({})).await.is_untrusted());
    let drawn = call("draws", &json!({})).await;
    assert!(matches!(drawn.content(), [Content::Text(_), Content::Image(_)]), "{drawn:?}");
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct Totals {
    lines: u32,
    longest: usize,
}

fn measure(totals: Totals, line: &Line) -> Totals {
    Totals { lines: totals.lines + 1, longest: totals.longest.max(line.text.len()) }
}

/// Measures the lines of a file.
#[tool(collect = measure)]
fn measured(count: u32) -> impl Stream<Item = Line> {
    stream::iter(0..count).map(|number| Line { number, text: "x".repeat(number as usize) })
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "a fold takes its items by reference")]
fn add(sum: u32, item: &u32) -> u32 {
    sum + item
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "a fold takes its items by reference")]
fn count_one(count: u64, _: &u32) -> u64 {
    count + 1
}

fn repeat(all: String, item: &ToolResult) -> String {
    all + &item.text()
}

/// Sums up, to a failure.
#[tool(collect = add)]
async fn summed(to: u32, fails: bool) -> Result<impl Stream<Item = Result<u32, String>>, String> {
    if to == 99 {
        return Err("too many".to_owned());
    }
    let end = fails.then(|| Err("it broke".to_owned()));
    Ok(stream::iter((1..=to).map(Ok).chain(end)))
}

/// Never ends.
#[tool(collect = count_one)]
fn counted_endless() -> impl Stream<Item = u32> {
    stream::iter(0..)
}

/// Repeats the text of others.
#[tool(collect = repeat)]
fn tainted() -> impl Stream<Item = ToolResult> {
    stream::iter([ToolResult::new("a"), ToolResult::new("b").untrusted()])
}

struct Shelf([&'static str; 2]);

#[toolset]
impl Shelf {
    /// Joins titles.
    #[tool(collect = Self::join)]
    fn titles(&self) -> BoxStream<'static, &'static str> {
        stream::iter(self.0).boxed()
    }

    fn join(all: String, title: &&'static str) -> String {
        if all.is_empty() { (*title).to_owned() } else { format!("{all}, {title}") }
    }
}

#[tokio::test]
async fn a_fold_makes_one_value_of_the_items_which_go_out_all_the_same() {
    let toolbox = ToolBox::from(tools![measured, summed, counted_endless, tainted]);
    toolbox.register(Shelf(["Ada", "Emma"]));
    toolbox.register(Tool::from_folded_stream(
        "longest",
        "Finds the longest word.",
        |_: Value| stream::iter(["a".to_owned(), "abc".to_owned(), "ab".to_owned()]),
        |most: usize, word: &String| most.max(word.len()),
    ));
    let totals = |lines: u32, longest: u32| json!({"lines": lines, "longest": longest});
    for (name, arguments, text, structured, items) in [
        ("measured", json!({"count": 3}), totals(3, 2).to_string(), Some(totals(3, 2)), 3),
        ("measured", json!({"count": 0}), totals(0, 0).to_string(), Some(totals(0, 0)), 0),
        ("summed", json!({"to": 4, "fails": false}), "10".into(), Some(json!(10)), 4),
        ("titles", json!({}), "Ada, Emma".into(), None, 2),
        ("tainted", json!({}), "ab".into(), None, 2),
        ("longest", json!({}), "3".into(), Some(json!(3)), 3),
    ] {
        let (sender, mut receiver) = mpsc::channel::<OutputItem>(8);
        let context = ToolContext::new().with_outputs(sender);
        for context in [ToolContext::new(), context] {
            let call = ToolCall::new("1", name, arguments.to_string());
            let result = toolbox.call_in(&context, call).await;
            assert_eq!(result.text(), text, "{name}");
            assert_eq!(result.structured_content(), structured, "{name}");
            assert_eq!(result.is_untrusted(), name == "tainted", "{name}");
        }
        let out = std::iter::from_fn(|| receiver.try_recv().ok());
        assert!(out.map(|item| item.index).eq(0..items), "{name}");
    }
    for (name, arguments, kind, text) in [
        (
            "summed",
            json!({"to": 3, "fails": true}),
            FailureKind::Reported,
            "the stream ended after 3 items: it broke\n6",
        ),
        ("summed", json!({"to": 0, "fails": true}), FailureKind::Reported, "it broke"),
        ("summed", json!({"to": 99, "fails": true}), FailureKind::Reported, "too many"),
        (
            "counted_endless",
            json!({}),
            FailureKind::ResultTooLarge,
            "the stream ended after 100001 items: it was stopped there, since at most 100000 items and 16 MiB are collected: ask for less\n100001",
        ),
    ] {
        let result = toolbox.call(ToolCall::new("1", name, arguments.to_string())).await;
        assert_eq!((result.failure_kind(), &*result.text()), (Some(kind), text), "{name}");
    }
    let schema = |name: &str| {
        let tool = toolbox.get(name).expect("the tool");
        let schema = tool.definition().output_schema.as_ref().map(|schema| schema["type"].clone());
        schema.map(|kind| kind.as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(schema("measured").as_deref(), Some("object"));
    assert_eq!(schema("summed").as_deref(), Some("integer"));
    assert_eq!(schema("longest").as_deref(), Some("integer"));
    assert_eq!(schema("titles"), None);
}

#[tokio::test]
async fn a_failure_ends_a_stream_after_what_came_before() {
    for (name, arguments, kind, text) in [
        ("breaks", json!({"after": 0}), FailureKind::Reported, "the disk is gone"),
        (
            "breaks",
            json!({"after": 2}),
            FailureKind::Reported,
            "the stream ended after 2 items: the disk is gone\n[0,1]",
        ),
        ("refuses", json!({}), FailureKind::Reported, "no such file"),
        (
            "count",
            json!({"to": 0}),
            FailureKind::InvalidOutput,
            "the tool's stream ended without an item",
        ),
    ] {
        let result = call(name, &arguments).await;
        assert_eq!(result.failure_kind(), Some(kind), "{name}");
        assert_eq!(result.text(), text, "{name}");
    }
}

#[tokio::test]
async fn an_endless_stream_is_stopped() {
    let result = call("endless", &json!({})).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::ResultTooLarge));
    assert!(result.text().contains("at most 100000 items"), "{}", result.text().len());
    // Before that by a time limit, though it is always ready.
    let toolbox = toolbox();
    toolbox.register(
        Tool::from_stream("waits", "Waits.", |_: Value| {
            stream::iter(0..).then(|at: u32| async move {
                tokio::task::yield_now().await;
                at
            })
        })
        .with_timeout(Duration::from_millis(50)),
    );
    let result = toolbox.call(ToolCall::new("1", "waits", "{}")).await;
    assert_eq!(result.failure_kind(), Some(FailureKind::TimedOut), "{}", result.text().len());
}

#[tokio::test]
async fn schemas_are_those_of_what_is_collected() {
    let toolbox = toolbox();
    let schema = |name: &str| {
        let tool = toolbox.get(name).unwrap();
        tool.definition().output_schema.as_ref().map(|schema| (**schema).clone())
    };
    let tailed = schema("tail").unwrap();
    assert_eq!(tailed["type"], "array");
    assert_eq!(tailed["items"]["properties"]["number"]["type"], "integer");
    assert_eq!(schema("count").unwrap()["type"], "integer");
    for name in ["entries", "spelled", "breaks", "endless"] {
        assert_eq!(schema(name).unwrap()["items"]["type"], "integer", "{name}");
    }
    for name in ["words", "lines", "begins", "named", "draws", "results"] {
        assert_eq!(schema(name), None, "{name}");
    }
    // An item has the definitions of its type at the root of the list.
    #[derive(Serialize, JsonSchema)]
    struct Tree {
        below: Vec<Self>,
    }
    /// Grows.
    #[tool]
    fn grows() -> impl Stream<Item = Tree> {
        stream::iter([Tree { below: vec![Tree { below: vec![] }] }])
    }
    let toolbox = ToolBox::from(tools![grows]);
    let schema = toolbox.get("grows").unwrap().definition().output_schema.clone().unwrap();
    let target =
        schema.pointer("/items/$ref").or(schema.pointer("/items/properties/below/items/$ref"));
    let target = target.and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    assert!(target.is_some_and(|path| schema.pointer(path).is_some()), "{schema:?}");
    let result = toolbox.call(ToolCall::new("1", "grows", "{}")).await;
    assert_eq!(result.structured_content(), Some(json!([{"below": [{"below": []}]}])));
}

/// A stream that counts its items and its ends.
fn counting(made: &Arc<AtomicUsize>, dropped: &Arc<AtomicUsize>) -> Tool {
    struct Ends(Arc<AtomicUsize>);
    impl Drop for Ends {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let (made, dropped) = (Arc::clone(made), Arc::clone(dropped));
    Tool::from_stream("counting", "Counts.", move |_: Value| {
        let (made, ends) = (Arc::clone(&made), Ends(Arc::clone(&dropped)));
        stream::iter(0..1_000_u32).map(move |at| {
            let _ends = &ends;
            made.fetch_add(1, SeqCst);
            format!("{at} ")
        })
    })
}

#[tokio::test]
async fn items_go_out_before_the_call_ends_and_a_slow_reader_slows_the_tool() {
    let (made, dropped) = (Arc::default(), Arc::default());
    let toolbox = ToolBox::from(counting(&made, &dropped));
    let (sender, mut receiver) = mpsc::channel::<OutputItem>(4);
    let context = ToolContext::new().with_outputs(sender);
    let mut running =
        std::pin::pin!(toolbox.call_in(&context, ToolCall::new("c", "counting", "{}")));
    // It waits for the reader.
    assert!(running.as_mut().now_or_never().is_none());
    assert_eq!(made.load(SeqCst), 5);
    for expected in 0..2 {
        let item = receiver.recv().await.unwrap();
        let told = (item.call_id.as_str(), item.tool.as_str(), item.index, item.text());
        assert_eq!(told, ("c", "counting", expected, format!("{expected} ")));
    }
    assert!(running.as_mut().now_or_never().is_none());
    assert_eq!(made.load(SeqCst), 7);
    // Nobody reads any longer: it goes on.
    drop(receiver);
    let result = running.await;
    assert!(result.text().starts_with("0 1 2 "), "{}", result.text().len());
    assert_eq!((made.load(SeqCst), dropped.load(SeqCst)), (1_000, 1));
}

#[tokio::test]
async fn a_dropped_call_drops_its_stream() {
    let (made, dropped) = (Arc::default(), Arc::default());
    let toolbox = ToolBox::from(counting(&made, &dropped));
    let (sender, _receiver) = mpsc::channel::<OutputItem>(1);
    let context = ToolContext::new().with_outputs(sender);
    {
        let mut running =
            std::pin::pin!(toolbox.call_in(&context, ToolCall::new("c", "counting", "{}")));
        assert!(running.as_mut().now_or_never().is_none());
    }
    assert_eq!((made.load(SeqCst), dropped.load(SeqCst)), (2, 1));
}

#[tokio::test]
async fn items_are_events_of_the_call_and_progress() {
    let (sender, mut reports) = mpsc::unbounded_channel();
    let context = ToolContext::new().with_progress(move |report| {
        let _ = sender.send((report.done, report.message.unwrap_or_default()));
    });
    let result = toolbox().call_in(&context, ToolCall::new("1", "words", r#"{"count":2}"#)).await;
    assert_eq!(result.text(), "one two ");
    drop(context);
    assert_eq!(reports.recv().await.unwrap(), (1.0, "one ".to_owned()));
    assert_eq!(reports.recv().await.unwrap(), (2.0, "two ".to_owned()));

    let model = ScriptedModel::new().calls("words", r#"{"count":3}"#).text("done");
    let agent = support::agent(&model, tools![words]);
    let mut events = agent.run("x").events();
    let mut items = Vec::new();
    while let Some(event) = events.next().await {
        if let EventKind::ToolOutput(item) = event.kind {
            items.push((item.index, item.text()));
        }
    }
    let texts = ["one ", "two ", "three "].map(str::to_owned);
    assert_eq!(items, (0..3).zip(texts).collect::<Vec<_>>());
}

/// Whatever a call goes through, its items come out, in order and before its result.
#[tokio::test]
async fn items_pass_layers_runtimes_envelopes_and_jobs() {
    /// Calls another tool in the context of its own call.
    #[tool]
    async fn outer(context: &ToolContext) -> String {
        let inner = ToolBox::from(tools![words]);
        let call = ToolCall::new("inner", "words", r#"{"count":2}"#);
        inner.call_in(context, call).await.text().into_owned()
    }
    let arguments = json!({"count": 2});
    let envelope = json!({"name": "words", "arguments": arguments});
    let on_runtime = || {
        let handle = tokio::runtime::Handle::current();
        ToolBox::builder().handler_runtime(handle).tools(tools![words]).build().unwrap()
    };
    let gateway = ToolBox::from(tools![words]);
    gateway.register(toolbox::search::Gateway::over(&gateway));
    for (name, toolbox, called, arguments) in [
        (
            "a layer",
            ToolBox::from(words::tool().layer(|next: Next| next.run())),
            "words",
            &arguments,
        ),
        ("another runtime", on_runtime(), "words", &arguments),
        ("alone", ToolBox::from(words::tool().with_max_concurrency(1)), "words", &arguments),
        ("an envelope", gateway, "toolbox_execute", &envelope),
        ("another tool", ToolBox::from(tools![outer]), "outer", &json!({})),
    ] {
        let (sender, mut items) = mpsc::channel::<OutputItem>(8);
        let context = ToolContext::new().with_outputs(sender);
        let call = ToolCall::new("c", called, arguments.to_string());
        let result = toolbox.call_in(&context, call).await;
        assert!(result.text().contains("one two "), "{name}: {}", result.text());
        for (index, text) in (0..).zip(["one ", "two "]) {
            let item = items.try_recv().unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!((&*item.tool, item.index, &*item.text()), ("words", index, text), "{name}");
        }
        assert!(items.try_recv().is_err(), "{name}");
    }
    // A job goes on after its call, and so do its items.
    let toolbox = ToolBox::from(words::tool().background());
    let (sender, mut items) = mpsc::channel::<OutputItem>(8);
    let (completed, mut completions) = mpsc::unbounded_channel();
    let context = ToolContext::new().with_outputs(sender).with_completions(completed);
    let started = toolbox.call_in(&context, ToolCall::new("c", "words", r#"{"count":1}"#)).await;
    assert!(started.is_pending());
    drop(context);
    assert_eq!(completions.recv().await.unwrap().result.text(), "one ");
    assert_eq!(items.recv().await.unwrap().text(), "one ");
    assert_eq!(items.recv().await, None);
}
