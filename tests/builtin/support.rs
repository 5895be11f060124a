//! Helpers that several modules of these tests use.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use toolbox::{ToolBox, ToolCall, ToolResult};

/// A folder of its own for a test, gone when it ends.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("toolbox-builtin-{}-{count}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// A folder in it, made if it is not there.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) async fn call(
    toolbox: &ToolBox,
    tool: &str,
    arguments: serde_json::Value,
) -> ToolResult {
    toolbox.call(ToolCall::new("call", tool, arguments)).await
}
