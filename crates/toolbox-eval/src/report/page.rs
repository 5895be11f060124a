//! A report as a page of HTML.

use std::fmt::Write as _;

use super::junit::escaped;
use super::{CaseReport, Report, RunReport};
use crate::expectation::line_of;

const STYLE: &str = include_str!("page.css");

/// The most runs of a case that the page shows in full.
const RUNS: usize = 20;

pub(super) fn report(report: &Report) -> String {
    let (suite, model) = (escaped(&report.suite), escaped(&report.model));
    let word = if report.passes() { "passes" } else { "fails" };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\
         <title>{suite}: {word}</title><style>{STYLE}</style></head><body>\n\
         <h1>{suite}</h1>\n<p>{model}: {}; the suite <b class=\"{word}\">{word}</b> at {}.</p>\n",
        escaped(&super::text::rate(&report.rate)),
        super::text::percent(report.pass_at)
    );
    for case in &report.cases {
        page.push_str(&of_case(case, report.pass_at));
    }
    page.push_str("</body></html>\n");
    page
}

fn of_case(case: &CaseReport, pass_at: f64) -> String {
    let passes = case.rate.rate >= pass_at;
    let (word, open) = if passes { ("passes", "") } else { ("fails", " open") };
    let mut html = format!(
        "<details{open}><summary><b class=\"{word}\">{word}</b> {} <span>{}</span></summary>\n<blockquote>{}</blockquote>\n",
        escaped(&case.name),
        escaped(&super::text::rate(&case.rate)),
        escaped(&case.request)
    );
    html.push_str("<ul>");
    for (fault, count) in case.faults() {
        let _ = write!(html, "<li>{count} × {}</li>", escaped(&fault.to_string()));
    }
    html.push_str("</ul>\n<ol>");
    for run in case.runs.iter().take(RUNS) {
        html.push_str(&of_run(run));
    }
    html.push_str("</ol></details>\n");
    html
}

fn of_run(run: &RunReport) -> String {
    let word = if run.passed() { "passes" } else { "fails" };
    let mut html = format!(
        "<li><b class=\"{word}\">{word}</b> {} ms, {} tokens<br>",
        run.took.as_millis(),
        run.tokens
    );
    for call in &run.calls {
        let code = call.code.as_deref().unwrap_or_default();
        let _ = write!(html, "<code>{}</code> {}<br>", escaped(&line_of(call)), escaped(code));
    }
    let _ = writeln!(html, "{}</li>", escaped(&crate::expectation::cut(&run.answer)));
    html
}
