//! One member of an object, without reading the others.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Returns the text of a member; of several under one key, the last.
pub(in crate::mcp::server) fn member<'a>(object: &'a str, key: &str) -> Option<&'a RawValue> {
    struct Find<'k>(&'k str);

    impl<'a> Visitor<'a> for Find<'_> {
        type Value = Option<&'a RawValue>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut found = None;
            while let Some(key) = map.next_key::<Cow<'_, str>>()? {
                if key == self.0 {
                    found = Some(map.next_value()?);
                } else {
                    map.next_value::<IgnoredAny>()?;
                }
            }
            Ok(found)
        }
    }

    serde_json::Deserializer::from_str(object).deserialize_map(Find(key)).ok().flatten()
}
