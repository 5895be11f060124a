//! Commands of other crates.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Error, FromArgMatches};

use super::arguments::ProgramLine;

/// A command of another crate that the program `toolbox` has beside its own: see
/// [`program_with`](super::program_with).
///
/// ```
/// use std::ffi::OsString;
/// use std::process::ExitCode;
/// use toolbox::cli::JoinedCommand;
///
/// fn hello(words: Vec<OsString>) -> ExitCode {
///     println!("hello {words:?}");
///     ExitCode::SUCCESS
/// }
///
/// const HELLO: JoinedCommand = JoinedCommand::new("hello", "Say hello", hello);
/// assert_eq!(HELLO.name(), "hello");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct JoinedCommand {
    name: &'static str,
    about: &'static str,
    run: fn(Vec<OsString>) -> ExitCode,
}

impl JoinedCommand {
    /// Returns a command with its name, a line for `--help`, and the function that runs it. The
    /// words begin with the name, and the function parses them itself, `--help` included.
    #[must_use]
    pub const fn new(
        name: &'static str,
        about: &'static str,
        run: fn(Vec<OsString>) -> ExitCode,
    ) -> Self {
        Self { name, about, run }
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// A command line of the program.
pub(super) enum JoinedLine {
    Own(Box<ProgramLine>),
    Joined(ExitCode),
}

/// Reads a command line, and runs it if it is one of another crate.
pub(super) fn read(words: Vec<OsString>, commands: &[JoinedCommand]) -> Result<JoinedLine, Error> {
    let named = |word: &OsString| commands.iter().find(|own| word == own.name);
    if let Some(own) = words.get(1).and_then(named) {
        return Ok(JoinedLine::Joined((own.run)(words[1..].to_vec())));
    }
    let rest = || {
        let rest = clap::Arg::new("rest").num_args(0..).hide(true);
        rest.trailing_var_arg(true).allow_hyphen_values(true)
    };
    let of = |own: &JoinedCommand| clap::Command::new(own.name).about(own.about).arg(rest());
    let mut line = ProgramLine::command().subcommands(commands.iter().map(of));
    let matches = line.try_get_matches_from_mut(words)?;
    if let Some(own) =
        matches.subcommand_name().filter(|name| commands.iter().any(|own| own.name == *name))
    {
        let message = format!("`{own}` stands before its options: write it first");
        return Err(line.error(ErrorKind::ArgumentConflict, message));
    }
    ProgramLine::from_arg_matches(&matches).map(|line| JoinedLine::Own(Box::new(line)))
}
