//! Capabilities of the thread that starts a command.

use std::io;

use rustix::thread::{CapabilitySet, CapabilitySets};

/// Gives up the capabilities of this thread, which the superuser has: they would open the
/// environment of other processes.
///
/// Mapping the superuser into a user namespace takes one of them; there it is given up in the end.
pub(super) fn give_up_capabilities(makes_namespaces: bool) -> io::Result<()> {
    let own = rustix::thread::capabilities(None)?;
    let kept = if makes_namespaces { CapabilitySet::SETFCAP } else { CapabilitySet::empty() };
    let kept = own.permitted & kept;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: none };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}
