//! A server that wants to know who asks, the authorization server beside it, and a user's browser.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::web::{Reply, Request, Seen, modern, serve};

/// A server, and whoever gives out its tokens, at one address.
pub struct World {
    pub url: String,
    seen: Seen,
    pub given: Arc<Mutex<Given>>,
}

/// The issued tokens.
#[derive(Default)]
pub struct Given {
    pub codes: HashMap<String, String>,
    /// Tokens that are good, and those that renew them.
    pub good: Vec<String>,
    pub renewing: Vec<String>,
    pub count: u32,
    /// The lifetime of a token, in seconds.
    pub lifetime: u32,
    pub clients: u32,
    /// `true` if a request without a token gets no details.
    pub is_silent: bool,
    /// Held back until notified.
    pub held: Option<Arc<Notify>>,
    /// The scopes that the last page asked for.
    pub scopes: String,
    /// The scopes of the good token.
    pub granted: String,
    /// A scope that calls require.
    pub required: &'static str,
    pub token_type: &'static str,
    /// Changes what a grant says.
    pub amend: Option<fn(&mut Value)>,
    /// Changes what a registration says.
    pub amend_client: Option<fn(&mut Value)>,
    /// Answers requests for a token.
    pub refuse: Option<Refuse>,
    /// Answers requests for the page to sign in at; there is none if `None`.
    pub page: Option<fn() -> Reply>,
}

/// Answers a request for a token by its form, before the authorization server does.
pub type Refuse = fn(&HashMap<String, String>) -> Option<Reply>;

/// Answers a request before the server does.
pub type Guard = Box<dyn Fn(&Request) -> Option<Reply> + Send + Sync>;

impl Given {
    fn token(&mut self) -> Value {
        self.count += 1;
        let (token, renewing) = (format!("token-{}", self.count), format!("renew-{}", self.count));
        self.good = vec![token.clone()];
        self.renewing.push(renewing.clone());
        self.granted.clone_from(&self.scopes);
        let mut grant = json!({"access_token": token, "token_type": self.token_type, "expires_in": self.lifetime, "refresh_token": renewing, "scope": self.granted});
        if let Some(amend) = self.amend {
            amend(&mut grant);
        }
        grant
    }
}

impl World {
    pub async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// A world whose metadata is another than it should be.
    pub async fn with(twist: impl Fn(&mut Value) + Send + Sync + 'static) -> Self {
        Self::guarded("Bearer", twist, Box::new(|_| None)).await
    }

    /// A world with tokens of another type.
    pub async fn guarded(
        token_type: &'static str,
        twist: impl Fn(&mut Value) + Send + Sync + 'static,
        guard: Guard,
    ) -> Self {
        let given = Given { lifetime: 3600, token_type, ..Given::default() };
        let given = Arc::new(Mutex::new(given));
        let own = Arc::clone(&given);
        let (url, seen) = serve(move |request| {
            guard(request).unwrap_or_else(|| answer(request, &mut own.lock().unwrap(), &twist))
        })
        .await;
        Self { url, seen, given }
    }

    pub fn request_count(&self, path: &str) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|request| request.target.starts_with(path)).count()
    }

    pub fn requests(&self, path: &str) -> Vec<Request> {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|request| request.target.starts_with(path)).cloned().collect()
    }

    pub fn tokens_sent(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let mut sent: Vec<String> = seen
            .iter()
            .filter_map(|request| request.headers.get("authorization").cloned())
            .collect();
        sent.dedup();
        sent
    }
}

fn answer(request: &Request, given: &mut Given, twist: &dyn Fn(&mut Value)) -> Reply {
    let base = format!("http://{}", request.headers["host"]);
    let path = request.target.split('?').next().unwrap_or_default();
    let mut metadata = match path {
        "/mcp" => {
            let token = request
                .headers
                .get("authorization")
                .and_then(|value| value.strip_prefix(given.token_type)?.strip_prefix(' '));
            if token
                .is_some_and(|token| token == "own" || given.good.iter().any(|good| good == token))
            {
                let lacks = !given.granted.split(' ').any(|scope| scope == given.required);
                if request.body["method"] == "tools/call" && !given.required.is_empty() && lacks {
                    return Reply::Raw(format!(
                        "HTTP/1.1 403 X\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"{}\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                        given.required
                    ));
                }
                return modern(request);
            }
            let challenge = if given.is_silent {
                String::new()
            } else {
                format!(
                    "WWW-Authenticate: Bearer resource_metadata=\"{base}/.well-known/oauth-protected-resource/mcp\"\r\n"
                )
            };
            return Reply::Raw(format!(
                "HTTP/1.1 401 X\r\n{challenge}Content-Length: 0\r\nConnection: close\r\n\r\n"
            ));
        }
        "/.well-known/oauth-protected-resource/mcp" => json!({
            "resource": format!("{base}/mcp"), "authorization_servers": [base], "scopes_supported": ["tools"],
        }),
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": base, "authorization_endpoint": format!("{base}/authorize"), "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"), "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"], "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"], "authorization_response_iss_parameter_supported": true,
        }),
        "/register" => {
            let mut registered = request.body.clone();
            given.clients += 1;
            registered["client_id"] = json!(format!("client-{}", given.clients));
            if let Some(amend) = given.amend_client {
                amend(&mut registered);
            }
            return Reply::Json(201, registered);
        }
        "/token" => {
            let form = form(&request.text);
            let refused = given.refuse.and_then(|refuse| refuse(&form));
            return refused.unwrap_or_else(|| token(&form, given));
        }
        "/authorize" if given.page.is_some() => return given.page.expect("a page")(),
        _ => return Reply::Json(404, Value::Null),
    };
    twist(&mut metadata);
    Reply::Json(200, metadata)
}

fn token(form: &HashMap<String, String>, given: &mut Given) -> Reply {
    let good = match &*form["grant_type"] {
        "authorization_code" => {
            form["resource"].ends_with("/mcp")
                && form["code_verifier"].len() >= 43
                && given.codes.remove(&form["code"]).as_ref() == form.get("redirect_uri")
        }
        _ => {
            let renewing = given.renewing.iter().position(|known| *known == form["refresh_token"]);
            renewing.map(|at| given.renewing.remove(at)).is_some()
        }
    };
    let answer = if good {
        Reply::Json(200, given.token())
    } else {
        Reply::Json(400, json!({"error": "invalid_grant"}))
    };
    match &given.held {
        Some(held) => Reply::Later(Arc::clone(held), Box::new(answer)),
        None => answer,
    }
}

pub fn form(text: &str) -> HashMap<String, String> {
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (decoded(name), decoded(value))).collect()
}

pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            b'+' => b' ',
            byte => byte,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// The actions of the user on the page.
#[derive(Clone, Copy)]
pub enum Browser {
    Agrees,
    Refuses,
    /// Agrees, after other pages have sent it there with what they made up, and after a connection
    /// that says nothing.
    AgreesAmongOthers,
    /// Comes back from somebody else than it was sent to.
    IsSentByAnother,
    /// Comes back without a word on who sends it.
    AgreesWithoutIssuer,
    RefusesAsAnother,
    /// Comes back with an error.
    Fails(&'static str),
    Leaves,
}

impl Browser {
    /// Opens a page of the world, and comes back as the world would send it.
    pub async fn open(self, world: &World, page: &str) {
        let query = form(page.split_once('?').expect("a query").1);
        assert_eq!(query["response_type"], "code");
        assert_eq!(query["code_challenge_method"], "S256");
        assert_eq!(query["code_challenge"].len(), 43);
        let required = world.given.lock().unwrap().required;
        assert_eq!(query["scope"], format!("tools {required}").trim_end());
        assert_eq!(query["resource"], world.url);
        let redirect = &query["redirect_uri"];
        let back = async |query: &str| get(&format!("{redirect}?{query}")).await;
        let state = &query["state"];
        let issuer = world.url.trim_end_matches("/mcp").replace(':', "%3A").replace('/', "%2F");
        {
            let mut given = world.given.lock().unwrap();
            given.codes.insert("code".to_owned(), redirect.clone());
            given.scopes.clone_from(&query["scope"]);
        }
        let good = format!("code=code&state={state}&iss={issuer}");
        match self {
            Self::Agrees => assert!(back(&good).await.contains("You can close this page")),
            Self::Refuses => {
                let refusal = format!(
                    "error=access_denied&error_description=not%20%1B[31mtoday&state={state}"
                );
                assert!(back(&refusal).await.contains("not signed in"));
            }
            Self::AgreesAmongOthers => {
                let address =
                    redirect.trim_start_matches("http://").split('/').next().unwrap().to_owned();
                let _silent = TcpStream::connect(&address).await.unwrap();
                for made_up in ["code=code&state=other", "code=code", "state=", ""] {
                    assert!(back(made_up).await.contains("404"), "{made_up}");
                }
                back(&good).await;
            }
            Self::IsSentByAnother => {
                back(&format!("code=code&state={state}&iss=https%3A%2F%2Fevil.example")).await;
            }
            Self::AgreesWithoutIssuer => drop(back(&format!("code=code&state={state}")).await),
            Self::RefusesAsAnother => {
                let refusal = "error=access_denied&error_description=not%20today";
                back(&format!("{refusal}&state={state}&iss=https%3A%2F%2Fevil.example")).await;
            }
            Self::Fails(code) => drop(back(&format!("error={code}&state={state}")).await),
            Self::Leaves => {}
        }
    }
}

async fn get(url: &str) -> String {
    let (address, path) = url.trim_start_matches("http://").split_once('/').expect("a path");
    let mut stream = TcpStream::connect(address).await.expect("somebody listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).await.expect("an answer");
    text
}
