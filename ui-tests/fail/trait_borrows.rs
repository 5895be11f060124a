use toolbox::toolset;

#[toolset]
trait Storage<'a> {
    /// Reads a text.
    #[tool]
    fn read(&self, key: &str) -> String;
}

fn main() {}
