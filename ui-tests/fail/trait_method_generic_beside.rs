use toolbox::toolset;

#[toolset]
trait Storage {
    /// Counts the texts.
    #[tool]
    fn count(&self) -> usize;

    fn each<F: Fn(&str)>(&self, of: F);
}

fn main() {}
