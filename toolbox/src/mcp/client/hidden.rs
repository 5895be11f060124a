//! Values of the configuration of a server, which its own words may not repeat to others.

use std::cmp::Reverse;

/// The minimum length of a value that is hidden, in bytes: a shorter one is a word.
const HIDDEN: usize = 8;

/// The values of variables and headers with what stands in their place, the longest first.
#[derive(Default)]
pub(super) struct HiddenValues(Vec<(String, String)>);

impl HiddenValues {
    /// Returns the values of these variables or headers.
    pub(super) fn of<'a>(values: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        let mut hidden = Vec::new();
        for (name, value) in values {
            // Of `Bearer TOKEN`, the token alone may be said.
            let last = value.rsplit(' ').next().unwrap_or_default();
            for value in [value.as_str(), last].into_iter().filter(|value| value.len() >= HIDDEN) {
                hidden.push((value.to_owned(), format!("${name}")));
            }
        }
        hidden.sort_by_key(|(value, _)| Reverse(value.len()));
        Self(hidden)
    }

    /// Returns a text with the names in place of the values.
    pub(super) fn hide(&self, text: String) -> String {
        self.0.iter().fold(text, |text, (value, name)| text.replace(value, name))
    }
}
