use toolbox::toolset;

#[toolset]
trait Storage {
    /// Reads a text.
    #[tool]
    async fn read(&self, key: &str) -> String;

    fn count(&self) -> usize;
}

struct Disk;

#[toolset]
impl Storage for Disk {
    async fn read(&self, key: &str) -> String {
        key.to_owned()
    }

    /// Counts the files.
    #[tool]
    fn count(&self) -> usize {
        0
    }
}

fn main() {}
