//! Resources: documents that clients read by their URI, one by one or by a template of URIs.
//!
//! A [`Resource`] is a value like a [`Tool`](crate::Tool): `#[resource]` makes it of a function, a
//! box holds it ([`ToolBox::resources`](crate::ToolBox::resources)), and reading it passes the gate
//! of the box.
//!
//! ```
//! use toolbox::{ToolBox, resource, resources};
//!
//! /// The manual.
//! #[resource("docs://manual", mime_type = "text/markdown")]
//! fn manual() -> &'static str {
//!     "# Manual"
//! }
//!
//! /// A note by its number.
//! #[resource("notes://{id}")]
//! fn note(id: u32) -> Option<String> {
//!     (id < 10).then(|| format!("Note {id}"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolbox::ToolError> {
//! let toolbox = ToolBox::new();
//! toolbox.resources().register(resources![manual, note]);
//! let contents = toolbox.resources().read("notes://7").await?;
//! assert_eq!(contents[0].text.as_deref(), Some("Note 7"));
//! assert!(toolbox.resources().read("notes://70").await.is_err());
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | make a resource | [`resource`](macro@crate::resource), [`Resource::from_tool`], [`UriTemplate`], [`InvalidUriError`] |
//! | return its contents | [`ResourceContents`](crate::call::ResourceContents), [`IntoResourceContents`] |
//! | hold and read resources | [`Resources`](crate::collection::Resources), [`IntoResources`] |
//! | say that one has changed | [`Resources::changed`](crate::collection::Resources::changed) |

mod contents;
#[allow(dead_code, reason = "for mounted servers")]
mod prefix;
mod resource;
#[allow(dead_code, reason = "for servers, and for mounted ones")]
mod skill;
mod template;

pub use contents::IntoResourceContents;
pub(crate) use contents::{contents_of, result_of};
#[allow(unused_imports, reason = "for mounted servers")]
pub(crate) use prefix::{SERVER_SCHEME, at_server, prefixed};
pub(crate) use resource::tools_of;
pub use resource::{IntoResources, Resource};
#[allow(unused_imports, reason = "for servers, and for mounted ones")]
pub(crate) use skill::{SKILL_FILE, SKILL_SCHEME, SkillFile, SkillManifest};
pub(crate) use template::percent_decoded;
pub use template::{InvalidUriError, UriTemplate};
