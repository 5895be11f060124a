//! Reports as text, JSON, `JUnit` and a page.

use serde_json::json;
use toolbox_eval::{Eval, Report};

use crate::bounded::tokio;
use crate::{calling, report, suite, toolbox};

/// A report with one case that passes and one that fails, whose texts are hostile.
async fn hostile() -> Report {
    let name = "a <b> & \"c\" 'd' \u{1b}[31m ]]> \u{202e}";
    let suite = suite(json!({"name": "s & <t>", "pass_at": 0.5, "cases": [
        {"name": "good", "request": "go", "answer": {"contains": "done"}},
        {"name": name, "request": "<script>alert(1)</script>", "calls": [{"name": "a", "arguments": {"x": "\u{7}<y>\n"}}]},
    ]}));
    let model = calling(&[], "done <img src=x>");
    report(Eval::new(suite, model).toolbox(toolbox(&["a"]))).await
}

#[tokio::test]
async fn junit_is_xml_with_a_test_for_each_case() {
    let report = hostile().await;
    let xml = report.to_junit();
    let document = roxmltree::Document::parse(&xml).unwrap();
    let all = |tag: &'static str| {
        document.descendants().filter(move |node| node.has_tag_name(tag)).collect::<Vec<_>>()
    };
    let suite = all("testsuite")[0];
    assert_eq!(suite.attribute("name"), Some("s & <t>"));
    assert_eq!((suite.attribute("tests"), suite.attribute("failures")), (Some("2"), Some("1")));
    let cases = all("testcase");
    assert_eq!(cases.len(), 2);
    assert_eq!(cases[0].attribute("name"), Some("good"));
    assert_eq!(cases[0].children().count(), 0);
    assert_eq!(cases[1].attribute("name"), Some("a <b> & \"c\" 'd' \u{fffd}[31m ]]> \u{202e}"));
    let failure = all("failure")[0];
    assert_eq!(failure.attribute("type"), Some("missing_call"));
    assert!(failure.text().unwrap().contains("`a` was not called"), "{xml}");
}

#[tokio::test]
async fn a_page_holds_texts_and_no_markup_of_them() {
    let page = hostile().await.to_page();
    for part in ["<script", "<img", "<b> &", "http://", "https://"] {
        assert!(!page.contains(part), "{part} in {page}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{page}");
    assert!(
        page.contains("default-src 'none'") && page.contains("1 of 2 runs pass, 50 %"),
        "{page}"
    );
}

#[tokio::test]
async fn a_text_shows_no_character_that_a_terminal_acts_on() {
    let text = hostile().await.to_string();
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
    assert!(text.starts_with("ok   good: 1 of 1 runs pass, 100 % (21 to 100 %)\n"), "{text}");
    assert!(text.ends_with("1 of 2 runs pass, 50 % (9 to 90.5 %); it passes at 50 %"), "{text}");
}

#[tokio::test]
async fn a_report_reads_back_as_it_was_written() {
    let report = hostile().await;
    let read = Report::parse(&report.to_json()).unwrap();
    assert_eq!(read.to_json(), report.to_json());
    let mut value: serde_json::Value = serde_json::from_str(&report.to_json()).unwrap();
    value["toolbox_eval"] = 2.into();
    for (text, expected) in [
        (value.to_string(), "it is of version 2, not 1"),
        ("{}".to_owned(), "missing field"),
        ("{\"a\": 1}".to_owned(), "unknown field `a`"),
        (String::new(), "EOF"),
    ] {
        let error = Report::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected) && error.starts_with("this is no report"), "{error}");
    }
}
