//! Sources of the token of an HTTP server, and their permissions.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use super::own_program;

struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server, asks it with a token, and returns the status of its answer with what it printed
/// before.
fn status(words: &[&str], variable: Option<&str>, token: &str) -> (String, String) {
    let mut command = Command::new(own_program());
    command.args(["serve", "--http", "127.0.0.1:0"]).args(words).env_remove("TOOLBOX_TOKEN");
    command.envs(variable.map(|value| ("TOOLBOX_TOKEN", value)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = Ends(command.spawn().expect("the program starts"));
    let mut told = String::new();
    let mut err = BufReader::new(child.0.stderr.take().expect("its errors"));
    let address = loop {
        let mut line = String::new();
        assert_ne!(err.read_line(&mut line).expect("a line"), 0, "{told}");
        told.push_str(&line);
        if let Some(rest) = line.trim().strip_prefix("listening at http://") {
            break rest.trim_end_matches("/mcp").to_owned();
        }
    };
    let mut stream = std::net::TcpStream::connect(address).expect("it listens");
    let ask = format!(
        "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(ask.as_bytes()).expect("it reads");
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).expect("an answer");
    (answer.split(' ').nth(1).unwrap_or_default().to_owned(), told)
}

#[test]
fn a_token_comes_from_a_file_or_a_variable_and_from_no_command_line() {
    let folder = std::env::temp_dir().join(format!("toolbox-token-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str, text: &[u8], mode: u32| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        path.to_str().expect("plain").to_owned()
    };
    let own = file("own", b"s3cret-word\n", 0o600);
    for (words, variable, token, is_in) in [
        (&["--token-file", &own][..], None, "s3cret-word", true),
        (&["--token-file", &own], None, "other", false),
        (&["--token-file", &own], Some("other"), "s3cret-word", true),
        (&["--token-file", &own], Some("other"), "other", false),
        (&[], Some("s3cret-word"), "s3cret-word", true),
    ] {
        let (status, told) = status(words, variable, token);
        assert_eq!(status != "401", is_in, "{words:?} {variable:?} {token}: {status}");
        assert!(!told.contains("s3cret") && !told.contains("chmod"), "{told}");
    }
    let open = file("open", b"s3cret-word\r\n", 0o644);
    let (_, told) = status(&["--token-file", &open], None, "s3cret-word");
    assert!(told.contains("can be read by other users"), "{told}");
    let folder_name = folder.to_str().expect("plain");
    let (empty, two) = (file("empty", b"\n", 0o600), file("two", b"s3cret word", 0o600));
    let long = file("long", &[b'x'; 5000], 0o600);
    for words in [
        &["--token", "s3cret-word"][..],
        &["--token=s3cret-word"],
        &["--token", ""],
        &["--token", "s3cret-word", "--token-file", &own],
        &["--token-file", "/nowhere"],
        &["--token-file", folder_name],
        &["--token-file", &empty],
        &["--token-file", &two],
        &["--token-file", &long],
    ] {
        let ended = super::own(&[&["serve", "--http", "127.0.0.1:0"][..], words].concat());
        ended.check(2, "", "token");
        let all = format!("{}{}", ended.out, ended.err);
        assert!(!all.contains("s3cret") && !all.contains("listening"), "{words:?}: {all}");
    }
    let help = super::own(&["serve", "--help"]);
    assert!(help.out.contains("--token-file") && !help.out.contains("--token "), "{}", help.out);
    std::fs::remove_dir_all(&folder).expect("it is ours");
}
