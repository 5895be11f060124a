//! The values of a file, under the names of its table.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// A value of the kind that its key requires.
pub(super) enum ConfigValue {
    Flag(bool),
    Count(u64),
    Time(Duration),
    Text(String),
    Texts(Vec<String>),
    Map(BTreeMap<String, String>),
    Object(ObjectValues),
    Servers(Vec<RawServer>),
}

/// The values of an object, under the names of its table.
#[derive(Default)]
pub(super) struct ObjectValues {
    pub(super) values: BTreeMap<&'static str, (ConfigValue, Range<usize>)>,
    /// Keys with invalid values.
    pub(super) refused: Vec<&'static str>,
}

/// A server as read from the file.
pub(super) struct RawServer {
    pub(super) name: String,
    /// The range of the name in the text.
    pub(super) place: Range<usize>,
    pub(super) fields: ObjectValues,
    /// `true` if any part of it is invalid.
    pub(super) broken: bool,
}

macro_rules! getters {
    ($($name:ident: $variant:ident -> $type:ty),* $(,)?) => {
        $(pub(super) fn $name(&mut self, key: &str) -> Option<$type> {
            match self.values.remove(key) {
                Some((ConfigValue::$variant(value), _)) => Some(value),
                _ => None,
            }
        })*
    };
}

impl ObjectValues {
    getters! {
        flag: Flag -> bool,
        count: Count -> u64,
        time: Time -> Duration,
        text: Text -> String,
        texts: Texts -> Vec<String>,
        map: Map -> BTreeMap<String, String>,
        object: Object -> ObjectValues,
        servers: Servers -> Vec<RawServer>,
    }

    /// Returns the object of a switch that is on.
    pub(super) fn switch(&mut self, key: &str) -> Option<Self> {
        match self.values.remove(key) {
            Some((ConfigValue::Object(values), _)) => Some(values),
            Some((ConfigValue::Flag(true), _)) => Some(Self::default()),
            _ => None,
        }
    }

    /// Returns the range of a key's value, if there is one.
    pub(super) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.values.get(key).map(|(_, place)| place.clone())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.values.contains_key(key)
    }

    /// Returns whether a key has an invalid value.
    pub(super) fn is_refused(&self, key: &str) -> bool {
        self.refused.contains(&key)
    }
}
