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
        let measured = match kind {
            Kind::Instructions => format!("{:>14} {:>9} {:>6}", "instructions", "x limit", "goal"),
            Kind::Allocations => format!("{:>14} {:>9} {:>6}", "allocations", "x limit", "goal"),
            Kind::Time => String::new(),
        };
        let times = match kind {
            Kind::Allocations => String::new(),
            _ => format!("{:>12} {:>9} {:>6}", "nanoseconds", "x limit", "goal"),
        };
        println!("{:<36} {measured} {times}", "case");
        Self { kind, rows: Vec::new(), missed: 0 }
    }

    /// Adds a case, with its time and that of its limit.
    pub(super) fn add(&mut self, case: &Case, measured: f64, times: Option<(f64, Option<f64>)>) {
        let limit = case.limit.as_ref();
        let limit = limit.and_then(|limit| self.rows.iter().find(|row| row.name == *limit));
        let ratio = limit.map(|limit| measured / limit.measured).filter(|ratio| ratio.is_finite());
        let (held, goal) = match self.kind {
            Kind::Instructions => (ratio, case.goal),
            Kind::Allocations => (Some(measured), case.allocations),
            Kind::Time => (None, None),
        };
        let digits = if self.kind == Kind::Allocations { 0 } else { 2 };
        let mut line = format!("{:<36}", case.name);
        if self.kind != Kind::Time {
            line += &format!(" {measured:>14.1} {:>9} {:>6}", shown(ratio, 3), shown(goal, digits));
        }
        let mut verdicts = vec![verdict(held, goal)];
        if let Some((time, of_limit)) = times {
            let ratio = of_limit.map(|limit| time / limit);
            let goal = case.time_goal;
            line += &format!(" {time:>12.1} {:>9} {:>6}", shown(ratio, 3), shown(goal, 2));
            verdicts.push(verdict(ratio, goal));
        }
        let reached: Vec<bool> = verdicts.into_iter().flatten().collect();
        self.missed += reached.iter().filter(|reached| !**reached).count();
        let words: Vec<&str> =
            reached.iter().map(|reached| if *reached { "reached" } else { "missed" }).collect();
        println!("{line}  {}", words.join(", "));
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

/// Returns `true` if a goal is reached; `None` if there is none.
fn verdict(held: Option<f64>, goal: Option<f64>) -> Option<bool> {
    Some(held? <= goal? + 0.001)
}
