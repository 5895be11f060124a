//! The commands over a journal on the command line.

use std::path::PathBuf;

use clap::Subcommand;

use crate::durable::CallState;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum JournalCommand {
    /// Read the whole journal, and check that it is whole
    Check {
        /// The file of the journal
        journal: PathBuf,
    },
    /// List calls, the oldest first
    Calls {
        /// The file of the journal
        journal: PathBuf,
        /// List calls in this state; may be given several times
        #[arg(long, value_parser = state)]
        state: Vec<CallState>,
        /// List calls whose attempts were used up
        #[arg(long)]
        dead: bool,
        /// The most calls to list
        #[arg(long, short = 'n', default_value = "100")]
        limit: usize,
    },
    /// List what each principal spent in a day or a month, the most money first
    Spending {
        /// The file of the journal
        journal: PathBuf,
        /// A month or a day in UTC, such as 2026-11 or 2026-11-29 [default: this month]
        #[arg(long, value_parser = period)]
        period: Option<String>,
    },
    /// Delete a call that has ended, or that cannot be read
    Delete {
        /// The file of the journal
        journal: PathBuf,
        /// The id of the call
        id: String,
    },
}

/// Parses the code of a state.
fn state(text: &str) -> Result<CallState, String> {
    let found = CallState::ALL.into_iter().find(|state| state.code() == text);
    found.ok_or_else(|| {
        let codes = CallState::ALL.map(CallState::code);
        format!("the states are {}", codes.join(", "))
    })
}

/// Checks the name of a month or a day.
fn period(text: &str) -> Result<String, String> {
    let has_digits = |part: &str, digits: usize| {
        part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (year, rest) = text.split_once('-').unwrap_or_default();
    let is_name = has_digits(year, 4) && rest.split('-').all(|part| has_digits(part, 2));
    let parts = rest.split('-').count();
    (is_name && parts <= 2)
        .then(|| text.to_owned())
        .ok_or_else(|| "write a month as 2026-11, or a day as 2026-11-29".to_owned())
}
