//! The engine that runs scripts, as the rest of the crate knows it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::host::Host;
use crate::limits::Limits;

/// Runs scripts of one language.
///
/// An engine must be deterministic: with the same script, and the same results of its calls, a
/// script makes the same calls in the same order. It reads no clock, no randomness, no files and no
/// network.
pub trait Engine: Send + Sync + 'static {
    /// Returns the name of the language, for the description of the tool.
    fn language(&self) -> &str;

    /// Runs a script to its end, on a thread of its own. It asks
    /// [`Host::is_over`] again and again, and ends soon once that is `true`. Returns the JSON of its
    /// value.
    ///
    /// # Errors
    ///
    /// [`ScriptError`], if the script cannot be read, fails or is stopped.
    fn run(&self, script: &Script, limits: &Limits, host: Host) -> Result<String, ScriptError>;

    /// Checks that a script can be read, and runs nothing. Default: it can.
    ///
    /// # Errors
    ///
    /// [`ScriptError`] with the line of the fault.
    fn check(&self, script: &str, limits: &Limits) -> Result<(), ScriptError> {
        let _ = (script, limits);
        Ok(())
    }
}

/// A script, with what it has in place of a clock and of randomness.
///
/// It is the first message of the script's transcript, and so a part of a paused run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Script {
    /// The text of the script.
    pub script: String,
    /// The time that the script reads, in milliseconds since 1970.
    pub time: i64,
    /// The number that its random numbers begin with.
    pub seed: u32,
    /// The JSON of the arguments of a kept script, which it has as `input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
}

/// The reason why a script has no value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ScriptError {
    /// The error as its language writes it, such as `TypeError: x is not a function`.
    pub message: String,
    /// The line of the script, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The code of a failure that is none of the script, such as `script.process_ended`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl ScriptError {
    /// Returns an error without a line.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// Returns the error with a code.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Returns the error at a line of the script, from 1.
    #[must_use]
    pub fn at_line(mut self, line: Option<u32>) -> Self {
        self.line = line;
        self
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        f.write_str(&self.message)?;
        self.code.as_ref().map_or(Ok(()), |code| write!(f, " ({code})"))
    }
}

impl std::error::Error for ScriptError {}
