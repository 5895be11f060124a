//! No filters: of other processors than x86-64, arm64 and riscv64 the system calls are not known
//! here, so no command is confined.

use std::io;

/// The reason for which no command can be confined on this processor.
pub(super) const UNSUPPORTED: Option<&str> = Some(
    "commands are confined on x86-64, arm64 and riscv64 alone: for this processor no seccomp filter is known",
);

pub(super) type Filters = NoFilters;

#[derive(Debug, Clone)]
pub(super) struct NoFilters;

impl NoFilters {
    pub(super) fn new(_network: bool, _in_namespaces: bool) -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, UNSUPPORTED.unwrap_or_default()))
    }

    #[expect(clippy::unused_self, reason = "there is none")]
    pub(super) fn apply(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
