use kit::toolset;

struct Words;

#[toolset]
impl Words {
    /// Counts letters.
    #[tool(example(text = "abc"))]
    async fn count(&self, #[arg(default = "x")] text: &str) -> usize {
        text.len()
    }
}

fn main() {}

