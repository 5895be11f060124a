//! Scripts that call tools: a model writes one short program in place of twenty calls.
//!
//! [`Scripts`] is a tool for a box of `llm-toolbox`. It runs a script whose functions are the tools
//! of that box, and returns what the script returns, so that the results of its calls need not pass
//! through the model. Each of those calls passes the gate of the box: its rules, approval, taint,
//! limits, budgets, records and events hold for it as for any other.
//!
//! | to | see |
//! |---|---|
//! | add the tool to a box | [`Scripts`] |
//! | bound what a script may use | [`Limits`] |
//! | confine each script in a process | `Confined`, `child`, of the feature `confined` |
//! | keep a tool from all but scripts | [`for_scripts_alone`], [`CalledByScript`] |
//! | keep a script as a tool | [`KeptScript`], [`KeptPins`], [`KeptScriptError`] |
//! | run and keep scripts in the program `toolbox` | `ProgramScripts`, of the feature `cli` |
//! | run scripts with types | `TypeScript`, of the feature `typescript` |
//! | keep paused scripts where others can write | [`SealKey`] |
//! | declare tools in TypeScript | [`declarations`], [`Names`] |
//! | run another language | [`Engine`], [`Host`], [`Script`], [`ScriptError`], [`CallResult`]; [`JavaScript`] is the one there is |

/// Compiles the code of the page with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/scripts.md")]
mod scripts_page {}

mod call_sites;
mod callers;
#[cfg(all(feature = "confined", unix))]
pub mod child;
mod clock;
#[cfg(all(feature = "confined", unix))]
mod confined;
mod declarations;
mod digest;
mod engine;
mod functions;
mod host;
mod javascript;
mod kept;
mod limits;
#[cfg(feature = "cli")]
mod mentions;
mod model;
mod outcome;
#[cfg(feature = "cli")]
mod program;
mod scripts;
mod seal;
mod session;
mod text;
#[cfg(all(feature = "typescript", unix))]
mod typescript;

pub use callers::{CalledByScript, for_scripts_alone};
#[cfg(all(feature = "confined", unix))]
pub use confined::{Confined, ConfinedBuilder, ConfinedError};
pub use declarations::declarations;
pub use engine::{Engine, Script, ScriptError};
pub use functions::Names;
pub use host::{CallResult, Host};
pub use javascript::JavaScript;
pub use kept::{KeptPins, KeptScript, KeptScriptError};
pub use limits::Limits;
#[cfg(feature = "cli")]
pub use program::ProgramScripts;
pub use scripts::{RUN_SCRIPT, SCRIPT_TAG, Scripts};
pub use seal::{OpenSealError, SealKey, ShortKeyError};
#[cfg(all(feature = "typescript", unix))]
pub use typescript::TypeScript;
