//! `import`: takes over the servers of other programs.

mod bridge;
pub(super) mod document;
mod entry;
pub(super) mod files;
pub(super) mod hosts;
mod limits;
mod ours;
mod plan;
mod shown;
pub(super) mod started;
mod switches;
mod times;
mod variables;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::arguments::ImportCommand;
use super::outcome::{Exit, Outcome};
use super::program::FileWidth;
use super::text::{counted, cut, line};
use crate::disk::Access;
use crate::mcp::fitting_server_name;
use document::SettingsDocument;
use hosts::{HostFile, UserFolders};
pub(super) use ours::{EMPTY, written};
use ours::{Ours, Standing};
pub(super) use plan::ImportPlan;
use switches::Switches;
use variables::Expansion;

/// The name of the gateway among the servers of a program.
const GATEWAY: &str = "toolbox";

/// The longest name of a server for display, in characters.
const LONGEST_NAME: usize = 80;

pub(super) const LEADS_OUT: &str = "it is a link that leads out of the project";

/// The result for one server of a file.
struct Imported {
    name: String,
    /// The name in the configuration.
    own_name: String,
    /// The path of keys that it stands under.
    list: Vec<String>,
    state: ImportState,
    shown: String,
    notes: Vec<String>,
    /// `false` if the entry of the program restricts it in a way that the configuration cannot.
    keeps_limits: bool,
}

impl Imported {
    fn refused((list, name): (&[String], String), reason: &str) -> Self {
        Self {
            own_name: String::new(),
            list: list.to_vec(),
            state: ImportState::Refused(reason.to_owned()),
            shown: String::new(),
            notes: Vec::new(),
            keeps_limits: false,
            name,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ImportState {
    Standing(Standing),
    /// It is this program.
    Gateway,
    Refused(String),
}

impl ImportState {
    fn word(&self) -> &'static str {
        match self {
            Self::Standing(Standing::New) => "new",
            Self::Standing(Standing::Same) => "same",
            Self::Standing(Standing::Off) => "off",
            Self::Gateway => "gateway",
            Self::Refused(_) => "refused",
        }
    }

    fn reason(&self) -> Option<&str> {
        match self {
            Self::Standing(Standing::Off) => {
                Some("the configuration has it switched off, which stays")
            }
            Self::Refused(reason) => Some(reason),
            _ => None,
        }
    }

    /// Returns `true` if the configuration has the server.
    fn is_taken(&self) -> bool {
        matches!(self, Self::Standing(Standing::New | Standing::Same))
    }
}

/// The result for one file.
struct ImportedFile {
    file: HostFile,
    document: Option<SettingsDocument>,
    /// The path of keys that the gateway stands under.
    usual: Vec<String>,
    fault: Option<String>,
    servers: Vec<Imported>,
    notes: Vec<String>,
    backup: Option<PathBuf>,
}

/// The files that are not read.
struct LeftFiles {
    of_project: Vec<HostFile>,
    /// Those of programs whose form is not known, with their names.
    unread: Vec<(&'static str, PathBuf)>,
}

/// Shows the servers of other programs, takes them over, or puts files back.
pub(super) fn import(config: Option<PathBuf>, wanted: &ImportCommand) -> Outcome {
    let path = match config.map_or_else(super::program::usual_path, Ok) {
        Ok(path) => std::path::absolute(&path).unwrap_or(path),
        Err(problem) => return Outcome::failed(Exit::Config, problem.summary()),
    };
    if wanted.undo {
        let folders = UserFolders::of_environment();
        let is_meant = |file: &HostFile| wanted.project || file.project.is_none();
        let files: Vec<HostFile> =
            hosts::files(&folders, &wanted.from).into_iter().filter(is_meant).collect();
        return undo(wanted.from.is_empty().then_some(&path), &files);
    }
    let width = FileWidth::of(&path);
    let mut plan = match ImportPlan::read(path.clone(), &wanted.from, wanted.project) {
        Ok(plan) => plan,
        Err(message) => return Outcome::failed(Exit::Config, message),
    };
    let mut written = Ok(None);
    if wanted.write && !wanted.dry_run {
        let number = plan.next_number();
        written = plan.write_new(number);
        if wanted.point && written.is_ok() {
            for file in &mut plan.imported {
                point(file, &path, number);
            }
        }
    }
    let mut outcome = report(&plan, wanted, written);
    if let Some(narrowed) = width.narrowed() {
        let _ = writeln!(outcome.text, "{narrowed}");
    }
    outcome
}

/// Reads a file, and takes its servers.
fn read(file: HostFile, folders: &UserFolders, ours: &mut Ours) -> ImportedFile {
    let mut imported = ImportedFile {
        document: None,
        usual: Vec::new(),
        fault: None,
        servers: Vec::new(),
        notes: Vec::new(),
        backup: None,
        file,
    };
    if let Err(fault) = fill(&mut imported, folders, ours) {
        imported.fault = Some(cut(&line(&fault), 300));
    }
    imported
}

fn fill(imported: &mut ImportedFile, folders: &UserFolders, ours: &mut Ours) -> Result<(), String> {
    let file = &imported.file;
    let text = files::read(&file.path)?;
    let document = SettingsDocument::parse(&text, file.is_toml())?;
    let home = folders.home.as_deref();
    let lists = lists(&document, file, &mut imported.notes)?;
    imported.usual = lists.first().cloned().unwrap_or_default();
    let switches = Switches::read(file, &document, folders);
    for list in lists {
        let keys: Vec<&str> = list.iter().map(String::as_str).collect();
        let servers = document.servers(&keys)?;
        for (name, value) in &servers {
            let server = (list.as_slice(), name.clone());
            let taken = if servers.iter().filter(|(other, _)| other == name).count() > 1 {
                Imported::refused(server, "the file has two servers of this name")
            } else {
                take(file, home, server, (value, &switches), ours)
            };
            imported.servers.push(taken);
        }
    }
    imported.document = Some(document);
    Ok(())
}

/// Returns the paths of keys under which a file has servers; the first is the usual one.
pub(super) fn lists(
    document: &SettingsDocument,
    file: &HostFile,
    notes: &mut Vec<String>,
) -> Result<Vec<Vec<String>>, String> {
    let owned = |path: &[&str]| path.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let usual = owned(file.host.servers);
    if file.host.name == "opencode" {
        // Later versions have them one level below.
        let servers = document.servers(&["mcp"])?;
        let is_list = |(name, value): &(String, Value)| {
            let is_server = ["type", "command", "url"].iter().any(|key| value.get(key).is_some());
            name == "servers" && value.is_object() && !is_server
        };
        if servers.iter().any(is_list) {
            return Ok(vec![owned(&["mcp", "servers"])]);
        }
    }
    let mut lists = vec![usual];
    if file.host.name == "claude-code" && file.project.is_none() {
        let here = std::env::current_dir().ok();
        let here = here.as_deref().and_then(Path::to_str);
        let mut others = 0;
        for (project, value) in document.servers(&["projects"]).unwrap_or_default() {
            let servers = value["mcpServers"].as_object().map_or(0, serde_json::Map::len);
            if Some(project.as_str()) == here && servers > 0 {
                lists.push(owned(&["projects", &project, "mcpServers"]));
            } else {
                others += servers;
            }
        }
        if others > 0 {
            notes.push(format!("servers of other projects: {others}; run this in their folders"));
        }
    }
    Ok(lists)
}

fn take(
    file: &HostFile,
    home: Option<&Path>,
    (list, name): (&[String], String),
    (value, switches): (&Value, &Switches),
    ours: &mut Ours,
) -> Imported {
    let own_name = fitting_server_name(&name);
    let mut imported = Imported {
        own_name: own_name.clone().unwrap_or_default(),
        list: list.to_vec(),
        state: ImportState::Gateway,
        shown: String::new(),
        notes: Vec::new(),
        keeps_limits: true,
        name,
    };
    let project = match list {
        // In the file of the user, these are of one project.
        [_, project, _] => Some(Path::new(project)),
        _ => file.project.as_deref(),
    };
    let mut entry = entry::convert(&Expansion { host: file.host, project, home }, value);
    imported.keeps_limits = entry.keeps_limits;
    if let Some(place) = switches.off(&imported.name)
        && let Ok(Value::Object(value)) = &mut entry.value
    {
        value.insert("enabled".to_owned(), false.into());
        entry.notes.push(format!("it is disabled, as by {}", line(place)));
    }
    if let Some(place) = switches.limit(&imported.name) {
        imported.keeps_limits = false;
        entry.notes.push(format!(
            "{} is not carried over, so `--point` leaves the server where it is",
            line(place)
        ));
    }
    let taken = entry.value.and_then(|value| {
        imported.shown = shown::entry(&value);
        if is_gateway(&value) {
            return Ok(ImportState::Gateway);
        }
        imported.notes = entry.notes;
        let own_name = own_name.ok_or("no letter or digit of its name fits")?;
        let taken = ours.take(&own_name, file.host.name, &value)?;
        if !taken.name.eq_ignore_ascii_case(&own_name) {
            imported.notes.push(format!(
                "it is named `{}` here: the configuration has another server `{own_name}`",
                taken.name
            ));
        } else if taken.name != imported.name {
            imported.notes.push(format!("it is named `{}` here", taken.name));
        }
        if !taken.is_equal {
            imported.notes.push("its other settings are those of the configuration".to_owned());
        }
        imported.own_name = taken.name;
        Ok(ImportState::Standing(taken.standing))
    });
    imported.state = taken.unwrap_or_else(|reason| ImportState::Refused(cut(&line(&reason), 300)));
    imported
}

/// Returns whether an entry starts this program as a server.
fn is_gateway(value: &Value) -> bool {
    let mut words = value["command"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let program = words.next().map(Path::new).and_then(Path::file_stem);
    let own = std::env::current_exe().ok();
    let is_own = program.is_some_and(|program| {
        program == GATEWAY || own.as_deref().and_then(Path::file_stem) == Some(program)
    });
    is_own && words.any(|word| word == "serve")
}

/// Replaces the servers that were taken by the gateway, in the file of the program.
fn point(imported: &mut ImportedFile, config: &Path, number: u32) {
    let has_gateway = imported.servers.iter().any(|server| server.state == ImportState::Gateway);
    let taken: Vec<&Imported> = imported
        .servers
        .iter()
        .filter(|server| server.state.is_taken() && server.keeps_limits)
        .collect();
    let usual = keys(&imported.usual);
    let Some(document) = &mut imported.document else { return };
    if taken.is_empty() {
        return;
    }
    let changed = (|| {
        if leads_out(&imported.file) {
            return Err(LEADS_OUT.to_owned());
        }
        for server in &taken {
            document.remove(&keys(&server.list), &server.name);
        }
        if !has_gateway {
            let name = free_name(document, &usual)?;
            if !document.add(&usual, &name, &gateway(imported.file.host.name, config)?) {
                return Err("its list of servers is no object".to_owned());
            }
        }
        written(&imported.file.path, &document.text(), Access::Unchanged, number)
    })();
    match changed {
        Ok(backup) => imported.backup = Some(backup),
        Err(fault) => imported.fault = Some(cut(&line(&fault), 300)),
    }
}

fn keys(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

/// Returns a name for the gateway that no other server has.
fn free_name(document: &SettingsDocument, list: &[&str]) -> Result<String, String> {
    let names: HashSet<String> =
        document.servers(list)?.into_iter().map(|(name, _)| name).collect();
    let candidates = std::iter::once(GATEWAY.to_owned())
        .chain((2..).map(|number| format!("{GATEWAY}-{number}")));
    let mut free = candidates.filter(|name| !names.contains(name));
    Ok(free.next().unwrap_or_default())
}

/// Returns the entry of the gateway in the form of a program.
fn gateway(host: &str, config: &Path) -> Result<Value, String> {
    let words = ["serve".to_owned(), "--config".to_owned(), started::text_of(config)?];
    Ok(started::entry(host, &started::own_path()?, &words, &Map::new()))
}

/// Returns whether a file of a project is somewhere else.
pub(super) fn leads_out(file: &HostFile) -> bool {
    let Some(project) = &file.project else { return false };
    match (std::fs::canonicalize(&file.path), std::fs::canonicalize(project)) {
        (Ok(path), Ok(project)) => !path.starts_with(project),
        _ => true,
    }
}

/// Puts the files of other programs back, and the configuration if one is given, as they were
/// before the last run that changed one of them.
pub(super) fn undo(config: Option<&PathBuf>, files: &[HostFile]) -> Outcome {
    let of_hosts = files.iter().map(|file| {
        let safe = if leads_out(file) { Err(LEADS_OUT.to_owned()) } else { Ok(()) };
        (file.path.as_path(), safe)
    });
    let own = config.map(|config| (config.as_path(), Ok(())));
    let changed = of_hosts
        .chain(own)
        .filter_map(|(path, safe)| files::last_backup(path).map(|number| (number, path, safe)));
    let changed: Vec<(u32, &Path, Result<(), String>)> = changed.collect();
    let last = changed.iter().map(|(number, ..)| *number).max().unwrap_or_default();
    let (mut text, mut values, mut failed) = (String::new(), Vec::new(), false);
    for (_, path, safe) in changed.into_iter().filter(|(number, ..)| *number == last) {
        let shown = line(&path.display().to_string());
        let done =
            safe.and_then(|()| files::put_back(path, last).map_err(|error| error.to_string()));
        match done {
            Ok(before) => {
                let kept = line(&before.undone.display().to_string());
                let now = if before.is_gone { "is removed: it was new" } else { "is as it was" };
                let _ = writeln!(text, "{shown} {now}; what it was until now is in {kept}");
                values.push(json!({"file": shown, "undone": kept, "removed": before.is_gone}));
            }
            Err(error) => {
                failed = true;
                let _ = writeln!(text, "{shown} cannot be put back: {error}");
                values.push(json!({"file": shown, "error": error}));
            }
        }
    }
    if text.is_empty() {
        text.push_str("there is no backup to put back");
    }
    let mut outcome = Outcome::fine(text, json!({"undone": values}));
    if failed || values.is_empty() {
        outcome.exit = Exit::Failed;
    }
    outcome
}

fn report(
    plan: &ImportPlan,
    wanted: &ImportCommand,
    written: Result<Option<PathBuf>, String>,
) -> Outcome {
    let ImportPlan { imported, left, .. } = plan;
    let mut text = String::new();
    for file in imported {
        file_lines(&mut text, file);
    }
    for file in &left.of_project {
        let path = line(&file.path.display().to_string());
        let _ = writeln!(
            text,
            "{}  {path}\n  is not read: it is of a project; --project takes its servers too",
            file.host.name
        );
    }
    for (program, path) in &left.unread {
        let path = line(&path.display().to_string());
        let _ =
            writeln!(text, "{program}  {path}\n  is not read: the form of this file is not known");
    }
    if imported.is_empty() && left.of_project.is_empty() {
        text.push_str("no program with servers was found\n");
    }
    let shown = line(&plan.path().display().to_string());
    let backup = written.as_ref().ok().and_then(Option::as_deref);
    if let Some(backup) = backup {
        let kept = line(&backup.display().to_string());
        let _ = writeln!(text, "wrote {shown}; the file before is {kept}");
    }
    let new = plan.new_servers();
    if !wanted.write && new > 0 {
        let _ = writeln!(
            text,
            "nothing was written: --write adds {} to {shown}",
            counted(new, "server")
        );
    }
    if wanted.point && !wanted.write {
        text.push_str("--point changes the files of other programs together with --write\n");
    }
    let mut outcome = Outcome::fine(text, plan.report(backup));
    if let Err(fault) = written {
        outcome.complaint = format!("error: {fault}");
        outcome.exit = Exit::Config;
    } else if imported.iter().any(|file| file.fault.is_some()) {
        outcome.exit = Exit::Failed;
    }
    outcome
}

fn file_lines(text: &mut String, file: &ImportedFile) {
    let path = line(&file.file.path.display().to_string());
    let _ = writeln!(text, "{}  {path}", file.file.host.name);
    if let Some(fault) = &file.fault {
        let _ = writeln!(text, "  fault     {fault}");
    }
    for server in &file.servers {
        let name = cut(&line(&server.name), LONGEST_NAME);
        let shown = if server.shown.is_empty() { "" } else { ": " };
        let _ = writeln!(text, "  {:<9} {name}{shown}{}", server.state.word(), server.shown);
        let reason = server.state.reason().into_iter().map(str::to_owned);
        for note in reason.chain(server.notes.iter().cloned()) {
            let _ = writeln!(text, "            {}", line(&note));
        }
    }
    for note in &file.notes {
        let _ = writeln!(text, "  note      {note}");
    }
    if let Some(backup) = &file.backup {
        let kept = line(&backup.display().to_string());
        let _ = writeln!(text, "  pointed   it names toolbox now; the file before is {kept}");
    }
}

fn file_value(file: &ImportedFile) -> Value {
    let server = |server: &Imported| {
        json!({
            "name": cut(&line(&server.name), LONGEST_NAME),
            "as": server.own_name,
            "state": server.state.word(),
            "target": server.shown,
            "why": server.state.reason(),
            "notes": server.notes.iter().map(|note| line(note)).collect::<Vec<_>>(),
        })
    };
    json!({
        "host": file.file.host.name,
        "file": line(&file.file.path.display().to_string()),
        "error": file.fault,
        "servers": file.servers.iter().map(server).collect::<Vec<_>>(),
        "notes": file.notes,
        "backup": file.backup.as_ref().map(|path| line(&path.display().to_string())),
    })
}
