//! The arguments of the commands that write for other programs.

use std::path::PathBuf;

use clap::Args;

/// The servers to take over, and the files to change.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(in crate::cli) struct ImportCommand {
    /// Take the servers of this program: claude-desktop, claude-code, cursor, vscode, zed, codex,
    /// opencode, gemini, windsurf, lm-studio, cline, amp, junie; may be given several times
    /// [default: all]
    #[arg(long, value_name = "NAME", value_parser = crate::cli::import::hosts::named)]
    pub(in crate::cli) from: Vec<&'static str>,
    /// Read the files of the project in the current directory too; they may be written by others
    #[arg(long)]
    pub(in crate::cli) project: bool,
    /// Show what is new, the same, switched off or refused, and write nothing [default]
    #[arg(long, conflicts_with_all = ["write", "undo"])]
    pub(in crate::cli) dry_run: bool,
    /// Add the new servers to the configuration; a backup stays beside it
    #[arg(long, conflicts_with = "undo")]
    pub(in crate::cli) write: bool,
    /// With --write, let the programs use toolbox in place of the servers that were taken over; a
    /// backup of each file stays beside it
    #[arg(long, conflicts_with = "undo")]
    pub(in crate::cli) point: bool,
    /// Put the files back as they were before the last --write; with --from, those of that program
    /// alone
    #[arg(long)]
    pub(in crate::cli) undo: bool,
}

/// The programs to write an entry for.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(in crate::cli) struct InstallCommand {
    /// Write the entry for this program: claude-desktop, claude-code, cursor, vscode, zed, codex,
    /// opencode, gemini, windsurf, lm-studio, cline, amp, junie; may be given several times
    #[arg(long, required = true, value_name = "HOST", value_parser = crate::cli::import::hosts::named)]
    pub(in crate::cli) host: Vec<&'static str>,
    /// The name of the entry [default: that of this program]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) name: Option<String>,
    /// Start it with this environment variable, which stands in the file as it is given; may be
    /// given several times
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub(in crate::cli) env: Vec<(String, serde_json::Value)>,
    /// Write to the file of the project in the current directory, in place of that of the user
    #[arg(long)]
    pub(in crate::cli) project: bool,
    /// Show the entry and the file, and write nothing
    #[arg(long, conflicts_with = "undo")]
    pub(in crate::cli) dry_run: bool,
    /// Replace another entry of the same name
    #[arg(long, conflicts_with = "undo")]
    pub(in crate::cli) force: bool,
    /// Put the files of these programs back as they were before the last change by this command or
    /// by `toolbox import`
    #[arg(long)]
    pub(in crate::cli) undo: bool,
    /// Arguments of `serve` in the entry, after `--`
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(in crate::cli) serve: Vec<String>,
}

/// The bundle to write.
#[derive(Debug, Args)]
pub(in crate::cli) struct PackCommand {
    /// The author of the server
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) author: String,
    /// A line that says what the server does; for the registry at most 100 characters
    #[arg(long, value_name = "TEXT")]
    pub(in crate::cli) description: String,
    /// Let the host ask its user for the value of this environment variable; may be given several
    /// times
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) env: Vec<String>,
    /// The name in the registry, such as io.github.NAME/SERVER
    #[arg(long, value_name = "ID", requires = "url")]
    pub(in crate::cli) id: Option<String>,
    /// The address from which the bundle will be downloaded
    #[arg(long, value_name = "URL", requires = "id")]
    pub(in crate::cli) url: Option<String>,
    /// The folder to write to
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(in crate::cli) out: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    pub(in crate::cli) force: bool,
    /// Arguments of `serve` in the bundle, after `--`
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(in crate::cli) serve: Vec<String>,
}

/// Parses a variable and its value.
fn variable(text: &str) -> Result<(String, serde_json::Value), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.into())),
        _ => Err("expected NAME=VALUE".to_owned()),
    }
}
