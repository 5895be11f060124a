//! Arguments of other crates' types: the schema that the model is told, what it may give, and what
//! it is told otherwise.

#![allow(
    clippy::items_after_statements,
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    reason = "the tools under test take and stand where those of users do"
)]

use serde_json::{Value, json};
use toolbox::{Tool, ToolBox, ToolCall, tool};

async fn call(tool: &Tool, value: &Value) -> (bool, String) {
    let arguments = json!({ "value": value }).to_string();
    let result = ToolBox::from(tool.clone()).call(ToolCall::new("1", tool.name(), arguments)).await;
    (result.is_error(), result.text().into_owned())
}

/// A type: its tool, part of its schema, a value with what it shows, and a value that is refused.
struct Case {
    tool: Tool,
    schema: Value,
    given: Value,
    shown: &'static str,
    wrong: Value,
}

macro_rules! cases {
    ($($name:ident: $type:ty, $schema:tt, $given:tt => $shown:literal, $wrong:tt;)*) => {
        vec![$({
            /// Shows a value.
            #[tool]
            fn $name(value: $type) -> String {
                format!("{value:?}")
            }
            Case {
                tool: $name::tool(),
                schema: json!($schema),
                given: json!($given),
                shown: $shown,
                wrong: json!($wrong),
            }
        }),*]
    };
}

/// A type around one of a crate that schemars has no feature for.
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
#[allow(dead_code, reason = "shown by `Debug`")]
struct Moment(
    #[serde(with = "time::serde::rfc3339")]
    #[schemars(with = "String")]
    time::OffsetDateTime,
);

#[tokio::test]
async fn the_types_of_other_crates_are_arguments_with_the_features_for_them() {
    let cases = cases! {
        date_time: chrono::DateTime<chrono::Utc>, {"type": "string", "format": "date-time"},
            "2026-11-22T10:00:00Z" => "2026-11-22T10:00:00Z", "tomorrow";
        naive_date: chrono::NaiveDate, {"type": "string", "format": "date"},
            "2026-11-22" => "2026-11-22", "22.11.2026";
        optional_date: Option<chrono::NaiveDate>, {"format": "date"},
            "2026-11-22" => "Some(2026-11-22)", "2026-13-01";
        timestamp: jiff::Timestamp, {"type": "string", "format": "date-time"},
            "2026-11-22T10:00:00Z" => "2026-11-22T10:00:00Z", "noon";
        civil_date: jiff::civil::Date, {"type": "string", "format": "date"},
            "2026-11-22" => "2026-11-22", 20_261_122;
        span: jiff::Span, {"type": "string"}, "PT2h" => "2h", "a while";
        an_id: uuid::Uuid, {"type": "string", "format": "uuid"},
            "67e55044-10b1-426f-9247-bb680e5fe0c8" => "67e55044-10b1-426f-9247-bb680e5fe0c8", "67e55044";
        uuids: Vec<uuid::Uuid>, {"type": "array"},
            ["67e55044-10b1-426f-9247-bb680e5fe0c8"] => "[67e55044-10b1-426f-9247-bb680e5fe0c8]", ["x"];
        decimal: rust_decimal::Decimal, {}, "1.50" => "1.50", "much";
        decimal_number: rust_decimal::Decimal, {}, 1.5 => "1.5", [1];
        big_number: bigdecimal::BigDecimal, {}, 3 => "BigDecimal(sign=Plus, scale=0, digits=[3])", {};
        version: semver::Version, {"type": "string"}, "1.2.3" => "Version { major: 1, minor: 2, patch: 3 }", "one";
        few: smallvec::SmallVec<[u32; 4]>, {"type": "array"}, [1, 2] => "[1, 2]", ["a"];
        big: bigdecimal::BigDecimal, {}, "1.5" => "BigDecimal(sign=Plus, scale=1, digits=[15])", "much";
        moment: Moment, {"type": "string"},
            "2026-11-22T10:00:00Z" => "Moment(2026-11-22 10:00:00.0 +00:00:00)", "tomorrow";
    };
    for Case { tool, schema, given, shown, wrong } in cases {
        let name = tool.name().to_owned();
        let own = &tool.definition().input_schema["properties"]["value"];
        for (keyword, value) in schema.as_object().expect("part of a schema") {
            assert_eq!(&own[keyword], value, "{name}: {own}");
        }
        assert_eq!(call(&tool, &given).await, (false, shown.to_owned()), "{name}");
        let (refused, text) = call(&tool, &wrong).await;
        assert!(refused && text.contains("value"), "{name}: {text}");
    }
}

#[tokio::test]
async fn the_same_types_are_results_and_text_is_text() {
    /// Returns it.
    #[tool]
    fn link(value: url::Url) -> url::Url {
        value
    }
    let tool = link::tool();
    assert_eq!(tool.definition().input_schema["properties"]["value"]["format"], json!("uri"));
    assert_eq!(tool.definition().output_schema, None);
    let given = json!("https://example.com/a?b=c");
    assert_eq!(call(&tool, &given).await, (false, "https://example.com/a?b=c".to_owned()));
    assert!(call(&tool, &json!("no link")).await.0);

    /// Returns it.
    #[tool]
    fn id(value: Option<uuid::Uuid>) -> Option<uuid::Uuid> {
        value
    }
    let given = json!("67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert_eq!(call(&id::tool(), &given).await.1, "67e55044-10b1-426f-9247-bb680e5fe0c8");

    /// Returns it.
    #[tool]
    fn day(value: &chrono::NaiveDate) -> chrono::NaiveDate {
        *value
    }
    assert_eq!(call(&day::tool(), &json!("2026-11-22")).await.1, "2026-11-22");

    /// Returns how many bytes there are.
    #[tool]
    fn count(value: bytes::Bytes) -> usize {
        value.len()
    }
    assert_eq!(call(&count::tool(), &json!([1, 2, 3])).await.1, "3");

    /// Shows a number or a text.
    #[tool]
    fn one_of(value: either::Either<u32, String>) -> String {
        value.to_string()
    }
    assert_eq!(call(&one_of::tool(), &json!({"Left": 3})).await.1, "3");
}
