//! `client`: prints typed functions for the tools of a lock file.

use std::path::PathBuf;

use serde_json::json;
use toolbox_codegen::Lock;

use super::arguments::ClientCommand;
use super::outcome::{Exit, Outcome};
use super::program::{Configured, no_server};
use super::text::line;

pub(super) fn client(configuration: Option<PathBuf>, wanted: &ClientCommand) -> Outcome {
    let file = wanted.lock.clone().or_else(|| {
        let configured = Configured::read(configuration);
        configured.config.settings().lock_file.clone()
    });
    let Some(file) = file else {
        let help = "name it, or give the configuration one: \
                    \"settings\": {\"lockFile\": \"toolbox.lock.json\"}";
        return Outcome::failed(Exit::Config, format!("there is no lock file: {help}"));
    };
    let name = line(&file.display().to_string());
    let read = std::fs::read_to_string(&file).map_err(|error| error.to_string());
    let lock = read.and_then(|text| Lock::read(&text).map_err(|error| error.to_string()));
    let mut lock = match lock {
        Ok(lock) => lock,
        Err(error) => {
            return Outcome::failed(Exit::Config, format!("{name} is no lock file: {error}"));
        }
    };
    let servers: Vec<_> = wanted.server.iter().map(String::as_str).collect();
    if !servers.is_empty()
        && let Err(missing) = lock.keep(&servers)
    {
        let known: Vec<_> = lock.servers().map(|(server, _)| server).collect();
        return Outcome::failed(Exit::Failed, no_server(missing, &known));
    }
    let unknown: Vec<_> = lock.without_definition().take(3).collect();
    if !unknown.is_empty() {
        let unknown = line(&unknown.join(", "));
        let text = format!("{name} holds no definition of {unknown}: approve the tools once more");
        return Outcome::failed(Exit::Config, text);
    }
    let (flag, written) = if wanted.typescript {
        ("typescript", lock.typescript())
    } else {
        ("rust", lock.rust("::toolbox"))
    };
    let source = format!(
        "// Written by `toolbox client --{flag}` from {name}: changes here are lost.\n\n{written}"
    );
    Outcome::fine(source.trim_end().to_owned(), json!({"source": source}))
}
