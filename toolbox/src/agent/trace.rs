//! Spans of runs and requests, by the OpenTelemetry conventions for generative AI (status:
//! development, 2026-11).

use tracing::Span;
use tracing::field::Empty;

use super::outcome::{RunError, RunOutcome};
use crate::context::{Conversation, ToolContext};
use crate::model::{Model, ModelError, ModelResponse, operation_name};

/// The span `invoke_agent {name}` of one run.
pub(super) fn run(name: &str, context: &ToolContext) -> Span {
    let span = tracing::info_span!(
        "invoke_agent",
        otel.name = format!("invoke_agent {name}"),
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name,
        gen_ai.conversation.id = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    );
    context.link_span(&span);
    if let Some(conversation) = context.get::<Conversation>() {
        span.record("gen_ai.conversation.id", conversation.chat_id.as_str());
    }
    span
}

/// Records how a run ended.
pub(super) fn ended(span: &Span, end: &Result<RunOutcome, RunError>) {
    let usage = match end {
        Ok(outcome) => &outcome.usage,
        Err(error) => &error.usage,
    };
    span.record("gen_ai.usage.input_tokens", count(usage.input_tokens));
    span.record("gen_ai.usage.output_tokens", count(usage.output_tokens));
    match end {
        Ok(outcome) if outcome.is_answered() => {}
        Ok(outcome) => {
            span.record("error.type", outcome.reason.code());
        }
        Err(error) => {
            span.record("error.type", error.code());
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// The span `{operation} {model}` of one request.
pub(super) fn chat(model: &dyn Model) -> Span {
    let operation = operation_name(model.provider());
    tracing::info_span!(
        "chat",
        otel.name = format!("{operation} {}", model.name()),
        otel.kind = "client",
        gen_ai.operation.name = operation,
        gen_ai.provider.name = model.provider(),
        gen_ai.request.model = model.name(),
        gen_ai.response.model = Empty,
        gen_ai.response.id = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_write.input_tokens = Empty,
        gen_ai.usage.reasoning.output_tokens = Empty,
        error.r#type = Empty,
        otel.status_code = Empty,
    )
}

/// Records what came of a request.
pub(super) fn record(span: &Span, response: &Result<ModelResponse, ModelError>) {
    // Not `is_disabled`: with its feature `log`, tracing writes what disabled spans record.
    if span.is_none() {
        return;
    }
    match response {
        Ok(response) => {
            let usage = &response.usage;
            span.record("gen_ai.usage.input_tokens", count(usage.input_tokens));
            span.record("gen_ai.usage.output_tokens", count(usage.output_tokens));
            if usage.cache_read_input_tokens > 0 {
                span.record(
                    "gen_ai.usage.cache_read.input_tokens",
                    count(usage.cache_read_input_tokens),
                );
            }
            if usage.cache_creation_input_tokens > 0 {
                let tokens = usage.cache_creation_input_tokens;
                span.record("gen_ai.usage.cache_write.input_tokens", count(tokens));
            }
            if usage.reasoning_tokens > 0 {
                span.record("gen_ai.usage.reasoning.output_tokens", count(usage.reasoning_tokens));
            }
            span.record(
                "gen_ai.response.finish_reasons",
                format!("[\"{}\"]", response.reply.finish),
            );
            if let Some(model) = &response.model {
                span.record("gen_ai.response.model", model.as_str());
            }
            if let Some(id) = &response.id {
                span.record("gen_ai.response.id", id.as_str());
            }
        }
        Err(error) => {
            span.record("error.type", error.kind().code());
            span.record("otel.status_code", "ERROR");
        }
    }
}

/// Returns a number of tokens as the type that exporters take for whole numbers: others become
/// text.
fn count(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}
