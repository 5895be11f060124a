//! `pack`: a server as a bundle that hosts install, and as an entry of the MCP registry.

use std::fmt::Write as _;
use std::io::{Cursor, Write as _};
use std::path::Path;

use clap::Parser as _;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::arguments::{OwnLine, PackCommand};
use super::outcome::{Exit, Outcome};
use super::text::{grouped, line};
use crate::collection::ToolBox;
use crate::context::UNUSED_CONTEXT;
use crate::mcp::ServerInfo;
use crate::text::hex;

/// The version of the manifest's form: <https://github.com/modelcontextprotocol/mcpb>.
const MANIFEST_VERSION: &str = "0.3";

/// The form of an entry of the registry.
const ENTRY_SCHEMA: &str =
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

/// The longest description that the registry takes, in characters.
const LONGEST_DESCRIPTION: usize = 100;

/// Packs the running program with its tools.
pub(super) fn pack(toolbox: &ToolBox, info: &ServerInfo, wanted: &PackCommand) -> Outcome {
    match packed(toolbox, info, wanted) {
        Ok(outcome) => outcome,
        Err((exit, why)) => Outcome::failed(exit, why),
    }
}

fn packed(
    toolbox: &ToolBox,
    info: &ServerInfo,
    wanted: &PackCommand,
) -> Result<Outcome, (Exit, String)> {
    let usage = |why: String| (Exit::Usage, why);
    let failed = |why: String| (Exit::Failed, why);
    let platform =
        platform().ok_or_else(|| failed("bundles are for Linux, macOS and Windows".to_owned()))?;
    if info.version == ServerInfo::default().version {
        return Err(failed(
            "the program has no version: give it one, as in `toolbox::cli::main_as(toolbox, toolbox::server_info!())`".to_owned(),
        ));
    }
    let words: Vec<&str> =
        ["serve"].into_iter().chain(wanted.serve.iter().map(String::as_str)).collect();
    let whole = std::iter::once(info.name.as_str()).chain(words.iter().copied());
    if let Err(error) = OwnLine::try_parse_from(whole) {
        return Err(usage(super::install::refusal(&error)));
    }
    if let Some(id) = &wanted.id
        && !is_id(id)
    {
        return Err(usage(format!(
            "`{id}` is no name of the registry: write `io.github.NAME/SERVER`"
        )));
    }
    let length = wanted.description.chars().count();
    if wanted.id.is_some() && length > LONGEST_DESCRIPTION {
        return Err(usage(format!(
            "the description has {length} characters, and the registry takes at most {LONGEST_DESCRIPTION}"
        )));
    }
    let own = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let file_name = file_name(info, &own);
    let bundle = wanted.out.join(format!("{}-{}.mcpb", plain(&info.name), plain(&info.version)));
    let entry = wanted.id.as_ref().map(|_| wanted.out.join("server.json"));
    for file in std::iter::once(&bundle).chain(&entry) {
        if !wanted.force && file.symlink_metadata().is_ok() {
            let shown = file.display();
            return Err(failed(format!("{shown} is there already: --force replaces it")));
        }
    }
    let manifest = manifest(toolbox, info, wanted, &words, &file_name, platform);
    let program =
        std::fs::read(&own).map_err(|error| failed(format!("{}: {error}", own.display())))?;
    let bytes =
        zipped(&manifest, &file_name, &program).map_err(|error| failed(error.to_string()))?;
    let digest = hex(&Sha256::digest(&bytes));
    let write = |file: &Path, bytes: &[u8]| {
        std::fs::write(file, bytes)
            .map_err(|error| failed(format!("{} cannot be written: {error}", file.display())))
    };
    write(&bundle, &bytes)?;
    let mut text = format!(
        "wrote {} ({} bytes, for {platform})\n",
        line(&bundle.display().to_string()),
        grouped(bytes.len())
    );
    let mut value = json!({
        "bundle": {"file": line(&bundle.display().to_string()), "bytes": bytes.len(), "sha256": digest},
        "manifest": manifest,
    });
    if let (Some(file), Some(id), Some(url)) = (&entry, &wanted.id, &wanted.url) {
        let entry = registry_entry(info, wanted, (id, url), &digest);
        write(file, format!("{entry:#}\n").as_bytes())?;
        let _ = writeln!(text, "wrote {}", line(&file.display().to_string()));
        value["server"] = entry;
    } else {
        text.push_str("no server.json: the registry wants --id and --url\n");
    }
    if cfg!(debug_assertions) {
        text.push_str(
            "note: this is a build without optimization; pack one of `cargo build --release`\n",
        );
    }
    Ok(Outcome::fine(text, value))
}

/// The name of this system in a manifest.
fn platform() -> Option<&'static str> {
    match std::env::consts::OS {
        "linux" => Some("linux"),
        "macos" => Some("darwin"),
        "windows" => Some("win32"),
        _ => None,
    }
}

/// Returns whether a text is a namespace in reverse DNS order, a slash, and a name.
fn is_id(text: &str) -> bool {
    let fits = |part: &str, others: &[char]| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(&c))
    };
    text.len() <= 200
        && text
            .split_once('/')
            .is_some_and(|(space, name)| fits(space, &['.', '-']) && fits(name, &['.', '_', '-']))
}

/// Returns a text as a part of a file's name.
fn plain(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let kept: String = text.chars().map(|c| if fits(c) { c } else { '-' }).collect();
    kept.trim_start_matches('.').to_owned()
}

fn file_name(info: &ServerInfo, own: &Path) -> String {
    let suffix = own.extension().and_then(|end| end.to_str()).filter(|end| *end == "exe");
    let name = plain(&info.name);
    suffix.map_or(name.clone(), |suffix| format!("{name}.{suffix}"))
}

fn manifest(
    toolbox: &ToolBox,
    info: &ServerInfo,
    wanted: &PackCommand,
    words: &[&str],
    file_name: &str,
    platform: &str,
) -> Value {
    let entry_point = format!("server/{file_name}");
    let tools: Vec<Value> = toolbox
        .tools()
        .iter()
        .filter(|tool| toolbox.may_call(tool.name(), &UNUSED_CONTEXT))
        .map(|tool| json!({"name": tool.name(), "description": tool.definition().description}))
        .collect();
    let mut config = json!({"command": format!("${{__dirname}}/{entry_point}"), "args": words});
    let mut asked = Map::new();
    if !wanted.env.is_empty() {
        config["env"] = wanted
            .env
            .iter()
            .map(|name| (name.clone(), format!("${{user_config.{name}}}").into()))
            .collect::<Map<_, _>>()
            .into();
        for name in &wanted.env {
            let description = format!("The environment variable {name} of the server");
            asked.insert(
                name.clone(),
                json!({"type": "string", "title": name, "description": description, "required": true, "sensitive": true}),
            );
        }
    }
    let mut manifest = json!({
        "manifest_version": MANIFEST_VERSION,
        "name": info.name,
        "version": info.version,
        "description": wanted.description,
        "author": {"name": wanted.author},
        "server": {"type": "binary", "entry_point": entry_point, "mcp_config": config},
        "tools": tools,
        "compatibility": {"platforms": [platform]},
    });
    if !asked.is_empty() {
        manifest["user_config"] = asked.into();
    }
    // Those of a program have arguments, and texts that are made when they are asked for.
    if !toolbox.prompts().is_empty() {
        manifest["prompts_generated"] = true.into();
    }
    manifest
}

fn zipped(manifest: &Value, file_name: &str, program: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    writer.start_file("manifest.json", options.unix_permissions(0o644))?;
    writer.write_all(format!("{manifest:#}\n").as_bytes())?;
    writer.start_file(format!("server/{file_name}"), options.unix_permissions(0o755))?;
    writer.write_all(program)?;
    Ok(writer.finish()?.into_inner())
}

fn registry_entry(
    info: &ServerInfo,
    wanted: &PackCommand,
    (id, url): (&str, &str),
    digest: &str,
) -> Value {
    let mut package = json!({
        "registryType": "mcpb",
        "identifier": url,
        "version": info.version,
        "fileSha256": digest,
        "transport": {"type": "stdio"},
    });
    if !wanted.env.is_empty() {
        let variables = wanted
            .env
            .iter()
            .map(|name| json!({"name": name, "isRequired": true, "isSecret": true}));
        package["environmentVariables"] = variables.collect();
    }
    json!({
        "$schema": ENTRY_SCHEMA,
        "name": id,
        "description": wanted.description,
        "version": info.version,
        "packages": [package],
    })
}
