//! The rule for names of tools.

use std::fmt;

/// The longest name of a tool, in bytes. Providers that allow fewer get a shortened alias.
pub const MAX_NAME_LEN: usize = 128;

/// The error of a name that cannot be a tool's name.
///
/// Names hold 1 to 128 of the characters `A-Z a-z 0-9 _ . -` and start with a letter or `_`; names
/// that a provider would refuse for its length or its dots are lowered to an alias for that
/// provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidNameError {
    /// The name is empty.
    Empty,
    /// The name is longer than [`MAX_NAME_LEN`] bytes.
    TooLong {
        /// The length of the name, in bytes.
        len: usize,
    },
    /// The name holds a character that no provider takes.
    Character {
        /// The name as given.
        name: String,
        /// The first such character.
        character: char,
    },
}

impl fmt::Display for InvalidNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("a tool name cannot be empty"),
            Self::TooLong { len } => {
                write!(f, "a tool name of {len} bytes is longer than {MAX_NAME_LEN}")
            }
            Self::Character { name, character } => write!(
                f,
                "tool name {name:?} contains {character:?}; use letters, digits, `_`, `-` and `.`, and start with a letter or `_`"
            ),
        }
    }
}

impl std::error::Error for InvalidNameError {}

/// Checks a tool name against the rule that [`InvalidNameError`] states.
///
/// # Errors
///
/// [`InvalidNameError`] names the part of the rule that the name breaks.
pub fn check_name(name: &str) -> Result<(), InvalidNameError> {
    if name.is_empty() {
        return Err(InvalidNameError::Empty);
    }
    if name.len() > MAX_NAME_LEN {
        return Err(InvalidNameError::TooLong { len: name.len() });
    }
    let fault = name.char_indices().find(|&(at, c)| {
        !(c.is_ascii_alphabetic()
            || c == '_'
            || (at > 0 && (c.is_ascii_digit() || c == '-' || c == '.')))
    });
    match fault {
        None => Ok(()),
        Some((_, character)) => {
            Err(InvalidNameError::Character { name: name.to_owned(), character })
        }
    }
}
