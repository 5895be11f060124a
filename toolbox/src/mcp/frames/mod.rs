//! The messages of mounted servers as they were on the wire, kept in a log that names what breaks
//! the protocol.

mod frame;
mod kind;
mod log;
mod messages;
mod results;
mod tools;
mod trace;

pub use frame::{Frame, FrameDirection};
pub(crate) use frame::{FrameObserver, FrameTap};
pub use kind::{FrameKind, ProtocolFault};
pub use log::{FrameBatch, FrameLog, RecordedFrame};
