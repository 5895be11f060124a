//! `#[cfg]` on tools, methods, arguments and in lists.
use toolbox::{ToolBox, ToolCall, tool, tools, toolset};

#[cfg(any())]
/// Is not there.
#[tool]
fn gone_above(of: Missing) -> Missing {}

/// Is not there.
#[tool]
#[cfg(any())]
fn gone_below(of: Missing) -> Missing {}

#[cfg(all())]
/// Is there.
#[tool]
fn here_above() {}

/// Is there.
#[tool]
#[cfg(all())]
#[cfg_attr(all(), inline)]
fn here_below() {}

/// Is one of two.
#[tool]
#[cfg(any())]
fn either() -> Missing {}

/// Is the other.
#[tool]
#[cfg(all())]
fn either() -> u32 {
    2
}

/// Takes one or the other.
#[tool]
fn choose(
    #[cfg(any())] this: Missing,
    #[cfg(any())]
    #[arg(default = Missing)]
    that: Missing,
    #[cfg(all())] that: u32,
    #[cfg(all())]
    #[arg(default = 5)]
    other: u32,
) -> u32 {
    that + other
}

struct Set;

#[toolset]
impl Set {
    /// Is not there.
    #[tool]
    #[cfg(any())]
    fn gone(&self) -> Missing {}

    /// Is there.
    #[cfg(all())]
    #[tool]
    async fn here(&self, #[cfg(any())] missing: Missing, of: &str) -> String {
        of.to_owned()
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let toolbox = ToolBox::from(tools![
        #[cfg(any())] gone_above,
        #[cfg(any())] gone_below,
        here_above,
        #[cfg(all())] here_below,
        #[cfg(any())] either,
        #[cfg(all())] either,
        choose,
    ]);
    toolbox.register(Set);
    assert_eq!(toolbox.names(), ["here_above", "here_below", "either", "choose", "here"]);
    let result = toolbox.call(ToolCall::new("1", "choose", r#"{"that":1}"#)).await;
    assert_eq!(result.text(), "6");
    assert!(tools![#[cfg(any())] gone_above].is_empty());
    assert!(tools![].is_empty());
}
