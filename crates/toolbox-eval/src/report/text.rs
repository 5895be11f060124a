//! A report as text.

use std::fmt::Write as _;

use super::{CaseReport, Report};
use crate::statistics::PassRate;

/// The most different faults of a case that are shown.
const FAULTS: usize = 5;

/// Returns a line for each case, those that failed with the reasons; `only_failed` leaves out the
/// others.
pub(super) fn report(report: &Report, only_failed: bool) -> String {
    let mut text = String::new();
    let cases = report.cases.iter().filter(|case| !only_failed || case.rate.rate < 1.0);
    for case in cases {
        let _ = writeln!(text, "{}", self::case(case));
    }
    let (passes, at) = (report.passes(), percent(report.pass_at));
    let word = if passes { "passes" } else { "fails" };
    let _ = write!(
        text,
        "{} with {}: {}; it {word} at {at}",
        clean(&report.suite),
        clean(&report.model),
        rate(&report.rate)
    );
    text
}

fn case(case: &CaseReport) -> String {
    let mark = match case.rate {
        PassRate { passed, runs, .. } if passed == runs => "ok  ",
        PassRate { passed: 0, .. } => "FAIL",
        _ => "part",
    };
    let mut text = format!("{mark} {}: {}", clean(&case.name), rate(&case.rate));
    let faults = case.faults();
    for (fault, count) in faults.iter().take(FAULTS) {
        let _ = write!(text, "\n       {count} × {}", clean(&fault.to_string()));
    }
    if faults.len() > FAULTS {
        let _ = write!(text, "\n       and {} other faults", faults.len() - FAULTS);
    }
    text
}

/// Returns a rate in words: `3 of 5 runs pass, 60 % (23 to 88 %)`.
pub(super) fn rate(rate: &PassRate) -> String {
    let PassRate { passed, runs, low, high, .. } = *rate;
    format!(
        "{passed} of {runs} runs pass, {} ({:.0} to {})",
        percent(rate.rate),
        100.0 * low,
        percent(high)
    )
}

pub(super) fn percent(rate: f64) -> String {
    // A rate just below its goal is not shown as the goal.
    let tenths = (1000.0 * rate + 1e-9).floor() / 10.0;
    format!("{tenths} %")
}

/// Returns a text on one line, without characters that a terminal acts on or does not show.
fn clean(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' => ' '.to_string(),
        c if c.is_control() || is_invisible(c) => c.escape_unicode().to_string(),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// Returns `true` for the characters that change the direction of text or have no width.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
