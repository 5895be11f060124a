//! The limit on the size of a result, in every form that somebody reads.

use serde::Serialize;
use serde_json::{Value, json};
use toolbox::{Content, Tool, ToolBox, ToolCall, ToolResult, tool};

use support::{Dice, now};

const TOO_LARGE: &str = "tool.result_too_large";
const MAX: &str = "`ToolBoxBuilder::max_result_bytes`";
const KEY: &str = "`\"maxResultBytes\"` in toolbox.jsonc";

/// The maximum text around the first part and its line, whatever its content.
const AROUND: usize = 400;

/// Returns what is left of a result behind a gate with a limit.
fn limited(result: ToolResult, limit: usize) -> ToolResult {
    let tool = Tool::new("big", "d").call(move |_| result.clone());
    let toolbox = ToolBox::builder().max_result_bytes(limit).tools(tool).build().unwrap();
    now(toolbox.call(ToolCall::new("1", "big", "{}")))
}

/// Returns the bytes of a value as JSON, without its escapes.
fn bytes(value: impl serde::Serialize) -> usize {
    fn plain(value: &mut Value) {
        match value {
            Value::String(text) => {
                *text =
                    text.replace(|c: char| c.is_control() && c < ' ' || c == '"' || c == '\\', "x");
            }
            Value::Array(values) => values.iter_mut().for_each(plain),
            Value::Object(fields) => fields.values_mut().for_each(plain),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value).unwrap();
    plain(&mut value);
    value.to_string().len()
}

/// Returns the bytes of each form in which a result is read.
fn forms(result: &ToolResult) -> [(&'static str, usize); 4] {
    let names: usize = result.references().iter().map(|name| name.len() + 3).sum();
    let user = result.user_text().map_or(0, bytes);
    [
        ("text", result.text().len()),
        ("parts", bytes(result.content())),
        ("result", bytes(result)),
        ("all", bytes(result.content()) + names + user),
    ]
}

#[track_caller]
fn check(what: &str, result: ToolResult, limit: usize) -> ToolResult {
    let before = forms(&result);
    let media = |result: &ToolResult| {
        let parts = result.content().iter().filter(|part| part.as_text().is_none());
        parts.cloned().collect::<Vec<_>>()
    };
    let (was_error, whole) = (result.is_error(), media(&result));
    let told = result.source().map_or(0, |_| bytes([Content::text(result.text())]));
    let after = limited(result, limit);
    if after.code() == Some(TOO_LARGE) {
        assert!(!whole.is_empty(), "{what}: only texts, which can be cut");
        let size = after.omitted_bytes();
        assert!(size > limit && bytes(&whole) + AROUND > limit, "{what}: {size} at {limit}");
        let text = after.text();
        let named = [format!("{size} bytes"), format!("limit is {limit};"), MAX.into(), KEY.into()];
        assert!(named.iter().all(|part| text.contains(part)), "{text}");
        return after;
    }
    assert_eq!(after.is_error(), was_error, "{what} at {limit}");
    if !was_error {
        assert_eq!(media(&after), whole, "{what}: no part without halves is left out");
    }
    for ((form, now), (_, was)) in forms(&after).into_iter().zip(before) {
        assert!(now <= limit + AROUND, "{what}: {now} bytes as {form} at a limit of {limit}");
        // A line in the place of an image makes the text longer, and the whole shorter; a cause
        // that is read becomes a part.
        let is_whole = form == "parts" || form == "all";
        let was = if is_whole { was.max(told) } else { was + AROUND };
        assert!(now <= was, "{what}: {was} bytes as {form} became {now} at a limit of {limit}");
    }
    let is_shorter = after.omitted_bytes() > 0;
    let all = before[3].1;
    assert!(
        is_shorter || all <= limit + AROUND,
        "{what}: {all} bytes at {limit}, and nothing said"
    );
    after
}

#[test]
fn many_parts_are_no_way_past_the_limit() {
    let limit = 256 << 10;
    let parts = |count: usize, text: &str| ToolResult::from(vec![Content::text(text); count]);
    for (what, result) in [
        ("one byte each", parts(support::size(60_000, 300_000), "x")),
        ("empty", parts(support::size(60_000, 300_000), "")),
        ("quotes", parts(3, &"\"".repeat(200_000))),
        ("control characters", parts(1, &"\u{1}".repeat(200_000))),
        (
            "images",
            ToolResult::from(vec![
                Content::image([0], "image/png");
                support::size(20_000, 100_000)
            ]),
        ),
        ("kinds of images", ToolResult::from(Content::image([0], "x".repeat(1 << 20)))),
        ("sounds", ToolResult::from(vec![Content::audio([0; 3000], "audio/wav"); 1000])),
        ("places", ToolResult::from(Content::resource_text("u".repeat(1 << 20), "a/b", ""))),
        (
            "documents",
            ToolResult::from(vec![
                Content::resource_bytes("u", "a/b", [1; 9]);
                support::size(15_000, 50_000)
            ]),
        ),
        ("for the user", ToolResult::user("é".repeat(200_000))),
        ("for the user alone", ToolResult::new("x").with_user_text("x".repeat(1 << 20))),
        ("silent", ToolResult::silent("x".repeat(1 << 20))),
        (
            "found",
            ToolResult::new("x")
                .with_references(vec!["name".to_owned(); support::size(60_000, 100_000)]),
        ),
        ("a cause", ToolResult::new("").with_error(std::io::Error::other("x".repeat(1 << 20)))),
        ("a failure", ToolResult::error("x".repeat(1 << 20))),
    ] {
        check(what, result, limit);
    }
    let kept = check("what fits", parts(1000, "x"), limit);
    assert_eq!((kept.content().len(), kept.omitted_bytes()), (1000, 0));
    let cut = check("what does not", parts(300_000, "x"), limit);
    let told: Value = serde_json::to_value(cut.content().last()).unwrap();
    let line = format!(
        "[{} bytes left out: `max_result_bytes`, the limit of a result, is {limit}]",
        cut.omitted_bytes()
    );
    assert!(told["text"].as_str().unwrap().contains(&line), "{told}");
    assert_eq!(cut.content().len() - 1 + cut.omitted_bytes(), 300_000);
}

#[test]
fn no_result_gets_longer_by_being_cut() {
    for limit in 0..160 {
        for len in [0, 1, 2, 5, 20, 60, 70, 90, 150, 300] {
            for count in [1, 2, 7] {
                let parts = vec![Content::text("x".repeat(len)); count];
                check("small", ToolResult::from(parts), limit);
            }
            check("a text", ToolResult::new("\"".repeat(len)), limit);
            check("two texts", ToolResult::user("é".repeat(len)), limit);
        }
    }
}

#[test]
fn random_results_keep_to_the_limit() {
    let mut dice = Dice(0x5eed);
    for round in 0..support::size(500, 1_500) {
        let limit = 1 << dice.below(15);
        let text = |dice: &mut Dice| {
            let unit = ["x", "\"", "\n", "\u{1}", "é", "😀", "\u{202e}", "\\"][dice.below(8)];
            let longest = 1 << dice.below(13);
            unit.repeat(dice.below(longest))
        };
        let most = 1 << dice.below(9);
        let count = dice.below(most) + 1;
        let parts = (0..count).map(|_| match dice.below(6) {
            0 => Content::image(vec![1; dice.below(600)], text(&mut dice)),
            1 => Content::audio(vec![1; dice.below(600)], "audio/wav"),
            2 => Content::resource_text(text(&mut dice), "text/plain", text(&mut dice)),
            3 => Content::resource_bytes("file:///x", "a/b", vec![1; dice.below(600)]),
            _ => Content::text(text(&mut dice)),
        });
        let mut result = ToolResult::from(parts.collect::<Vec<_>>());
        if dice.below(3) == 0 {
            result = result.with_user_text(text(&mut dice));
        }
        if dice.below(3) == 0 {
            result = result.with_references((0..dice.below(40)).map(|_| text(&mut dice)).collect());
        }
        if dice.below(3) == 0 {
            result = result.with_error(std::io::Error::other(text(&mut dice)));
        }
        if dice.below(4) == 0 {
            let failed = ToolResult::error("f").with_error(std::io::Error::other("g"));
            result = if dice.below(2) == 0 { failed } else { result };
        }
        check(&format!("round {round}"), result, limit);
    }
}

/// A return type without a declared schema.
#[derive(Serialize)]
struct Rows(Vec<String>);

/// Returns values of each kind that has no half, of at least 10 kB.
fn wholes() -> Vec<Tool> {
    /// Returns rows of a type with a schema.
    #[tool]
    fn typed() -> Vec<String> {
        vec!["row".repeat(100); 40]
    }
    /// Returns rows of a type without a schema.
    #[tool]
    fn serialized() -> Rows {
        Rows(vec!["row".repeat(100); 40])
    }
    /// Returns a map.
    #[tool]
    fn map() -> Result<std::collections::BTreeMap<String, String>, String> {
        Ok([("a".to_owned(), "row".repeat(4000))].into())
    }
    /// Returns JSON that the tool put together.
    #[tool]
    fn value() -> Option<Value> {
        Some(json!({"rows": vec!["row".repeat(100); 40]}))
    }
    /// Returns a picture.
    #[tool]
    fn picture() -> Content {
        Content::image(vec![7; 10_000], "image/png")
    }
    /// Returns a sound, which another program encoded.
    #[tool]
    fn sound() -> Result<Content, String> {
        Content::audio_base64("AAAA".repeat(3000), "audio/wav").map_err(|error| error.to_string())
    }
    /// Returns a document.
    #[tool]
    fn document() -> Vec<Content> {
        vec![
            Content::text("see"),
            Content::resource_text("file:///a", "text/plain", "x".repeat(12_000)),
        ]
    }
    /// Returns an archive.
    #[tool]
    fn archive() -> ToolResult {
        Content::resource_bytes("file:///a.zip", "application/zip", vec![0; 10_000]).into()
    }
    let raw = Tool::raw("raw", "Returns JSON as text.", json!({"type": "object"}), |_, _| async {
        format!("{{\"a\": \"{}\"}}", "x".repeat(12_000))
    });
    let raw = raw.with_output_schema(json!({"type": "object"}));
    let tools = [
        typed::tool(),
        serialized::tool(),
        map::tool(),
        value::tool(),
        picture::tool(),
        sound::tool(),
        document::tool(),
        archive::tool(),
        raw,
    ];
    tools.into()
}

#[test]
fn what_has_no_half_is_whole_or_a_failure() {
    for tool in wholes() {
        let name = tool.name().to_owned();
        let called = |limit: usize| {
            let toolbox = ToolBox::builder().max_result_bytes(limit).tools(tool.clone());
            now(toolbox.build().unwrap().call(ToolCall::new("1", name.as_str(), "{}")))
        };
        let whole = called(1 << 20);
        assert!(!whole.is_error() && whole.omitted_bytes() == 0, "{name}: {whole:?}");
        for limit in [0, 100, 9_000] {
            let refused = called(limit);
            assert_eq!(refused.code(), Some(TOO_LARGE), "{name}: {}", refused.text());
            assert_eq!(refused.call_id(), "1");
            assert!(refused.structured_content().is_none() && refused.content().len() == 1);
            let text = refused.text();
            let size = refused.omitted_bytes();
            let named =
                [format!("`{name}`"), format!("{size} bytes"), format!("limit is {limit};")];
            assert!(named.iter().all(|part| text.contains(part)), "{text}");
            assert!(text.contains(MAX) && text.contains(KEY), "{text}");
            // What the text says is enough.
            let raised = called(size);
            assert!(!raised.is_error(), "{name}: {}", raised.text());
        }
    }
}

/// A structure that a text repeats counts once, and no text is cut beside a structure that stays.
#[test]
fn a_text_and_its_structure_are_both_whole_or_not_both_there() {
    let rows = json!({"rows": (0..100).collect::<Vec<_>>()});
    let same = rows.to_string();
    let (size, log) = (same.len(), "a line\n".repeat(100));
    let image = || Content::image(vec![7; 60], "image/png");
    let of = |parts: Vec<Content>| ToolResult::from(parts).with_structured_content(rows.clone());
    for (what, result, has_schema, limit, expected) in [
        ("once", of(vec![same.clone().into()]), false, size, "whole"),
        ("in another spelling", of(vec![format!("{rows:#}").into()]), false, 3 * size, "whole"),
        ("beside a picture", of(vec![same.clone().into(), image()]), false, size + 200, "whole"),
        ("with a schema", of(vec![same.clone().into(), image()]), true, size + 200, "whole"),
        ("one byte less", of(vec![same.clone().into()]), false, size - 1, "failure"),
        ("both fit", of(vec![log.clone().into()]), false, size + log.len(), "whole"),
        ("another text", of(vec![log.clone().into()]), false, size + log.len() - 1, "no structure"),
        ("much of it", of(vec![log.clone().into()]), false, size + 1, "cut"),
        ("another, promised", of(vec![log.clone().into()]), true, size + 1, "failure"),
    ] {
        let whole = result.clone();
        let tool = Tool::new("big", "d").call(move |_| result.clone());
        let tool =
            if has_schema { tool.with_output_schema(json!({"type": "object"})) } else { tool };
        let toolbox = ToolBox::builder().max_result_bytes(limit).tools(tool).build().unwrap();
        let result = now(toolbox.call(ToolCall::new("1", "big", "{}")));
        let structure = result.structured_content();
        let got = if result.code() == Some(TOO_LARGE) {
            "failure"
        } else if result.content() != whole.content() {
            assert!(structure.is_none(), "{what}: {structure:?}");
            "cut"
        } else if structure.is_none() {
            "no structure"
        } else {
            assert_eq!((structure, result.omitted_bytes()), (Some(rows.clone()), 0), "{what}");
            "whole"
        };
        assert_eq!(got, expected, "{what}: {}", result.text());
    }
}

#[test]
fn a_failure_stays_the_failure_that_it_was() {
    let failure = ToolResult::error("the disk is full").with_user_text("x".repeat(900));
    let told = limited(failure, 100);
    assert_eq!((told.code(), &*told.text()), (Some("tool.failed"), "the disk is full"));
}

#[test]
fn media_take_their_bytes_before_texts_do() {
    let text = || Content::text("t".repeat(2000));
    let image = || Content::image(vec![7; 600], "image/png");
    for parts in [
        vec![image(), text()],
        vec![text(), image()],
        vec![text(), image(), text()],
        vec![image(), text(), image(), text(), text()],
    ] {
        let images = parts.iter().filter(|part| part.as_text().is_none()).count();
        let result = check("mixed", ToolResult::from(parts), 2000);
        assert!(!result.is_error(), "{}", result.text());
        let kept = result.content().iter().filter(|part| part.as_text().is_none()).count();
        assert_eq!((kept, result.text().matches(" bytes left out: ").count()), (images, 1));
    }
}
