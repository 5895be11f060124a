//! `worker`: a program that offers its tools.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};

use serde_json::json;
use toolbox::{ToolBox, ToolCall};

use crate::bounded::tokio;
use support::fleet::{Server, soon, within};

fn toolbox_program() -> &'static str {
    crate::program("toolbox-program")
}

fn own_program() -> &'static str {
    crate::program("own-program")
}

struct Program(Child);

impl Program {
    fn start(program: &str, words: &[&str], url: Option<&str>) -> Self {
        let mut command = Command::new(program);
        command.args(words).env_remove("TOOLBOX_NATS_URL").stdin(Stdio::null());
        if let Some(url) = url {
            command.env("TOOLBOX_NATS_URL", url);
        }
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn terminate(&self) {
        let id = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
    }

    /// Waits for the end, and returns the exit code and what was said on standard error.
    async fn end(&mut self) -> (Option<i32>, String) {
        let mut code = None;
        soon("the program ends", || {
            code = self.0.try_wait().unwrap();
            code.is_some()
        })
        .await;
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (code.unwrap().code(), said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
#[cfg_attr(not(has_nats_server), ignore = "needs nats-server")]
async fn programs_offer_their_tools_until_they_are_told_to_end() {
    let server = Server::start();
    let config = server.folder().join("toolbox.jsonc");
    let servers = json!({"mcp": {"sums": {"type": "local", "command": [own_program(), "serve"]}}});
    std::fs::write(&config, servers.to_string()).unwrap();
    let url = server.url();
    let config = config.to_str().unwrap();
    let cases = [
        (own_program(), vec!["worker", "--nats", &url], None, "sum"),
        (own_program(), vec!["worker", "--max-calls", "3"], Some(&*url), "sum"),
        (toolbox_program(), vec!["worker", "--nats", &url, config], None, "sums_sum"),
        (toolbox_program(), vec!["--config", config, "worker", "--nats", &url], None, "sums_sum"),
    ];
    for (program, words, variable, tool) in cases {
        let toolbox = ToolBox::new();
        let fleet = server.fleet().await;
        let mounted = fleet.mount(&toolbox).await.unwrap();
        let mut program = Program::start(program, &words, variable);
        within(mounted.until_offered(tool)).await;
        let call = ToolCall::new("1", tool, r#"{"numbers": [1, 2], "label": "three"}"#);
        assert_eq!(within(toolbox.call(call)).await.text(), "three: 3");
        program.terminate();
        let (code, said) = program.end().await;
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(" of the fleet tools"), "{said}");
        soon("the tools are gone", || toolbox.is_empty()).await;
    }
}

#[tokio::test]
async fn command_lines_that_cannot_be_served_are_errors() {
    let cases: [(&[&str], i32, &str); 5] = [
        (&["worker"], 2, "TOOLBOX_NATS_URL"),
        (&["worker", "--nats", "nats://ada:secret@h"], 2, "on a command line"),
        (&["worker", "--nats", "nats://127.0.0.1:1", "--fleet", "a.b"], 2, "fleet name"),
        (&["worker", "--nats", "nats://127.0.0.1:1"], 4, "cannot be connected to"),
        (
            &["worker", "--nats", "nats://127.0.0.1:1", "--credentials", "/none.creds"],
            3,
            "credentials",
        ),
    ];
    for (words, code, expected) in cases {
        let mut program = Program::start(own_program(), words, None);
        let (ended, said) = program.end().await;
        assert_eq!(ended, Some(code), "{words:?} {said}");
        assert!(said.contains(expected) && !said.contains("secret"), "{words:?} {said}");
    }
}
