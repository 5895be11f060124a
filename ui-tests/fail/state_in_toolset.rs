use std::sync::{Arc, OnceLock};

use toolbox::toolset;

struct Library;

#[toolset]
impl Library {
    /// Counts.
    #[tool]
    async fn count(&self, index: Arc<OnceLock<Vec<String>>>) -> usize {
        index.get().map_or(0, Vec::len)
    }
}

fn main() {}
