//! The stream of events: what calls report, to whom, and what a sink cannot do to them.

mod calls;
mod envelopes;
mod marked;
mod sinks;

use support::Seen;
