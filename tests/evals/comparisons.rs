//! What an eval shows of descriptions: a worse one, and one that lints warn about.

use serde_json::json;
use toolbox::{Tool, ToolBox};
use toolbox_eval::{Comparison, Difference, Eval, Report, Suite};

use crate::bounded::tokio;
use crate::{WordModel, report, suite};

const TOOLS: [(&str, &str); 4] = [
    ("get_weather", "Returns the weather forecast of a city: rain, temperature, wind."),
    ("send_mail", "Sends an email message to a person."),
    ("convert_money", "Converts an amount of money between currencies at today's exchange rate."),
    ("find_flight", "Finds flights between two airports on a date."),
];

fn requests() -> Suite {
    let cases = [
        ("Will it rain in Oslo tomorrow?", "get_weather"),
        ("How strong is the wind in Bergen?", "get_weather"),
        ("Which temperature has Rome?", "get_weather"),
        ("Show the forecast for Madrid", "get_weather"),
        ("Give me the weather of Paris", "get_weather"),
        ("Rain or no rain in Kyiv?", "get_weather"),
        ("Which temperature will it be at noon?", "get_weather"),
        ("Is there rain over this city?", "get_weather"),
        ("Write an email to Ada", "send_mail"),
        ("Which exchange rate has the euro today?", "convert_money"),
        ("Are there flights to Lisbon?", "find_flight"),
    ];
    let cases: Vec<_> = cases
        .iter()
        .map(|(request, tool)| json!({"request": request, "calls": [{"name": tool}]}))
        .collect();
    suite(json!({"name": "assistant", "cases": cases}))
}

fn described(weather: &str) -> ToolBox {
    let tools = TOOLS.iter().map(|(name, description)| {
        let description = if *name == "get_weather" { weather } else { description };
        Tool::raw(
            *name,
            description,
            json!({"type": "object"}),
            |_: toolbox::call::Arguments| "done",
        )
    });
    ToolBox::from(tools.collect::<Vec<_>>())
}

async fn scored(toolbox: ToolBox) -> Report {
    report(Eval::new(requests(), WordModel).toolbox(toolbox).runs(2)).await
}

#[tokio::test]
async fn a_worse_description_is_caught() {
    let good = scored(described(TOOLS[0].1)).await;
    good.assert_passes(1.0);
    let worse = scored(described("Calls a meteo endpoint.")).await;
    let comparison = Comparison::of(&good, &worse);
    assert_eq!(comparison.difference, Difference::Worse, "{comparison}");
    assert!(comparison.to_string().ends_with("worse (p = 0.0156)"), "{comparison}");
    assert_eq!(Comparison::of(&worse, &good).difference, Difference::Better);
    assert_eq!(Comparison::of(&good, &good).difference, Difference::NotShown);
    let panic = std::panic::catch_unwind(|| worse.assert_passes(0.9)).unwrap_err();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.starts_with("the pass rate is below 90 %:\n"), "{message}");
    assert!(
        message.contains("FAIL Will it rain in Oslo tomorrow?")
            && message.contains("2 × missing_call: `get_weather` was not called"),
        "{message}"
    );
    assert!(!message.contains("Write an email"), "{message}");
}

#[tokio::test]
async fn a_tool_that_lints_warn_about_scores_worse_than_the_mended_one() {
    let (linted, mended) = (described(""), described(TOOLS[0].1));
    let warned = |toolbox: &ToolBox| {
        let lints: Vec<String> = toolbox.lints().iter().map(ToString::to_string).collect();
        lints.iter().any(|lint| lint.contains("get_weather"))
    };
    assert!(warned(&linted) && !warned(&mended), "{:?}", linted.lints());
    let comparison = Comparison::of(&scored(linted).await, &scored(mended).await);
    assert_eq!(comparison.difference, Difference::Better, "{comparison}");
}
