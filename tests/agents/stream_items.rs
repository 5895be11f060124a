//! Items of tools that stream are collected in one way, whether somebody takes them or not.

use std::collections::BTreeMap;

use crate::bounded::tokio;
use futures_util::stream::{self, Stream};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolbox::{Content, Tool, ToolBox, ToolCall, ToolContext, ToolResult, tool, tools};

#[derive(Debug, Clone, Serialize, JsonSchema)]
struct Point {
    x: i32,
    label: Option<String>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Color {
    Red,
    Green,
}

/// Has no schema, and is an object, a text or nothing.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Loose {
    Object {
        a: u8,
    },
    Text(&'static str),
    Nothing,
    /// Cannot be written: its keys are no text.
    Broken {
        before: u8,
        keys: BTreeMap<[u8; 2], u8>,
    },
}

fn broken() -> Loose {
    Loose::Broken { before: 1, keys: BTreeMap::from([([1, 2], 3)]) }
}

/// Declares a tool for each way of collecting the same items.
macro_rules! streams {
    (@value $item:ty) => { $item };
    (@value $item:ty, $value:ty) => { $value };
    ($($name:ident: $item:ty $(, without failures $value:ty)? = $items:expr;)*) => {
        $(mod $name {
            use super::*;

            fn count(count: u64, _: &streams!(@value $item $(, $value)?)) -> u64 {
                count + 1
            }

            /// Collects all.
            #[tool]
            fn all() -> impl Stream<Item = $item> {
                stream::iter($items)
            }

            /// Collects lines.
            #[tool(collect = "lines")]
            fn lines() -> impl Stream<Item = $item> {
                stream::iter($items)
            }

            /// Takes the last.
            #[tool(collect = "last")]
            fn last() -> impl Stream<Item = $item> {
                stream::iter($items)
            }

            /// Counts.
            #[tool(collect = count)]
            fn folded() -> impl Stream<Item = $item> {
                stream::iter($items)
            }

            pub(super) fn tools() -> Vec<Tool> {
                tools![all, lines, last, folded]
            }
        })*

        fn kinds() -> Vec<(&'static str, Vec<Tool>)> {
            vec![$((stringify!($name), $name::tools())),*]
        }
    };
}

streams! {
    numbers: u64 = [1, 20, u64::MAX];
    signed: i128 = [-1, i128::MIN];
    bools: bool = [true, false];
    floats: f64 = [0.5, 1e300];
    no_numbers: f64 = [0.5, f64::NAN, 1.0];
    texts: String = ["a", "", "b\n"].map(str::to_owned);
    borrowed: &'static str = ["a", "ü"];
    letters: char = ['a', 'ß'];
    points: Point = [Point { x: 1, label: None }, Point { x: 2, label: Some("b".to_owned()) }];
    colors: Color = [Color::Red, Color::Green];
    maybe_points: Option<Point> = [Some(Point { x: 1, label: None }), None];
    maybe_numbers: Option<u32> = [Some(1), None];
    values: Value = [json!({"a": 1}), json!([2]), json!(3)];
    mixed_values: Value = [json!({"a": 1}), json!("text"), json!([2])];
    text_values: Value = [json!("text"), json!({"a": 1})];
    loose: Loose = [Loose::Object { a: 1 }, Loose::Object { a: 2 }];
    mixed: Loose = [Loose::Object { a: 1 }, Loose::Text("text"), Loose::Nothing];
    breaking: Loose = [Loose::Object { a: 1 }, broken(), Loose::Object { a: 2 }];
    broken_first: Loose = [broken(), Loose::Object { a: 2 }];
    failing: Result<u32, String>, without failures u32 = [Ok(1), Err("gone".to_owned()), Ok(2)];
    failing_points: Result<Point, String>, without failures Point = [Ok(Point { x: 1, label: None }), Err("gone".to_owned())];
    units: () = [(), ()];
    contents: Content = [Content::text("a"), Content::image(b"\x89PNG", "image/png")];
    results: ToolResult = [ToolResult::new("a"), ToolResult::new("b").untrusted()];
    nothing: u32 = [0; 0];
}

/// What a reader of a result sees of it.
fn seen(result: &ToolResult) -> String {
    format!(
        "{:?} {:?} {:?} {:?} untrusted: {}",
        result.failure_kind(),
        result.content(),
        result.structured_content(),
        result.error_data(),
        result.is_untrusted()
    )
}

#[tokio::test]
async fn a_result_is_the_same_whether_or_not_somebody_takes_the_items() {
    let mut checked = 0;
    for (kind, tools) in kinds() {
        for tool in tools {
            let name = tool.name().to_owned();
            let toolbox = ToolBox::from(tool);
            let call = ToolCall::new("1", &name, "{}");
            let alone = toolbox.call(call.clone()).await;
            let (send, mut items) = mpsc::channel(16);
            let context = ToolContext::new().with_outputs(send);
            let shown = toolbox.call_in(&context, call).await;
            assert_eq!(seen(&alone), seen(&shown), "{kind}, {name}");
            drop(context);
            let mut out = 0;
            while items.try_recv().is_ok() {
                out += 1;
            }
            assert!(out > 0 || ["nothing", "broken_first"].contains(&kind), "{kind}, {name}");
            checked += 1;
        }
    }
    assert_eq!(checked, kinds().len() * 4);
}
