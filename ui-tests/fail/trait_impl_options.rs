use toolbox::toolset;

#[toolset]
trait Storage {
    /// Reads a text.
    #[tool]
    async fn read(&self, key: &str) -> String;
}

struct Disk;

#[toolset(prefix = "disk")]
impl Storage for Disk {
    /// Reads a file.
    #[tool(name = "read_file", read_only)]
    async fn read(&self, /** Its path */ key: &str) -> String {
        key.to_owned()
    }

    /// Asks.
    #[prompt]
    fn ask(&self) -> String {
        String::new()
    }
}

fn main() {}
