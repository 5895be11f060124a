//! What users of `toolbox` can rely on, tested through its public API. ROWS.md says which test holds which promise.

#![allow(
    clippy::items_after_statements,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "the tools under test take, return and stand where those of users do"
)]

mod agents;
mod agreement;
mod arguments;
#[path = "../bounded.rs"]
mod bounded;
mod concurrency;
mod edges;
mod error_data;
mod errors_page;
mod gate;
mod gateway;
mod handlers;
mod hostile_schemas;
mod hostile_text;
mod layers;
mod limits;
mod made;
mod media;
mod names;
mod outputs;
mod provenance;
mod refused_values;
mod rows;
mod s0;
mod s1;
mod s3;
mod search;
mod skills;
mod strict;
mod support;
mod taint;
mod texts;
mod tracing_events;
mod walls;
mod weaknesses;
mod wire;
