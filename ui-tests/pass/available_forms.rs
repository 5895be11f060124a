#![deny(warnings)]
//! Every place that a predicate of `available` may stand in.

use toolbox::{ToolBox, ToolContext, tool, toolset, tools};

mod rules {
    pub(crate) fn never(_: &toolbox::ToolContext) -> bool {
        false
    }

    pub(crate) fn of<T>(_: &toolbox::ToolContext) -> bool {
        size_of::<T>() > 0
    }
}

/// A path.
#[tool(available = rules::never)]
fn by_path() {}

/// A generic function.
#[tool(available = rules::of::<u8>)]
fn by_generic() {}

struct Store<T>(T);

#[toolset(available = Self::is_open)]
impl<T: Send + Sync + 'static> Store<T> {
    fn is_open(_: &ToolContext) -> bool {
        size_of::<T>() > 0
    }

    /// Gets.
    #[tool]
    fn get(&self) {}

    /// Puts.
    #[tool(available = rules::of::<T>)]
    async fn put(&self) {
        let _ = &self.0;
    }
}

#[toolset(available = rules::never)]
trait Search {
    /// Finds.
    #[tool]
    fn find(&self) {}
}

struct Web;

impl Search for Web {}

#[toolset(traits(Search))]
impl Web {
    /// Opens.
    #[tool]
    fn open(&self) {}
}

fn main() {
    let toolbox = ToolBox::from(tools![by_path, by_generic]);
    toolbox.register(Store(1_u8));
    toolbox.register(Web);
    let listed = toolbox.definitions();
    let listed: Vec<_> = listed.iter().map(|tool| &*tool.name).collect();
    assert_eq!(listed, ["by_generic", "get", "put", "open"]);
    assert_eq!(toolbox.len(), 6);
}
