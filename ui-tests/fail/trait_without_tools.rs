use toolbox::toolset;

#[toolset]
trait Storage {
    fn read(&self, key: &str) -> String;
}

struct Disk;

#[toolset]
impl Storage for Disk {
    fn read(&self, key: &str) -> String {
        key.to_owned()
    }
}

fn main() {}
