//! Arguments: reading, checking, repairing.

pub(crate) mod agreement;
mod checks;
mod edges;
mod hostile_text;
mod reading;
mod refused_values;
mod texts;
mod times;
mod wrapped;
