//! The start of a program as the process of a script.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::confined::serve;
use crate::engine::Engine;
#[cfg(not(feature = "typescript"))]
use crate::javascript::JavaScript as OwnEngine;
#[cfg(feature = "typescript")]
use crate::typescript::TypeScript as OwnEngine;

/// The only argument of a program that is to run a script.
pub(crate) const ARGUMENT: &str = "toolbox-script-child";

/// The argument that follows it, where the process is not to be confined.
pub(crate) const UNCONFINED: &str = "unconfined";

/// The language of the scripts of [`run_if_asked`].
#[cfg(feature = "cli")]
pub(crate) const LANGUAGE: &str =
    if cfg!(feature = "typescript") { "TypeScript" } else { "JavaScript" };

static LOOKED_FOR: AtomicBool = AtomicBool::new(false);

/// Runs a script and does not return, if this program was started for that by
/// [`Confined`](crate::Confined). Otherwise it does nothing.
///
/// The script is one of [`JavaScript`](crate::JavaScript), or with the feature `typescript` of
/// `TypeScript`.
///
/// A program calls it first in `main`, before it has threads, opens files or reads secrets.
pub fn run_if_asked() {
    run_if_asked_with(OwnEngine);
}

/// Does as [`run_if_asked`], in an engine of one's own.
pub fn run_if_asked_with(engine: impl Engine) {
    LOOKED_FOR.store(true, Ordering::Release);
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == ARGUMENT) {
        serve::run(engine, arguments.next().is_none_or(|argument| argument != UNCONFINED));
    }
}

/// Returns `true` if this program has looked whether it is to run a script.
pub(crate) fn was_looked_for() -> bool {
    LOOKED_FOR.load(Ordering::Acquire)
}
