use toolbox::tool;

trait Search {
    /// Searches.
    #[tool]
    fn search(&self) -> u32;
}

fn main() {}
