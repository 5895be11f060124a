use toolbox::tool;

struct Github;

impl Github {
    /// Opens a connection.
    #[tool]
    fn open() -> Self {
        Self
    }
}

fn main() {}
