//! `serve`: the program as an MCP server, spoken to in plain lines.

#![allow(clippy::needless_pass_by_value, reason = "`json!` makes values")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::{Folder, own_program, toolbox_program, two_servers};
use support::foreign;

/// A host that has started the program.
pub(super) struct Host {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    instructions: String,
    count: u32,
    /// `true` if its requests say of themselves what is needed.
    is_newer: bool,
}

impl Host {
    pub(super) fn start(program: &str, config: &Path, words: &[&str]) -> Self {
        Self::silent(program, config, words).greeted()
    }

    /// A host whose first lines are blank.
    fn start_after_blanks(program: &str, config: &Path, words: &[&str]) -> Self {
        let mut host = Self::silent(program, config, words);
        host.input.as_mut().expect("an open input").write_all(b"\n \t\r\n\n").expect("it reads");
        host.greeted()
    }

    fn greeted(mut self) -> Self {
        let hello = self.ask(
            "initialize",
            json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "host", "version": "1"},
            }),
        );
        hello["instructions"].as_str().unwrap_or_default().clone_into(&mut self.instructions);
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        self
    }

    /// A host of 2026-07-28.
    fn start_newer(program: &str, config: &Path, words: &[&str]) -> Self {
        let mut host = Self::silent(program, config, words);
        host.is_newer = true;
        let hello = host.ask("server/discover", json!({}));
        hello["instructions"].as_str().unwrap_or_default().clone_into(&mut host.instructions);
        host
    }

    fn silent(program: &str, config: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(program)
            .args(words)
            .env("OPENCODE_TOOLBOX_CONFIG", config)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let (instructions, count, is_newer) = (String::new(), 0, false);
        Self { child, input, output, instructions, count, is_newer }
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("an open input");
        writeln!(input, "{message}").expect("the program reads");
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.count += 1;
        if self.is_newer {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "host", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = self.count;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "no answer to {method}");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"] == json!(id) {
                return match message.get("result") {
                    Some(result) => result.clone(),
                    None => message["error"].clone(),
                };
            }
        }
    }

    pub(super) fn names(&mut self) -> Vec<String> {
        let list = self.ask("tools/list", json!({}));
        let tools = list["tools"].as_array().expect("tools").iter();
        tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    /// The text of a call.
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> String {
        let result = self.ask("tools/call", json!({"name": name, "arguments": arguments}));
        result["content"][0]["text"].as_str().map_or_else(|| result.to_string(), str::to_owned)
    }

    /// The texts of calls that are made at once, in the order in which they end.
    pub(super) fn calls(&mut self, name: &str, arguments: &Value, count: u32) -> Vec<String> {
        let params = json!({"name": name, "arguments": arguments});
        for id in 0..count {
            let id = format!("at-once-{id}");
            self.send(
                &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}),
            );
        }
        let mut texts = Vec::new();
        while texts.len() < count as usize {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "no answer to a call");
            let message: Value = serde_json::from_str(&line).expect("JSON");
            if message["id"].as_str().is_some_and(|id| id.starts_with("at-once-")) {
                texts.push(message["result"]["content"][0]["text"].to_string());
            }
        }
        texts
    }

    pub(super) fn search(&mut self, text: &str) -> Value {
        serde_json::from_str(&self.call("toolbox_search_bm25", json!({"text": text})))
            .expect("JSON")
    }

    /// Closes the input, and waits for the end.
    pub(super) fn end(mut self) -> Option<i32> {
        drop(self.input.take());
        self.child.wait().expect("an end").code()
    }
}

const THREE: [&str; 3] = ["toolbox_search_bm25", "toolbox_search_regex", "toolbox_execute"];

#[test]
fn a_host_sees_three_tools_and_reaches_them_all() {
    let folder = Folder::new();
    let config = folder.write("toolbox.jsonc", &two_servers().to_string());
    for words in [&["serve"][..], &["serve", "--lazy"], &["serve", "--eager"]] {
        let mut host = Host::start(toolbox_program(), &config, words);
        assert_eq!(host.names(), THREE, "{words:?}");
        assert!(host.instructions.contains("time, parts"), "{}", host.instructions);
        let found = host.search("time timezone");
        let tool = &found["tools"][0];
        assert!(
            tool["name"].as_str().is_some_and(|name| name.ends_with("_get_current_time")),
            "{found}"
        );
        assert_eq!(tool["schema"]["required"], json!(["timezone"]));
        assert!(found.get("problems").is_none(), "{found}");
        let arguments =
            json!({"name": "time_get_current_time", "arguments": r#"{"timezone":"Asia/Tokyo"}"#});
        let answer = host.call("toolbox_execute", arguments);
        assert_eq!(answer, r#"{"time":"2026-01-07T02:15:00+09:00","timezone":"Asia/Tokyo"}"#);
        let by_pattern =
            host.call("toolbox_search_regex", json!({"pattern": "^parts_spare_1", "limit": 50}));
        assert_eq!(by_pattern.matches("parts_spare_1").count(), 11);
        assert_eq!(host.end(), Some(0), "{words:?}");
    }
}

#[test]
fn what_a_foreign_server_gives_reaches_the_host_of_the_program() {
    let (folder, results) = (Folder::new(), foreign::results());
    let fixture = json!({"tools": foreign::definitions(), "results": results}).to_string();
    let foreign = crate::program("misbehaving");
    let config = json!({"mcp": {"s": {"command": [foreign, "fixture", fixture]}}});
    let config = folder.write("toolbox.jsonc", &config.to_string());
    for words in [&["serve"][..], &["serve", "--no-gateway"]] {
        let mut host = Host::start(toolbox_program(), &config, words);
        for (name, expected) in results.as_object().expect("an object") {
            let name = format!("s_{name}");
            let params = if words.len() == 1 {
                json!({"name": "toolbox_execute", "arguments": {"name": name, "arguments": "{}"}})
            } else {
                json!({"name": name, "arguments": {}})
            };
            assert_eq!(&host.ask("tools/call", params), expected, "{words:?} {name}");
        }
        assert_eq!(host.end(), Some(0), "{words:?}");
    }
}

#[test]
fn large_results_are_kept_where_that_is_asked_for() {
    let folder = Folder::new();
    let log: Vec<String> = (1..=4000).map(|line| format!("line {line} of the log")).collect();
    let log = log.join("\n");
    let fixture = json!({
        "tools": [{"name": "log", "description": "Returns a log.", "inputSchema": {"type": "object"}}],
        "results": {"log": {"content": [{"type": "text", "text": log}]}},
    });
    let foreign = crate::program("misbehaving");
    let servers = json!({"s": {"command": [foreign, "fixture", fixture.to_string()]}});
    let by_gateway =
        json!({"name": "toolbox_execute", "arguments": {"name": "s_log", "arguments": "{}"}});
    let by_name = json!({"name": "s_log", "arguments": {}});
    for (settings, words, call, listed) in [
        (json!({}), &["serve", "--keep-results"][..], &by_gateway, 4),
        (json!({}), &["serve", "--keep-results=300", "--no-gateway"], &by_name, 2),
        (json!({"allow": ["s_log"]}), &["serve", "--keep-results"], &by_gateway, 4),
    ] {
        let config = json!({"mcp": servers, "settings": settings}).to_string();
        let config = folder.write("toolbox.jsonc", &config);
        let mut host = Host::start(toolbox_program(), &config, words);
        let names = host.names();
        assert_eq!(names.len(), listed, "{names:?}");
        assert!(names.contains(&"result_read".to_owned()), "{names:?}");
        let result = host.ask("tools/call", call.clone());
        let shown = result["content"][0]["text"].as_str().expect("a text");
        let most = if words.len() == 3 { 2_400 } else { 24_000 };
        assert!(shown.len() < most && shown.contains("line 4000 of the log"), "{words:?}: {shown}");
        let links = result["content"].as_array().expect("parts").iter();
        let links: Vec<&Value> = links.filter(|part| part["type"] == "resource_link").collect();
        assert_eq!((links.len(), &links[0]["uri"]), (1, &json!("result://r1")), "{words:?}");
        let how = json!({"handle": "r1", "lines": "2000..2001"});
        assert!(host.call("result_read", how).contains("line 2000 of the log"), "{words:?}");
        let whole = host.ask("resources/read", json!({"uri": "result://r1"}));
        assert_eq!(whole["contents"][0]["text"].as_str(), Some(&*log), "{words:?}");
        assert_eq!(host.end(), Some(0));
    }
}

/// What is beyond the limit of a result arrives by handle although nobody asked for that, what is
/// within it as it is, and nothing else changes until then.
#[test]
fn a_result_beyond_the_limit_is_kept_and_none_within_it() {
    let folder = Folder::new();
    let rows = |bytes: usize| {
        let rows: Vec<Value> =
            (0..bytes / 50).map(|at| json!({"row": at, "name": format!("{:>24}", at)})).collect();
        json!({"rows": rows})
    };
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let log = "a line of forty bytes, and its ends.....\n".repeat(128 << 10);
    let (large, repeated) = (rows(1 << 20), rows(150 << 10));
    let picture = "iVBORw0KGgo=".repeat(60 << 10).replace('=', "A");
    let results = json!({
        "within": {"content": text(&log[..200 << 10])},
        // A structure and the text that repeats it in another spelling, beyond the limit together.
        "repeated": {"content": text(&format!("{repeated:#}")), "structuredContent": repeated},
        "pictured": {
            "content": [
                {"type": "text", "text": repeated.to_string()},
                {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
            ],
            "structuredContent": repeated,
        },
        "log": {"content": text(&log)},
        "json": {"content": text(&large.to_string())},
        "both": {"content": text(&large.to_string()), "structuredContent": large},
        "beside": {"content": text(&log), "structuredContent": {"exit": 0}},
        "picture": {"content": [{"type": "image", "data": picture, "mimeType": "image/png"}]},
    });
    let names: Vec<String> = results.as_object().expect("results").keys().cloned().collect();
    let tool = |name: &String| json!({"name": name, "description": format!("Returns {name}."), "inputSchema": {"type": "object"}});
    let tools: Vec<Value> = names.iter().map(tool).collect();
    let fixture = json!({"tools": tools, "results": results}).to_string();
    let fixture = folder.write("fixture.json", &fixture);
    let fixture = format!("@{}", fixture.display());
    let foreign = crate::program("misbehaving");
    let config = json!({"mcp": {"s": {"command": [foreign, "fixture", fixture]}}}).to_string();
    let config = folder.write("toolbox.jsonc", &config);
    for words in [&["serve"][..], &["serve", "--no-gateway"]] {
        let mut host = Host::start(toolbox_program(), &config, words);
        let before = host.names();
        assert_eq!(before.len(), if words.len() == 1 { 3 } else { names.len() }, "{words:?}");
        let call = |host: &mut Host, name: &str| {
            let name = format!("s_{name}");
            host.ask("tools/call", if words.len() == 1 {
                json!({"name": "toolbox_execute", "arguments": {"name": name, "arguments": "{}"}})
            } else {
                json!({"name": name, "arguments": {}})
            })
        };
        for name in ["within", "repeated", "pictured"] {
            let result = call(&mut host, name);
            for part in ["content", "structuredContent"] {
                let (sent, came) = (&results[name][part], &result[part]);
                assert!(sent == came, "{words:?} {name}: {:.300}", came.to_string());
            }
        }
        assert_eq!(host.names(), before, "{words:?}");
        for (at, name) in ["log", "json", "both", "beside", "picture"].into_iter().enumerate() {
            let result = call(&mut host, name);
            let handle = format!("r{}", at + 1);
            let shown = result["content"][0]["text"].as_str().expect("a text");
            assert!(shown.starts_with(&format!("[{handle}: ")), "{words:?} {name}: {shown:.300}");
            assert!(shown.len() < 8_000, "{words:?} {name}: {} bytes", shown.len());
            assert_eq!(result["isError"], json!(false), "{words:?} {name}");
            assert!(result.get("structuredContent").is_none(), "{words:?} {name}");
            let link = json!(format!("result://{handle}"));
            let parts = result["content"].as_array().expect("parts");
            assert!(parts.iter().any(|part| part["uri"] == link), "{words:?} {name}");
            let whole = host.ask("resources/read", json!({"uri": link}));
            let part = &results[name]["content"][0];
            let (sent, came) = match part.get("data") {
                Some(data) => (data, &whole["contents"][0]["blob"]),
                None => (&part["text"], &whole["contents"][0]["text"]),
            };
            assert!(sent == came, "{words:?} {name}: {:.300}", whole.to_string());
        }
        // The reader is listed from the first kept result on.
        let after = host.names();
        assert_eq!(after.len(), before.len() + 1, "{words:?}");
        assert!(after.contains(&"result_read".to_owned()), "{words:?}");
        let how = json!({"handle": "r1", "lines": "2000"});
        assert!(host.call("result_read", how).contains("a line of forty bytes"), "{words:?}");
        let how = json!({"handle": "r4", "pointer": "/exit"});
        assert_eq!(host.call("result_read", how), "0", "{words:?}");
        assert_eq!(host.end(), Some(0));
    }
}

/// A tool that has the name of the reader stays what it is, and nothing points at it.
#[test]
fn the_reader_of_results_takes_no_name_that_is_taken() {
    let folder = Folder::new();
    let log = "a line of forty bytes, and its ends.....\n".repeat(8 << 10);
    let own = json!([{"type": "text", "text": "read by its server"}]);
    let tools = ["read", "log"].map(
        |name| json!({"name": name, "description": "Does it.", "inputSchema": {"type": "object"}}),
    );
    let results =
        json!({"read": {"content": own}, "log": {"content": [{"type": "text", "text": log}]}});
    let fixture = json!({"tools": tools, "results": results}).to_string();
    let fixture = format!("@{}", folder.write("fixture.json", &fixture).display());
    let foreign = crate::program("misbehaving");
    for (server, settings) in [("result", json!({})), ("s", json!({"blacklist": ["result_read"]}))]
    {
        let config = json!({"mcp": {server: {"command": [foreign, "fixture", fixture]}}, "settings": settings});
        let config = folder.write("toolbox.jsonc", &config.to_string());
        let mut host = Host::start(toolbox_program(), &config, &["serve", "--no-gateway"]);
        let before = host.names();
        let shown = host.call(&format!("{server}_log"), json!({}));
        assert!(shown.contains("The rest cannot be read here"), "{server}: {shown:.300}");
        assert_eq!(host.names(), before, "{server}");
        let whole = host.ask("resources/read", json!({"uri": "result://r1"}));
        assert_eq!(whole["contents"][0]["text"].as_str(), Some(&*log), "{server}");
        let read = host.call(&format!("{server}_read"), json!({}));
        assert_eq!(read, "read by its server");
        assert_eq!(host.end(), Some(0));
    }
}

/// A server of both is spoken to in the version of the host, unless its entry names one.
#[test]
fn servers_are_spoken_to_in_the_version_of_the_host() {
    let folder = Folder::new();
    let foreign = crate::program("misbehaving");
    let entry = |flag: &str| json!({"command": [foreign, flag, "list", "few", "only", "meta"]});
    let named = |flag: &str, version: &str| {
        let mut entry = entry(flag);
        entry["protocol"] = version.into();
        entry
    };
    let config = json!({"mcp": {
        "both": entry("modern"),
        "old": entry("plain"),
        "new": entry("only-modern"),
        "pinned_old": named("modern", "2025-11-25"),
        "pinned_new": named("modern", "2026-07-28"),
    }});
    let config = folder.write("toolbox.jsonc", &config.to_string());
    for (start, of_both) in [
        (Host::start as fn(&str, &Path, &[&str]) -> Host, false),
        (Host::start_after_blanks, false),
        (Host::start_newer, true),
    ] {
        let mut host = start(toolbox_program(), &config, &["serve", "--no-gateway"]);
        for (server, is_newer) in [
            ("both", of_both),
            ("old", false),
            ("new", true),
            ("pinned_old", false),
            ("pinned_new", true),
        ] {
            let meta = host.call(&format!("{server}_meta"), json!({}));
            let told = meta.contains("io.modelcontextprotocol/protocolVersion");
            assert_eq!(told, is_newer, "{of_both} {server}: {meta}");
        }
        assert_eq!(host.end(), Some(0));
    }
}

#[test]
fn instructions_of_servers_reach_the_host() {
    let folder = Folder::new();
    let foreign = crate::program("misbehaving");
    let config = json!({"mcp": {
        "s": {"command": [foreign, "list", "few", "only", "echo"]},
        "quiet": {"command": [foreign, "only-modern", "list", "few", "only", "env"]},
    }});
    let config = folder.write("toolbox.jsonc", &config.to_string());
    let told = "The server `s` says of its tools:\nBe careful.";
    let host = Host::start(toolbox_program(), &config, &["serve", "--no-gateway"]);
    assert_eq!(host.instructions, told);
    assert_eq!(host.end(), Some(0));
    // Servers behind a gateway may answer after the handshake: what was not said then is said with
    // the first tools that are found.
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    let at_once = host.instructions.contains(told);
    let found = [host.search("echo"), host.search("echo")];
    let late: Vec<&Value> = found.iter().filter_map(|found| found.get("instructions")).collect();
    let expected = json!({"s": "Be careful."});
    assert_eq!(late, if at_once { vec![] } else { vec![&expected] }, "{}", host.instructions);
    assert_eq!(host.end(), Some(0));
}

#[test]
fn without_a_gateway_all_tools_are_listed() {
    let folder = Folder::new();
    let mut value = two_servers();
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let mut host = Host::start(toolbox_program(), &config, &["serve", "--no-gateway"]);
    let names = host.names();
    assert_eq!((names.len(), names[0].as_str()), (76, "time_get_current_time"));
    assert!(host.call("time_sum", json!({"numbers": [1, 2]})).contains('3'));
    assert_eq!(host.end(), Some(0));
    // One server beside the gateway.
    value["mcp"]["time"]["deferred"] = json!(false);
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    let names = host.names();
    assert_eq!(names.len(), 8 + 3, "{names:?}");
    assert!(names.contains(&"time_sum".to_owned()) && names.ends_with(&THREE.map(str::to_owned)));
    assert_eq!(host.end(), Some(0));
    // The same for all, by the settings.
    value["mcp"]["time"].as_object_mut().expect("an object").remove("deferred");
    value["settings"]["deferred"] = json!(false);
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    assert_eq!(host.names().len(), 76 + 3);
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_gateway_starts_whatever_the_file_says_and_tells_what_is_wrong() {
    let folder = Folder::new();
    for (text, expected) in [
        ("{\"mcp\": {,}}", ":1:10: unexpected token in object"),
        ("", "the file is empty"),
        (
            r#"{"settings": {"blacklist": ["*"]}, "mcp": {"a": {"command": ["x"]}}}"#,
            "names no tool",
        ),
    ] {
        let config = folder.write("toolbox.jsonc", text);
        let mut host = Host::start(toolbox_program(), &config, &["serve"]);
        assert_eq!(host.names(), THREE);
        assert!(host.instructions.contains(expected), "{}", host.instructions);
        let found = host.search("anything");
        assert_eq!(found["tools"], json!([]));
        assert!(
            found["problems"][0].as_str().is_some_and(|line| line.contains(expected)),
            "{found}"
        );
        let told = host.call("toolbox_execute", json!({"name": "a_b", "arguments": "{}"}));
        assert!(told.starts_with("tool not found: a_b\n") && told.contains(expected), "{told}");
        assert_eq!(host.end(), Some(0));
    }
    let mut host = Host::start(toolbox_program(), &folder.path("none.jsonc"), &["serve"]);
    assert!(
        host.search("x")["problems"][0]
            .as_str()
            .is_some_and(|line| line.contains("`toolbox init` writes one"))
    );
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_server_that_cannot_be_reached_is_named_beside_what_others_have() {
    let folder = Folder::new();
    let mut value = two_servers();
    value["mcp"]["dead"] = json!({"command": ["/nonexistent/program"]});
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    let found = host.search("time timezone");
    assert_ne!(found["tools"], json!([]));
    let problems = found["problems"].as_array().expect("problems");
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0]
            .as_str()
            .is_some_and(|line| line.starts_with("the server `dead` cannot be reached: "))
    );
    let told = host.call("toolbox_execute", json!({"name": "dead_x", "arguments": "{}"}));
    assert!(told.contains("the server `dead` cannot be reached"), "{told}");
    assert_eq!(host.end(), Some(0));
}

#[test]
fn what_is_forbidden_is_neither_found_nor_called() {
    let folder = Folder::new();
    let mut value = two_servers();
    value["settings"]["blacklist"] = json!(["time_*", "*_wipe"]);
    value["settings"]["defaultLimit"] = json!(2);
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    let found = host.search("get the current time in a timezone, add numbers, keep spare parts");
    let names: Vec<&str> = found["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    assert!(names.len() == 2 && names.iter().all(|name| name.starts_with("parts_")), "{names:?}");
    for name in ["time_sum", "parts_wipe", "PARTS_WIPE"] {
        let told = host.call("toolbox_execute", json!({"name": name, "arguments": "{}"}));
        assert!(told.contains("blacklisted") || told.contains("not found"), "{told}");
    }
    assert_eq!(host.end(), Some(0));
    // An allow-list leaves the gateway itself alone.
    value["settings"] = json!({"allow": ["time_sum"]});
    let config = folder.write("toolbox.jsonc", &value.to_string());
    let mut host = Host::start(toolbox_program(), &config, &["serve"]);
    assert_eq!(host.names(), THREE);
    assert_eq!(
        host.search("sum add numbers time spare")["tools"].as_array().map(Vec::len),
        Some(1)
    );
    assert_eq!(host.end(), Some(0));
}

#[test]
fn a_box_of_ones_own_is_served_plain_or_behind_a_gateway() {
    let nowhere = Path::new("/nowhere");
    let mut host = Host::start(own_program(), nowhere, &["serve"]);
    assert_eq!(host.names().len(), 8);
    assert_eq!(host.call("sum", json!({"numbers": [1]})), "1");
    // What needs somebody's word is refused where nobody is.
    assert!(host.call("wipe", json!({})).contains("needs approval"));
    assert_eq!(host.end(), Some(0));
    let mut host = Host::start(own_program(), nowhere, &["serve", "--gateway"]);
    assert_eq!(host.names(), THREE);
    assert_eq!(
        host.call("toolbox_execute", json!({"name": "sum", "arguments": {"numbers": [1]}})),
        "1"
    );
    assert_eq!(host.end(), Some(0));
}

#[cfg(unix)]
#[test]
fn http_is_for_this_machine_unless_there_is_a_token() {
    let start = |words: &[&str]| {
        let mut child = Command::new(own_program())
            .args(["serve", "--http"])
            .args(words)
            .env_remove("TOOLBOX_TOKEN")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut err = BufReader::new(child.stderr.take().expect("its errors"));
        let mut line = String::new();
        err.read_line(&mut line).expect("a line");
        (child, err, line)
    };
    // A port, or the name of this machine, is the loopback.
    for address in ["127.0.0.1:0", "localhost:0", "0"] {
        let (mut child, _err, line) = start(&[address]);
        let address = line
            .trim()
            .strip_prefix("listening at http://")
            .and_then(|rest| rest.strip_suffix("/mcp"));
        let mut stream =
            std::net::TcpStream::connect(address.expect("an address")).expect("it listens");
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"h","version":"1"}}}"#;
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("sent");
        let mut status = String::new();
        BufReader::new(stream).read_line(&mut status).expect("an answer");
        assert_eq!(status, "HTTP/1.1 200 OK\r\n");
        assert!(
            Command::new("kill").arg(child.id().to_string()).status().expect("a signal").success()
        );
        assert_eq!(child.wait().expect("an end").code(), Some(0));
    }
    // Other machines reach this one.
    let ended = super::own(&["serve", "--http", "0.0.0.0:0"]);
    ended.check(2, "", "--token");
    assert!(!ended.err.contains("listening") && !ended.err.contains("bearer_token"), "{ended:?}");
}

#[test]
fn a_token_in_the_environment_is_for_http_alone() {
    for (program, words) in [
        (toolbox_program(), &["serve"][..]),
        (own_program(), &["serve"]),
        (own_program(), &["serve", "--gateway"]),
    ] {
        let ended = Command::new(program)
            .args(words)
            .env("OPENCODE_TOOLBOX_CONFIG", "/nowhere")
            .env("TOOLBOX_TOKEN", "secret")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let err = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(0), "{words:?}: {err}");
    }
    let mut child = Command::new(own_program())
        .args(["serve", "--http", "127.0.0.1:0"])
        .env("TOOLBOX_TOKEN", "secret")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    let mut err = BufReader::new(child.stderr.take().expect("its errors"));
    err.read_line(&mut line).expect("a line");
    let address = line.trim().strip_prefix("listening at http://").expect("an address");
    let mut stream =
        std::net::TcpStream::connect(address.trim_end_matches("/mcp")).expect("it listens");
    write!(stream, "GET /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("an answer");
    assert!(answer.contains(" 401 "), "{answer}");
    child.kill().and_then(|()| child.wait()).expect("an end");
}

#[test]
fn nothing_but_the_protocol_is_printed_whatever_the_form_of_output() {
    for program in [own_program(), toolbox_program()] {
        let ended = super::run(program, "/nowhere".as_ref(), &["serve", "--json"], "");
        assert_eq!((ended.code, ended.out.as_str()), (Some(0), ""), "{ended:?}");
        let plain = super::run(program, "/nowhere".as_ref(), &["completions", "bash"], "");
        let json = super::run(program, "/nowhere".as_ref(), &["completions", "bash", "--json"], "");
        assert_eq!(plain.out, json.out);
    }
}

#[test]
fn the_program_says_which_folder_it_cannot_serve() {
    let folder = Folder::new();
    let config = folder.write("toolbox.jsonc", "{}");
    let ended = super::toolbox(&config, &["serve", "--skills", "/nowhere/at/all"]);
    ended.check(2, "", "/nowhere/at/all cannot be opened");
}
