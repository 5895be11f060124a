//! The parts of a result: mostly one, which needs no list.

use crate::call::Content;

#[derive(Debug, Clone)]
pub(super) enum ResultParts {
    One(Content),
    Many(Vec<Content>),
}

impl ResultParts {
    /// Takes all parts out.
    pub(super) fn take(&mut self) -> Vec<Content> {
        match std::mem::replace(self, Self::Many(Vec::new())) {
            Self::One(part) => vec![part],
            Self::Many(parts) => parts,
        }
    }

    pub(super) fn as_slice(&self) -> &[Content] {
        match self {
            Self::One(part) => std::slice::from_ref(part),
            Self::Many(parts) => parts,
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Content] {
        match self {
            Self::One(part) => std::slice::from_mut(part),
            Self::Many(parts) => parts,
        }
    }
}

impl From<Vec<Content>> for ResultParts {
    fn from(mut parts: Vec<Content>) -> Self {
        match parts.pop() {
            Some(only) if parts.is_empty() => Self::One(only),
            last => {
                parts.extend(last);
                Self::Many(parts)
            }
        }
    }
}
