use toolbox::tool;

/// Searches the log.
#[tool(replaces = "find it")]
fn search_log() {}

/// Searches the mail.
#[tool(replaces = find)]
fn search_mail() {}

/// Searches the news.
#[tool(replaces = [])]
fn search_news() {}

fn main() {}
