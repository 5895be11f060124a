//! Helpers over text, which know no other module but `sort`: cleaning and quoting of untrusted
//! text, close names, the marks around names, paths of arguments, lengths in tokens, values as
//! JSON.

mod boundary;
#[allow(dead_code, reason = "for MCP and HTTP")]
mod byte_order;
mod deprecation;
mod docs;
mod halves;
#[allow(dead_code, reason = "for skills")]
mod head;
#[allow(dead_code, reason = "for digests and random names")]
mod hex;
mod json;
mod list;
mod marks;
mod nearest;
mod path;
mod quote;
mod sanitize;
mod tokens;

pub(crate) use boundary::{ceil_boundary, cut, floor_boundary};
#[allow(unused_imports, reason = "for MCP and HTTP")]
pub(crate) use byte_order::without_mark;
pub(crate) use deprecation::{deprecated, deprecation_note, says_deprecated};
pub(crate) use docs::for_model;
pub(crate) use halves::mend_halves;
#[allow(unused_imports, reason = "for skills")]
pub(crate) use head::split_head;
#[allow(unused_imports, reason = "for digests and random names")]
pub(crate) use hex::hex;
pub(crate) use json::{json_value, nests_deeper, string_end};
pub(crate) use list::{list, names};
pub(crate) use marks::without_marks;
pub(crate) use nearest::{nearest, nearest_n};
pub(crate) use path::{argument_path, join, push_index, push_key};
pub(crate) use quote::{QUOTED, quote};
#[allow(unused_imports, reason = "for MCP clients")]
pub(crate) use sanitize::clean_content;
pub(crate) use sanitize::{clean, is_invisible};
pub(crate) use tokens::estimate as estimate_tokens;
