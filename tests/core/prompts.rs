//! Prompts: their definitions, their messages, and the gate that they pass.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::{FailureKind, Role};
use toolbox::context::{Answer, Principal};
use toolbox::model::Message;
use toolbox::prompt::{Prompt, PromptMessage, RenderedPrompt};
use toolbox::tool::CompletionRequest;
use toolbox::{Content, State, Tool, ToolBox, ToolContext, ToolError, prompt, prompts};

#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "snake_case")]
enum Tone {
    Polite,
    Blunt,
    Playful,
}

struct Library(Vec<&'static str>);

fn titles(request: &CompletionRequest) -> Vec<String> {
    request.matching(["Dune", "Emma", "Undine"])
}

async fn slow_titles(_request: CompletionRequest) -> Vec<String> {
    std::future::pending().await
}

fn no_titles(_request: &CompletionRequest) -> Result<Vec<String>, ToolError> {
    Err("the catalog is closed".into())
}

fn panicking(_request: &CompletionRequest) -> Vec<String> {
    panic!("no titles")
}

fn many(_request: &CompletionRequest) -> Vec<String> {
    (0..250).map(|number| number.to_string()).collect()
}

/// Recommends a book.
#[prompt(title = "Recommend")]
fn recommend(
    /// The book that was liked.
    #[arg(complete = titles)]
    liked: &str,
    /// The number of books.
    #[arg(default = 3, range = 1..=5)]
    count: u8,
    /// The tone of voice.
    tone: Option<Tone>,
    library: State<Library>,
) -> Vec<PromptMessage> {
    let books = library.0.len();
    vec![
        PromptMessage::user(format!("I liked {liked}. Recommend {count} of {books}, {tone:?}.")),
        PromptMessage::assistant("Let me think."),
        PromptMessage::user(Content::image(b"\x89PNG", "image/png")),
    ]
}

/// Fails in its own words.
#[prompt]
fn failing() -> Result<String, String> {
    Err("no idea".to_owned())
}

/// Panics.
#[prompt]
fn panics() -> String {
    panic!("at once")
}

/// Takes too long.
#[prompt(timeout = "10ms")]
async fn endless() -> String {
    std::future::pending().await
}

/// Is long.
#[prompt]
fn long(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Knows who calls.
#[prompt]
fn whoami(context: &ToolContext) -> String {
    context
        .get::<Principal>()
        .map_or("nobody".to_owned(), |principal| principal.as_str().to_owned())
}

/// Asks back.
#[prompt]
async fn asking(context: &ToolContext) -> Result<String, toolbox::context::AskError> {
    Ok(format!("Talk about {}.", context.ask::<String>("About what?").await?))
}

/// Completes in many ways.
#[prompt]
fn completing(
    #[arg(complete = slow_titles)] slow: &str,
    #[arg(complete = no_titles)] failing: &str,
    #[arg(complete = panicking)] panicking: &str,
    #[arg(complete = many)] many: &str,
    plain: &str,
    tone: Tone,
) -> String {
    format!("{slow}{failing}{panicking}{many}{plain}{tone:?}")
}

fn toolbox() -> ToolBox {
    ToolBox::builder()
        .state(Library(vec!["Dune", "Emma"]))
        .timeout(Duration::from_millis(200))
        .prompts(prompts![recommend, failing, panics, endless, long, whoami, asking, completing])
        .build()
        .unwrap()
}

#[test]
fn a_definition_says_what_clients_list() {
    let definition = serde_json::to_value(recommend::prompt()).unwrap();
    assert_eq!(
        definition,
        json!({
            "name": "recommend",
            "title": "Recommend",
            "description": "Recommends a book.",
            "arguments": [
                {"name": "liked", "description": "The book that was liked.", "required": true},
                {"name": "count", "description": "The number of books.", "required": false},
                {"name": "tone", "description": "The tone of voice.", "required": false},
            ],
        })
    );
}

#[tokio::test]
async fn arguments_are_read_from_text_and_messages_keep_their_roles() {
    let arguments = json!({"liked": "Dune", "count": "2", "tone": "blunt"});
    let rendered = toolbox().prompts().get("recommend", arguments).await.unwrap();
    assert_eq!(rendered.description.as_deref(), Some("Recommends a book."));
    let roles: Vec<Role> = rendered.messages.iter().map(|message| message.role).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    let text = rendered.messages[0].content.as_text();
    assert_eq!(text, Some("I liked Dune. Recommend 2 of 2, Some(Blunt)."));
    assert_eq!(rendered.messages[2].content, Content::image(b"\x89PNG", "image/png"));
    // The role is a part of the message, and no longer one of its content.
    assert_eq!(rendered.messages[1].content, Content::text("Let me think."));
}

#[tokio::test]
async fn each_failure_has_its_kind_and_speaks_of_a_prompt() {
    let toolbox = toolbox();
    toolbox.prompts().blacklist("whoami");
    let cases: [(&str, Value, FailureKind, &str); 9] = [
        ("nothing", json!({}), FailureKind::NotFound, "there is no prompt `nothing`"),
        ("no\u{202e}thing", json!({}), FailureKind::NotFound, "there is no prompt"),
        ("recommend", json!({}), FailureKind::InvalidArguments, "liked"),
        ("recommend", json!({"liked": "a", "count": "9"}), FailureKind::InvalidArguments, "count"),
        ("failing", json!({}), FailureKind::Reported, "no idea"),
        ("panics", json!({}), FailureKind::Panicked, "prompt `panics` panicked"),
        ("endless", json!({}), FailureKind::TimedOut, "prompt `endless` did not finish"),
        ("whoami", json!({}), FailureKind::Blacklisted, "prompt `whoami` is blacklisted"),
        (
            "long",
            json!({"bytes": "300000"}),
            FailureKind::ResultTooLarge,
            "prompt `long` is larger",
        ),
    ];
    for (name, arguments, kind, text) in cases {
        let error = toolbox.prompts().get(name, arguments).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(error.to_string().contains(text), "{name}: {error}");
    }
}

#[tokio::test]
async fn a_prompt_has_the_context_of_its_call() {
    let context = ToolContext::new().with(Principal::new("ada"));
    let prompts = toolbox().prompts();
    assert_eq!(prompts.get_in(&context, "whoami", "{}").await.unwrap().text(), "ada");
    let context = context.with_asker(async |_| Answer::from("rain"));
    let asked = prompts.get_in(&context, "asking", "{}").await;
    assert_eq!(
        asked.map(|rendered| rendered.text()).map_err(|error| error.to_string()).as_deref(),
        Ok("Talk about rain.")
    );
    // Rules of a caller hold as well.
    let context = ToolContext::new().with_blacklist("whoami");
    let error = prompts.get_in(&context, "whoami", "{}").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::Blacklisted);
}

#[tokio::test]
async fn arguments_are_completed_while_they_are_typed() {
    let prompts = toolbox().prompts();
    let complete = async |name: &str, argument: &str, value: &str| {
        let (context, given) = (ToolContext::new(), BTreeMap::new());
        prompts.complete(&context, name, argument, value, given).await
    };
    let values: [(&str, &str, &str, &[&str]); 6] = [
        // What begins with the text comes first.
        ("recommend", "liked", "un", &["Undine", "Dune"]),
        ("recommend", "liked", "", &["Dune", "Emma", "Undine"]),
        ("recommend", "liked", "zz", &[]),
        // Of an enum, its variants.
        ("recommend", "tone", "P", &["polite", "playful"]),
        ("completing", "tone", "b", &["blunt"]),
        ("completing", "plain", "b", &[]),
    ];
    for (name, argument, value, expected) in values {
        let suggestions = complete(name, argument, value).await.unwrap();
        assert_eq!(suggestions.values, expected, "{argument} {value}");
    }
    let suggestions = complete("completing", "many", "").await.unwrap();
    assert_eq!(
        (suggestions.values.len(), suggestions.total, suggestions.has_more),
        (100, Some(250), true)
    );
    let failures = [
        ("nothing", "liked", FailureKind::NotFound),
        ("recommend", "nothing", FailureKind::InvalidArguments),
        ("completing", "slow", FailureKind::TimedOut),
        ("completing", "failing", FailureKind::Reported),
        ("completing", "panicking", FailureKind::Panicked),
    ];
    for (name, argument, kind) in failures {
        let error = complete(name, argument, "x").await.unwrap_err();
        assert_eq!(error.kind(), kind, "{name} {argument}: {error}");
    }
    let error = complete("recommend", "liked", &"x".repeat(2 << 20)).await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::InvalidArguments);
    prompts.blacklist("recommend");
    let error = complete("recommend", "liked", "d").await.unwrap_err();
    assert_eq!(error.kind(), FailureKind::NotFound);
}

#[tokio::test]
async fn schemas_that_refer_to_themselves_end() {
    let endless = json!({"$ref": "#/$defs/a"});
    let choice = json!({"anyOf": [{"const": "leaf"}, {"$ref": "#/$defs/b"}, {"enum": ["twig"]}]});
    let cases = [
        (json!({"a": endless}), endless.clone(), &[][..]),
        (json!({"a": {"$ref": "#/$defs/b"}, "b": endless}), endless.clone(), &[]),
        (json!({"b": choice}), choice.clone(), &["leaf", "twig"]),
        (json!({"b": choice}), json!({"$ref": "#/$defs/b"}), &["leaf", "twig"]),
        (json!({}), json!({"$ref": "#/$defs/missing"}), &[]),
    ];
    for (definitions, argument, expected) in cases {
        let schema = json!({
            "type": "object",
            "properties": {"tree": argument, "other": {"enum": ["x"]}},
            "$defs": definitions,
        });
        let tool = Tool::raw("grow", "Grows a tree", schema.clone(), |_| async { "grown" });
        let toolbox = ToolBox::builder().prompts(Prompt::from_tool(tool)).build().unwrap();
        let (context, given) = (ToolContext::new(), BTreeMap::new());
        let suggestions = toolbox.prompts().complete(&context, "grow", "tree", "", given).await;
        assert_eq!(suggestions.unwrap().values, expected, "{schema}");
    }
}

#[tokio::test]
async fn a_tool_becomes_a_prompt() {
    let tool = Tool::new("greet", "Greets").param("name", "string", "The name").call(|args| {
        RenderedPrompt::new([PromptMessage::assistant(format!(
            "Hello, {}!",
            args["name"].as_str().unwrap()
        ))])
    });
    let toolbox = ToolBox::new();
    toolbox.prompts().register(Prompt::from_tool(tool).prefixed("my"));
    let rendered = toolbox.prompts().get("my_greet", json!({"name": "Ada"})).await.unwrap();
    assert_eq!(rendered.messages, [PromptMessage::assistant("Hello, Ada!")]);
    // No tool is in the box.
    assert!(toolbox.is_empty() && !toolbox.has("my_greet"));
}

#[tokio::test]
async fn prompts_are_registered_and_copied_like_tools() {
    let first = toolbox();
    let prompts = first.prompts();
    let seen = prompts.generation();
    assert_eq!(
        prompts.unregister("failing").map(|prompt| prompt.name().to_owned()).as_deref(),
        Some("failing")
    );
    assert!(prompts.generation() > seen && prompts.find("failing").is_none());
    prompts.blacklist("long");
    let listed: Vec<String> = prompts.list().iter().map(|own| own.name().to_owned()).collect();
    assert!(!listed.contains(&"long".to_owned()) && prompts.len() == listed.len() + 1);

    let other = ToolBox::new();
    other.merge(&first);
    assert_eq!(other.prompts().names(), prompts.names());
    assert!(first.prefixed("a").prompts().find("a_whoami").is_some());
    assert!(first.filtered(|_| true).prompts().find("whoami").is_some());

    // A copy forbids what the original forbids.
    prompts.blacklist("whoami");
    let copies = [("whoami", first.filtered(|_| true)), ("a_whoami", first.prefixed("a"))];
    for (name, copy) in copies {
        let error = copy.prompts().get(name, json!({})).await.unwrap_err();
        let kind = if name == "whoami" { FailureKind::Blacklisted } else { FailureKind::NotFound };
        assert_eq!(error.kind(), kind, "{name}: {error}");
        assert!(!copy.prompts().list().iter().any(|own| own.name() == name), "{name}");
        assert!(!copy.prompts().is_empty());
    }
    let twice = first.filtered(|_| true).prefixed("a");
    assert!(twice.prompts().find("a_whoami").is_none());

    let twice = ToolBox::builder().prompts(prompts![failing]).prompts(prompts![failing]).build();
    assert!(twice.unwrap_err().to_string().contains("failing"));
    let stateless = ToolBox::builder().prompts(prompts![recommend]).build();
    assert!(stateless.unwrap_err().to_string().contains("Library"));
}

#[test]
fn a_prompt_becomes_a_transcript() {
    let image = || Content::image(b"\x89PNG", "image/png");
    let rendered = RenderedPrompt::new([
        PromptMessage::assistant(image()),
        PromptMessage::user("one"),
        PromptMessage::user(image()),
        PromptMessage::assistant("two"),
        PromptMessage::assistant(Content::resource_link("a://b", "b")),
        PromptMessage::user("three"),
    ]);
    let history = rendered.into_history();
    let written: Vec<String> = history
        .messages()
        .iter()
        .map(|message| match message {
            Message::User(parts) => format!("user {}", parts.len()),
            Message::Step(step) => format!("reply {}", step.reply().content()),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(written, ["user 2", "reply two", "reply [resource] a://b - b", "user 1"]);
    assert!(RenderedPrompt::new(Vec::<PromptMessage>::new()).into_history().is_empty());
}
