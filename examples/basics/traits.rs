//! How does each implementation of a trait get the same tools?
//!
//! `#[toolset]` on a trait makes its methods tools of every value behind it: an
//! `Arc<dyn Storage>` goes into a box as it is.
//!
//! `cargo run -p toolbox-basics --example traits`

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::sync::Arc;

use toolbox::{ToolBox, ToolCall, toolset};

/// What keeps texts.
#[toolset]
trait Storage {
    /// Reads a text.
    #[tool(read_only)]
    async fn read(
        &self,
        /// The name of the text
        key: &str,
    ) -> Result<String, String>;

    /// Counts the words of a text.
    #[tool(read_only)]
    async fn words(
        &self,
        /// The name of the text
        key: &str,
    ) -> Result<usize, String> {
        Ok(self.read(key).await?.split_whitespace().count())
    }
}

struct Memory(BTreeMap<&'static str, &'static str>);

#[toolset]
impl Storage for Memory {
    async fn read(&self, key: &str) -> Result<String, String> {
        self.0.get(key).map(|text| (*text).to_owned()).ok_or_else(|| format!("there is no {key}"))
    }
}

struct Echo;

#[toolset]
impl Storage for Echo {
    /// Repeats the name of a text.
    #[tool]
    async fn read(&self, key: &str) -> Result<String, String> {
        Ok(format!("{key}, {key}"))
    }
}

#[tokio::main]
async fn main() {
    let memory = Memory(BTreeMap::from([("haiku", "old pond, frog jumps in")]));
    let storages: [Arc<dyn Storage>; 2] = [Arc::new(memory), Arc::new(Echo)];
    for storage in storages {
        let toolbox = ToolBox::from(storage);
        for tool in toolbox.tools() {
            println!("{}: {}", tool.name(), tool.description());
        }
        for name in ["read", "words"] {
            let result = toolbox.call(ToolCall::new("1", name, r#"{"key":"haiku"}"#)).await;
            println!("{name} -> {}", result.text());
        }
    }
}
