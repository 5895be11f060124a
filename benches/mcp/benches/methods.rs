//! Instructions of each request over standard streams: a server on this framework, bare and with metrics, and one on rmcp,
//! whose handlers are written by hand. All are asked as a client of 2025-11-25 asks, in a session.
//!
//! ```text
//! cargo bench --features metrics --bench methods   instructions of a request on the server (needs valgrind)
//! ```

use pipes::{Pipes, counted_command, counts_file, total};

mod pipes;

mod rmcp_server {
    use rmcp::handler::server::wrapper::Parameters;
    use rmcp::model::*;
    use rmcp::service::RequestContext;
    use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};

    #[derive(serde::Deserialize, schemars::JsonSchema)]
    pub struct Sum {
        a: i64,
        b: i64,
    }

    #[derive(Clone)]
    pub struct Offers;

    #[tool_router]
    impl Offers {
        /// Adds two numbers.
        #[tool]
        fn add(&self, Parameters(Sum { a, b }): Parameters<Sum>) -> String {
            (a + b).to_string()
        }
    }

    #[tool_handler]
    impl ServerHandler for Offers {
        fn get_info(&self) -> ServerConfig {
            let capabilities = ServerCapabilities::builder().enable_tools();
            let capabilities = capabilities.enable_prompts().enable_resources();
            ServerConfig::new(capabilities.enable_completions().build())
        }

        async fn list_prompts(
            &self,
            _: Option<PaginatedRequestParams>,
            _: RequestContext<RoleServer>,
        ) -> Result<ListPromptsResult, ErrorData> {
            let topic = PromptArgument::new("topic").with_required(true);
            let prompt = Prompt::new("review", Some("Reviews a topic."), Some(vec![topic]));
            Ok(ListPromptsResult::with_all_items(vec![prompt]))
        }

        async fn get_prompt(
            &self,
            request: GetPromptRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<GetPromptResponse, ErrorData> {
            let topic = request.arguments.as_ref().and_then(|own| own["topic"].as_str());
            let topic = topic.ok_or_else(|| ErrorData::invalid_params("no topic", None))?;
            let message = PromptMessage::new_text(Role::User, format!("Review {topic}."));
            Ok(GetPromptResult::new(vec![message]).into())
        }

        async fn list_resources(
            &self,
            _: Option<PaginatedRequestParams>,
            _: RequestContext<RoleServer>,
        ) -> Result<ListResourcesResult, ErrorData> {
            let manual = Resource::new("docs://manual", "manual");
            Ok(ListResourcesResult::with_all_items(vec![manual]))
        }

        async fn list_resource_templates(
            &self,
            _: Option<PaginatedRequestParams>,
            _: RequestContext<RoleServer>,
        ) -> Result<ListResourceTemplatesResult, ErrorData> {
            let note = ResourceTemplate::new("notes://{id}", "note");
            Ok(ListResourceTemplatesResult::with_all_items(vec![note]))
        }

        async fn read_resource(
            &self,
            request: ReadResourceRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<ReadResourceResponse, ErrorData> {
            let text = match request.uri.strip_prefix("notes://") {
                _ if request.uri == "docs://manual" => "The manual".to_owned(),
                Some(id) => format!("Note {id}"),
                None => return Err(ErrorData::resource_not_found("no such resource", None)),
            };
            let contents = ResourceContents::text(text, request.uri);
            Ok(ReadResourceResult::new(vec![contents]).into())
        }

        async fn complete(
            &self,
            request: CompleteRequestParams,
            _: RequestContext<RoleServer>,
        ) -> Result<CompleteResult, ErrorData> {
            let values = ["1", "10", "2"].into_iter();
            let values = values.filter(|value| value.starts_with(&request.argument.value));
            let values = CompletionInfo::new(values.map(str::to_owned).collect());
            Ok(CompleteResult::new(values.map_err(|error| ErrorData::internal_error(error, None))?))
        }
    }
}

/// Adds two numbers.
#[toolbox::tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Reviews a topic.
#[toolbox::prompt]
fn review(topic: &str) -> String {
    format!("Review {topic}.")
}

/// The manual.
#[toolbox::resource("docs://manual", mime_type = "text/plain")]
fn manual() -> &'static str {
    "The manual"
}

fn ids(request: &toolbox::tool::CompletionRequest) -> Vec<String> {
    request.matching(["1", "10", "2"])
}

/// A note.
#[toolbox::resource("notes://{id}", mime_type = "text/plain")]
fn note(#[arg(complete = ids)] id: &str) -> String {
    format!("Note {id}")
}

const SERVERS: [&str; 3] = ["rmcp", "toolbox", "metrics"];

/// A request, and what its answer holds.
const REQUESTS: [(&str, &str, &str); 9] = [
    ("ping", "{}", "result"),
    ("tools/list", "{}", "Adds two numbers."),
    ("tools/call", r#"{"name":"add","arguments":{"a":2,"b":3}}"#, r#""text":"5""#),
    ("prompts/list", "{}", "Reviews a topic."),
    ("prompts/get", r#"{"name":"review","arguments":{"topic":"locks"}}"#, "Review locks."),
    ("resources/list", "{}", "docs://manual"),
    ("resources/templates/list", "{}", "notes://{id}"),
    ("resources/read", r#"{"uri":"notes://7"}"#, "Note 7"),
    (
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"notes://{id}"},"argument":{"name":"id","value":"1"}}"#,
        r#""10""#,
    ),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|own| own != "--bench").collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio", server] => {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(serve(server));
        }
        _ => table(),
    }
}

/// Serves over standard streams until the input ends.
async fn serve(server: &str) {
    if server == "rmcp" {
        use rmcp::ServiceExt;
        let service =
            rmcp_server::Offers.serve(rmcp::transport::stdio()).await.expect("a handshake");
        let _ = service.waiting().await;
        return;
    }
    let mut builder = toolbox::ToolBox::builder().tools(toolbox::tools![add]);
    if server == "metrics" {
        let meter = opentelemetry::global::meter("bench");
        builder = builder.events(toolbox::otel::metrics(&meter));
    }
    let toolbox = builder.build().expect("a box");
    toolbox.prompts().register(toolbox::prompts![review]);
    toolbox.resources().register(toolbox::resources![manual, note]);
    toolbox::mcp::serve_stdio(toolbox).await.expect("it serves");
}

/// The difference of two runs, so that start and end do not count.
fn table() {
    const FEW: u64 = 100;
    const MANY: u64 = 1100;
    println!("{:<26} {:>9} {:>9} {:>9} {:>7}", "request", "rmcp", "toolbox", "metrics", "ratio");
    for (method, params, expected) in REQUESTS {
        let cost = |server: &str| {
            let [few, many] = [FEW, MANY].map(|requests| {
                let out = counts_file();
                let mut pipes = Pipes::start(counted_command(&out, &["stdio", server]));
                for id in 1..=requests {
                    pipes.write(&format!(
                        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
                    ));
                    pipes.read(expected);
                }
                pipes.stop();
                total(&out)
            });
            (many - few) / (MANY - FEW)
        };
        let [rmcp, own, watched] = SERVERS.map(cost);
        let ratio = own as f64 / rmcp as f64;
        println!("{method:<26} {rmcp:>9} {own:>9} {watched:>9} {ratio:>7.2}");
    }
}
