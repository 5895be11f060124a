//! All forms that a trait with `#[toolset]` and its implementations may have.
use std::borrow::Cow;
use std::fmt::Display;
use std::sync::{Arc, Mutex};

use toolbox::{Content, State, Tool, ToolBox, ToolCall, ToolContext, toolset};

/// What keeps texts.
#[toolset]
trait Storage {
    /// Reads a text.
    #[tool(read_only, example(key = "a"))]
    async fn read(&self, /** Its key */ key: &str) -> Result<String, String>;

    /// Writes a text.
    #[tool(name = "put", destructive)]
    async fn write(&self, key: String, #[arg(default = "nothing")] text: &str, context: &ToolContext)
    -> String;

    /// Returns whether there is a text.
    #[tool]
    async fn exists(&self, key: &str) -> bool {
        let text = self.read(key).await;
        if text.is_err() {
            return false;
        }
        text.is_ok()
    }

    /// Counts the texts.
    #[tool]
    fn count(&self) -> usize;

    /// Shares itself.
    #[tool]
    async fn share(self: Arc<Self>, state: State<u8>) -> u8 {
        *state + u8::try_from(self.count()).unwrap()
    }

    /// Names itself.
    #[tool]
    fn name(&self) -> Cow<'_, str> {
        "storage".into()
    }

    /// Is no tool.
    fn helper(&self) -> usize {
        self.count() + 1
    }

    /// Is no tool, and waits.
    async fn wait<'a>(&self, text: &'a str) -> &'a str {
        let _ = self.count();
        text
    }

    fn new() -> Self
    where
        Self: Sized;
}

#[derive(Default)]
struct Disk(Mutex<Vec<(String, String)>>);

#[toolset]
impl Storage for Disk {
    /// Reads a file.
    #[tool(title = "Read", timeout = "5s")]
    async fn read(&self, key: &str) -> Result<String, String> {
        std::future::ready(()).await;
        let texts = self.0.lock().unwrap();
        let found = texts.iter().find(|(own, _)| own == key);
        Ok(found.ok_or("there is none")?.1.clone())
    }

    async fn write(&self, key: String, text: &str, context: &ToolContext) -> String {
        self.0.lock().unwrap().push((key, text.to_owned()));
        context.call_id().to_owned()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn new() -> Self {
        Self::default()
    }
}

/// A plain implementation writes the future out.
struct Empty<T>(T);

impl<T: Display + Send + Sync + 'static> Storage for Empty<T> {
    fn read<'a>(&'a self, key: &'a str) -> toolbox::BoxFuture<'a, Result<String, String>> {
        Box::pin(async move { Err(format!("{} has no {key}", self.0)) })
    }

    fn write<'a>(
        &'a self,
        _: String,
        text: &'a str,
        _: &'a ToolContext,
    ) -> toolbox::BoxFuture<'a, String> {
        Box::pin(async move { text.to_owned() })
    }

    fn count(&self) -> usize {
        0
    }

    fn new() -> Self {
        unreachable!()
    }
}

/// A second trait of the same value, with the same names.
#[toolset(prefix = "search", with = limited)]
pub trait Search<T: Display + Send + 'static = String>: Sync + Send
where
    T: Clone,
{
    /// Reads an item.
    #[tool]
    fn read(&self, at: usize) -> Content;

    /// The item.
    fn item(&self) -> T;

    /// Shows the item.
    #[tool]
    fn shown(&self) -> String {
        self.item().to_string()
    }
}

fn limited<S: ?Sized>(_: &Arc<S>, tool: Tool) -> Tool {
    tool.with_tags(["limited"])
}

impl Search<u8> for Disk {
    fn read(&self, at: usize) -> Content {
        Content::text(at.to_string())
    }

    fn item(&self) -> u8 {
        7
    }
}

/// Associated types, and the tools of a supertrait.
#[toolset(traits(Storage))]
trait Table: Storage {
    type Row: serde::Serialize + schemars::JsonSchema + Send;

    /// Returns the first row.
    #[tool]
    async fn first(&self) -> Option<Self::Row>;
}

#[toolset]
impl Table for Disk {
    type Row = (u8, String);

    async fn first(&self) -> Option<(u8, String)> {
        Some((1, "one".to_owned()))
    }
}

/// The value itself, with its own tools and those of its traits.
#[toolset(traits(Storage, Search<u8>))]
impl Disk {
    /// Tells the size.
    #[tool]
    fn size(&self) -> u32 {
        5
    }
}

async fn text(toolbox: &ToolBox, name: &str, arguments: &str) -> String {
    toolbox.call(ToolCall::new("1", name, arguments)).await.into_text()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let disk = Arc::new(Disk::new());
    assert_eq!(disk.helper(), 1);
    assert_eq!(disk.wait("text").await, "text");
    let storage: Arc<dyn Storage> = disk.clone();
    let search: Arc<dyn Search<u8> + Send + Sync> = disk.clone();
    let toolbox = ToolBox::builder().tools(storage).tools(search).state(9_u8).build().unwrap();
    let names = ["read", "put", "exists", "count", "share", "name", "search_read", "search_shown"];
    assert_eq!(toolbox.names(), names);
    let read = toolbox.get("read").unwrap();
    assert_eq!((read.description(), read.definition().title.as_deref()), ("Reads a file.", Some("Read")));
    assert_eq!(toolbox.get("search_read").unwrap().definition().tags, ["limited"]);
    assert_eq!(text(&toolbox, "put", r#"{"key":"a"}"#).await, "1");
    assert_eq!(text(&toolbox, "read", r#"{"key":"a"}"#).await, "nothing");
    assert_eq!(text(&toolbox, "exists", r#"{"key":"a"}"#).await, "true");
    assert_eq!(text(&toolbox, "exists", r#"{"key":"b"}"#).await, "false");
    assert_eq!(text(&toolbox, "share", "").await, "10");
    assert_eq!(text(&toolbox, "name", "").await, "storage");
    assert_eq!(text(&toolbox, "search_shown", "").await, "7");

    let table: Arc<dyn Table<Row = (u8, String)>> = disk;
    let toolbox = ToolBox::from(table);
    assert_eq!(toolbox.len(), 7);
    assert_eq!(text(&toolbox, "first", "").await, r#"[1,"one"]"#);
    assert_eq!(ToolBox::from(Disk::new()).len(), 9);

    let empty: Arc<dyn Storage> = Arc::new(Empty("void"));
    let toolbox = ToolBox::from(empty);
    assert_eq!(toolbox.get("read").unwrap().description(), "Reads a text.");
    assert!(text(&toolbox, "read", r#"{"key":"a"}"#).await.contains("void has no a"));
}
