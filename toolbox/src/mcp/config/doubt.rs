//! Values that are not of the right kind, or that are and may not be meant as they stand.

use std::time::Duration;

use jsonc_parser::ast::Value;

use super::read::{ConfigReader, found, span};
use super::spelling;
use super::table::KeySpec;

/// The times that are common. A number beyond them may be meant in another unit.
const COMMON: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(1)..=Duration::from_secs(4 * 60 * 60);

impl ConfigReader<'_> {
    /// Reports a value in a list or an object of strings that is no string.
    pub(super) fn no_string(&mut self, value: &Value<'_>, message: String) {
        let (help, corrected) = match value {
            Value::NumberLit(number) => ("put it between quotes", Some(number.value.to_owned())),
            Value::BooleanLit(flag) => ("put it between quotes", Some(flag.value.to_string())),
            Value::NullKeyword(_) => ("leave it out", None),
            _ => ("write a string", None),
        };
        let problem = self.problem_at(span(value), message, Some(help.to_owned()));
        self.problems.push(match corrected {
            Some(text) => problem.corrected(format!("\"{text}\"")),
            None => problem,
        });
    }

    /// Reports a list of strings that is written as one string.
    pub(super) fn no_list(&mut self, value: &Value<'_>, key: &KeySpec) {
        let Value::StringLit(literal) = value else { return };
        let message = format!(
            "`{}`{} must be {}, found {}: no shell splits it",
            key.name,
            self.whose(),
            key.kind.expected(),
            found(value)
        );
        let words: Vec<&str> = literal.value.split_whitespace().collect();
        let help = Some("write a list with each string by itself".to_owned());
        let problem = self.problem_at(span(value), message, help);
        self.problems.push(problem.corrected(serde_json::json!(words).to_string()));
    }

    /// Warns of a number whose unit may be a mistake: it is as short as no call, or longer than
    /// anybody waits.
    pub(super) fn question(
        &mut self,
        key: &KeySpec,
        value: &Value<'_>,
        (number, unit): (&str, &str),
        time: Duration,
    ) {
        let (what, help) = match unit {
            "ms" if time < *COMMON.start() => (
                format!("{number} ms: a number counts milliseconds"),
                format!("write \"{number}s\" if seconds are meant, \"{number}ms\" if not"),
            ),
            "ms" if time > *COMMON.end() => {
                let minutes = time.as_secs() / 60;
                (
                    format!("{} hours {} minutes", minutes / 60, minutes % 60),
                    format!("write \"{minutes}m\" if that is meant"),
                )
            }
            // In milliseconds, each of them is a common one.
            "s" if time > *COMMON.end() => {
                let minutes = time.as_secs() / 60;
                (
                    format!("{} hours {} minutes", minutes / 60, minutes % 60),
                    format!(
                        "write \"{number}ms\" if milliseconds are meant, \"{minutes}m\" if not"
                    ),
                )
            }
            _ => return,
        };
        let message = format!("`{}`{} is {what}", key.name, self.whose());
        let warning = self.problem_at(span(value), message, Some(help)).warning();
        self.warnings.push(warning);
    }

    /// Returns `true` if a string has no spelling of other programs; else reports it as a fault,
    /// since the value cannot be meant as it stands.
    pub(super) fn is_plain(&mut self, value: &Value<'_>, key: &KeySpec, is_path: bool) -> bool {
        let Value::StringLit(literal) = value else { return true };
        // Where a folder is expected, `~` is one.
        let found = spelling::foreign(&literal.value, is_path).filter(|found| found.part != "~");
        let Some(found) = found else { return true };
        let message = format!(
            "`{}`{} holds `{}`, which is no variable here",
            key.name,
            self.whose(),
            found.part
        );
        self.problem(span(value), message, Some(found.instead));
        false
    }

    /// Warns of a spelling of other programs in a string that a program gets as it stands.
    pub(super) fn passed_on(&mut self, value: &Value<'_>, key: &KeySpec) {
        let Value::StringLit(literal) = value else { return };
        let Some(found) = spelling::foreign(&literal.value, true) else { return };
        let message = format!(
            "`{}`{} holds `{}`, which the program gets as it stands: no shell reads it",
            key.name,
            self.whose(),
            found.part
        );
        let warning = self.problem_at(span(value), message, Some(found.instead)).warning();
        self.warnings.push(warning);
    }
}
