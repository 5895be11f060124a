use toolbox::tool;

/// Reads the log.
#[tool(max_result_tokens = 0)]
fn read_log() -> String {
    String::new()
}

/// Reads the mail.
#[tool(max_result_tokens = "4k")]
fn read_mail() -> String {
    String::new()
}

fn main() {}
