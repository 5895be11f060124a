//! The table of what was measured beside the goals.

use std::process::ExitCode;

use super::{Case, Kind};

/// A table of one kind of measurement.
pub(super) struct Table {
    kind: Kind,
    rows: Vec<Row>,
    missed: usize,
}

struct Row {
    name: String,
    measured: f64,
}

impl Table {
    pub(super) fn new(kind: Kind) -> Self {
        let title = match kind {
            Kind::Instructions => "instructions",
            Kind::Allocations => "allocations",
            Kind::Time => "nanoseconds",
        };
        println!("{:<36} {title:>14} {:>10} {:>8}", "case", "x limit", "goal");
        Self { kind, rows: Vec::new(), missed: 0 }
    }

    pub(super) fn add(&mut self, case: &Case, measured: f64) {
        let limit = case.limit.as_ref();
        let limit = limit.and_then(|limit| self.rows.iter().find(|row| row.name == *limit));
        let ratio = limit.map(|limit| measured / limit.measured).filter(|ratio| ratio.is_finite());
        // Times are too noisy to be held to anything.
        let (held, goal) = match self.kind {
            Kind::Instructions => (ratio, case.goal),
            Kind::Allocations => (Some(measured), case.allocations),
            Kind::Time => (None, None),
        };
        let verdict = match (held, goal) {
            (Some(held), Some(goal)) if held <= goal + 0.001 => "reached",
            (Some(_), Some(_)) => {
                self.missed += 1;
                "missed"
            }
            _ => "",
        };
        let digits = if self.kind == Kind::Allocations { 0 } else { 2 };
        println!(
            "{:<36} {measured:>14.1} {:>10} {:>8}  {verdict}",
            case.name,
            shown(ratio, 3),
            shown(goal, digits),
        );
        self.rows.push(Row { name: case.name.clone(), measured });
    }

    /// Says how many goals were missed, to people and to scripts.
    pub(super) fn finish(self) -> ExitCode {
        if self.missed == 0 {
            return ExitCode::SUCCESS;
        }
        println!("{} goals are not reached", self.missed);
        ExitCode::FAILURE
    }
}

fn shown(number: Option<f64>, digits: usize) -> String {
    number.map(|number| format!("{number:.digits$}")).unwrap_or_default()
}
