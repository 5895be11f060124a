//! Lookup of the keywords of a schema.

use serde_json::Value;

use super::walk::Object;

/// The most members that are looked at one by one. Each of them costs a comparison of lengths and
/// mostly no more; a hash of the name costs as much as some twenty of them.
const FEW: usize = 16;

/// Lookup in an object of few members, as schemas and their `properties` are.
pub(crate) trait Keywords {
    /// Returns the value of a keyword, or of another member.
    fn keyword(&self, name: &str) -> Option<&Value>;

    /// Returns `true` if there is the keyword.
    fn has_keyword(&self, name: &str) -> bool {
        self.keyword(name).is_some()
    }
}

impl Keywords for Object {
    #[inline]
    fn keyword(&self, name: &str) -> Option<&Value> {
        if self.len() > FEW {
            return self.get(name);
        }
        self.iter().find(|(own, _)| *own == name).map(|(_, value)| value)
    }
}

impl Keywords for Value {
    #[inline]
    fn keyword(&self, name: &str) -> Option<&Value> {
        self.as_object()?.keyword(name)
    }
}
