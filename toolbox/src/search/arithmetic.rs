//! Sums in figures within a request: `15% of 80`, `3 * (4 + 5)`.

use super::words::words;

/// Words between two numbers that calculate.
const OPERATORS: &[&str] = &["plus", "minus", "times", "divided", "multiplied", "modulo"];

/// Words after a number that calculate.
const POWERS: &[&str] = &["squared", "cubed"];

/// Returns `true` if a sentence asks to calculate with the numbers that it has.
pub(super) fn is_sum(sentence: &str) -> bool {
    sentence.bytes().any(|byte| byte.is_ascii_digit())
        && (has_signs(sentence) || has_words(sentence))
}

/// Returns `true` if a sign that calculates stands between two numbers, or a share of a number is
/// asked for.
fn has_signs(sentence: &str) -> bool {
    let mut rest = sentence;
    while let Some((at, sign)) = rest.char_indices().find(|&(_, c)| is_sign(c)) {
        let (left, right) = (&rest[..at], &rest[at + sign.len_utf8()..]);
        rest = right;
        let (before, after) = (left.trim_end(), right.trim_start());
        // First of all, so that a row of signs is looked at once.
        if !before.ends_with(|c: char| c.is_ascii_digit() || c == ')') {
            continue;
        }
        let is_between = after.starts_with(|c: char| c.is_ascii_digit() || c == '(');
        let calculates = match sign {
            '%' => is_between || is_of_number(after),
            // Dates, ranges and numbers of telephones have these too: 1/2/2025, 10-12.
            '/' | '-' | '–' => {
                is_between && before.len() < left.len() && after.len() < right.len()
            }
            _ => is_between,
        };
        if calculates {
            return true;
        }
    }
    false
}

fn is_sign(c: char) -> bool {
    matches!(c, '+' | '*' | '×' | '÷' | '^' | '−' | '%' | '/' | '-' | '–')
}

/// Returns `true` if a text begins with `of` and a number.
fn is_of_number(text: &str) -> bool {
    let mut words = words(text);
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("of"))
        && words.next().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Returns `true` if words that calculate stand beside numbers.
fn has_words(sentence: &str) -> bool {
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit());
    let is = |word: &str, list: &[&str]| list.iter().any(|own| word.eq_ignore_ascii_case(own));
    let (mut first, mut second) = ("", "");
    for word in words(sentence) {
        let calculates =
            is_number(first) && is(second, OPERATORS) && (is_number(word) || is(word, &["by"]))
                || is_number(first) && is(second, &["percent"]) && is(word, &["of"])
                || is_number(second) && is(word, POWERS)
                || is(first, &["square"]) && is(second, &["root"]);
        if calculates {
            return true;
        }
        (first, second) = (second, word);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::is_sum;

    #[test]
    fn sums_are_told_from_other_figures() {
        for sum in [
            "3+4",
            "what is 3 + 4?",
            "15% of 80",
            "15 percent of 80",
            "2^10",
            "(2 + 3) * 4",
            "12 × 9",
            "90 ÷ 3",
            "90 / 3",
            "90 - 3",
            "7 times 8",
            "90 divided by 3",
            "9 squared",
            "the square root of 81",
        ] {
            assert!(is_sum(sum), "{sum}");
        }
        for other in [
            "",
            "three plus four",
            "2025-03-04",
            "3/4/2025",
            "555-1234",
            "10-12",
            "20% off",
            "20% of the shoes",
            "a*b",
            "C++ 20",
            "+49 30",
            "the 3 times we met",
            "version 3",
            "%",
            "1 ",
        ] {
            assert!(!is_sum(other), "{other}");
        }
    }
}
