//! A tool is as visible as its function.
use toolbox::{ToolBox, tools};

mod outer {
    use toolbox::tool;

    /// Is private.
    #[tool]
    fn private() {}

    /// Is visible in the crate.
    #[tool]
    pub(crate) fn internal() {}

    pub mod inner {
        /// Is visible one module up.
        #[toolbox::tool]
        pub(super) fn shared() {}

        /// Is visible in a module.
        #[toolbox::tool]
        pub(in crate::outer) fn wide() {}
    }

    pub fn all() -> Vec<toolbox::Tool> {
        toolbox::tools![private, self::internal, inner::shared, crate::outer::inner::wide]
    }
}

use outer::internal;

fn main() {
    internal();
    assert_eq!(tools![internal].len(), 1);
    let toolbox = ToolBox::new();
    toolbox.register_all(outer::all());
    assert_eq!(toolbox.names(), ["private", "internal", "shared", "wide"]);
}
