//! The frames between a program and the process of a script: a length, and JSON.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::engine::{Script, ScriptError};
use crate::host::{AskedCall, CallResult, Console};
use crate::limits::Limits;

/// The version of the frames. Both ends are usually of one program.
pub(super) const VERSION: u32 = 2;

/// The longest frame beside the texts of a script, in bytes.
const FRAME_BYTES: usize = 1 << 20;

/// A frame to the process of a script.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Runs a script.
    Run { script: Script, limits: Limits },
    /// Checks that a script can be read.
    Check { script: String, limits: Limits },
    /// The results of the calls that it waits for.
    Results(Vec<CallResult>),
    /// The text about tools that it asked for.
    Text(String),
}

/// A frame from the process of a script.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// It is confined, and takes a script.
    Ready {
        version: u32,
        language: String,
    },
    /// It cannot be confined, for this reason.
    NotConfined(String),
    /// It has a script, which begins now.
    Taken,
    /// It waits for calls. The names are those of functions.
    Calls {
        calls: Vec<AskedCall>,
        console: Console,
    },
    Search(String),
    Types(String),
    Ended {
        end: Result<String, ScriptError>,
        console: Console,
    },
}

/// Returns the longest frame that the process of a script may send. The arguments of calls have at
/// most the memory of the engine, and JSON in JSON at most twice its length.
pub(super) fn most_bytes(limits: &Limits) -> usize {
    let texts = limits.memory_bytes.saturating_mul(2).saturating_add(limits.value_bytes);
    texts.saturating_add(limits.console_bytes.saturating_mul(6)).saturating_add(FRAME_BYTES)
}

/// Writes a frame.
pub(super) fn write(output: &mut impl Write, frame: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, frame)?;
    let length = u32::try_from(bytes.len() - 4).map_err(|_| io::ErrorKind::FileTooLarge)?;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    output.write_all(&bytes)?;
    output.flush()
}

/// Reads a frame of at most so many bytes.
///
/// # Errors
///
/// `InvalidData` for one that is longer, or is none of these; `UnexpectedEof` at the end.
pub(super) fn read<T: DeserializeOwned>(input: &mut impl Read, most: usize) -> io::Result<T> {
    let mut length = [0; 4];
    input.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if usize::try_from(length).is_ok_and(|length| length > most) {
        let text = format!("a frame of {length} bytes; at most {most} are read");
        return Err(io::Error::new(io::ErrorKind::InvalidData, text));
    }
    // The memory grows with what arrives, whatever the length says.
    let mut bytes = Vec::new();
    let read = input.take(length.into()).read_to_end(&mut bytes)?;
    if read < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    serde_json::from_slice(&bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))
}
