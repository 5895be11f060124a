//! Commands of other crates.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command, Error};

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

/// Runs a command line that begins with a command of another crate.
pub(super) fn run(words: &[OsString], commands: &[JoinedCommand]) -> Option<ExitCode> {
    let named = |word: &OsString| commands.iter().find(|own| word == own.name);
    words.get(1).and_then(named).map(|own| (own.run)(words[1..].to_vec()))
}

/// Reads a command line of the program, whose `--help` names the commands of other crates too.
pub(super) fn read(
    command: Command,
    words: &[OsString],
    commands: &[JoinedCommand],
) -> Result<ArgMatches, Error> {
    let rest = || {
        let rest = clap::Arg::new("rest").num_args(0..).hide(true);
        rest.trailing_var_arg(true).allow_hyphen_values(true)
    };
    let of = |own: &JoinedCommand| Command::new(own.name).about(own.about).arg(rest());
    let mut line = command.subcommands(commands.iter().map(of));
    let matches = line.try_get_matches_from_mut(words)?;
    match matches.subcommand_name() {
        Some(own) if commands.iter().any(|joined| joined.name == own) => {
            let message = format!("`{own}` stands before its options: write it first");
            Err(line.error(ErrorKind::ArgumentConflict, message))
        }
        _ => Ok(matches),
    }
}
