use toolbox::toolset;

#[toolset]
trait Storage {
    /// Reads a text.
    #[tool]
    async fn read(&self, key: &str) -> String;
}

struct Disk;

impl Storage for Disk {
    async fn read(&self, key: &str) -> String {
        key.to_owned()
    }
}

fn main() {}
