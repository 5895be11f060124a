//! The places of a script at which a call is written as one.

/// A script with the beginnings of its lines.
pub(crate) struct CallSites {
    script: String,
    starts: Vec<usize>,
}

impl CallSites {
    pub(crate) fn of(script: impl Into<String>) -> Self {
        let script = script.into();
        let ends = script.match_indices('\n').map(|(at, _)| at + 1);
        let starts = std::iter::once(0).chain(ends).collect();
        Self { script, starts }
    }

    /// Returns `true` if `tools.name(` is written at a line and a column, both from 1; the column
    /// counts bytes.
    pub(crate) fn has(&self, name: &str, line: Option<usize>, column: Option<usize>) -> bool {
        let text = || {
            let start = self.starts.get(line?.checked_sub(1)?)?;
            self.script.get(start + column?.checked_sub(1)?..)?.strip_prefix("tools")
        };
        text().and_then(|text| member(text.trim_start(), name)).is_some_and(|text| {
            let text = text.trim_start();
            text.strip_prefix("?.").unwrap_or(text).trim_start().starts_with('(')
        })
    }
}

/// Returns the text after the access of a member by its name.
fn member<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let after = text.strip_prefix("?.").or_else(|| text.strip_prefix('.'));
    if let Some(named) = after.and_then(|text| text.trim_start().strip_prefix(name)) {
        return Some(named);
    }
    let key = after.unwrap_or(text).trim_start().strip_prefix('[')?.trim_start();
    let quote = key.chars().next().filter(|quote| "'\"`".contains(*quote))?;
    let rest = key[1..].strip_prefix(name)?.strip_prefix(quote)?;
    rest.trim_start().strip_prefix(']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_written_as_one_is_found_at_its_place() {
        let cases = [
            ("tools.pay(", true),
            ("tools\n  . pay\n (", true),
            ("tools?.pay?.(", true),
            ("tools['pay'](", true),
            ("tools?.[ \"pay\" ] (", true),
            ("tools.pay;", false),
            ("tools.payer(", false),
            ("tools[pay](", false),
            ("tools['pay'", false),
            ("tools", false),
            ("other.pay(", false),
        ];
        for (text, is_call) in cases {
            let sites = CallSites::of(format!("é\n\n  é {text}"));
            assert_eq!(sites.has("pay", Some(3), Some(6)), is_call, "{text}");
            assert!(!sites.has("pay", Some(3), Some(5)), "{text}");
        }
        let sites = CallSites::of("tools.pay(");
        for (line, column) in [(0, 1), (1, 0), (2, 1), (1, 99), (9, 9)] {
            assert!(!sites.has("pay", Some(line), Some(column)), "{line}:{column}");
        }
        assert!(sites.has("pay", Some(1), Some(1)) && !sites.has("pay", None, None));
    }
}
