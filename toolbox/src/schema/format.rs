//! The formats of text that schemas name: a phrase for messages, and an example.

/// A value of the keyword `format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// A phrase such as `a date`.
    pub(crate) phrase: &'static str,
    /// A text of the format.
    pub(crate) example: &'static str,
}

impl Format {
    /// Returns the phrase with an example, such as "a date such as `2026-01-31`".
    pub(crate) fn told(self) -> String {
        format!("{} such as `{}`", self.phrase, self.example)
    }

    /// Returns `true` for the formats of JSON Schema that types of Rust hold their text to, and for
    /// `password`, which says what may not be shown. Others, such as `email`, are what an attribute
    /// says of a `String`.
    pub(crate) fn is_held(name: &str) -> bool {
        matches!(
            name,
            "date-time"
                | "date"
                | "time"
                | "duration"
                | "uuid"
                | "uri"
                | "ipv4"
                | "ipv6"
                | "password"
        )
    }

    /// Returns the format of that name, if it is one of JSON Schema or of a crate that schemars
    /// knows.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let (phrase, example) = match name {
            "date-time" => ("a date and time with its offset", "2026-01-31T12:00:00Z"),
            "partial-date-time" => ("a date and time without an offset", "2026-01-31T12:00:00"),
            "zoned-date-time" => {
                ("a date and time with its time zone", "2026-01-31T12:00:00+01:00[Europe/Berlin]")
            }
            "date" => ("a date", "2026-01-31"),
            "time" => ("a time of day with its offset", "12:00:00Z"),
            "partial-time" => ("a time of day", "12:00:00"),
            "duration" => ("a duration", "PT1H"),
            "email" => ("an e-mail address", "ab@example.com"),
            "hostname" => ("a host name", "example.com"),
            "ip" => ("an IP address", "192.0.2.1"),
            "ipv4" => ("an IPv4 address", "192.0.2.1"),
            "ipv6" => ("an IPv6 address", "2001:db8::1"),
            "uri" | "url" => ("an absolute URL", "https://example.com/"),
            "uuid" => ("a UUID", "67e55044-10b1-426f-9247-bb680e5fe0c8"),
            _ => return None,
        };
        Some(Self { phrase, example })
    }
}
