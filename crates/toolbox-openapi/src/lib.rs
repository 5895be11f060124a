//! The operations of an HTTP API as tools, from its OpenAPI description.
//!
//! [`OpenApi`] reads a description in OpenAPI 3.0 to 3.2 or Swagger 2.0, JSON or YAML, and makes a
//! tool of each operation, which a search of the box finds. Its arguments are one flat object; its
//! calls pass the gate of the box, and go through a client that reaches no private address. The
//! program has the credentials; no model sees one.
//!
//! ```
//! use toolbox::{ToolBox, ToolCall};
//! use toolbox_openapi::{Credential, OpenApi};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let description = r#"
//! openapi: 3.1.0
//! info: {title: Pets, version: "1"}
//! paths:
//!   /pets/{id}:
//!     get:
//!       operationId: getPet
//!       summary: Returns a pet
//!       parameters: [{name: id, in: path, required: true, schema: {type: integer}}]
//!       security: [{key: []}]
//! components:
//!   securitySchemes:
//!     key: {type: apiKey, in: header, name: X-Api-Key}
//! "#;
//! let api = OpenApi::parse(description)?
//!     .base_url("https://pets.example.com/v1")
//!     .credential("key", Credential::key("s3cr3t-k3y"))
//!     .build()?;
//! let toolbox = ToolBox::from(api);
//! let tool = toolbox.get("getPet").ok_or("no tool")?;
//! assert_eq!(tool.definition().input_schema["properties"]["id"]["type"], "integer");
//! assert!(tool.definition().deferred && tool.definition().annotations.is_read_only());
//! # Ok(())
//! # }
//! ```
//!
//! | to | see |
//! |---|---|
//! | read a description, choose operations, set limits | [`OpenApi`] |
//! | choose operations by tag, path, method or id | [`Select`] |
//! | give a credential for a security scheme | [`Credential`] |
//! | see what was left out or renamed | [`Report`] |
//! | have it on the command line | the module `cli` (feature `cli`) |

/// Compiles the code of the page with the documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/openapi.md")]
mod openapi_page {}

mod api;
mod arguments;
mod call;
#[cfg(feature = "cli")]
pub mod cli;
mod credential;
mod document;
mod files;
mod maker;
mod media;
mod names;
mod openapi;
mod operation;
mod pages;
mod report;
mod request;
mod response;
mod schema;
mod select;
mod style;
mod swagger;
mod text;

pub use api::Api;
pub use credential::Credential;
pub use document::ReadError;
pub use openapi::{BuildError, OpenApi};
pub use report::Report;
pub use select::Select;
