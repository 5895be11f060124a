//! Which changes of a tool break those who call it?
//!
//! `cargo run -p toolbox-examples --example contract`. In a test, one line does all of it:
//! `toolbox::testing::contract(&toolbox, "tests/tools.json")`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use schemars::JsonSchema;
use serde::Serialize;
use toolbox::contract::{ChangeKind, Contract};
use toolbox::{ToolBox, tool, tools};

/// The tools of the last release.
mod released {
    use super::{JsonSchema, Serialize, tool};

    #[derive(Serialize, JsonSchema)]
    pub(super) struct Town {
        name: String,
        people: u32,
    }

    /// Finds a town.
    #[tool(read_only)]
    pub(super) fn find(
        name: String,
        #[arg(range = 1..=50, default = 10)] limit: u32,
    ) -> Vec<String> {
        vec![name; limit as usize]
    }

    /// Describes a town.
    #[tool]
    pub(super) fn describe(name: String) -> Town {
        Town { name, people: 0 }
    }
}

#[derive(Serialize, JsonSchema)]
struct Town {
    name: String,
    people: Option<u32>,
    country: String,
}

/// Finds towns.
#[tool]
fn find(
    name: &str,
    country: &str,
    #[arg(range = 1..=20, default = 10)] limit: u32,
    language: Option<String>,
) -> Vec<String> {
    let language = language.unwrap_or_default();
    vec![format!("{name}, {country} {language}"); limit as usize]
}

/// Describes a town.
#[tool]
fn describe(name: String) -> Town {
    Town { name, people: None, country: "France".to_owned() }
}

fn main() {
    let old = Contract::of(&ToolBox::from(tools![released::find, released::describe]));
    let new = Contract::of(&ToolBox::from(tools![find, describe]));
    println!("{new}");
    let changes = new.changes_since(&old);
    for change in &changes {
        let place = change.old_line.map(|line| format!(" (line {line})")).unwrap_or_default();
        println!("{change}{place}");
    }
    let breaking = changes.iter().filter(|change| change.kind == ChangeKind::Breaking).count();
    println!("{breaking} changes break callers");
}
