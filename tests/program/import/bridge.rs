//! `mcp-remote`: the entries that become an address, and those that stay a child process.

use serde_json::{Value, json};

use super::User;
use super::forms::{URL, check, local, remote, with};

/// A child process `mcp-remote` with its arguments.
fn mcp_remote(words: &[&str]) -> Value {
    let args: Vec<&str> = ["-y", "mcp-remote"].iter().chain(words).copied().collect();
    json!({"command": "npx", "args": args})
}

/// The address with the header `Authorization`.
fn authorized(value: &str) -> Value {
    with(remote(URL), "headers", json!({"Authorization": value}))
}

const REACHED: &str = "its address is reached without `mcp-remote`";

#[test]
fn mcp_remote_becomes_its_address_however_it_is_started() {
    let token = ["--header", "Authorization: Bearer ${TOKEN}"];
    let with_token = |before: &[&str]| {
        let words: Vec<&str> = before.iter().chain(&[URL]).chain(&token).copied().collect();
        json!({"command": words[0], "args": words[1..]})
    };
    let of_variable = authorized("Bearer {env:TOKEN}");
    for starter in [
        &["npx", "mcp-remote"][..],
        &["npx", "-y", "mcp-remote@latest"],
        &["/usr/local/bin/npx", "--yes", "--quiet", "mcp-remote@0.1.2"],
        &["npx.cmd", "-y", "mcp-remote"],
        &["npx", "-p", "mcp-remote@0.1", "mcp-remote"],
        &["npx", "-y", "--package=mcp-remote", "--", "mcp-remote"],
        &["bunx", "--bun", "mcp-remote"],
        &["bun", "x", "mcp-remote"],
        &["pnpm", "dlx", "mcp-remote"],
        &["yarn", "dlx", "mcp-remote"],
        &["npm", "exec", "--", "mcp-remote"],
        &["npm", "exec", "-y", "mcp-remote", "--"],
        &["cmd", "/c", "npx", "-y", "mcp-remote"],
        &["C:\\Windows\\System32\\cmd.exe", "/d", "/C", "npx", "mcp-remote"],
        &["/opt/bin/mcp-remote"],
        &["mcp-remote.cmd"],
    ] {
        check(&[("claude-desktop", with_token(starter), of_variable.clone(), &[REACHED])]);
    }
}

#[test]
fn headers_and_options_of_mcp_remote_are_carried_over() {
    let secret = |env: Value, words: &[&str]| with(mcp_remote(words), "env", env);
    let own = "Authorization:${AUTH_HEADER}";
    let both = |server: Value, key: &str, value: Value| with(server, key, value);
    check(&[
        ("claude-desktop", mcp_remote(&[URL]), remote(URL), &["run `toolbox login`"]),
        (
            "claude-desktop",
            secret(json!({"AUTH_HEADER": "Bearer hidden-text"}), &[URL, "--header", own]),
            authorized("Bearer hidden-text"),
            &[REACHED],
        ),
        (
            "cursor",
            secret(
                json!({"AUTH_HEADER": "Bearer ${env:T}", "PATH": "/x"}),
                &[URL, "--header", own],
            ),
            authorized("Bearer {env:T}"),
            &[REACHED],
        ),
        (
            "claude-code",
            secret(json!({"AUTH_HEADER": "Bearer hidden-text"}), &[URL, "--header", own]),
            authorized("Bearer hidden-text"),
            &[REACHED],
        ),
        (
            "gemini",
            mcp_remote(&["--header", "Authorization: Bearer $T", URL, "3334"]),
            authorized("Bearer {env:T}"),
            &[REACHED],
        ),
        (
            "vscode",
            mcp_remote(&[URL, "--header", "Authorization: Bearer ${input:token}"]),
            both(authorized("Bearer {env:TOKEN}"), "enabled", json!(false)),
            &[REACHED, "set `TOKEN`"],
        ),
        (
            "claude-desktop",
            mcp_remote(&[
                URL,
                "3334",
                "--debug",
                "--allow-http",
                "--transport",
                "http-first",
                "--host",
                "127.0.0.1",
                "--resource",
                URL,
                "--header",
                "X-A: b: c",
                "--header",
                "X-B:",
            ]),
            both(
                both(remote(URL), "headers", json!({"X-A": "b: c", "X-B": ""})),
                "oauth",
                json!({"callbackPort": 3334}),
            ),
            &[REACHED],
        ),
        (
            "claude-desktop",
            mcp_remote(&[
                "http://10.0.0.1/sse",
                "--transport",
                "http-only",
                "--allow-http",
                "--auth-timeout",
                "60",
            ]),
            remote("http://10.0.0.1/sse"),
            &[REACHED, "`--auth-timeout` is not carried over"],
        ),
        (
            "claude-desktop",
            mcp_remote(&["http://localhost:9/mcp"]),
            remote("http://localhost:9/mcp"),
            &[REACHED],
        ),
        (
            "claude-desktop",
            both(both(mcp_remote(&[URL]), "disabled", json!(true)), "type", json!("stdio")),
            both(remote(URL), "enabled", json!(false)),
            &[REACHED],
        ),
    ]);
}

#[test]
fn the_secret_of_a_header_reaches_the_server_and_nothing_else() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).expect("a limit");
        let mut head = [0; 4096];
        let length = std::io::Read::read(&mut stream, &mut head).unwrap_or_default();
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    let user = User::new();
    let url = format!("http://{address}/mcp");
    let args = ["-y", "mcp-remote", &url, "--header", "Authorization:${AUTH_HEADER}"];
    let entry =
        json!({"command": "npx", "args": args, "env": {"AUTH_HEADER": "Bearer hidden-text"}});
    user.write(".cursor/mcp.json", json!({"mcpServers": {"s": entry}}).to_string());
    let shown = user.run(&["import", "--write"]);
    let listed = user.run(&["list"]);
    // Where nothing came, this ends the wait.
    drop(std::net::TcpStream::connect(address));
    let head = server.join().expect("a request").to_lowercase();
    assert!(head.contains("authorization: bearer hidden-text\r\n"), "{head} {listed:?}");
    for ended in [shown, listed] {
        assert!(!format!("{ended:?}").contains("hidden-text"), "{ended:?}");
    }
}

#[test]
fn mcp_remote_with_what_is_not_understood_stays_the_child_process() {
    for (words, reason) in [
        (
            &[URL, "--transport", "sse-only"][..],
            "`--transport sse-only` is SSE, which toolbox does not speak",
        ),
        (&[URL, "--transport", "sse-first"], "`--transport sse-first` is SSE"),
        (
            &["https://a.example/v1/sse?x=1"],
            "its address may be for SSE alone, which toolbox does not speak",
        ),
        (&[URL, "--transport", "fast"], "`--transport` is not understood"),
        (
            &[URL, "--static-oauth-client-info", "{}"],
            "`--static-oauth-client-info` has no equivalent",
        ),
        (
            &[URL, "--static-oauth-client-metadata=hidden-text"],
            "`--static-oauth-client-metadata=***` has no",
        ),
        (&[URL, "--resource", "https://other.example/"], "`--resource` has no equivalent"),
        (&[URL, "--host", "10.0.0.1"], "`--host` has no equivalent"),
        (&[URL, "--ignore-tool", "wipe"], "`--ignore-tool` has no equivalent"),
        (&[URL, "-khidden-text"], "`-k***` has no equivalent"),
        (&[URL, "--enable-proxy"], "`--enable-proxy` has no equivalent"),
        (&[URL, "--header", "no header hidden-text"], "a `--header` is not understood"),
        (&[URL, "--header"], "`--header` has no value"),
        (&[URL, "--header", "A: ${a b}"], "a variable in a `--header` is not understood"),
        (&[URL, "--header", "A: %TOKEN% $TOKEN"], "`$TOKEN` in a `--header` is no variable there"),
        (&[URL, "0"], "one of its arguments is not understood"),
        (&[URL, "1", "2"], "one of its arguments is not understood"),
        (&["http://10.0.0.1/mcp"], "its address is not understood"),
        (&["https://${HOST}/mcp"], "its address is not understood"),
        (&["ftp://a.example"], "its address is not understood"),
        (&[], "it has no address"),
    ] {
        let server = mcp_remote(words);
        let command: Vec<&str> = ["npx", "-y", "mcp-remote"].iter().chain(words).copied().collect();
        let user = User::new();
        user.write(
            "AppData/Claude/claude_desktop_config.json",
            json!({"mcpServers": {"s": server}}).to_string(),
        );
        let shown = user.import(&["--write"]);
        let all = shown.to_string();
        assert_eq!(user.servers()["s"], local(&command), "{all}");
        let notes = &shown["files"][0]["servers"][0]["notes"];
        let stays = |given: &str| {
            given.starts_with("it stays the child process `mcp-remote`: ") && given.contains(reason)
        };
        assert!(notes[0].as_str().is_some_and(stays), "{reason}: {notes}");
        assert!(!all.contains("hidden-text"), "{all}");
    }
    let stays = "it stays the child process `mcp-remote`";
    let command = |words: &[&str]| json!({"command": words[0], "args": words[1..]});
    for (words, reason) in [
        (&["npx", "--registry", "https://r.example", "mcp-remote", URL][..], "`--registry` of npx"),
        (&["npm", "exec", "mcp-remote", URL, "--debug"], "npm reads its options"),
        (&["cmd", "/c", "npx", "mcp-remote", URL, "--header", "A:%B%"], "cmd replaces characters"),
    ] {
        let note = format!("{stays}: {reason}");
        let user = User::new();
        user.write(".cursor/mcp.json", json!({"mcpServers": {"s": command(words)}}).to_string());
        let shown = user.import(&["--write"]);
        assert!(shown.to_string().contains(&note), "{shown}");
        assert_eq!(user.servers()["s"], local(words));
    }
    // A proxy or a certificate is for the program.
    let env = json!({"NODE_EXTRA_CA_CERTS": "/c.pem"});
    let expected = with(local(&["npx", "-y", "mcp-remote", URL]), "environment", env.clone());
    check(&[(
        "cursor",
        with(mcp_remote(&[URL]), "env", env),
        expected,
        &["the variable `NODE_EXTRA_CA_CERTS` is for it"],
    )]);
    // These are other programs.
    for words in [
        &["npx", "-y", "@a/mcp-remote", URL][..],
        &["npx", "-p", "mcp-remote", "mcp-remote-client", URL],
        &["npx", "other", "mcp-remote", URL],
        &["uvx", "mcp-proxy", URL],
        &["node", "mcp-remote", URL],
        &["yarn", "mcp-remote", URL],
    ] {
        check(&[("cursor", command(words), local(words), &[])]);
    }
}
