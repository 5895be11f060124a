//! The messages of mounted servers as they were on the wire, kept in a log that names what breaks
//! the protocol.

mod frame;
mod log;
mod messages;
mod results;
mod tools;
mod trace;

pub use frame::{Frame, FrameDirection};
pub(crate) use frame::{FrameObserver, FrameTap};
pub use log::{FrameBatch, FrameKind, FrameLog, ProtocolFault, RecordedFrame};
