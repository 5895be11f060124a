//! All forms that a toolset and its methods may have.
use std::fmt::Display;
use std::sync::Arc;

use toolbox::{State, Tool, ToolBox, ToolCall, ToolContext, toolset};

struct Github<T> {
    token: T,
}

#[toolset]
impl<T> Github<T>
where
    T: Display + Send + Sync + 'static,
{
    const LIMIT: u32 = 3;

    fn new(token: T) -> Self {
        Self { token }
    }

    /// Lists the issues.
    #[tool(read_only, example(label = "bug"))]
    async fn issues(&self, label: &str, context: &ToolContext) -> Result<String, std::fmt::Error> {
        std::future::ready(()).await;
        Ok(format!("{} {label} {}", self.token, context.call_id()))
    }

    /// Shows the token.
    #[tool]
    fn token(&self) -> String {
        self.token.to_string()
    }

    /// Shares itself.
    #[tool(name = "share")]
    async fn shared(self: Arc<Self>, #[arg(default = Self::LIMIT)] limit: u32) -> String {
        format!("{} {limit}", self.token)
    }

    /// Shares itself at once.
    #[tool]
    fn shared_now(self: std::sync::Arc<Self>) -> String {
        self.token.to_string()
    }

    /// Takes itself by a type.
    #[tool]
    fn typed(self: &Self) -> u32 {
        Self::LIMIT
    }

    /// Needs no value.
    #[tool]
    pub fn version() -> &'static str {
        "v3"
    }

    /// Needs no value, and waits.
    #[tool]
    async fn remote_version(state: State<u8>) -> u8 {
        *state
    }

    fn helper(&self) -> bool {
        self.token.to_string().is_empty()
    }
}

struct Constant<const N: usize>;

#[toolset]
impl<const N: usize> Constant<N> {
    /// Shows the number.
    #[tool]
    fn number(&self) -> usize {
        N
    }
}

struct Static<'a>(&'a str);

#[toolset]
impl Static<'static> {
    /// Shows the text.
    #[tool]
    fn text(&self) -> &'static str {
        self.0
    }
}

struct Limited(u64);

#[toolset(with = Self::limited)]
impl Limited {
    fn limited(self: &Arc<Self>, tool: Tool) -> Tool {
        tool.with_description(format!("Waits {} seconds.", self.0))
    }

    /// Waits.
    #[tool(untrusted)]
    fn wait(&self) {}
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let github = Github::new("secret");
    assert!(!github.helper());
    let toolbox = ToolBox::builder()
        .tools(github)
        .tools(Arc::new(Constant::<4>))
        .tools(Static("static"))
        .state(9_u8)
        .build()
        .unwrap();
    let text = async |name: &str, arguments: &str| {
        toolbox.call(ToolCall::new("1", name, arguments)).await.into_text()
    };
    assert_eq!(text("issues", r#"{"label":"bug"}"#).await, "secret bug 1");
    assert_eq!(text("token", "").await, "secret");
    assert_eq!(text("share", "").await, "secret 3");
    assert_eq!(text("shared_now", "").await, "secret");
    assert_eq!(text("typed", "").await, "3");
    assert_eq!(text("version", "").await, "v3");
    assert_eq!(text("remote_version", "").await, "9");
    assert_eq!(text("number", "").await, "4");
    assert_eq!(text("text", "").await, "static");
    let limited = ToolBox::from(Limited(3)).get("wait").unwrap();
    assert_eq!((limited.description(), limited.is_untrusted()), ("Waits 3 seconds.", true));
}
