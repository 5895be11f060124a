//! A server of ten tools over standard streams, on rmcp: the books of a small library.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData as McpError, Implementation, ServerCapabilities,
    ServerConfig,
};
use rmcp::transport::stdio;
use rmcp::{ServerHandler, ServiceExt, schemars, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

/// A cover of one pixel.
const COVER: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Book {
    id: u32,
    title: String,
    author: String,
    year: Option<u16>,
    lent_to: Option<String>,
    stars: Vec<u8>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Books {
    books: Vec<Book>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Statistics {
    books: usize,
    lent: usize,
    average_stars: Option<f64>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Title,
    Year,
}

#[derive(Deserialize, JsonSchema)]
struct AddBookRequest {
    /// The title on the cover
    title: String,
    /// Author of the book
    author: String,
    /// When it was first printed
    #[serde(default)]
    year: Option<u16>,
}

#[derive(Deserialize, JsonSchema)]
struct BookRequest {
    /// The id of the book
    id: u32,
}

#[derive(Deserialize, JsonSchema)]
struct FindBooksRequest {
    /// Words of the title or the author
    query: String,
    /// Number of books to return, 1 to 50
    #[serde(default = "default_limit")]
    limit: u32,
    /// Sort order
    #[serde(default)]
    order: Order,
}

fn default_limit() -> u32 {
    10
}

#[derive(Deserialize, JsonSchema)]
struct UpdateBookRequest {
    /// The id of the book
    id: u32,
    /// A new title
    #[serde(default)]
    title: Option<String>,
    /// Another author
    #[serde(default)]
    author: Option<String>,
    /// Another year
    #[serde(default)]
    year: Option<u16>,
}

#[derive(Deserialize, JsonSchema)]
struct LendBookRequest {
    /// The id of the book
    id: u32,
    /// Name of the borrower
    to: String,
}

#[derive(Deserialize, JsonSchema)]
struct RateBookRequest {
    /// The id of the book
    id: u32,
    /// From 1 to 5
    stars: u8,
}

#[derive(Clone)]
struct Library {
    books: Arc<Mutex<BTreeMap<u32, Book>>>,
    tool_router: ToolRouter<Self>,
}

fn unknown(id: u32) -> McpError {
    McpError::invalid_params(format!("there is no book {id}"), None)
}

#[tool_router]
impl Library {
    fn new() -> Self {
        Self { books: Arc::default(), tool_router: Self::tool_router() }
    }

    #[tool(description = "Add a book to the library")]
    async fn add_book(
        &self,
        Parameters(AddBookRequest { title, author, year }): Parameters<AddBookRequest>,
    ) -> Result<Json<Book>, McpError> {
        if title.is_empty() {
            return Err(McpError::invalid_params("the title is empty", None));
        }
        let mut books = self.books.lock().await;
        let id = books.keys().next_back().map_or(1, |id| id + 1);
        let book = Book { id, title, author, year, lent_to: None, stars: Vec::new() };
        books.insert(id, book.clone());
        Ok(Json(book))
    }

    #[tool(description = "Get a book", annotations(read_only_hint = true))]
    async fn get_book(
        &self,
        Parameters(BookRequest { id }): Parameters<BookRequest>,
    ) -> Result<Json<Book>, McpError> {
        let books = self.books.lock().await;
        books.get(&id).cloned().map(Json).ok_or_else(|| unknown(id))
    }

    #[tool(
        description = "Find books by words of the title or the author",
        annotations(read_only_hint = true)
    )]
    async fn find_books(
        &self,
        Parameters(FindBooksRequest { query, limit, order }): Parameters<FindBooksRequest>,
    ) -> Result<Json<Books>, McpError> {
        if !(1..=50).contains(&limit) {
            return Err(McpError::invalid_params("limit must be between 1 and 50", None));
        }
        let query = query.to_lowercase();
        let books = self.books.lock().await;
        let mut found: Vec<Book> = books
            .values()
            .filter(|book| {
                book.title.to_lowercase().contains(&query)
                    || book.author.to_lowercase().contains(&query)
            })
            .cloned()
            .collect();
        match order {
            Order::Title => found.sort_by(|a, b| a.title.cmp(&b.title)),
            Order::Year => found.sort_by_key(|book| book.year),
        }
        found.truncate(limit as usize);
        Ok(Json(Books { books: found }))
    }

    #[tool(
        description = "Change what is known of a book",
        annotations(idempotent_hint = true, destructive_hint = true)
    )]
    async fn update_book(
        &self,
        Parameters(UpdateBookRequest { id, title, author, year }): Parameters<UpdateBookRequest>,
    ) -> Result<Json<Book>, McpError> {
        let mut books = self.books.lock().await;
        let book = books.get_mut(&id).ok_or_else(|| unknown(id))?;
        if let Some(title) = title {
            book.title = title;
        }
        if let Some(author) = author {
            book.author = author;
        }
        if year.is_some() {
            book.year = year;
        }
        Ok(Json(book.clone()))
    }

    #[tool(description = "Remove a book from the library", annotations(destructive_hint = true))]
    async fn remove_book(
        &self,
        Parameters(BookRequest { id }): Parameters<BookRequest>,
    ) -> Result<CallToolResult, McpError> {
        let book = self.books.lock().await.remove(&id).ok_or_else(|| unknown(id))?;
        let text = format!("{} is gone", book.title);
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]))
    }

    #[tool(description = "Lend a book to somebody")]
    async fn lend_book(
        &self,
        Parameters(LendBookRequest { id, to }): Parameters<LendBookRequest>,
    ) -> Result<CallToolResult, McpError> {
        let mut books = self.books.lock().await;
        let book = books.get_mut(&id).ok_or_else(|| unknown(id))?;
        if let Some(holder) = &book.lent_to {
            let text = format!("{holder} has it");
            return Ok(CallToolResult::error(vec![ContentBlock::text(text)]));
        }
        book.lent_to = Some(to);
        Ok(CallToolResult::success(vec![ContentBlock::text("lent")]))
    }

    #[tool(description = "Take a book back", annotations(idempotent_hint = true))]
    async fn return_book(
        &self,
        Parameters(BookRequest { id }): Parameters<BookRequest>,
    ) -> Result<CallToolResult, McpError> {
        let mut books = self.books.lock().await;
        books.get_mut(&id).ok_or_else(|| unknown(id))?.lent_to = None;
        Ok(CallToolResult::success(vec![ContentBlock::text("back on the shelf")]))
    }

    #[tool(description = "Rate a book")]
    async fn rate_book(
        &self,
        Parameters(RateBookRequest { id, stars }): Parameters<RateBookRequest>,
    ) -> Result<CallToolResult, McpError> {
        if !(1..=5).contains(&stars) {
            return Err(McpError::invalid_params("stars must be between 1 and 5", None));
        }
        let mut books = self.books.lock().await;
        books.get_mut(&id).ok_or_else(|| unknown(id))?.stars.push(stars);
        Ok(CallToolResult::success(vec![ContentBlock::text("thank you")]))
    }

    #[tool(description = "Count the books", annotations(read_only_hint = true))]
    async fn statistics(&self) -> Result<Json<Statistics>, McpError> {
        let books = self.books.lock().await;
        let stars: Vec<u8> = books.values().flat_map(|book| book.stars.clone()).collect();
        let sum: f64 = stars.iter().copied().map(f64::from).sum();
        Ok(Json(Statistics {
            books: books.len(),
            lent: books.values().filter(|book| book.lent_to.is_some()).count(),
            average_stars: (!stars.is_empty()).then(|| sum / stars.len() as f64),
        }))
    }

    #[tool(description = "Get the cover of a book", annotations(read_only_hint = true))]
    async fn cover(
        &self,
        Parameters(BookRequest { id }): Parameters<BookRequest>,
    ) -> Result<CallToolResult, McpError> {
        if !self.books.lock().await.contains_key(&id) {
            return Err(unknown(id));
        }
        Ok(CallToolResult::success(vec![ContentBlock::image(COVER, "image/png")]))
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Library {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::default();
        info.capabilities = ServerCapabilities::builder().enable_tools().build();
        info.server_info = Implementation::new("library", env!("CARGO_PKG_VERSION"));
        info.instructions = Some("The books of a small library.".to_string());
        info
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let service = Library::new().serve(stdio()).await?;
    service.waiting().await?;
    Ok(())
}
