use toolbox::tool;

/// Reads the log.
#[tool(version = " ")]
fn read_log() -> String {
    String::new()
}

/// Reads the mail.
#[tool(version = 2)]
fn read_mail() -> String {
    String::new()
}

fn main() {}
