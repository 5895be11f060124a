use toolbox::toolset;

struct Github<T>(T);

#[toolset]
impl<T: ToString + Send + 'static> Github<T> {
    /// Shows what is inside.
    #[tool]
    fn show(&self) -> String {
        self.0.to_string()
    }
}

fn main() {}
