//! A server of three tools over standard streams, on rmcp.

use std::sync::{Arc, Mutex};

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::transport::stdio;
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct StepRequest {
    /// By how much
    step: i64,
}

#[derive(Clone)]
struct Counter {
    value: Arc<Mutex<i64>>,
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Counter {
    fn new() -> Self {
        Self { value: Arc::default(), tool_router: Self::tool_router() }
    }

    #[tool(description = "Add to the counter")]
    async fn increment(&self, Parameters(StepRequest { step }): Parameters<StepRequest>) -> String {
        let mut value = self.value.lock().unwrap();
        *value += step;
        value.to_string()
    }

    #[tool(description = "Take from the counter")]
    async fn decrement(&self, Parameters(StepRequest { step }): Parameters<StepRequest>) -> String {
        let mut value = self.value.lock().unwrap();
        *value -= step;
        value.to_string()
    }

    #[tool(description = "Get the value of the counter")]
    async fn get_value(&self) -> String {
        self.value.lock().unwrap().to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Counter {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("counter", env!("CARGO_PKG_VERSION"));
        info
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Counter::new().serve(stdio()).await?;
    service.waiting().await?;
    Ok(())
}
