//! Resources: templates of URIs, their contents, and the gate that reading passes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolbox::call::{FailureKind, ResourceContents};
use toolbox::resource::{Resource, UriTemplate};
use toolbox::tool::CompletionRequest;
use toolbox::{Content, State, Tool, ToolBox, ToolContext, resource, resources};

struct Notes(Vec<&'static str>);

/// The number of notes.
#[resource("notes://count", title = "Count", mime_type = "text/plain", fresh_for = "5m", public)]
fn count(notes: State<Notes>) -> String {
    notes.0.len().to_string()
}

fn numbers(request: &CompletionRequest) -> Vec<String> {
    request.matching(["0", "1", "10"])
}

/// A note by its number.
#[resource("notes://by-id/{id}", mime_type = "text/markdown")]
async fn note(#[arg(complete = numbers)] id: usize, notes: State<Notes>) -> Option<String> {
    notes.0.get(id).map(|text| (*text).to_owned())
}

/// A file below a folder.
#[resource("files://{+path}")]
fn file(path: &str) -> Vec<u8> {
    path.as_bytes().to_vec()
}

#[derive(Deserialize, JsonSchema, Debug)]
#[serde(rename_all = "lowercase")]
enum Order {
    Newest,
    Oldest,
}

/// A list of notes.
#[resource("notes://list{?page,order}")]
fn list(#[arg(default = 1)] page: u32, order: Option<Order>) -> Value {
    json!({"page": page, "order": format!("{order:?}")})
}

/// Several contents.
#[resource("notes://all")]
fn all() -> Vec<ResourceContents> {
    vec![
        ResourceContents::of_text("milk").with_uri("notes://by-id/0").with_mime_type("text/x-note"),
        ResourceContents::of_bytes(b"\0\x01"),
    ]
}

/// Nothing at all.
#[resource("notes://nothing")]
fn nothing() -> Vec<ResourceContents> {
    Vec::new()
}

/// Fails.
#[resource("notes://failing")]
fn failing() -> Result<String, String> {
    Err("the disk is gone".to_owned())
}

/// Panics.
#[resource("notes://panicking")]
fn panicking() -> String {
    panic!("no note")
}

/// Takes too long.
#[resource("notes://endless", timeout = "10ms")]
async fn endless() -> String {
    std::future::pending().await
}

/// As large as is asked for.
#[resource("notes://large/{bytes}")]
fn large(bytes: usize) -> String {
    "x".repeat(bytes)
}

fn toolbox() -> ToolBox {
    ToolBox::builder()
        .state(Notes(vec!["milk", "bread"]))
        .timeout(Duration::from_millis(200))
        .max_resource_bytes(1 << 20)
        .resources(resources![
            count, note, file, list, all, nothing, failing, panicking, endless, large
        ])
        .build()
        .unwrap()
}

#[test]
fn a_definition_says_what_clients_list() {
    assert_eq!(
        serde_json::to_value(count::resource().with_size(1)).unwrap(),
        json!({
            "uri": "notes://count",
            "name": "count",
            "title": "Count",
            "description": "The number of notes.",
            "mimeType": "text/plain",
            "size": 1,
        })
    );
    assert_eq!(
        serde_json::to_value(note::resource()).unwrap(),
        json!({
            "uriTemplate": "notes://by-id/{id}",
            "name": "note",
            "description": "A note by its number.",
            "mimeType": "text/markdown",
        })
    );
    let count = count::resource();
    assert_eq!((count.fresh_for(), count.is_public()), (Duration::from_secs(300), true));
    assert_eq!(note::NAME, "notes://by-id/{id}");
}

#[tokio::test]
async fn each_output_becomes_contents() {
    let resources = toolbox().resources();
    let cases = [
        ("notes://count", json!([{"uri": "notes://count", "mimeType": "text/plain", "text": "2"}])),
        (
            "notes://by-id/1",
            json!([{"uri": "notes://by-id/1", "mimeType": "text/markdown", "text": "bread"}]),
        ),
        ("files://a/b%20c.txt", json!([{"uri": "files://a/b%20c.txt", "blob": "YS9iIGMudHh0"}])),
        (
            "notes://list?order=newest",
            json!([{"uri": "notes://list?order=newest", "mimeType": "application/json",
                "text": r#"{"page":1,"order":"Some(Newest)"}"#}]),
        ),
        (
            "notes://list",
            json!([{"uri": "notes://list", "mimeType": "application/json",
                "text": r#"{"page":1,"order":"None"}"#}]),
        ),
        (
            "notes://all",
            json!([
                {"uri": "notes://by-id/0", "mimeType": "text/x-note", "text": "milk"},
                {"uri": "notes://all", "blob": "AAE="},
            ]),
        ),
    ];
    for (uri, expected) in cases {
        let contents = resources.read(uri).await.unwrap_or_else(|error| panic!("{uri}: {error}"));
        assert_eq!(serde_json::to_value(contents).unwrap(), expected, "{uri}");
    }
}

#[tokio::test]
async fn what_names_nothing_is_not_found() {
    let resources = toolbox().resources();
    let uris = [
        "notes://unknown",
        "notes://by-id/2",
        "notes://by-id/x",
        "notes://by-id/",
        "notes://by-id/1/",
        "notes://by-id/1?page=2",
        "notes://by-id/%31%",
        "notes://by-id/{id}",
        "notes://list?color=red",
        "notes://list?page=x",
        "notes://nothing",
        "NOTES://count",
        "",
    ];
    for uri in uris {
        let error = resources.read(uri).await.expect_err(uri);
        assert_eq!(error.kind(), FailureKind::NotFound, "{uri}: {error}");
    }
}

#[tokio::test]
async fn no_value_leads_out_of_a_folder() {
    let resources = toolbox().resources();
    let uris = [
        "files://..",
        "files://../secret",
        "files://a/../../secret",
        "files://a/%2e%2e/secret",
        "files://%2e%2e%2fsecret",
        "files://..%5csecret",
        "files://a/./b",
        "files://a%00b",
        "files://a%0ab",
        "files://a\u{7}b",
    ];
    for uri in uris {
        let error = resources.read(uri).await.expect_err(uri);
        assert_eq!(error.kind(), FailureKind::NotFound, "{uri}: {error}");
    }
    assert!(resources.read("files://a/..b/c..").await.is_ok());
    assert!(resources.read(&format!("files://{}", "a/".repeat(1 << 20))).await.is_err());
}

#[tokio::test]
async fn failures_have_their_kind_and_nothing_is_cut() {
    let resources = toolbox().resources();
    let cases = [
        ("notes://failing", FailureKind::Reported, "the disk is gone"),
        ("notes://panicking", FailureKind::Panicked, "resource `notes://panicking` panicked"),
        ("notes://endless", FailureKind::TimedOut, "resource `notes://endless` did not finish"),
        ("notes://large/1100000", FailureKind::ResultTooLarge, "is larger than the box allows"),
    ];
    for (uri, kind, text) in cases {
        let error = resources.read(uri).await.expect_err(uri);
        assert_eq!(error.kind(), kind, "{uri}: {error}");
        assert!(error.to_string().contains(text), "{uri}: {error}");
    }
    let contents = resources.read("notes://large/1000000").await.unwrap();
    assert_eq!(contents[0].text.as_ref().map(String::len), Some(1_000_000));
}

#[tokio::test]
async fn a_forbidden_uri_is_forbidden_in_every_spelling() {
    let toolbox = toolbox();
    let resources = toolbox.resources();
    resources.blacklist("notes://by-id/0");
    resources.blacklist("files://private/*");
    resources.blacklist("notes://count");
    let copies = [toolbox.filtered(|_| true), toolbox.prefixed("a"), toolbox.filtered(|_| false)];
    let forbidden = [
        "notes://by-id/0",
        "notes://by-id/%30",
        "files://private/a",
        "files://%70rivate/a",
        "files://private%2Fa",
        "notes://count",
    ];
    for resources in copies.iter().map(ToolBox::resources).chain([resources]) {
        for uri in forbidden {
            let error = resources.read(uri).await.expect_err(uri);
            assert_eq!(error.kind(), FailureKind::Blacklisted, "{uri}: {error}");
        }
        assert!(resources.read("notes://by-id/1").await.is_ok());
        assert!(!resources.list().iter().any(|own| own.uri() == "notes://count"));
    }
}

#[tokio::test]
async fn variables_are_completed() {
    let resources = toolbox().resources();
    let complete = async |template: &str, variable: &str, value: &str| {
        let (context, given) = (ToolContext::new(), BTreeMap::new());
        let suggestions = resources.complete(&context, template, variable, value, given).await;
        suggestions.map(|suggestions| suggestions.values).map_err(|error| error.kind())
    };
    assert_eq!(complete("notes://by-id/{id}", "id", "1").await.unwrap(), ["1", "10"]);
    assert_eq!(complete("notes://by-id/1", "id", "1").await.unwrap(), ["1", "10"]);
    assert_eq!(complete("notes://list{?page,order}", "order", "o").await.unwrap(), ["oldest"]);
    assert_eq!(complete("notes://{x}", "id", "").await, Err(FailureKind::NotFound));
    assert_eq!(complete("notes://by-id/{id}", "x", "").await, Err(FailureKind::InvalidArguments));
}

#[test]
fn a_template_matches_what_it_says() {
    let cases: [(&str, &str, Option<Value>); 16] = [
        ("a://b", "a://b", Some(json!({}))),
        ("a://b", "a://b/", None),
        ("a://{x}", "a://1", Some(json!({"x": "1"}))),
        ("a://{x}/c", "a://1/c", Some(json!({"x": "1"}))),
        ("a://{x}/c", "a:///c", None),
        ("a://{x}.{y}", "a://1.2.3", Some(json!({"x": "1", "y": "2.3"}))),
        ("a://{x}-c", "a://1-c-c", Some(json!({"x": "1-c"}))),
        ("a://{+x}", "a://1/2", Some(json!({"x": "1/2"}))),
        ("a://{x*}/end", "a://1/2/end", Some(json!({"x": "1/2"}))),
        ("a://{x}", "a://1/2", None),
        ("a://{x}", "a://caf%C3%A9", Some(json!({"x": "café"}))),
        ("a://{x}", "a://%ff", None),
        ("a://{x}{?q}", "a://1", Some(json!({"x": "1"}))),
        ("a://{x}{?q}", "a://1?q=2%203", Some(json!({"x": "1", "q": "2 3"}))),
        ("a://{x}{?q}", "a://1?r=2", None),
        ("a://é/{x}", "a://é/ü", Some(json!({"x": "ü"}))),
    ];
    for (template, uri, expected) in cases {
        let template = UriTemplate::new(template).unwrap();
        assert_eq!(template.matches(uri).map(Value::Object), expected, "{template} {uri}");
    }
    let invalid = [
        "",
        "a",
        "/a",
        "1a://b",
        "a:",
        "a://{",
        "a://}",
        "a://{}",
        "a://{x}{y}",
        "a://{x y}",
        "a://b c",
        "a://{?x}/b",
        "a://\n",
    ];
    for text in invalid {
        assert!(UriTemplate::new(text).is_err(), "{text:?}");
    }
    let error = UriTemplate::new("a://{x}{y}").unwrap_err();
    assert_eq!(error.to_string(), "two variables follow each other without a literal between them");
}

#[tokio::test]
async fn a_tool_becomes_a_resource() {
    let tool = Tool::new("photo", "A photo")
        .param("name", "string", "Whose")
        .call(|_| vec![Content::text("a photo"), Content::image(b"\xff\xd8", "image/jpeg")]);
    let photo = Resource::from_tool("photos://{name}", tool).unwrap();
    assert_eq!(photo.variables().collect::<Vec<_>>(), ["name"]);
    let toolbox = ToolBox::new();
    toolbox.resources().register(photo.with_name("Photo of a person"));
    let contents = toolbox.resources().read("photos://ada").await.unwrap();
    assert_eq!(
        serde_json::to_value(contents).unwrap(),
        json!([
            {"uri": "photos://ada", "text": "a photo"},
            {"uri": "photos://ada", "mimeType": "image/jpeg", "blob": "/9g="},
        ])
    );
    assert_eq!(toolbox.resources().list()[0].name(), "Photo of a person");
}
