//! Tool names in the form that each provider accepts.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use super::dialect::Dialect;

/// The longest name that every model provider accepts, in bytes.
const MAX_SAFE: usize = 64;

/// Returns the name a tool goes by on the wire of `dialect`: its own, or a readable alias.
///
/// Model providers get 1 to 64 of `A-Z a-z 0-9 _ -`, starting with a letter or `_`, which all of
/// them accept; the same alias for each, so that a transcript can move between them. The Model
/// Context Protocol takes up to 128 and dots. A name that fits passes unchanged. Otherwise each
/// other character becomes `_`, the name is cut, and twelve digits of its hash (FNV-1a, 64 bits
/// folded to 48) keep it apart from its neighbours. The alias depends on nothing but the name and
/// will not change with versions or platforms.
///
/// A name that itself ends like an alias gets one too, so an alias never equals an unchanged name.
///
/// ```
/// use toolbox::dialect::{Dialect, outbound_name};
///
/// assert_eq!(outbound_name("read_file", Dialect::Anthropic), "read_file");
/// assert_eq!(outbound_name("github.issues", Dialect::Mcp), "github.issues");
/// assert_eq!(outbound_name("github.issues", Dialect::OpenAiChat), "github_issues_eac4fc6c34b3");
/// ```
#[must_use]
pub fn outbound_name(name: &str, dialect: Dialect) -> Cow<'_, str> {
    if fits(name, dialect) && (dialect == Dialect::Mcp || !looks_like_alias(name)) {
        return Cow::Borrowed(name);
    }
    let max = max_len(dialect);
    let digest = format!("{:012x}", folded(name.as_bytes()));
    let mut alias = String::with_capacity(max);
    if !name.starts_with(|c| starts(c, dialect)) {
        alias.push('_');
    }
    let room = max - digest.len() - 1 - alias.len();
    alias.extend(name.chars().take(room).map(|c| if takes(c, dialect) { c } else { '_' }));
    alias.push('_');
    alias.push_str(&digest);
    Cow::Owned(alias)
}

/// Returns `true` if `dialect` accepts a name unchanged.
pub(crate) fn fits(name: &str, dialect: Dialect) -> bool {
    name.len() <= max_len(dialect)
        && name.starts_with(|c| starts(c, dialect))
        && name.chars().all(|c| takes(c, dialect))
}

fn max_len(dialect: Dialect) -> usize {
    if dialect == Dialect::Mcp { crate::definition::MAX_NAME_LEN } else { MAX_SAFE }
}

fn takes(c: char, dialect: Dialect) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-') || dialect == Dialect::Mcp && c == '.'
}

fn starts(c: char, dialect: Dialect) -> bool {
    c.is_ascii_alphabetic() || c == '_' || dialect == Dialect::Mcp && takes(c, dialect)
}

fn looks_like_alias(name: &str) -> bool {
    name.rsplit_once('_').is_some_and(|(_, tail)| {
        tail.len() == 12 && tail.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// FNV-1a with 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>), the upper 16 folded into the
/// lower 48.
fn folded(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    (hash >> 48) ^ (hash & 0xffff_ffff_ffff)
}
