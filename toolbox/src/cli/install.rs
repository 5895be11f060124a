//! `install`: writes this program into the settings of the programs that start MCP servers.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use serde_json::{Map, Value, json};

use super::arguments::{InstallCommand, OwnLine, ProgramLine};
use super::import::document::SettingsDocument;
use super::import::files;
use super::import::hosts::{self, HostFile, UserFolders};
use super::import::{LEADS_OUT, leads_out, lists, started, undo, written};
use super::outcome::{Exit, Outcome};
use super::text::line;
use crate::disk::Access;

/// The result for the file of one program.
#[derive(Default)]
struct Installed {
    host: &'static str,
    file: PathBuf,
    state: &'static str,
    fault: Option<String>,
    is_new: bool,
    backup: Option<PathBuf>,
    entry: Value,
}

/// Writes the entry of a program of one's own.
pub(super) fn own(program: &str, wanted: &InstallCommand) -> Outcome {
    let words: Vec<&str> = [program, "serve"].into_iter().chain(rest(wanted)).collect();
    if let Err(error) = OwnLine::try_parse_from(&words) {
        return refused(&error);
    }
    install(program, &words[1..], wanted)
}

/// Writes the entry of the gateway over a configuration.
pub(super) fn program(config: Option<PathBuf>, wanted: &InstallCommand) -> Outcome {
    let path = match config.map_or_else(super::program::usual_path, Ok) {
        Ok(path) => std::path::absolute(&path).unwrap_or(path),
        Err(problem) => return Outcome::failed(Exit::Config, problem.summary()),
    };
    let path = match started::text_of(&path) {
        Ok(path) => path,
        Err(fault) => return Outcome::failed(Exit::Config, fault),
    };
    let head = ["toolbox", "serve", "--config", path.as_str()];
    let words: Vec<&str> = head.into_iter().chain(rest(wanted)).collect();
    if let Err(error) = ProgramLine::try_parse_from(&words) {
        return refused(&error);
    }
    install("toolbox", &words[1..], wanted)
}

/// The arguments of `serve` in the entry.
fn rest(wanted: &InstallCommand) -> impl Iterator<Item = &str> {
    wanted.serve.iter().map(String::as_str)
}

fn refused(error: &clap::Error) -> Outcome {
    Outcome::failed(Exit::Usage, refusal(error))
}

/// Returns why `serve` does not take its arguments: an entry with them would never start.
pub(super) fn refusal(error: &clap::Error) -> String {
    let text = error.to_string();
    let why = text.lines().next().unwrap_or_default();
    let why = why.strip_prefix("error: ").unwrap_or(why);
    format!("`serve` does not take what stands behind `--`: {why}")
}

fn install(program: &str, words: &[&str], wanted: &InstallCommand) -> Outcome {
    let folders = UserFolders::of_environment();
    if wanted.undo {
        let is_meant = |file: &HostFile| wanted.project == file.project.is_some();
        let files: Vec<HostFile> =
            hosts::files(&folders, &wanted.host).into_iter().filter(is_meant).collect();
        return undo(None, &files);
    }
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let command = match started::own_path() {
        Ok(command) => command,
        Err(fault) => return Outcome::failed(Exit::Failed, fault),
    };
    let name = wanted.name.as_deref().unwrap_or(program);
    let number = hosts::next_number(&folders, wanted.project);
    let installed: Vec<Installed> = wanted
        .host
        .iter()
        .map(|host| {
            let Some(file) = hosts::target(&folders, host, wanted.project) else {
                let kind = if wanted.project { "of projects" } else { "of the user" };
                let fault = Some(format!("it has no file {kind}"));
                return Installed { host, fault, ..Installed::default() };
            };
            let variables: Map<String, Value> = wanted.env.iter().cloned().collect();
            let entry = started::entry(host, &command, &words, &variables);
            let mut installed =
                Installed { host, file: file.path.clone(), entry, ..Installed::default() };
            if let Err(fault) = write(&file, name, wanted, number, &mut installed) {
                installed.fault = Some(fault);
            }
            installed
        })
        .collect();
    report(name, &command, &installed)
}

fn write(
    file: &HostFile,
    name: &str,
    wanted: &InstallCommand,
    number: u32,
    installed: &mut Installed,
) -> Result<(), String> {
    let is_new = file.path.symlink_metadata().is_err();
    let there = if is_new { String::new() } else { files::read(&file.path)? };
    let text = if there.trim().is_empty() { empty(file).to_owned() } else { there };
    let mut document = SettingsDocument::parse(&text, file.is_toml())?;
    let list = lists(&document, file, &mut Vec::new())?.into_iter().next().unwrap_or_default();
    let keys: Vec<&str> = list.iter().map(String::as_str).collect();
    let there = document.servers(&keys)?;
    let mut named = there.iter().filter(|(other, _)| other == name);
    installed.state = match named.next() {
        None => "added",
        Some((_, there)) if *there == installed.entry => "same",
        Some(_) if wanted.force => "replaced",
        Some(_) => {
            return Err(format!(
                "it has another server `{name}`: --force replaces it, --name gives this one another name"
            ));
        }
    };
    if installed.state == "same" || wanted.dry_run {
        return Ok(());
    }
    if !is_new && leads_out(file) {
        return Err(LEADS_OUT.to_owned());
    }
    document.remove(&keys, name);
    if !document.add(&keys, name, &installed.entry) {
        return Err(format!("`{}` is no object", keys.join(".")));
    }
    let access = if is_new { Access::Owner } else { Access::Unchanged };
    installed.is_new = is_new;
    installed.backup = Some(written(&file.path, &document.text(), access, number)?);
    Ok(())
}

/// The contents of a file that is not there yet.
fn empty(file: &HostFile) -> &'static str {
    if file.is_toml() { "" } else { "{}\n" }
}

fn report(name: &str, command: &str, installed: &[Installed]) -> Outcome {
    let mut text = String::new();
    for one in installed {
        let path = line(&one.file.display().to_string());
        let _ = writeln!(text, "{}  {path}", one.host);
        if let Some(fault) = &one.fault {
            let _ = writeln!(text, "  refused   {}", line(fault));
            continue;
        }
        let _ =
            writeln!(text, "  {:<9} {}: {}", one.state, line(name), line(&one.entry.to_string()));
        match &one.backup {
            Some(_) if one.is_new => {
                text.push_str("            the file is new; --undo removes it\n");
            }
            Some(backup) => {
                let kept = line(&backup.display().to_string());
                let _ =
                    writeln!(text, "            the file before is {kept}; --undo puts it back");
            }
            None if one.state == "same" => {}
            None => text.push_str("            nothing was written: --dry-run\n"),
        }
    }
    if is_build(Path::new(command)) {
        text.push_str("note: the entry names a file that `cargo clean` removes; `cargo install` gives the program a place that stays\n");
    }
    if installed.iter().any(|one| one.backup.is_some()) {
        text.push_str("a program that runs reads its file when it is started again\n");
    }
    let values: Vec<Value> = installed
        .iter()
        .map(|one| {
            json!({
                "host": one.host,
                "file": line(&one.file.display().to_string()),
                "name": name,
                "state": if one.fault.is_some() { "refused" } else { one.state },
                "error": one.fault,
                "entry": one.entry,
                "backup": one.backup.as_ref().map(|path| line(&path.display().to_string())),
            })
        })
        .collect();
    let mut outcome = Outcome::fine(text, json!({"files": values}));
    if installed.iter().any(|one| one.fault.is_some()) {
        outcome.exit = Exit::Failed;
    }
    outcome
}

/// Returns whether a file is in the target folder of a build.
fn is_build(path: &Path) -> bool {
    let names: Vec<_> = path.iter().collect();
    names.windows(2).any(|pair| pair[0] == "target" && (pair[1] == "debug" || pair[1] == "release"))
}
