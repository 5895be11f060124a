//! The policy for calls that can send data out, once a model has read text written by others.

/// Handling of a call that could carry something out, in a conversation that is
/// [tainted](crate::context::Taint).
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
