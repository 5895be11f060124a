use toolbox::{tool, toolset};

/// Deletes.
#[tool(available = "root")]
fn delete() {}

struct Store;

#[toolset(available = |_| true)]
impl Store {
    /// Drops.
    #[tool]
    fn drop_all(&self) {}
}

fn main() {}
