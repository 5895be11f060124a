//! What may still leave the machine when a model has read what others wrote.

/// What becomes of a call that could carry something out, in a conversation that is [tainted](crate::context::Taint).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WhileTainted {
    /// It needs approval; where nobody gives it, the model is told what it can do instead.
    #[default]
    Ask,
    /// It is refused, and the model is told what it can do instead.
    Deny,
    /// It is made like any other.
    Allow,
}
