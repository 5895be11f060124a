//! Models behind an HTTP service.
//!
#![cfg_attr(feature = "openai", doc = include_str!("../docs/provider.md"))]
//!
//! | model | feature | service |
//! |---|---|---|
//! | `OpenAi` | `openai` | `OpenAI`, and every server that imitates it |
//! | `Anthropic` | `anthropic` | Anthropic |
//! | `Gemini` | `gemini` | Gemini |
//!
//! Each is a [`Model`](crate::model::Model) made of a [`Format`](crate::wire::Format) and one HTTP
//! client, and shares what the client promises:
//!
//! - **Time.** A request takes at most its timeout, retries and the waits between them included; a
//!   stream may not be silent for longer than its idle timeout.
//! - **Retries.** Transient failures are retried, after a wait that doubles and varies, or that the
//!   service asked for: failed connections, the statuses 408, 409, 429 and 500 and above (but 501
//!   and 505), and what the service says may be retried (`x-should-retry`). A quota that is used up
//!   is not. A success whose body is no reply (cut or empty JSON, a page of a proxy, bytes that are
//!   not UTF-8) counts as a failure that may pass; one that is too large does not. A stream that
//!   broke is begun again only if none of it was emitted: no text, no reasoning and no call.
//! - **Secrets.** The key and the values of own headers are in no error, no trace and no `Debug`;
//!   where the service repeats one in a message, it is removed. Redirects are not followed, so a
//!   key is only sent to the configured address.
//! - **Size.** The size of a reply is limited.
//!
//! Proxies are those of the environment (`HTTPS_PROXY`, `NO_PROXY`).

mod agent;
mod failure;
mod http;
mod retry;
mod settings;

#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(feature = "gemini")]
mod gemini;
#[cfg(feature = "openai")]
mod openai;

#[cfg(feature = "anthropic")]
pub use anthropic::Anthropic;
#[cfg(feature = "gemini")]
pub use gemini::Gemini;
#[cfg(feature = "openai")]
pub use openai::OpenAi;
