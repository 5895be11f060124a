use toolbox::toolset;

#[toolset]
trait Storage {
    /// Tells the version.
    #[tool]
    fn version() -> u32;
}

fn main() {}
