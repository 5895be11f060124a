//! Icons and values of `_meta`, as the options of `#[tool]` give them.

use serde_json::Value;

use crate::definition::Icon;

/// An element of `icons`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no icon of a tool",
    label = "an icon is an `Icon`, or the URI of an image in quotes",
    note = "write `toolbox::definition::Icon::new(\"https://example.com/rain.png\")`"
)]
pub trait ToolIcon {
    #[doc(hidden)]
    fn icon(self) -> Icon;
}

impl ToolIcon for Icon {
    fn icon(self) -> Icon {
        self
    }
}

/// A value of `meta`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of the `_meta` of a tool",
    label = "a value is JSON",
    note = "write text, a number, `true`, or `serde_json::json!({{..}})`"
)]
pub trait MetaValue {
    #[doc(hidden)]
    fn value(self) -> Value;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Value>> MetaValue for T {
    fn value(self) -> Value {
        self.into()
    }
}
