//! Prompts and resources that are methods of a toolset: they share its value, and a box takes them
//! along with its tools.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::bounded::tokio;
use serde_json::json;
use toolbox::agent::Agent;
use toolbox::call::FailureKind;
use toolbox::context::Principal;
use toolbox::prompt::{Prompt, PromptMessage};
use toolbox::resource::Resource;
use toolbox::testing::ScriptedModel;
use toolbox::tool::{CompletionRequest, Toolset};
use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, ToolError, toolset};

/// Notes that a tool writes, a resource shows, and a prompt speaks of.
#[derive(Default)]
struct Notebook {
    notes: Mutex<Vec<String>>,
}

struct Owner(&'static str);

fn tones(request: &CompletionRequest) -> Vec<String> {
    request.matching(["polite", "blunt"])
}

#[toolset]
impl Notebook {
    /// Writes a note.
    #[tool]
    fn write(&self, text: &str) -> String {
        let mut notes = self.notes.lock().expect("no panic");
        notes.push(text.to_owned());
        format!("note {}", notes.len())
    }

    /// A note by its number.
    #[resource("notes://{number}", mime_type = "text/plain", title = "Note")]
    fn note(&self, #[arg(complete = Self::numbers)] number: usize) -> Option<String> {
        let notes = self.notes.lock().expect("no panic");
        notes.get(number.wrapping_sub(1)).cloned()
    }

    /// All notes.
    #[resource("notes://all")]
    async fn all(self: Arc<Self>) -> String {
        tokio::task::yield_now().await;
        self.notes.lock().expect("no panic").join("\n")
    }

    /// Asks for a summary of a note.
    #[prompt(title = "Summary")]
    async fn summarize(
        &self,
        /// The number of the note.
        #[arg(complete = Self::later_numbers)]
        number: usize,
        #[arg(complete = tones)] tone: Option<String>,
        owner: Option<State<Owner>>,
        context: &ToolContext,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        tokio::task::yield_now().await;
        let note = self.note(number).ok_or("there is no such note")?;
        let owner = owner.map_or("nobody", |owner| owner.0);
        let tone = tone.as_deref().unwrap_or("plain");
        let who = context.get::<Principal>().map_or("-", |principal| principal.as_str());
        Ok(vec![PromptMessage::user(format!("{tone}, for {owner} by {who}: {note}"))])
    }

    fn numbers(&self, request: &CompletionRequest) -> Vec<String> {
        let count = self.notes.lock().expect("no panic").len();
        let numbers: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
        request.matching(&numbers)
    }

    async fn later_numbers(
        self: Arc<Self>,
        request: CompletionRequest,
    ) -> Result<Vec<String>, ToolError> {
        tokio::task::yield_now().await;
        if request.value == "x" {
            return Err("no number begins so".into());
        }
        Ok(self.numbers(&request))
    }
}

/// A set without a tool.
struct Greetings(&'static str);

#[toolset]
impl Greetings {
    /// Greets somebody.
    #[prompt(name = "greet")]
    fn hello(&self, name: &str) -> String {
        format!("{}, {name}!", self.0)
    }
}

/// A set of any writer, with each other form of method and of completer.
struct Desk<W>(W);

async fn later_tones(request: CompletionRequest) -> Vec<String> {
    tones(&request)
}

#[toolset(crate = toolbox)]
impl<W: std::fmt::Display + Send + Sync + 'static> Desk<W> {
    /// Asks for a letter.
    #[prompt(name = "letter")]
    fn write_letter(
        self: &Arc<Self>,
        #[arg(complete = |request: &CompletionRequest| request.matching(["Ada", "Bob"]))] to: &str,
        #[arg(complete = later_tones)] tone: &str,
    ) -> String {
        format!("{} writes to {to}, {tone}.", self.0)
    }

    /// The house rules, which need no desk.
    #[resource("desk://rules")]
    fn rules() -> &'static str {
        "Be kind."
    }
}

#[tokio::test]
async fn other_forms_of_methods_and_completers_work_as_well() {
    let toolbox = ToolBox::from(Desk("Eve"));
    let (context, prompts) = (ToolContext::new(), toolbox.prompts());
    let rendered = prompts.get("letter", json!({"to": "Ada", "tone": "blunt"})).await;
    assert_eq!(rendered.expect("a prompt").text(), "Eve writes to Ada, blunt.");
    for (argument, value, expected) in [("to", "b", "Bob"), ("tone", "p", "polite")] {
        let given = BTreeMap::new();
        let suggestions = prompts.complete(&context, "letter", argument, value, given).await;
        assert_eq!(suggestions.expect("suggestions").values, [expected]);
    }
    let rules = toolbox.resources().read("desk://rules").await.expect("the rules");
    assert_eq!(rules[0].text.as_deref(), Some("Be kind."));
}

fn shape(toolbox: &ToolBox) -> (Vec<String>, Vec<String>, Vec<String>) {
    let resources = toolbox.resources().list().iter().map(|own| own.uri().to_owned()).collect();
    (toolbox.names(), toolbox.prompts().names(), resources)
}

#[test]
fn a_box_takes_all_of_a_set() {
    let registered = ToolBox::new();
    registered.register(Notebook::default());
    let tried = ToolBox::new();
    tried.try_register(Arc::new(Notebook::default())).expect("nothing is taken");
    let boxes = [
        ToolBox::from(Notebook::default()),
        ToolBox::from(Arc::new(Notebook::default())),
        ToolBox::builder().tools(Notebook::default()).build().expect("a box"),
        registered,
        tried,
    ];
    for toolbox in boxes {
        let (tools, prompts, resources) = shape(&toolbox);
        assert_eq!((tools, prompts), (vec!["write".to_owned()], vec!["summarize".to_owned()]));
        assert_eq!(resources, ["notes://{number}", "notes://all"]);
    }
    let alone = ToolBox::from(Greetings("Hello"));
    assert_eq!(shape(&alone), (vec![], vec!["greet".to_owned()], vec![]));
    assert!(Arc::new(Greetings("Hello")).tools().is_empty());
}

#[tokio::test]
async fn methods_share_their_value() {
    let toolbox =
        ToolBox::builder().tools(Notebook::default()).state(Owner("Ada")).build().expect("a box");
    for text in ["milk", "bread"] {
        let arguments = json!({ "text": text }).to_string();
        let result = toolbox.call(ToolCall::new("1", "write", arguments)).await;
        assert!(!result.is_error(), "{}", result.text());
    }
    let read = async |uri: &str| {
        let contents = toolbox.resources().read(uri).await;
        contents.map(|contents| contents[0].text.clone().unwrap_or_default())
    };
    assert_eq!(read("notes://2").await.expect("a note"), "bread");
    assert_eq!(read("notes://all").await.expect("all notes"), "milk\nbread");
    let missing = read("notes://3").await.expect_err("no note");
    assert_eq!(missing.kind(), FailureKind::NotFound);
    let get = async |arguments| toolbox.prompts().get("summarize", arguments).await;
    let rendered = get(json!({"number": "1"})).await.expect("a prompt");
    assert_eq!(rendered.text(), "plain, for Ada by -: milk");
    let failed = get(json!({"number": "9"})).await.expect_err("no note");
    assert!(failed.to_string().contains("there is no such note"), "{failed}");
}

#[tokio::test]
async fn arguments_are_completed_by_methods_and_functions() {
    let notebook = Arc::new(Notebook::default());
    let toolbox = ToolBox::from(Arc::clone(&notebook));
    for text in ["a", "b", "c"] {
        notebook.write(text);
    }
    let (context, prompts) = (ToolContext::new(), toolbox.prompts());
    let complete = async |argument: &str, value: &str| {
        let given = BTreeMap::new();
        prompts.complete(&context, "summarize", argument, value, given).await
    };
    let cases: [(&str, &str, &[&str]); 4] = [
        ("number", "", &["1", "2", "3"]),
        ("number", "2", &["2"]),
        ("tone", "b", &["blunt"]),
        ("tone", "z", &[]),
    ];
    for (argument, value, expected) in cases {
        let suggestions = complete(argument, value).await.expect("suggestions");
        assert_eq!(suggestions.values, expected, "{argument} {value:?}");
    }
    let failed = complete("number", "x").await.expect_err("no number");
    assert!(failed.to_string().contains("no number begins so"), "{failed}");
    let given = BTreeMap::new();
    let suggestions =
        toolbox.resources().complete(&context, "notes://{number}", "number", "", given).await;
    assert_eq!(suggestions.expect("suggestions").values, ["1", "2", "3"]);
}

#[test]
fn a_set_is_added_whole_or_not_at_all() {
    let taken_tool = Tool::new("write", "Writes").call(|_| "");
    let taken_prompt = Prompt::from_tool(Tool::new("summarize", "Asks").call(|_| ""));
    let taken_resource =
        Resource::from_tool("notes://all", Tool::new("all", "All").call(|_| "")).expect("a URI");
    let toolboxes = [
        ToolBox::from(taken_tool),
        ToolBox::builder().prompts(taken_prompt).build().expect("a box"),
        ToolBox::builder().resources(taken_resource).build().expect("a box"),
    ];
    for toolbox in toolboxes {
        let before = shape(&toolbox);
        let error = toolbox.try_register(Notebook::default()).expect_err("a name is taken");
        assert!(error.to_string().contains("set_offers.rs"), "{error}");
        assert_eq!(shape(&toolbox), before, "{error}");
    }
}

#[tokio::test]
async fn an_agent_has_the_tools_of_a_set_alone() {
    let model = ScriptedModel::new().calls("write", r#"{"text": "tea"}"#).text("Written.");
    let notebook = Arc::new(Notebook::default());
    let agent = Agent::builder(model.clone()).tools(Arc::clone(&notebook)).build().expect("built");
    assert_eq!(agent.run("Note tea.").await.expect("a run").content, "Written.");
    assert_eq!(*notebook.notes.lock().expect("no panic"), ["tea"]);
    assert_eq!(model.requests()[0].tools.len(), 1);
}
