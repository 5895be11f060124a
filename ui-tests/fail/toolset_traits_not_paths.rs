use toolbox::toolset;

#[toolset]
trait Storage {
    /// Reads a text.
    #[tool]
    async fn read(&self, key: &str) -> String;
}

struct Disk;

#[toolset(traits("Storage"))]
impl Disk {}

fn main() {}
