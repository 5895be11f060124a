//! Scripts in the program `toolbox`.

#[cfg(unix)]
mod processes;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _};
use serde_json::{Value, json};
use toolbox::cli::{CommandReport, ProgramExtension};
use toolbox::mcp::{Config, LockFile, ScriptSettings};
use toolbox::{Tool, ToolBox};

use crate::functions::Names;
use crate::kept::{KeptPins, KeptScript, KeptScriptError};
use crate::limits::Limits;
use crate::mentions::mentioned;
use crate::scripts::Scripts;

/// The name of the command.
const KEEP: &str = "keep";

/// The kind of its entries in the lock file.
const KIND: &str = "scripts";

/// The tool `run_script`, the kept scripts and the command `keep` of the program `toolbox`.
///
/// They are there where `scripts` of the `settings` of its configuration says so.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     // Where the system can, each script runs in a process of its own: this program again.
///     toolbox_script::child::run_if_asked();
///     toolbox::cli::program_with(toolbox_script::ProgramScripts, &[])
/// }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ProgramScripts;

/// The arguments of `keep`.
#[derive(Debug, clap::Args)]
#[allow(clippy::doc_markdown, reason = "the comments are the texts of `--help`")]
struct KeepCommand {
    /// The name of the tool
    name: String,
    /// The file with the script; without it, the kept script of that name is shown with what
    /// changed since it was approved
    file: Option<PathBuf>,
    /// The description of the tool, which the model reads
    #[arg(long, value_name = "TEXT", requires = "file")]
    description: Option<String>,
    /// The file with the JSON Schema of the arguments, which the script has as `input` [default:
    /// no arguments]
    #[arg(long, value_name = "FILE", requires = "file")]
    arguments: Option<PathBuf>,
    /// A tool that the script may use; may be given several times [default: those that it names]
    #[arg(long, value_name = "NAME", requires = "file")]
    tool: Vec<String>,
    /// Replace the kept script of that name
    #[arg(long, requires = "file")]
    force: bool,
    /// Approve the kept script that was shown with this digest
    #[arg(long, value_name = "DIGEST", conflicts_with = "file")]
    digest: Option<String>,
}

impl ProgramExtension for ProgramScripts {
    fn tools(
        &self,
        toolbox: &ToolBox,
        config: &Config,
        deferred: bool,
    ) -> Vec<Result<Tool, String>> {
        let Some(settings) = &config.settings().scripts else { return Vec::new() };
        let (scripts, fault) = match scripts(settings, toolbox) {
            Ok(scripts) => scripts,
            Err(reason) => return vec![Err(reason)],
        };
        let kept = kept(settings, config).into_iter().map(|kept| {
            let (script, pins) = kept?;
            let tool = scripts.kept(&script, pins).map_err(|error| withheld(&error))?;
            Ok(if deferred { tool.deferred() } else { tool })
        });
        let kept: Vec<_> = kept.collect();
        fault.map(Err).into_iter().chain([Ok(scripts.into_tool())]).chain(kept).collect()
    }

    fn faults(&self, toolbox: &ToolBox, config: &Config) -> Vec<String> {
        let Some(settings) = &config.settings().scripts else { return Vec::new() };
        let kept = kept(settings, config).into_iter().flatten();
        let faults = kept.filter_map(|(script, pins)| pins.check_tools(&script, toolbox).err());
        faults.map(|error| withheld(&error)).collect()
    }

    fn commands(&self) -> Vec<Command> {
        let about = "Keep a script as a tool with typed arguments, pinned in the lock file with the tools that it uses";
        vec![KeepCommand::augment_args(Command::new(KEEP)).about(about)]
    }

    fn run(
        &self,
        _: &str,
        arguments: &ArgMatches,
        toolbox: &ToolBox,
        config: &Config,
    ) -> Result<CommandReport, String> {
        let wanted = KeepCommand::from_arg_matches(arguments).map_err(|error| error.to_string())?;
        let settings = config.settings().scripts.as_ref();
        let settings =
            settings.ok_or("the program runs no scripts: set `\"scripts\": true` in `settings`")?;
        let lock = LockFile::read(lock_path(config)?).map_err(|error| error.to_string())?;
        match &wanted.file {
            Some(file) => keep(&wanted, file, settings, toolbox, lock),
            None => review(&wanted, settings, toolbox, lock),
        }
    }
}

/// Returns the limits that a file sets.
fn limits(settings: &ScriptSettings) -> Limits {
    let usual = Limits::default();
    Limits {
        compute: settings.compute.unwrap_or(usual.compute),
        calls: settings.calls.unwrap_or(usual.calls),
        parallel_calls: settings.parallel_calls.unwrap_or(usual.parallel_calls),
        memory_bytes: settings.memory_bytes.unwrap_or(usual.memory_bytes),
        ..usual
    }
}

/// Returns the tool for scripts, with the engine and the limits that a file sets, and the reason why
/// none runs now.
fn scripts(
    settings: &ScriptSettings,
    toolbox: &ToolBox,
) -> Result<(Scripts, Option<String>), String> {
    let scripts = Scripts::over(toolbox).with_limits(limits(settings));
    match settings.confined {
        Some(false) => Ok((scripts, None)),
        wanted => confined(scripts, wanted.is_some()),
    }
}

/// Runs scripts in confined processes; where the system cannot confine one, in the program, unless
/// they have to be confined.
#[cfg(unix)]
fn confined(scripts: Scripts, required: bool) -> Result<(Scripts, Option<String>), String> {
    use crate::confined::ConfinedError;

    let error = match processes::started() {
        Ok(engine) => return Ok((scripts.with_engine(engine), None)),
        Err(error) => error,
    };
    let fault = format!("no script runs: {error}");
    match *error {
        // These do not change while the program runs.
        ConfinedError::NotConfined(_) | ConfinedError::NotLookedFor if required => Err(fault),
        ConfinedError::NotConfined(_) | ConfinedError::NotLookedFor => Ok((scripts, None)),
        _ => Ok((scripts.with_engine(processes::LateProcesses), Some(fault))),
    }
}

#[cfg(not(unix))]
fn confined(scripts: Scripts, required: bool) -> Result<(Scripts, Option<String>), String> {
    if required {
        return Err("no script runs: this system cannot confine a process for them".to_owned());
    }
    Ok((scripts, None))
}

fn lock_path(config: &Config) -> Result<&Path, String> {
    config.settings().lock_file.as_deref().ok_or_else(|| {
        "kept scripts need a lock file: name one in the configuration, `\"lockFile\": \"toolbox.lock.json\"`"
            .to_owned()
    })
}

fn withheld(error: &KeptScriptError) -> String {
    format!("{error}; `toolbox keep` shows and approves it")
}

/// Returns the kept scripts of a configuration with what was approved of each, or the reason why
/// there is none.
fn kept(settings: &ScriptSettings, config: &Config) -> Vec<Result<(KeptScript, KeptPins), String>> {
    let paths = match KeptScript::paths(&settings.folder) {
        Ok(paths) if paths.is_empty() => return Vec::new(),
        Ok(paths) => paths,
        Err(error) => {
            let folder = settings.folder.display();
            return vec![Err(format!("the folder {folder} cannot be read: {error}"))];
        }
    };
    let lock =
        lock_path(config).and_then(|path| LockFile::read(path).map_err(|error| error.to_string()));
    let lock = match lock {
        Ok(lock) => lock,
        Err(reason) => return vec![Err(reason)],
    };
    let read = |path: PathBuf| {
        let script = KeptScript::read(path).map_err(|error| withheld(&error))?;
        match approved(&lock, script.name()) {
            Some(pins) => Ok((script, pins)),
            None => Err(format!(
                "the kept script `{}` is not approved; `toolbox keep` shows and approves it",
                script.name()
            )),
        }
    };
    paths.into_iter().map(read).collect()
}

/// Returns what was approved of a script.
fn approved(lock: &LockFile, name: &str) -> Option<KeptPins> {
    serde_json::from_value(lock.approved(KIND, name)?.clone()).ok()
}

fn approve(mut lock: LockFile, script: &KeptScript, pins: &KeptPins) -> Result<(), String> {
    // Serializing such a value cannot fail.
    let pins = serde_json::to_value(pins).unwrap_or_default();
    lock.approve(KIND, script.name(), pins).map_err(|error| error.to_string())
}

/// Keeps the script of a file, and approves it: whoever names the file has read it.
fn keep(
    wanted: &KeepCommand,
    file: &Path,
    settings: &ScriptSettings,
    toolbox: &ToolBox,
    lock: LockFile,
) -> Result<CommandReport, String> {
    let script = made(wanted, file, toolbox)?;
    let most = limits(settings).script_bytes;
    if script.text().len() > most {
        return Err(format!("the script has more than {most} bytes"));
    }
    scripts(settings, toolbox)?.0.check(script.text()).map_err(|error| {
        KeptScriptError::Script { script: script.name().to_owned(), error }.to_string()
    })?;
    let before = KeptScript::paths(&settings.folder).map_err(|error| error.to_string())?;
    let is_there =
        before.iter().any(|path| path.file_stem().is_some_and(|own| own == script.name()));
    if is_there && !wanted.force {
        return Err(format!("there is a kept script `{}` already: add --force", script.name()));
    }
    if !is_there && toolbox.has(script.name()) {
        return Err(format!("there is a tool `{}` already: choose another name", script.name()));
    }
    let pins = KeptPins::of(&script, toolbox).map_err(|error| error.to_string())?;
    let path = script
        .write(&settings.folder)
        .map_err(|error| format!("{} cannot be written: {error}", settings.folder.display()))?;
    approve(lock, &script, &pins)?;
    let mut text = format!("kept {} as {}\n", script.name(), path.display());
    let _ = writeln!(text, "it may use: {}", script.tools().join(", "));
    let json = json!({"file": path, "tools": script.tools(), "digest": pins.digest()});
    Ok(CommandReport { text, json })
}

/// Returns the script that a command line describes; what it leaves out stands in the file.
fn made(wanted: &KeepCommand, file: &Path, toolbox: &ToolBox) -> Result<KeptScript, String> {
    let of = |path: &Path| {
        std::fs::read_to_string(path)
            .map_err(|error| format!("{} cannot be read: {error}", path.display()))
    };
    let text = of(file)?;
    let fits =
        |script: Result<KeptScript, KeptScriptError>| script.map_err(|error| error.to_string());
    let is_plain =
        wanted.description.is_none() && wanted.arguments.is_none() && wanted.tool.is_empty();
    if is_plain && KeptScript::has_header(&text) {
        return fits(KeptScript::parse(&wanted.name, text));
    }
    if KeptScript::has_header(&text) {
        return Err("the file has a description of its own: leave out --description, --arguments and --tool".to_owned());
    }
    let description = wanted.description.as_deref().ok_or("describe the tool by --description")?;
    let schema: Value = match &wanted.arguments {
        None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
        Some(path) => serde_json::from_str(&of(path)?)
            .map_err(|error| format!("{} is no JSON: {error}", path.display()))?,
    };
    let mut tools = wanted.tool.clone();
    if tools.is_empty() {
        let names = toolbox.names();
        let names = Names::of(names.iter().map(String::as_str));
        tools = mentioned(&text).map(|name| names.tool(name).unwrap_or(name).to_owned()).collect();
    }
    fits(KeptScript::new(&*wanted.name, description, schema, tools, &text))
}

/// Shows a kept script with what changed since it was approved, or approves what was shown.
fn review(
    wanted: &KeepCommand,
    settings: &ScriptSettings,
    toolbox: &ToolBox,
    lock: LockFile,
) -> Result<CommandReport, String> {
    let path = settings.folder.join(format!("{}.js", wanted.name));
    let script = KeptScript::read(&path).map_err(|error| error.to_string())?;
    let pins = KeptPins::of(&script, toolbox).map_err(|error| error.to_string())?;
    let old = approved(&lock, script.name());
    let digest = pins.digest();
    if wanted.digest.as_ref() == Some(&digest) {
        approve(lock, &script, &pins)?;
        let text = format!("approved {}\n", script.name());
        let json = json!({"file": path, "tools": script.tools(), "approved": digest});
        return Ok(CommandReport { text, json });
    }
    let faults: Vec<String> = match &old {
        None => vec![format!("the kept script `{}` is not approved", script.name())],
        Some(old) => {
            let text = old.check_text(&script).err();
            let tools = old.check_tools(&script, toolbox).err();
            text.into_iter().chain(tools).map(|error| error.to_string()).collect()
        }
    };
    let mut text = String::new();
    for fault in &faults {
        let _ = writeln!(text, "{fault}");
    }
    for (number, line) in (1..).zip(script.text().lines()) {
        let _ = writeln!(text, "{number:>4}  {line}");
    }
    if faults.is_empty() {
        let _ = writeln!(text, "it is approved");
    } else {
        let _ = writeln!(text, "to approve: toolbox keep {} --digest {digest}", script.name());
    }
    if wanted.digest.is_some() {
        return Err(format!("the digest is not that of what is there now, which is {digest}"));
    }
    let json = json!({"file": path, "tools": script.tools(), "digest": digest, "faults": faults});
    Ok(CommandReport { text, json })
}
