use toolbox::toolset;

const NAME: &str = "read";

#[toolset(prefix = "disk")]
trait Storage {
    /// Reads a text.
    #[tool(name = NAME)]
    fn read(&self, key: &str) -> String;
}

fn main() {}
