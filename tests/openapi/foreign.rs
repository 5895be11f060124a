//! Descriptions of public APIs, and mock servers that another program makes of them. They come by
//! the environment, from `.ci/openapi`.

#![allow(clippy::print_stdout, reason = "the rows are what is measured")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use toolbox::dialect::{Dialect, lower};
use toolbox::search::Gateway;
use toolbox::testing::Caller;
use toolbox::{ToolBox, ToolCall, ToolResult};
use toolbox_openapi::{Credential, OpenApi};

use crate::bounded::tokio;

/// The base URL of a description that names no server that can be called.
const URL: &str = "https://api.example.com";

/// The files of a list like `PATH`, and those below its folders.
fn listed(variable: &str) -> Vec<PathBuf> {
    let list = std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} lists the files"));
    let mut pending: Vec<PathBuf> = std::env::split_paths(&list).collect();
    pending.reverse();
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        match std::fs::read_dir(&path) {
            Ok(entries) => pending.extend(entries.flatten().map(|entry| entry.path())),
            Err(_) => files.push(path),
        }
    }
    files.retain(|path| path.extension().is_some_and(|end| end == "json" || end == "yaml"));
    files
}

/// Returns the faults of a tool as each provider gets it.
fn faults(tool: &toolbox::Tool) -> Vec<String> {
    let definition = tool.definition();
    let mut schemas =
        vec![("the arguments".to_owned(), Value::from(definition.input_schema.clone()))];
    schemas
        .extend(definition.output_schema.clone().map(|own| ("the output".to_owned(), own.into())));
    let places = [
        "/input_schema",
        "/inputSchema",
        "/parameters",
        "/function/parameters",
        "/parametersJsonSchema",
    ];
    for dialect in Dialect::ALL {
        let sent = lower(definition, dialect).tool;
        if let Some(schema) = places.iter().find_map(|pointer| sent.pointer(pointer)) {
            schemas.push((format!("{dialect:?}"), schema.clone()));
        }
    }
    let fault = |(what, schema): &(String, Value)| {
        let is_root = what != "the output" && schema["type"] != "object";
        let why = match jsonschema::draft202012::meta::validate(schema) {
            Err(error) => format!("{error} at {}", error.instance_path()),
            Ok(()) if is_root => "the root is no object".to_owned(),
            Ok(()) => return None,
        };
        Some(format!("{}: {what}: {why}", tool.name()))
    };
    schemas.iter().filter_map(fault).collect()
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Prints a row for each description: operations, tools, valid schemas, estimated tokens of the
/// whole list and of the gateway, time.
#[test]
#[ignore = "needs descriptions of public APIs"]
fn public_descriptions_become_tools() {
    let (mut operations, mut converted, mut valid) = (0, 0, 0);
    let shows = std::env::var_os("OPENAPI_QUIET").is_none();
    for path in listed("OPENAPI_DESCRIPTIONS") {
        let mut begun = Instant::now();
        let name = name_of(&path);
        let open = match OpenApi::read(&path) {
            Ok(open) => open.base_url(URL).listed(),
            Err(error) => {
                println!("{}: {error}", path.display());
                continue;
            }
        };
        let read = begun.elapsed();
        begun = Instant::now();
        let api = open.build().unwrap();
        let built = begun.elapsed();
        let report = api.report();
        let total = report.operations;
        let wrong: Vec<Vec<String>> =
            api.tools().iter().map(faults).filter(|own| !own.is_empty()).collect();
        (operations, converted, valid) =
            (operations + total, converted + api.len(), valid + api.len() - wrong.len());
        for line in wrong.iter().flatten().take(3) {
            println!("  {name}: {line}");
        }
        for (operation, reason) in report.dropped.iter().take(3) {
            println!("  {name}: {operation}: {reason}");
        }
        if shows {
            let toolbox = ToolBox::from(api.tools().to_vec());
            let whole: usize =
                toolbox.tokens(Dialect::Anthropic).iter().map(|own| own.tokens).sum();
            let gateway = ToolBox::new();
            gateway.register(Gateway::over(&toolbox));
            let front: usize =
                gateway.tokens(Dialect::Anthropic).iter().map(|own| own.tokens).sum();
            let largest =
                toolbox.tokens(Dialect::Anthropic).into_iter().map(|own| own.tokens).max();
            println!(
                "| {name} | {total} | {} | {} | {whole} | {front} | {} | {read:.1?} + {built:.1?} |",
                api.len(),
                api.len() - wrong.len(),
                largest.unwrap_or_default(),
            );
        }
    }
    println!("operations {operations}, tools {converted}, valid in all dialects {valid}");
    assert!(converted * 100 >= operations * 99 && operations > 0, "{converted} of {operations}");
    assert_eq!(valid, converted);
}

/// Calls each operation of a description at the mock server that another program made of it, with
/// generated arguments. `OPENAPI_MOCKS` lists the descriptions, `OPENAPI_MOCK_URLS` their servers.
#[tokio::test]
#[ignore = "needs mock servers of public APIs"]
async fn a_mock_server_takes_generated_calls() {
    let urls = std::env::var("OPENAPI_MOCK_URLS").unwrap();
    let (mut all, mut accepted) = (0, 0);
    for (path, url) in listed("OPENAPI_MOCKS").iter().zip(urls.split(' ')) {
        let text = std::fs::read_to_string(path).unwrap();
        let open = with_credentials(&text, OpenApi::parse(&text).unwrap().base_url(url));
        let api = open.timeout(Duration::from_secs(30)).build().unwrap();
        let builder = ToolBox::builder();
        let builder = builder.approver(|_: toolbox::context::ApprovalRequest| async {
            toolbox::context::Decision::Approve
        });
        let toolbox = builder.build().unwrap();
        toolbox.register(api.tools().to_vec());
        let mut caller = Caller::new(7);
        let (mut here, mut fine) = (0, 0);
        for tool in api.tools() {
            all += 1;
            here += 1;
            let mut text = String::new();
            let mut result = ToolResult::error("there are no valid arguments");
            // A generated text that no header can carry, or that is no base64, is refused before it
            // is sent.
            for _ in 0..50 {
                let Some(arguments) = caller.valid(tool) else { break };
                arguments.as_str().clone_into(&mut text);
                result = toolbox.call(ToolCall::new("c", tool.name(), arguments)).await;
                let refusals = ["printable ASCII only", "has to be bytes in base64"];
                if !refusals.iter().any(|own| result.text().contains(own)) {
                    break;
                }
            }
            // What a mock answers of its own accord is a response of the description; what it
            // refuses has a problem of the mock as its type.
            let shown = result.text();
            let is_refused = result.error_data().is_none() && result.is_error()
                || shown.contains("stoplight.io/prism/docs/errors")
                    && !shown.contains("#no_response_defined")
                    && !shown.contains("#unprocessable_response")
                    && !shown.contains("#invalid_content_type_response");
            if is_refused {
                let text: String = text.chars().take(300).collect();
                let shown: String = shown.chars().take(900).collect();
                println!("  {} {text}\n    {}", tool.name(), shown.replace('\n', " "));
            } else {
                fine += 1;
                accepted += 1;
            }
        }
        println!("| {} | {here} | {fine} |", name_of(path));
    }
    println!("calls {all}, accepted {accepted}");
    assert!(accepted * 100 >= all * 99 && all > 0, "{accepted} of {all}");
}

/// Gives a credential for each security scheme that takes one.
fn with_credentials(text: &str, mut open: OpenApi) -> OpenApi {
    let root: Value = serde_json::from_str(text).unwrap_or_default();
    let schemes =
        root.pointer("/components/securitySchemes").or_else(|| root.get("securityDefinitions"));
    for (name, scheme) in schemes.and_then(Value::as_object).into_iter().flatten() {
        let word = |key: &str| scheme[key].as_str().unwrap_or_default().to_ascii_lowercase();
        let credential = match (word("type").as_str(), word("scheme").as_str()) {
            ("apikey", _) => Credential::key("a-key"),
            ("basic", _) | ("http", "basic") => Credential::basic("user", "password"),
            ("http", "bearer") | ("oauth2" | "openidconnect", _) => Credential::bearer("a-token"),
            _ => continue,
        };
        open = open.credential(name, credential);
    }
    open
}
