//! The failures that are retried, and the wait before a retry.

use std::time::{Duration, SystemTime};

use reqwest::StatusCode;
use reqwest::header::HeaderMap;

/// Returns `true` if a request may succeed when it is sent again.
pub(super) fn may_pass(status: StatusCode, headers: &HeaderMap) -> bool {
    match text(headers, "x-should-retry") {
        Some("true") => return true,
        Some("false") => return false,
        _ => {}
    }
    match status.as_u16() {
        408 | 409 | 429 => true,
        // A method or version that a server does not support stays unsupported.
        501 | 505 => false,
        code => code >= 500,
    }
}

/// Returns the wait that the service asks for: `retry-after-ms`, or `Retry-After` in seconds or as
/// a date.
pub(super) fn asked_wait(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    if let Some(millis) = text(headers, "retry-after-ms").and_then(|text| text.parse().ok()) {
        return seconds(millis, 1000.0);
    }
    let asked = text(headers, "retry-after")?;
    if let Ok(number) = asked.parse() {
        return seconds(number, 1.0);
    }
    let date = httpdate::parse_http_date(asked).ok()?;
    // A date that has passed asks for no wait.
    Some(date.duration_since(now).unwrap_or_default())
}

/// Some services write fractions, so these are numbers with a point.
fn seconds(number: f64, per_second: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number / per_second).ok()
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Pairs = &'static [(&'static str, &'static str)];

    fn headers(pairs: Pairs) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        let cases = [
            (400, false),
            (401, false),
            (402, false),
            (403, false),
            (404, false),
            (408, true),
            (409, true),
            (413, false),
            (422, false),
            (429, true),
            (500, true),
            (501, false),
            (502, true),
            (503, true),
            (504, true),
            (505, false),
            (529, true),
        ];
        for (status, expected) in cases {
            let status = StatusCode::from_u16(status).unwrap();
            assert_eq!(may_pass(status, &HeaderMap::new()), expected, "{status}");
            assert!(may_pass(status, &headers(&[("x-should-retry", "true")])));
            assert!(!may_pass(status, &headers(&[("x-should-retry", "false")])));
        }
    }

    #[test]
    fn the_service_says_how_long_to_wait() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let cases: [(Pairs, Option<u64>); 9] = [
            (&[("retry-after", "7")], Some(7000)),
            (&[("retry-after", "0.5")], Some(500)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT")], Some(3000)),
            (&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0)),
            (&[("retry-after-ms", "20"), ("retry-after", "7")], Some(20)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ];
        for (pairs, expected) in cases {
            let wait = asked_wait(&headers(pairs), now);
            assert_eq!(wait, expected.map(Duration::from_millis), "{pairs:?}");
        }
    }
}
