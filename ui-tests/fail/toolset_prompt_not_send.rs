use toolbox::toolset;

struct Library(&'static str);

#[toolset]
impl Library {
    /// Asks for a review.
    #[prompt]
    async fn review(&self, code: &str) -> String {
        let shared = std::rc::Rc::new(code);
        std::future::ready(()).await;
        format!("{}{shared}", self.0)
    }
}

fn main() {
    toolbox::ToolBox::from(Library(""));
}
