//! The audit log, OpenTelemetry, and what real programs send to a collector.

#[cfg(unix)]
mod audit;
#[allow(dead_code, reason = "the programs use the rest")]
mod audited;
mod losses;
mod otel;
mod otlp;

use support::bounded;

support::programs!("observing-programs");
