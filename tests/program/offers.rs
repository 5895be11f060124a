//! Prompts and resources on the command line.

use std::process::Command;

use serde_json::{Value, json};

use super::{Ended, Folder, ended, own_program, run, toolbox, toolbox_program};

/// A folder with the configuration of a server with prompts and resources, and with one that dies.
struct Offering(Folder);

impl Offering {
    fn new() -> Self {
        let folder = Folder::new();
        let config = json!({"mcp": {"o": {"command": [crate::program("offering")]}}});
        folder.write("toolbox.jsonc", &config.to_string());
        let dead = json!({"command": ["/nonexistent/x"], "retries": 0});
        let config = json!({"mcp": {"o": {"command": [crate::program("offering")]}, "dead": dead}});
        folder.write("dead.jsonc", &config.to_string());
        Self(folder)
    }

    fn toolbox(&self, words: &[&str]) -> Ended {
        self.with("toolbox.jsonc", words, "")
    }

    fn with(&self, config: &str, words: &[&str], input: &str) -> Ended {
        run(toolbox_program(), &self.0.path(config), words, input)
    }
}

/// Runs the program over a box of its own.
fn own(words: &[&str]) -> Ended {
    ended(Command::new(own_program()).args(words).env("PARTS", "1"), "")
}

#[test]
fn prompts_are_listed_and_rendered() {
    let offering = Offering::new();
    let listed = offering.toolbox(&["prompts"]);
    listed.check(0, "o_review code= [tone=]     Reviews code.\n", "");
    listed.check(0, "o_ask                      Asks back.\n", "");
    let value = offering.toolbox(&["prompts", "--json"]).json();
    let review = &value["prompts"][0];
    assert_eq!((&review["name"], &review["server"]), (&json!("o_review"), &json!("o")));
    assert_eq!(review["arguments"][0]["required"], true);

    let asked = "user:\nReview \"x=1\" null\n\nassistant:\n";
    for words in [&["code=x=1"][..], &[r#"{"code": "x=1"}"#]] {
        let rendered = offering.toolbox(&[&["prompt", "o_review"], words].concat());
        rendered.check(0, asked, "");
    }
    let typed = offering.with("toolbox.jsonc", &["prompt", "o_review", "-"], r#"{"code": "x=1"}"#);
    typed.check(0, asked, "");
    let value = offering.toolbox(&["prompt", "o_review", "code=1", "--json"]).json();
    assert_eq!(value["description"], "A review");
    assert_eq!(value["messages"][0]["content"]["text"], "Review \"1\" null");
    // Of a box of one's own, a text is read as the number that the function takes.
    own(&["prompts"]).check(0, "ask_for number= [language=]  Asks for a number of lines.\n", "");
    let rendered = own(&["prompt", "ask_for", "number=3"]);
    assert_eq!(rendered.out, "user:\nWrite 3 lines in English.\n\nassistant:\nGladly.\n");
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let offering = Offering::new();
    for (words, code, expected) in [
        (&["prompt", "o_review"][..], 2, "needs `code`: `prompt o_review code=…`\n"),
        (&["prompt", "o_review", "tone=x"], 2, "needs `code`"),
        (&["prompt", "o_review", "cod=x"], 2, "has no argument `cod`: did you mean `code`?\n"),
        (&["prompt", "o_review", "qqqq=x"], 2, "has no argument `qqqq`: it has `code`, `tone`\n"),
        (&["prompt", "o_ask", "x=1"], 2, "has no argument `x`: it has none\n"),
        (&["prompt", "o_review", "code"], 2, "\"code\" is no argument"),
        (&["prompt", "o_review", "{"], 2, "the arguments are not one JSON object: "),
        (&["prompt", "o_review", "-"], 2, "the arguments are not one JSON object: "),
        (&["prompt", "o_reveiw", "code=x"], 1, "is not there: did you mean `o_review`?\n"),
        (&["prompt", "zzzzzzzz"], 1, "is not there: `prompts` shows all there are\n"),
        (&["read", "test://txet"], 1, "is not there: did you mean `test://text`?\n"),
        (&["read", "zzzzzzzz"], 1, "is not there: `resources` shows all there are\n"),
        (
            &["read", "test://notes/{id}"],
            2,
            "`test://notes/{id}` is a template: write a value in place of `id` and its braces\n",
        ),
        (&["read", "test://notes/none"], 1, "error: "),
        (&["read", "test://notes/garbage"], 1, "error: "),
        (&["read"], 2, "<URI>"),
    ] {
        let ended = offering.toolbox(words);
        ended.check(code, "", expected);
        assert_eq!(ended.out, "", "{words:?}");
    }
    // One that cannot be reached may have it.
    for words in [["prompt", "zzzzzzzz"], ["read", "zzzzzzzz"]] {
        let ended = offering.with("dead.jsonc", &words, "");
        ended.check(4, "", "the server `dead` cannot be reached");
    }
    offering.with("dead.jsonc", &["prompt", "o_review", "code=1"], "").check(0, "Review", "`dead`");
    own(&["prompt", "ask_for", "number=many"]).check(1, "", "`number` must be an integer");
    super::own(&["prompts"]).check(0, "", "there are no prompts\n");
    super::own(&["resources"]).check(0, "", "there are no resources\n");
}

#[test]
fn resources_are_listed_and_read() {
    let offering = Offering::new();
    let listed = offering.toolbox(&["resources"]);
    listed.check(0, "test://text           Text: Some text.\n", "");
    listed.check(0, "test://notes/{id}     Note\n", "");
    let value = offering.toolbox(&["resources", "--json"]).json();
    let one = |key: &str, text: &str| {
        let all = value["resources"].as_array().into_iter().flatten();
        all.filter(|one| one[key] == text).count()
    };
    assert_eq!((one("uri", "test://text"), one("uriTemplate", "test://notes/{id}")), (1, 1));
    assert_eq!(value["resources"][0]["server"], "o");

    let read = |uri: &str| offering.toolbox(&["read", uri]);
    read("test://text").check(0, "hello\n", "");
    read("test://notes/7").check(0, "read test://notes/7\n", "");
    let bytes = "[document test://bytes, bytes, 2 bytes: --save FILE writes it]\n";
    read("test://bytes").check(0, bytes, "");
    let value = offering.toolbox(&["read", "test://text", "--json"]).json();
    assert_eq!(value["contents"][0]["text"], "hello");
    own(&["read", "own://version"]).check(0, "1.2.3\n", "");
    own(&["read", "own://pictures/line"]).check(1, "", "error: ");
}

#[test]
fn contents_are_saved_whole() {
    let offering = Offering::new();
    let saved = |uri: &str| {
        let path = offering.0.path("saved");
        let _ = std::fs::remove_file(&path);
        let ended = offering.toolbox(&["read", uri, "--save", path.to_str().expect("text")]);
        ended.check(0, "wrote ", "");
        std::fs::read(path).expect("the file")
    };
    assert_eq!(saved("test://text"), b"hello");
    assert_eq!(saved("test://bytes"), b"hi");
    // Beyond the limit of a box on resources.
    let path = offering.0.path("large");
    let words = ["read", "own://large", "--save", path.to_str().expect("text")];
    own(&words).check(0, "(text, 9 000 000 bytes)", "");
    assert_eq!(std::fs::metadata(path).expect("the file").len(), 9_000_000);
    // Beyond the limit on a message, nothing is read.
    offering.toolbox(&["read", "test://notes/large"]).check(1, "", "longer than the limit");
    let path = offering.0.path("prompt");
    let words = ["prompt", "o_review", "code=1", "--save", path.to_str().expect("text"), "--json"];
    let value = offering.toolbox(&words).json();
    assert_eq!((&value["messages"], &value["saved"][0]["bytes"]), (&Value::Null, &json!(15)));
    assert_eq!(std::fs::read(path).expect("the file"), b"Review \"1\" null");
}

/// A host that knows tools only reaches the prompts and resources of a server by tools.
#[test]
fn prompts_and_resources_are_offered_as_tools() {
    let folder = Folder::new();
    let command = [own_program(), "serve", "--offers-as-tools"];
    let servers = json!({"own": {"command": command, "environment": {"PARTS": "1"}}});
    let config = folder.write("c.jsonc", &json!({"mcp": servers}).to_string());
    let listed = toolbox(&config, &["list", "--json"]).json();
    let names: Vec<&str> = listed["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    for name in ["prompt_list", "prompt_get", "resource_list", "resource_read"] {
        assert!(names.contains(&format!("own_{name}").as_str()), "{name}: {names:?}");
    }
    let read = toolbox(&config, &["call", "own_resource_list", "text=version"]);
    assert!(read.code == Some(0) && read.out.contains("own://version"), "{read:?}");
    let read = toolbox(&config, &["call", "own_resource_read", "uri=own://version"]);
    assert!(read.code == Some(0) && !read.out.trim().is_empty(), "{read:?}");
    // Without the option they are prompts and resources alone.
    let servers =
        json!({"own": {"command": [own_program(), "serve"], "environment": {"PARTS": "1"}}});
    let config = folder.write("d.jsonc", &json!({"mcp": servers}).to_string());
    let listed = toolbox(&config, &["list", "--json"]);
    assert!(!listed.out.contains("prompt_list"), "{listed:?}");
}
