//! Media types, by the way they are written and read.

/// A media type as a request writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Json,
    Form,
    Multipart,
    Text,
    Binary,
}

impl MediaKind {
    pub(crate) fn of(media_type: &str) -> Self {
        let essence = essence(media_type);
        match essence.as_str() {
            "application/json" | "text/json" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "application/xml"
            | "application/yaml"
            | "application/x-yaml"
            | "application/graphql"
            | "application/x-ndjson"
            | "application/jsonl"
            | "application/javascript"
            | "application/sql" => Self::Text,
            own if own.starts_with("multipart/") => Self::Multipart,
            own if own.ends_with("+json") => Self::Json,
            own if own.starts_with("text/") || own.ends_with("+xml") || own.ends_with("+yaml") => {
                Self::Text
            }
            _ => Self::Binary,
        }
    }

    /// Returns the rank among the media types of one body: the lowest is sent.
    pub(crate) fn rank(self, media_type: &str) -> u8 {
        match self {
            Self::Json if essence(media_type) == "application/json" => 0,
            // A merge patch of Kubernetes is written like the resource; a JSON patch is not.
            Self::Json if media_type.contains("merge-patch") => 1,
            Self::Json => 2,
            _ if media_type.contains('*') => 3,
            Self::Form => 4,
            Self::Multipart => 5,
            Self::Text => 6,
            Self::Binary => 7,
        }
    }
}

/// Returns a media type in lower case without its parameters.
pub(crate) fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
