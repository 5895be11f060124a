//! How do I refuse arguments by rules that no schema says?
//!
//! `check` names a function: of one argument, or over several. What it refuses stands in the list
//! of faults that the model reads, and the tool does not run.
//!
//! `cargo run -p toolbox-basics --example checks`

#![allow(clippy::print_stdout, clippy::trivially_copy_pass_by_ref, reason = "an example")]

use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::call::Violations;
use toolbox::{ToolBox, ToolCall, tool, tools};

/// A dish of an order.
#[derive(Deserialize, JsonSchema)]
struct Dish {
    name: String,
    pieces: u32,
}

/// Refuses dishes that are not on the menu, each at its place.
fn on_the_menu(dishes: &[Dish]) -> Result<(), Violations> {
    let unknown = dishes.iter().enumerate().filter(|(_, dish)| dish.name != "soup");
    unknown
        .fold(Violations::new(), |all, (at, _)| {
            all.at(format!("[{at}].name"), "is not on the menu")
        })
        .into_result()
}

fn enough_for_all(guests: &u32, dishes: &[Dish]) -> Result<(), String> {
    let pieces: u32 = dishes.iter().map(|dish| dish.pieces).sum();
    if pieces >= *guests {
        Ok(())
    } else {
        Err(format!("{pieces} dishes are too few for {guests}"))
    }
}

/// Orders dishes.
#[tool(check = enough_for_all(guests, dishes))]
fn order(
    /// How many eat
    guests: u32,
    #[arg(check = on_the_menu)] dishes: &[Dish],
) -> String {
    format!("{} kinds of dishes for {guests}", dishes.len())
}

#[tokio::main]
async fn main() {
    let toolbox = ToolBox::from(tools![order]);
    for arguments in [
        r#"{"guests":2,"dishes":[{"name":"soup","pieces":2}]}"#,
        r#"{"guests":9,"dishes":[{"name":"soup","pieces":2},{"name":"stone","pieces":1}]}"#,
    ] {
        let result = toolbox.call(ToolCall::new("1", "order", arguments)).await;
        println!("{}", result.text());
    }
}
