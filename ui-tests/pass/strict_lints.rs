//! The lints of a strict crate are silent about an expansion.
#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    missing_copy_implementations,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    unused_results,
    unused_lifetimes,
    elided_lifetimes_in_paths,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    let_underscore_drop,
    keyword_idents,
    non_ascii_idents,
    rust_2018_idioms,
    rust_2024_compatibility
)]

use toolbox::{ToolBox, tools};

/// Tools.
pub mod docs {
    use toolbox::{State, ToolContext, tool, toolset};

    /// Searches the documentation.
    #[tool(read_only, title = "Search", tags("docs"), example(query = "macros", limit = 2))]
    pub async fn search(
        /// Words to look for
        #[arg(length = 1..=100)]
        query: &str,
        #[arg(default = 10, range = 1..=50)] limit: u32,
        tags: Option<Vec<String>>,
        context: &ToolContext,
        state: State<String>,
    ) -> Result<Vec<String>, std::fmt::Error> {
        Ok(vec![format!("{query}{limit}{tags:?}{}{}", context.call_id(), *state)])
    }

    /// Counts.
    #[tool]
    pub fn count(words: &[String]) -> usize {
        words.len()
    }

    /// A set of tools.
    #[derive(Debug, Clone, Copy)]
    pub struct Set;

    #[toolset]
    impl Set {
        /// Waits.
        #[tool]
        pub async fn wait(&self, #[arg(default)] turns: u8) -> u8 {
            turns
        }

        /// Names the set.
        #[tool]
        pub fn name(&self) -> &'static str {
            "set"
        }
    }

    /// A trait of tools.
    #[toolset]
    pub trait Named: std::fmt::Debug {
        /// Renames it.
        #[tool]
        async fn rename(&self, name: &str) -> String;

        /// Returns whether it is renamed.
        #[tool]
        async fn is_renamed(&self) -> bool {
            self.rename("a").await == "a"
        }

        /// Returns the length.
        fn length(&self) -> usize;
    }

    #[toolset]
    impl Named for Set {
        /// Does not rename it.
        #[tool(title = "Rename")]
        async fn rename(&self, name: &str) -> String {
            name.to_owned()
        }

        fn length(&self) -> usize {
            3
        }
    }
}

fn main() {
    let toolbox = ToolBox::from(tools![docs::search, docs::count]);
    toolbox.register(docs::Set);
    assert_eq!(toolbox.len(), 4);
    let named: std::sync::Arc<dyn docs::Named> = std::sync::Arc::new(docs::Set);
    toolbox.register(named);
    assert_eq!(toolbox.len(), 6);
}
