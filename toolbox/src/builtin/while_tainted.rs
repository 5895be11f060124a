//! The policy for calls that can send data out, once a model has read text written by others.

/// Handling of a call that could carry something out, in a conversation that is
/// [tainted](crate::context::Taint).
///
/// ```
/// use toolbox::ToolBox;
/// use toolbox::builtin::WhileTainted;
/// use toolbox::builtin::http::Http;
///
/// let http = Http::new().while_tainted(WhileTainted::Deny);
/// let toolbox = ToolBox::from(http);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhileTainted {
    /// It needs approval; without it, the model is advised what it can do instead.
    #[default]
    Ask,
    /// It is refused, and the model is advised what it can do instead.
    Deny,
    /// It is made like any other.
    Allow,
}
