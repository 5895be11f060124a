//! Recordings of models and MCP servers, and what plays them.

mod difference;
mod entry;
mod error;
mod file;
#[cfg(feature = "mcp-client")]
mod frames;
mod lines;
mod model;
mod recording;
#[cfg(feature = "mcp-client")]
mod replay;
#[cfg(feature = "mcp-client")]
mod server;
#[cfg(feature = "mcp-client")]
mod session;
mod shown;

pub use error::RecordingError;
pub use file::RecordingFile;
pub use model::{PlayedModel, RecordingModel};
pub use recording::Recording;
#[cfg(feature = "mcp-client")]
pub use server::RecordedServer;
#[cfg(feature = "mcp-client")]
pub use session::SessionRecorder;
