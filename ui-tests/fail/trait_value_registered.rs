use toolbox::toolset;

#[toolset]
trait Storage {
    /// Reads a text.
    #[tool]
    async fn read(&self, key: &str) -> String;
}

struct Disk;

#[toolset]
impl Storage for Disk {
    async fn read(&self, key: &str) -> String {
        key.to_owned()
    }
}

fn main() {
    toolbox::ToolBox::new().register(Disk);
}
