//! Servers that are the description of an HTTP API.

use std::path::PathBuf;
use std::sync::OnceLock;

use super::read::ConfigReader;
use super::server::ServerConfig;
use super::values::ObjectValues;

/// The command of the program `toolbox` that serves a description.
pub(crate) const OPENAPI: &str = "openapi";

/// The program that has the command, if it is this process.
static HERE: OnceLock<PathBuf> = OnceLock::new();

/// Starts the servers with the program of this process, which has the command.
#[cfg(feature = "cli")]
pub(crate) fn start_here() {
    if let Ok(path) = std::env::current_exe() {
        let _ = HERE.set(path);
    }
}

/// Returns the server of a description: the program `toolbox`, whose variables have the
/// credentials. `resolved` returns a path as seen from the file.
pub(super) fn server(
    fields: &mut ObjectValues,
    reader: &mut ConfigReader<'_>,
    resolved: impl Fn(&str) -> PathBuf,
) -> Option<ServerConfig> {
    let places = ["baseUrl", "credentials", "include", "exclude"].map(|key| fields.place(key));
    let description = fields.text("openapi")?;
    let is_url = description.starts_with("http://") || description.starts_with("https://");
    let description =
        if is_url { description } else { resolved(&description).to_string_lossy().into_owned() };
    let program = HERE.get().map_or("toolbox".into(), |path| path.to_string_lossy().into_owned());
    let mut server = ServerConfig::command(program).arg(OPENAPI);
    if let Some(url) = fields.text("baseUrl") {
        if !(url.starts_with("http://") || url.starts_with("https://")) {
            let message = "`baseUrl` must be an address that begins with http:// or https://";
            let help = "such as https://api.example.com/v1";
            reader.problem(places[0].clone()?, message.to_owned(), Some(help.to_owned()));
            return None;
        }
        server = server.arg("--base-url").arg(url);
    }
    for (number, (scheme, value)) in
        fields.map("credentials").unwrap_or_default().into_iter().enumerate()
    {
        if scheme.contains('=') || value.contains('\0') || value.is_empty() {
            let message = format!("{scheme:?} in `credentials` cannot be a credential");
            let help = "write `\"SCHEME\": \"value\"`".to_owned();
            reader.problem(places[1].clone()?, message, Some(help));
            return None;
        }
        let variable = format!("TOOLBOX_OPENAPI_{number}");
        server = server.arg("--credential").arg(format!("{scheme}={variable}"));
        server = server.env(variable, value);
    }
    for (key, place) in ["include", "exclude"].into_iter().zip(&places[2..]) {
        for choice in fields.texts(key).unwrap_or_default() {
            let kinds = ["tag:", "path:", "method:", "id:"];
            if !kinds.iter().any(|kind| choice.starts_with(kind)) {
                let message = format!("{choice:?} in `{key}` chooses no operations");
                let help = "write `tag:pets`, `path:/v1/*`, `method:GET` or `id:list*`".to_owned();
                reader.problem(place.clone()?, message, Some(help));
                return None;
            }
            server = server.arg(format!("--{key}")).arg(choice);
        }
    }
    Some(server.arg("--").arg(description).arg("serve"))
}
