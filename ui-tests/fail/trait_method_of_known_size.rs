use toolbox::toolset;

#[toolset]
trait Storage {
    /// Counts the texts.
    #[tool]
    fn count(&self) -> usize
    where
        Self: Sized;
}

fn main() {}
