//! Collections of tools by name: registration, limits, and the definitions for a model.
//!
//! A [`ToolBox`] is a cheap handle to an ordered collection that many threads share. Readers take a
//! snapshot and never wait for a writer. [`ToolBoxBuilder`] sets limits, states, an approver and
//! layers.
//!
//! ```
//! use std::time::Duration;
//! use toolbox::collection::RegisterFault;
//! use toolbox::{Tool, ToolBox};
//!
//! let ping = Tool::new("ping", "Answers").call(|_| "pong");
//! let toolbox = ToolBox::builder().timeout(Duration::from_secs(5)).tools(ping.clone()).build()?;
//! let error = toolbox.try_register(Tool::new("ping", "Another").call(|_| "pang")).unwrap_err();
//! assert!(matches!(error.faults()[0], RegisterFault::NameTaken { .. }));
//! # Ok::<(), toolbox::collection::BuildToolBoxError>(())
//! ```
//!
//! | to | see |
//! |---|---|
//! | hold and call tools | [`ToolBox`] |
//! | set limits, states, an approver, layers | [`ToolBoxBuilder`], [`BuildToolBoxError`] |
//! | hold prompts and resources beside them | [`Prompts`], [`Resources`] |
//! | register tools from outside of the program | [`ToolBox::try_register`], [`RegisterError`], [`RegisterFault`] |

mod attended;
mod builder;
mod definitions;
mod error;
mod notices;
mod offers;
mod prompts;
mod resources;
mod rules;
mod settings;
mod snapshot;
mod toolbox;
mod tools;

pub use builder::{BuildToolBoxError, ToolBoxBuilder};
pub use error::{RegisterError, RegisterFault};
#[allow(unused_imports, reason = "for servers")]
pub(crate) use notices::{WantedUri, WantedUris};
pub use prompts::Prompts;
pub use resources::Resources;
pub(crate) use resources::permitted_spellings;
pub(crate) use settings::BoxSettings;
pub(crate) use snapshot::{Snapshot, ToolEntry, Visibility};
pub(crate) use toolbox::BoxInner;
pub use toolbox::{ToolBox, WeakToolBox};
