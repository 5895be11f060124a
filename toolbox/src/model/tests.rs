use super::*;
use crate::call::{Content, ToolCall, ToolResult};

fn call(id: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, "add", arguments)
}

fn open(history: History, calls: Vec<ToolCall>) -> Unanswered {
    match history.reply(Reply::calls(calls)) {
        Replied::Calls(open) => open,
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_find_their_calls_by_id_or_by_place() {
    let named = ToolResult::new("second").with_call_id("b".into());
    let stray = ToolResult::new("stray").with_call_id("z".into());
    let history =
        open(History::from("go"), vec![call("a", "{}"), call("b", "{}"), call("c", "{}")])
            .answer([stray, named, ToolResult::new("first")]);
    let step = history.steps().next().unwrap();
    let told: Vec<_> =
        step.calls().map(|(call, result)| (call.id.as_str(), result.text().into_owned())).collect();
    assert_eq!(
        told,
        [
            ("a", "first".into()),
            ("b", "second".into()),
            ("c", "no result: the run ended before tool `add` answered".into())
        ]
    );
    assert_eq!(step.results()[0].call_id(), "a");
}

#[test]
fn ids_are_unique_in_a_whole_transcript() {
    let history = open(History::from("go"), vec![call("a", "{}"), call("a", "{}"), call("", "{}")])
        .answer([]);
    let history = open(history, vec![call("a", "{}"), call("a b\n", "{}")]).answer([]);
    let ids: Vec<&str> =
        history.steps().flat_map(|s| s.reply().tool_calls()).map(|c| c.id.as_str()).collect();
    assert_eq!(ids.len(), ids.iter().collect::<std::collections::HashSet<_>>().len(), "{ids:?}");
    assert!(ids.iter().all(|id| id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')));
}

#[test]
fn the_ids_of_a_changed_transcript_are_those_that_it_has() {
    let step = |history, id| open(history, vec![call(id, "{}")]).answer([]);
    let ids = |history: &History| -> Vec<String> {
        let ids = history.steps().flat_map(Step::calls).map(|(call, _)| call.id.clone());
        ids.map(|id| if id.len() > 1 { format!("{}*", &id[..1]) } else { id }).collect()
    };
    let history = ["a", "b", "c", "d"].into_iter().fold(History::from("go"), step);
    // (the messages taken out, the ids of the next replies, all ids then: one with a star is new)
    let cases: [(_, &[&str], &[&str]); 4] = [
        (0..0, &["d", "e"], &["a", "b", "c", "d", "d*", "e"]),
        (1..2, &["a", "b"], &["b", "c", "d", "a", "b*"]),
        (0..4, &["d", "a", "a"], &["d", "d*", "a", "a*"]),
        (0..5, &["d"], &["d"]),
    ];
    for (removed, next, has) in cases {
        let mut edited = history.clone();
        edited.remove(removed.clone());
        edited.insert_user(0, "and then");
        let edited = next.iter().copied().fold(edited, step);
        assert_eq!(ids(&edited), has, "{removed:?} {next:?}");
    }
    #[cfg(feature = "openai")]
    {
        let short = history.with_short_call_ids();
        let id = short.steps().flat_map(Step::calls).next().unwrap().0.id.clone();
        let twice = step(short, &id);
        let calls = twice.steps().flat_map(Step::calls);
        assert_eq!(calls.filter(|(call, _)| call.id == id).count(), 1);
    }
}

#[test]
fn j31_arguments_in_a_transcript_are_always_an_object() {
    let deep = "[".repeat(100_000);
    let cases = [
        ("", "{}"),
        (" null ", "{}"),
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{"a":"}{\"["}"#, r#"{"a":"}{\"["}"#),
        (r#"{"a":"#, r#"{"malformed_arguments":"{\"a\":"}"#),
        (r#"{"a":"\ud800"}"#, r#"{"malformed_arguments":"{\"a\":\"\\ud800\"}"}"#),
        (r#"{"a":"\ud83d\ude00"}"#, r#"{"a":"\ud83d\ude00"}"#),
        (r#"{"a":1e999}"#, r#"{"malformed_arguments":"{\"a\":1e999}"}"#),
        (r#"{"a":1e9}"#, r#"{"a":1e9}"#),
        ("[1]", r#"{"malformed_arguments":"[1]"}"#),
    ];
    for (written, kept) in cases {
        let open = open(History::from("go"), vec![call("a", written)]);
        // What is to be called is as it was written, so that the box can say what is wrong.
        assert_eq!(open.calls().next().unwrap().arguments.as_str(), written);
        assert_eq!(arguments(&open.answer([])), kept, "{written}");
    }
    let open = open(History::from("go"), vec![call("a", &format!("{{\"a\":{deep}"))]);
    assert!(arguments(&open.answer([])).len() < 1100);
}

/// The arguments of the first call.
fn arguments(history: &History) -> &str {
    history.steps().next().unwrap().reply().tool_calls().next().unwrap().arguments.as_str()
}

#[test]
fn a_long_transcript_is_read_in_a_time_that_grows_with_it() {
    // With ids compared anew for each reply, this would take minutes.
    let steps = (0..3000).map(|step| {
        let calls = (0..17).map(move |at| call(&format!("c{step}_{at}"), "{}"));
        FoundMessage::Reply(Reply::calls(calls))
    });
    let (history, _) = History::repaired(steps);
    let mut twice = history.clone();
    twice.append(history);
    assert_eq!(twice.len(), 6000);
}

#[test]
fn a_reply_that_was_cut_off_has_its_calls_answered() {
    for finish in [Finish::Length, Finish::Refusal, Finish::MalformedCall] {
        let reply = Reply::calls([call("a", "{}")]).with_finish(finish);
        let Replied::CutOff(history) = History::from("go").reply(reply) else { panic!() };
        let step = history.steps().next().unwrap();
        assert!(step.results()[0].is_error());
        assert!(step.results()[0].text().starts_with("not run: "));
    }
}

#[test]
fn a_transcript_reads_back_as_it_was_written() {
    let mut history =
        History::from(vec![Content::text("see"), Content::image(b"png", "image/png")]);
    history.push_user("and go");
    let mut reply = Reply::calls([call("a", r#"{"a": 1.0e2}"#), call("b", "{}"), call("c", "{}")]);
    reply.parts.insert(
        0,
        Part::Reasoning {
            text: "hm".into(),
            echo: Some(Echo::new(crate::dialect::Dialect::Anthropic, serde_json::json!({"x": 1}))),
        },
    );
    let Replied::Calls(open) = history.reply(reply) else { panic!() };
    let text = serde_json::to_string(&open).unwrap();
    assert_eq!(serde_json::from_str::<Unanswered>(&text).unwrap(), open);
    let history = open.answer([
        ToolResult::from(vec![Content::text("x"), Content::audio(b"x", "audio/wav")]),
        ToolResult::failure(crate::call::FailureKind::TimedOut, "late").with_user_text("oh"),
        ToolResult::structured("[1]".into()),
    ]);
    let Replied::Answer(history) = history.reply(Reply::text("done")) else { panic!() };
    let text = serde_json::to_string(&history).unwrap();
    let read: History = serde_json::from_str(&text).unwrap();
    assert_eq!(read, history);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[test]
fn found_transcripts_are_mended() {
    let result = |id: &str| FoundMessage::Result {
        call_id: id.into(),
        result: ToolResult::new(format!("of {id}")),
    };
    let (history, repairs) = History::repaired([
        result("z"),
        FoundMessage::Reply(Reply::calls([call("a", "{}"), call("b", "{}"), call("a", "{}")])),
        FoundMessage::User(vec![Content::text("between")]),
        result("a"),
        result("a"),
        result("a"),
        FoundMessage::Reply(Reply::text("")),
        result("b"),
    ]);
    let step = history.steps().next().unwrap();
    let told: Vec<_> = step.results().iter().map(|r| r.text().into_owned()).collect();
    assert_eq!(told, ["of a", "no result: the run ended before tool `add` answered", "of a"]);
    assert!(matches!(history.messages()[1], Message::User(_)));
    let repairs: Vec<String> = repairs.iter().map(ToString::to_string).collect();
    assert_eq!(repairs.len(), 6, "{repairs:?}");
}
