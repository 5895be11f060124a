//! What users of `toolbox` can rely on, tested through its public API. ROWS.md says which test holds which promise.

mod agreement;
mod s0;
mod s1;
mod arguments;
mod concurrency;
mod handlers;
mod hostile_text;
mod names;
mod s3;
mod support;
mod tracing_events;
mod weaknesses;
