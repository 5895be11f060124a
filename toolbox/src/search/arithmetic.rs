//! Sums in figures within a request: `15% of 80`, `3 * (4 + 5)`.

use super::words::words;

/// Words between two numbers that calculate.
const OPERATORS: [&str; 6] = ["plus", "minus", "times", "divided", "multiplied", "modulo"];

/// Words after a number that calculate.
const POWERS: [&str; 3] = ["squared", "cubed", "percent"];

/// Returns `true` if a sentence asks to calculate with the numbers that it has.
pub(super) fn is_sum(sentence: &str) -> bool {
    let bytes = sentence.as_bytes();
    if !bytes.iter().any(u8::is_ascii_digit) {
        return false;
    }
    has_signs(sentence) || has_words(sentence)
}

/// Returns `true` if a sign that calculates stands between two numbers, or a share of a number is
/// asked for.
fn has_signs(sentence: &str) -> bool {
    let is_number = |c: char| c.is_ascii_digit() || c == ')';
    let mut before = sentence;
    while let Some(at) = before.find(|c| is_sign(c)) {
        let sign = before[at..].chars().next().unwrap_or('%');
        let (left, right) = (&before[..at], &before[at + sign.len_utf8()..]);
        let left_word = left.trim_end();
        let right_word = right.trim_start();
        let is_after = left_word.ends_with(is_number);
        let is_spaced = left.len() > left_word.len() && right.len() > right_word.len();
        let is_before = right_word.starts_with(|c: char| c.is_ascii_digit() || c == '(');
        let calculates = match sign {
            '%' => {
                let mut rest = words(right_word);
                let of = rest.next().is_some_and(|word| word.eq_ignore_ascii_case("of"));
                of && rest.next().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
                    || is_before
            }
            // Dates and ranges have these too: 1/2/2025, 10-12.
            '/' | '-' | '–' => is_before && is_spaced,
            _ => is_before,
        };
        if is_after && calculates {
            return true;
        }
        before = right;
    }
    false
}

fn is_sign(c: char) -> bool {
    matches!(c, '+' | '*' | '×' | '÷' | '^' | '−' | '%' | '/' | '-' | '–')
}

/// Returns `true` if words that calculate stand beside numbers.
fn has_words(sentence: &str) -> bool {
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_any = |word: &str, list: &[&str]| list.iter().any(|own| word.eq_ignore_ascii_case(own));
    let mut last = ["", ""];
    for word in words(sentence) {
        let [first, second] = last;
        let by = word.eq_ignore_ascii_case("by");
        let is_number_before = !first.is_empty() && is_number(first);
        if is_number_before && is_any(second, &OPERATORS) && (is_number(word) || by)
            || !second.is_empty()
                && is_number(second)
                && is_any(word, &POWERS)
                && !word.eq_ignore_ascii_case("percent")
            || is_number_before
                && second.eq_ignore_ascii_case("percent")
                && word.eq_ignore_ascii_case("of")
            || first.eq_ignore_ascii_case("square") && second.eq_ignore_ascii_case("root")
        {
            return true;
        }
        last = [second, word];
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
