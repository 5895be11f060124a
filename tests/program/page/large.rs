//! Large results on the page, and the lines of a server beside its calls.

use serde_json::{Value, json};
use toolbox::mcp::{ServerConfig, Servers};
use toolbox::page::Page;
use toolbox::results::MemoryResults;
use toolbox::{Content, ToolBox, ToolResult, tool, tools};

use super::{Halves, Opened};
use crate::bounded::tokio;

fn text_of(lines: usize) -> String {
    (0..lines)
        .flat_map(|at| ["line ".to_owned(), at.to_string(), " é𝄞 of a large result\n".to_owned()])
        .collect()
}

/// Returns so many lines.
#[tool]
fn lines(count: usize) -> String {
    text_of(count)
}

/// Returns two texts and a picture.
#[tool]
fn parts(count: usize) -> ToolResult {
    let picture = Content::image(vec![1_u8, 2, 3], "image/png");
    ToolResult::from(vec![Content::text(text_of(count)), picture, Content::text("the end")])
}

/// Calls a tool of the page, and returns the lines of the answer.
async fn called(
    opened: &Opened,
    halves: &Halves,
    id: &str,
    tool: &str,
    given: &Value,
) -> Vec<Value> {
    let wanted = json!({"id": id, "tool": tool, "arguments": given.to_string()});
    let answer = opened.post("/api/calls", halves, &wanted).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert!(answer.body.len() < 400_000, "{}", answer.body.len());
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Returns all parts of a large result, and the length of the longest.
async fn all_parts(opened: &Opened, halves: &Halves, large: &Value) -> (String, usize) {
    let (mut text, mut longest) = (String::new(), 0);
    for part in 0..large["parts"].as_u64().unwrap() {
        let wanted = json!({"id": large["id"], "part": part});
        let answer = opened.post("/api/result", halves, &wanted).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let part = answer.json()["text"].as_str().unwrap().to_owned();
        longest = longest.max(part.len());
        text.push_str(&part);
    }
    (text, longest)
}

#[tokio::test]
async fn a_large_result_is_had_part_by_part_and_whole() {
    let builder = || ToolBox::builder().tools(tools![lines, parts]);
    let boxes = [
        // It is passed on whole, or kept by the box.
        builder().max_result_bytes(16 << 20).build().unwrap(),
        builder().keep_results(MemoryResults::new()).build().unwrap(),
    ];
    for (at, toolbox) in boxes.into_iter().enumerate() {
        let page = Page::new(toolbox).max_requests_per_second(1000);
        let opened = Opened::new(page).await;
        let (halves, other) = (opened.enter().await, opened.enter().await);
        let both = [
            ("lines", 150_000, text_of(150_000)),
            ("parts", 20_000, format!("{}\nthe end", text_of(20_000))),
        ];
        for (tool, count, whole) in both {
            let answer = called(&opened, &halves, tool, tool, &json!({"count": count})).await;
            let result = &answer.last().unwrap()["result"];
            let large = &result["large"];
            assert_eq!(large["bytes"], whole.len(), "{at} {tool}");
            let (text, longest) = all_parts(&opened, &halves, large).await;
            assert!(
                text == whole && longest < (64 << 10) + 4,
                "{at} {tool} {} {longest}",
                text.len()
            );
            let id = json!({"id": large["id"]});
            let all = opened.post("/api/result/whole", &halves, &id).await;
            assert!(all.body == whole, "{at} {tool} {}", all.body.len());
            assert!(all.head.contains("content-type: text/plain"), "{}", all.head);
            assert!(all.head.contains("content-disposition: attachment"), "{}", all.head);
            // Another session has none of it, and there is nothing behind its end.
            for path in ["/api/result", "/api/result/whole"] {
                assert_eq!(opened.post(path, &other, &id).await.status, 410);
            }
            for part in [large["parts"].clone(), u64::MAX.into()] {
                let wanted = json!({"id": large["id"], "part": part});
                let behind = opened.post("/api/result", &halves, &wanted).await;
                assert_eq!(behind.json()["text"], "");
            }
            if tool == "parts" {
                let content = result["content"].as_array().unwrap();
                assert!(content.iter().any(|part| part["type"] == "image"), "{at}");
            }
        }
        let small = called(&opened, &halves, "small", "lines", &json!({"count": 3})).await;
        let small = &small.last().unwrap()["result"];
        assert!(small["large"].is_null() && small["content"][0]["text"] == text_of(3), "{small}");
        opened.stop().await;
    }
}

#[tokio::test]
async fn the_oldest_results_make_room_for_later_ones() {
    let toolbox =
        ToolBox::builder().tools(tools![lines]).max_result_bytes(64 << 20).build().unwrap();
    let opened = Opened::new(Page::new(toolbox)).await;
    let halves = opened.enter().await;
    // Two are more than is kept.
    for id in ["first", "second"] {
        called(&opened, &halves, id, "lines", &json!({"count": 1_000_000})).await;
    }
    let part = async |id: &str| opened.post("/api/result", &halves, &json!({"id": id})).await;
    assert_eq!(part("first").await.status, 410);
    assert_eq!(part("second").await.status, 200);
    opened.stop().await;
}

#[tokio::test]
async fn what_a_server_prints_and_logs_stands_beside_its_call() {
    let config = ServerConfig::command(crate::program("misbehaving"))
        .args(["list", "few", "only", "logs,echo"])
        .env("SECRET", "word-of-secrets");
    let toolbox = ToolBox::new();
    let servers = Servers::builder().server("s", config).mount(&toolbox).await.unwrap();
    let opened = Opened::new(Page::new(toolbox).servers(servers.clone(), false)).await;
    let halves = opened.enter().await;
    let lines = |answer: &[Value]| -> Vec<Value> {
        answer
            .iter()
            .flat_map(|line| line["lines"].as_array().cloned().unwrap_or_default())
            .collect()
    };
    for (id, given) in [("at once", json!({})), ("later", json!({"millis": 1000}))] {
        let answer = called(&opened, &halves, id, "s_logs", &given).await;
        if id == "later" {
            assert!(answer[0]["lines"][0].is_object(), "they come while it runs: {answer:?}");
        }
        let mut lines = lines(&answer);
        lines.sort_by_key(|line| line["level"].is_string());
        let expected = json!([
            {"level": null, "logger": null, "text": "reading <b>red</b> with $SECRET"},
            {"level": null, "logger": null, "text": "last"},
            {"level": "warning", "logger": "disk", "text": "slow, key $SECRET"},
            {"level": "info", "logger": null, "text": r#"{"free":7}"#},
            {"level": "info", "logger": null, "text": "odd"},
        ]);
        assert_eq!(Value::from(lines), expected, "{id}");
    }
    let silent = called(&opened, &halves, "silent", "s_echo", &json!({})).await;
    assert_eq!(lines(&silent), Vec::<Value>::new());
    opened.stop().await;
    servers.close().await;
}
