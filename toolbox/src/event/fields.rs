//! The JSON forms of fields of events.

/// A path of names, shared by the events of a run.
pub(super) mod path {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::event) fn serialize<S: Serializer>(
        path: &Arc<[String]>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        path.as_ref().serialize(serializer)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<[String]>, D::Error> {
        Vec::deserialize(deserializer).map(Arc::from)
    }
}

/// A duration as milliseconds, with a fraction.
pub(super) mod milliseconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::event) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64() * 1e3)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)? / 1e3;
        Duration::try_from_secs_f64(seconds).map_err(D::Error::custom)
    }
}

/// A time as whole milliseconds since 1970.
pub(super) mod unix_milliseconds {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::event) fn serialize<S: Serializer>(
        time: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        serializer.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SystemTime, D::Error> {
        let since = Duration::from_millis(u64::deserialize(deserializer)?);
        UNIX_EPOCH.checked_add(since).ok_or_else(|| D::Error::custom("no clock shows this time"))
    }
}

/// A value whose own reader needs the text of its JSON, which is gone where fields are read by the
/// name of a kind.
pub(super) mod by_text {
    use serde::de::{DeserializeOwned, Error};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use serde_json::Value;

    pub(in crate::event) fn serialize<T: Serialize, S: Serializer>(
        value: &T,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(in crate::event) fn deserialize<'de, T: DeserializeOwned, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<T, D::Error> {
        let text = Value::deserialize(deserializer)?.to_string();
        serde_json::from_str(&text).map_err(D::Error::custom)
    }
}
