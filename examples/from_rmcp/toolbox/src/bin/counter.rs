//! A server of three tools over standard streams.

use std::sync::Mutex;

use toolbox::mcp::{ServeError, serve_stdio_as};
use toolbox::{ToolBox, toolset};

#[derive(Default)]
struct Counter(Mutex<i64>);

#[toolset]
impl Counter {
    /// Add to the counter
    #[tool]
    fn increment(
        &self,
        /// By how much
        step: i64,
    ) -> i64 {
        let mut value = self.0.lock().unwrap();
        *value += step;
        *value
    }

    /// Take from the counter
    #[tool]
    fn decrement(
        &self,
        /// By how much
        step: i64,
    ) -> i64 {
        let mut value = self.0.lock().unwrap();
        *value -= step;
        *value
    }

    /// Get the value of the counter
    #[tool]
    fn get_value(&self) -> i64 {
        *self.0.lock().unwrap()
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    serve_stdio_as(ToolBox::from(Counter::default()), toolbox::server_info!()).await
}
