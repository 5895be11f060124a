//! Traits whose methods are tools: every implementor has them, also behind a trait object.

use std::future::{pending, ready};
use std::sync::Arc;

use crate::bounded::tokio;
use serde_json::{Value, json};
use toolbox::tool::{CompletionRequest, Toolset};
use toolbox::{BoxFuture, Tool, ToolBox, ToolCall, toolset};

/// What keeps texts.
#[toolset]
trait Storage {
    /// Reads a text.
    #[tool(read_only, title = "Read")]
    async fn read(
        &self,
        /// Its name
        #[arg(length = 1..=9)]
        key: &str,
    ) -> Result<String, String>;

    /// Returns whether there is a text.
    #[tool]
    async fn exists(&self, key: &str) -> bool {
        self.read(key).await.is_ok()
    }

    /// Counts the texts.
    #[tool]
    fn count(&self) -> usize {
        2
    }

    /// The text of a key.
    #[resource("storage://{key}", mime_type = "text/plain")]
    async fn text(&self, #[arg(complete = Self::keys)] key: &str) -> Option<String> {
        self.read(key).await.ok()
    }

    /// The keys that there may be.
    fn keys(&self, request: &CompletionRequest) -> Vec<String> {
        request.matching(["a", "b"])
    }

    /// Asks for a review.
    #[prompt]
    fn review(&self, key: &str) -> String {
        format!("Review {key} of {}.", self.count())
    }
}

struct Disk;

#[toolset]
impl Storage for Disk {
    /// Reads a file of the disk.
    #[tool(timeout = "7s")]
    async fn read(&self, key: &str) -> Result<String, String> {
        ready(()).await;
        if key == "slow" {
            return pending().await;
        }
        if key == "a" {
            return Ok("alpha".to_owned());
        }
        Err(format!("no file {key}"))
    }
}

/// Its implementation is written without the macro.
struct Cloud(Vec<String>);

impl Storage for Cloud {
    fn read<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Ok(format!("{key} of {}", self.0[0])) })
    }

    fn count(&self) -> usize {
        self.0.len()
    }
}

#[toolset(prefix = "index", with = tagged)]
trait Index<T: Into<Value> + Send + 'static> {
    type Hit: serde::Serialize + schemars::JsonSchema + Send;

    fn value(&self) -> T;

    /// Finds by a text.
    #[tool]
    async fn find(&self, text: String) -> Vec<Self::Hit>;

    /// Shows the value.
    #[tool(name = "show")]
    fn shown(&self) -> Value {
        self.value().into()
    }
}

fn tagged<S: ?Sized>(_: &Arc<S>, tool: Tool) -> Tool {
    tool.with_tags(["index"])
}

#[toolset]
impl Index<u8> for Disk {
    type Hit = (String, u8);

    fn value(&self) -> u8 {
        7
    }

    async fn find(&self, text: String) -> Vec<Self::Hit> {
        vec![(text, 1)]
    }
}

/// A trait with the tools of the trait that it builds on.
#[toolset(traits(Storage))]
trait Archive: Storage {
    /// Keeps everything.
    #[tool]
    fn keep(self: Arc<Self>) -> usize {
        self.count()
    }
}

impl Archive for Cloud {}

/// The value itself, with its own tools and those of its traits.
#[toolset(prefix = "disk", traits(Storage, Index<u8>))]
impl Disk {
    /// Tells the size.
    #[tool]
    fn size(&self) -> usize {
        size_of_val(self) + 5
    }
}

fn disk() -> Arc<dyn Storage> {
    Arc::new(Disk)
}

fn cloud() -> Arc<Cloud> {
    Arc::new(Cloud(vec!["cloud".to_owned()]))
}

#[tokio::test]
async fn every_implementor_has_the_tools_of_its_trait() {
    let index: Arc<dyn Index<u8, Hit = (String, u8)>> = Arc::new(Disk);
    let storage: Arc<dyn Storage + Send + Sync> = cloud();
    let archive: Arc<dyn Archive> = cloud();
    let both = ToolBox::builder().tools(disk()).tools(index).build().expect("distinct names");
    let cases = [
        (ToolBox::from(disk()), "read", json!({"key": "a"}), json!("alpha")),
        (ToolBox::from(disk()), "exists", json!({"key": "a"}), json!(true)),
        (ToolBox::from(disk()), "exists", json!({"key": "b"}), json!(false)),
        (ToolBox::from(disk()), "count", json!({}), json!(2)),
        (ToolBox::from(storage.clone()), "read", json!({"key": "x"}), json!("x of cloud")),
        (ToolBox::from(storage), "count", json!({}), json!(1)),
        (both.clone(), "index_find", json!({"text": "t"}), json!([["t", 1]])),
        (both.clone(), "index_show", json!({}), json!(7)),
        (both, "read", json!({"key": "a"}), json!("alpha")),
        (ToolBox::from(archive.clone()), "keep", json!({}), json!(1)),
        (ToolBox::from(archive), "read", json!({"key": "y"}), json!("y of cloud")),
        (ToolBox::from(Disk), "disk_size", json!({}), json!(5)),
        (ToolBox::from(Disk), "read", json!({"key": "a"}), json!("alpha")),
        (ToolBox::from(Disk), "index_show", json!({}), json!(7)),
    ];
    for (toolbox, name, arguments, expected) in cases {
        let result = toolbox.call(ToolCall::new("1", name, arguments.to_string())).await;
        let text = result.text();
        let value: Value = serde_json::from_str(&text).unwrap_or(Value::String(text.to_string()));
        assert_eq!((value, result.is_error()), (expected, false), "{name} of {arguments}");
    }
}

#[tokio::test]
async fn a_failure_and_a_fault_of_a_trait_method_reach_the_model() {
    let toolbox = ToolBox::from(disk());
    for (arguments, expected) in
        [(r#"{"key":"b"}"#, "no file b"), (r#"{"key":""}"#, "key"), (r"{}", "missing")]
    {
        let result = toolbox.call(ToolCall::new("1", "read", arguments)).await;
        assert!(result.is_error() && result.text().contains(expected), "{}", result.text());
    }
}

#[test]
fn an_implementation_may_describe_a_tool() {
    let described = |toolbox: &ToolBox, name: &str| {
        let tool = toolbox.get(name).expect("the tool exists");
        let title = tool.definition().title.clone().unwrap_or_default();
        (tool.description().to_owned(), title)
    };
    let (of_disk, of_cloud) = (ToolBox::from(disk()), ToolBox::from(cloud() as Arc<dyn Storage>));
    let read = ("Reads a file of the disk.".to_owned(), "Read".to_owned());
    assert_eq!(described(&of_disk, "read"), read);
    assert_eq!(described(&of_cloud, "read"), ("Reads a text.".into(), "Read".into()));
    let schema = |toolbox: &ToolBox| {
        toolbox.get("read").expect("it exists").definition().input_schema.clone()
    };
    assert_eq!(schema(&of_disk), schema(&of_cloud));
    assert_eq!(
        of_disk.get("read").expect("it exists").definition().annotations.read_only,
        Some(true)
    );
    let tags = |tools: Vec<Tool>| tools.iter().map(|tool| tool.definition().tags.len()).collect();
    let tags: Vec<usize> = tags(Arc::new(Disk).tools());
    assert_eq!(tags, [0, 0, 0, 0, 1, 1], "`with` of the trait changes its tools alone");
}

#[tokio::test(start_paused = true)]
async fn an_implementation_may_have_a_timeout_of_its_own() {
    let toolbox = ToolBox::from(disk());
    let result = toolbox.call(ToolCall::new("1", "read", r#"{"key":"slow"}"#)).await;
    assert!(result.is_error() && result.text().contains("within 7s"), "{}", result.text());
}

#[tokio::test]
async fn prompts_and_resources_of_a_trait_come_along() {
    let archive: Arc<dyn Archive> = Arc::new(Cloud(vec!["c".to_owned()]));
    for (toolbox, text, review) in [
        (ToolBox::from(disk()), "alpha", "Review a of 2."),
        (ToolBox::from(Disk), "alpha", "Review a of 2."),
        (ToolBox::from(archive), "a of c", "Review a of 1."),
    ] {
        let read = toolbox.resources().read("storage://a").await.expect("it can be read");
        assert_eq!(read[0].text.as_deref(), Some(text));
        let prompt = toolbox.prompts().get("review", r#"{"key":"a"}"#).await.expect("it exists");
        assert_eq!(prompt.text(), review);
    }
}
