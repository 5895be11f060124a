use std::rc::Rc;

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
        let shared = Rc::new(key.to_owned());
        std::future::ready(()).await;
        shared.to_string()
    }
}

fn main() {}
