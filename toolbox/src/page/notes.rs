//! What a definition lacks, told to who can mend it.

use crate::definition::Lint;
use crate::tool::Tool;

/// Returns the gaps in a tool's descriptions: with corrections for a tool of the program, and as
/// facts for one of a server, whose author is somebody else.
pub(crate) fn notes(tool: &Tool) -> Vec<String> {
    let lints = tool.definition().lints();
    if tool.source().is_none() {
        return lints.iter().map(ToString::to_string).collect();
    }
    let mut notes = Vec::new();
    let mut silent = Vec::new();
    for lint in &lints {
        match lint {
            Lint::UndescribedArgument { argument, .. } => silent.push(format!("`{argument}`")),
            Lint::ShortDescription { description, .. } => {
                notes.push(format!("its whole description is {description:?}"));
            }
            Lint::LongDescription { argument, characters, .. } => {
                let whose = match argument {
                    Some(argument) => format!("the description of `{argument}`"),
                    None => "its description".to_owned(),
                };
                notes.push(format!("{whose} has {characters} characters"));
            }
            Lint::Deprecated { argument, value, note, .. } => {
                let value = value.as_ref().map(|value| format!("value `{value}` of "));
                let whose = match argument {
                    Some(argument) => {
                        format!("{}argument `{argument}`", value.unwrap_or_default())
                    }
                    None => "it".to_owned(),
                };
                let note = if note.is_empty() { String::new() } else { format!(": {note}") };
                notes.push(format!("{whose} is deprecated{note}"));
            }
        }
    }
    if !silent.is_empty() {
        notes.push(format!("there is no description of the arguments {}", silent.join(", ")));
    }
    notes
}
