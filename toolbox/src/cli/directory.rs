//! What the directories of MCP servers refuse a tool for.

use crate::tool::Tool;

/// The longest name that the hosts of the directories pass to their models, in characters.
const LONGEST_NAME: usize = 64;

/// The longest description that all hosts pass on whole, in characters.
const LONGEST_DESCRIPTION: usize = 1024;

/// Returns the reasons for which a directory would refuse a tool: with corrections for a tool of
/// the program, and as facts for one of a server, whose author is somebody else.
pub(super) fn faults(tool: &Tool) -> Vec<String> {
    let definition = tool.definition();
    let is_own = tool.source().is_none();
    let mut faults = Vec::new();
    let mut fault = |fact: String, correction: &str| {
        faults.push(if is_own { format!("{fact}: {correction}") } else { fact });
    };
    let name = definition.name.as_str();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let length = name.chars().count();
    if length > LONGEST_NAME {
        fault(format!("its name has {length} characters"), "use at most 64");
    }
    if !name.chars().all(fits) {
        let fact = "its name has other characters than letters, digits, `_` and `-`";
        fault(fact.to_owned(), "use these");
    }
    let characters = definition.description.chars().count();
    if definition.description.trim().is_empty() {
        fault("it has no description".to_owned(), "write a doc comment");
    } else if characters > LONGEST_DESCRIPTION {
        let fact = format!("its description has {characters} characters");
        fault(fact, "use at most 1 024; some hosts cut what is longer");
    }
    if definition.display_title().is_none_or(|title| title.trim().is_empty()) {
        fault("it has no title".to_owned(), "give it one, as in `#[tool(title = \"..\")]`");
    }
    let hints = &definition.annotations;
    match (hints.read_only, hints.destructive) {
        (Some(true), Some(true)) => {
            let fact = "its hints say that it changes nothing and that it destroys";
            fault(fact.to_owned(), "keep the one that is true");
        }
        (Some(true), _) | (_, Some(_)) => {}
        _ => fault(
            "its hints say neither that it changes nothing nor whether it destroys".to_owned(),
            "write `read_only`, `destructive` or `destructive = false`",
        ),
    }
    faults
}
