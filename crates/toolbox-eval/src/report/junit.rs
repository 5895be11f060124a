//! A report as `JUnit` XML.

use std::fmt::Write as _;

use super::{CaseReport, Report};

pub(super) fn report(report: &Report) -> String {
    let failed = report.cases.iter().filter(|case| case.rate.rate < report.pass_at).count();
    let (suite, model) = (escaped(&report.suite), escaped(&report.model));
    let totals = format!(
        "tests=\"{}\" failures=\"{failed}\" errors=\"0\" time=\"{:.3}\"",
        report.cases.len(),
        report.cases.iter().map(seconds).sum::<f64>()
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {totals}>\n<testsuite name=\"{suite}\" {totals}>\n"
    );
    let _ = writeln!(xml, "<properties><property name=\"model\" value=\"{model}\"/></properties>");
    for case in &report.cases {
        xml.push_str(&of_case(case, report));
    }
    xml.push_str("</testsuite>\n</testsuites>\n");
    xml
}

fn of_case(case: &CaseReport, report: &Report) -> String {
    let begin = format!(
        "<testcase classname=\"{}\" name=\"{}\" time=\"{:.3}\"",
        escaped(&report.suite),
        escaped(&case.name),
        seconds(case)
    );
    if case.rate.rate >= report.pass_at {
        return format!("{begin}/>\n");
    }
    let faults = case.faults();
    let lines: Vec<String> =
        faults.iter().map(|(fault, count)| escaped(&format!("{count} × {fault}"))).collect();
    let kind = faults.first().map_or("", |(fault, _)| fault.kind.code());
    format!(
        "{begin}><failure type=\"{kind}\" message=\"{}\">{}</failure></testcase>\n",
        escaped(&super::text::rate(&case.rate)),
        lines.join("\n")
    )
}

fn seconds(case: &CaseReport) -> f64 {
    case.runs.iter().map(|run| run.took.as_secs_f64()).sum()
}

/// Returns a text as XML and HTML write it: a character that XML does not allow becomes U+FFFD.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
