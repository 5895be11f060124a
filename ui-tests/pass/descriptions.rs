//! Sources of descriptions.
use toolbox::{Tool, tool};

const _: () = ();

#[doc = include_str!("../doc/search.md")]
#[tool]
fn included() {}

#[doc = concat!(" Searches the documentation of ", "toolbox", ".")]
///
/// In two parts.
#[tool]
fn joined(#[doc = concat!("Words ", "to look for")] query: &str) -> usize {
    query.len()
}

/** Searches.

    In a block. */
#[tool]
fn block() {}

/// Searches, says the doc comment.
#[tool(description = "Searches, says the option.")]
fn option() {}

/// Searches.
///
/// # Arguments
///
/// * `query` - words to look for,
///   on two lines
/// - `limit`: how many hits
///
/// # Errors
///
/// None.
#[tool]
fn listed(query: &str, limit: u32) -> usize {
    query.len() + limit as usize
}

fn argument(tool: &Tool, name: &str) -> String {
    tool.definition().input_schema["properties"][name]["description"].as_str().unwrap().to_owned()
}

fn main() {
    assert_eq!(included::tool().description(), "Searches the documentation.\n\nFrom a file.");
    let tool = joined::tool();
    assert_eq!(
        tool.description(),
        "Searches the documentation of toolbox.\n\nIn two parts."
    );
    assert_eq!(argument(&tool, "query"), "Words to look for");
    assert!(block::tool().description().starts_with("Searches."));
    assert_eq!(option::tool().description(), "Searches, says the option.");
    let tool = listed::tool();
    assert!(!tool.description().contains("limit"));
    assert_eq!(argument(&tool, "query"), "words to look for, on two lines");
    assert_eq!(argument(&tool, "limit"), "how many hits");
}
