//! Choices of operations.

use crate::operation::Operation;

/// A choice of operations, for [`OpenApi::include`](crate::OpenApi::include) and its siblings.
///
/// In each text `*` stands for any run of characters; methods and tags are compared without case.
///
/// ```
/// use toolbox_openapi::{OpenApi, Select};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let description = r#"{"openapi": "3.1.0", "servers": [{"url": "https://api.example.com"}],
/// #   "paths": {"/pets": {"get": {"tags": ["pets"]}, "post": {"tags": ["pets"]}}, "/pets/{id}":
/// {"delete": {}}}}"#;
/// let api = OpenApi::parse(description)?
///     .include(Select::tag("pets"))
///     .include(Select::path("/pets/*"))
///     .exclude(Select::method("DELETE"))
///     .build()?;
/// assert_eq!(api.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Select(By);

#[derive(Debug, Clone, PartialEq, Eq)]
enum By {
    Tag(String),
    Path(String),
    Method(String),
    Operation(String),
}

impl Select {
    /// Chooses the operations with a tag.
    pub fn tag(tag: impl Into<String>) -> Self {
        Self(By::Tag(tag.into().to_lowercase()))
    }

    /// Chooses the operations of a path as the description writes it, such as `/pets/{id}` or
    /// `/pets/*`.
    pub fn path(path: impl Into<String>) -> Self {
        Self(By::Path(path.into()))
    }

    /// Chooses the operations of a method.
    pub fn method(method: impl Into<String>) -> Self {
        Self(By::Method(method.into().to_uppercase()))
    }

    /// Chooses the operations with an `operationId`.
    pub fn operation(id: impl Into<String>) -> Self {
        Self(By::Operation(id.into()))
    }

    pub(crate) fn matches(&self, operation: &Operation) -> bool {
        match &self.0 {
            By::Tag(tag) => operation.tags.iter().any(|own| is_like(tag, &own.to_lowercase())),
            By::Path(path) => is_like(path, &operation.path),
            By::Method(method) => is_like(method, &operation.method),
            By::Operation(id) => operation.id.as_deref().is_some_and(|own| is_like(id, own)),
        }
    }
}

/// Returns `true` if a text is like a pattern with `*`.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some((_, after)) = rest.split_once(piece) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}
