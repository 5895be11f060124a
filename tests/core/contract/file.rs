//! The file of a contract: written, held, damaged.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use toolbox::contract::{Contract, ContractError};
use toolbox::{Tool, ToolBox};

/// A folder of one test, which ends with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("toolbox-contract-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("tools.json")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns a box of two tools; `b` of the second is required or not.
fn toolbox(required: &[&str]) -> ToolBox {
    let add = json!({
        "type": "object",
        "required": required,
        "properties": {"b": {"type": "integer"}, "a": {"type": "integer", "description": "The first"}},
        "additionalProperties": false,
    });
    let tool = |name: &str, schema| {
        Tool::raw(name, "Does it", schema, |_: toolbox::call::Arguments| async { "" })
    };
    ToolBox::from(vec![tool("sub", json!({"type": "object"})), tool("add", add)])
}

/// The text is sorted, and has its tools by their names.
const TEXT: &str = r#"{
  "version": 1,
  "tools": {
    "add": {
      "description": "Does it",
      "input_schema": {
        "additionalProperties": false,
        "properties": {
          "a": {
            "description": "The first",
            "type": "integer"
          },
          "b": {
            "type": "integer"
          }
        },
        "required": [
          "a"
        ],
        "type": "object"
      }
    },
    "sub": {
      "description": "Does it",
      "input_schema": {
        "type": "object"
      }
    }
  }
}
"#;

/// Run by [`ended`] in a process of its own, with the file and the arguments in variables.
#[test]
#[ignore = "another test starts it"]
fn child() {
    let required = std::env::var("REQUIRED").expect("a list");
    let required: Vec<&str> = required.split(',').filter(|name| !name.is_empty()).collect();
    toolbox::testing::contract(&toolbox(&required), std::env::var("FILE").expect("a file"));
}

/// Runs the test [`child`]; returns what it panicked with, if it did.
fn ended(file: &Path, required: &str, variables: &[(&str, &str)]) -> Option<String> {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["--ignored", "--exact", "contract::file::child", "--nocapture"]);
    command.env_remove("CI").env_remove("TOOLBOX_BLESS");
    command.env("FILE", file).env("REQUIRED", required).envs(variables.iter().copied());
    let output = command.output().expect("a test that ends");
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("running 1 test"), "{text}");
    (!output.status.success()).then_some(text)
}

#[test]
fn a_file_is_written_held_and_accepted() {
    let folder = Folder::new("held");
    let file = folder.file();
    let text = || std::fs::read_to_string(&file).expect("a file");
    let refused = ended(&file, "a", &[("CI", "true")]).expect("a panic");
    assert!(refused.contains("none is written where `CI` is set"), "{refused}");
    assert!(!file.exists());
    assert_eq!(ended(&file, "a", &[]), None);
    assert_eq!(text(), TEXT);
    assert_eq!(ended(&file, "a", &[("CI", "true")]), None);
    let changed = ended(&file, "a,b", &[]).expect("a panic");
    let line = format!("  breaking: add: argument `b`: is required now ({}:13)\n", file.display());
    for part in [
        "are not those of ",
        ": 1 breaking\n",
        &line,
        "to accept them: TOOLBOX_BLESS=1 cargo test contract::file::child\n",
    ] {
        assert!(changed.contains(part), "{part}\n{changed}");
    }
    assert_eq!(text(), TEXT, "a test that fails writes nothing");
    assert_eq!(ended(&file, "a,b", &[("TOOLBOX_BLESS", "1")]), None);
    assert_eq!(ended(&file, "a,b", &[("CI", "true")]), None);
    let widened = ended(&file, "", &[("TOOLBOX_BLESS", "0")]).expect("a panic");
    assert!(widened.contains(": 2 widening\n"), "{widened}");
}

#[test]
fn a_damaged_file_is_named_with_its_line_and_column() {
    let folder = Folder::new("damaged");
    for (text, line, column, reason) in [
        (TEXT.replace("\"sub\": {", "<<<<<<< HEAD"), 23, 5, "key must be a string"),
        (TEXT.replace("\"sub\"", "\"add\""), 23, 5, "this name stands there twice"),
        (
            TEXT.replace("\"version\": 1", "\"version\": 2"),
            2,
            3,
            "its `version` is not 1, the only one that is known",
        ),
        (TEXT.replace("\"tools\": {", "\"tool\": {"), 1, 1, "`tools` has to be an object"),
        (
            TEXT.replace("input_schema", "input"),
            4,
            5,
            "a tool has to be an object with an `input_schema`",
        ),
        (String::new(), 1, 0, "EOF while parsing a value"),
    ] {
        std::fs::write(folder.file(), text).expect("a file");
        match Contract::read(folder.file()) {
            Err(ContractError::Invalid { line: own, column: at, reason: why, .. }) => {
                assert_eq!((own, at, why.as_str()), (line, column, reason));
            }
            other => panic!("{reason}: {other:?}"),
        }
    }
    std::fs::write(folder.file(), b"{\n  \"a\xff").expect("a file");
    let error = Contract::read(folder.file()).expect_err("no text").to_string();
    assert!(error.contains("tools.json:2:5 is damaged: it is no UTF-8"), "{error}");
    assert!(Contract::read(folder.0.join("none.json")).expect("no file").is_none());
    assert!(matches!(Contract::read(&folder.0), Err(ContractError::Io { .. })));
}

/// A file of another order, with the line ends of another system, is the same contract.
#[test]
fn only_what_it_says_counts() {
    let folder = Folder::new("order");
    std::fs::write(folder.file(), TEXT.replace('\n', "\r\n")).expect("a file");
    let read = Contract::read(folder.file()).expect("a contract").expect("a file");
    assert_eq!(Contract::of(&toolbox(&["a"])).changes_since(&read), []);
    assert_eq!(read.len(), 2);
}
