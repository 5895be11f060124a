//! A server of ten tools over standard streams: the books of a small library.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use toolbox::mcp::{ServeError, Service};
use toolbox::{Content, ToolBox, server_info, toolset};

/// A cover of one pixel.
const COVER: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

#[derive(Clone, Serialize, JsonSchema)]
struct Book {
    id: u32,
    title: String,
    author: String,
    year: Option<u16>,
    lent_to: Option<String>,
    stars: Vec<u8>,
}

#[derive(Serialize, JsonSchema)]
struct Books {
    books: Vec<Book>,
}

#[derive(Serialize, JsonSchema)]
struct Statistics {
    books: usize,
    lent: usize,
    average_stars: Option<f64>,
}

#[derive(Serialize, Deserialize, JsonSchema, Default)]
#[serde(rename_all = "snake_case")]
enum Order {
    #[default]
    Title,
    Year,
}

#[derive(Default)]
struct Library {
    books: Mutex<BTreeMap<u32, Book>>,
}

fn unknown(id: u32) -> String {
    format!("there is no book {id}")
}

#[toolset]
impl Library {
    /// Add a book to the library
    #[tool]
    async fn add_book(
        &self,
        /// The title on the cover
        #[arg(length = 1..)]
        title: String,
        /// Author of the book
        author: String,
        /// When it was first printed
        year: Option<u16>,
    ) -> Book {
        let mut books = self.books.lock().await;
        let id = books.keys().next_back().map_or(1, |id| id + 1);
        let book = Book { id, title, author, year, lent_to: None, stars: Vec::new() };
        books.insert(id, book.clone());
        book
    }

    /// Get a book
    #[tool(read_only)]
    async fn get_book(
        &self,
        /// The id of the book
        id: u32,
    ) -> Result<Book, String> {
        self.books.lock().await.get(&id).cloned().ok_or_else(|| unknown(id))
    }

    /// Find books by words of the title or the author
    #[tool(read_only)]
    async fn find_books(
        &self,
        /// Words of the title or the author
        query: String,
        /// Number of books to return
        #[arg(default = 10, range = 1..=50)]
        limit: usize,
        /// Sort order
        #[arg(default)]
        order: Order,
    ) -> Books {
        let query = query.to_lowercase();
        let books = self.books.lock().await;
        let is_meant = |text: &str| text.to_lowercase().contains(&query);
        let meant = books.values().filter(|book| is_meant(&book.title) || is_meant(&book.author));
        let mut found: Vec<Book> = meant.cloned().collect();
        match order {
            Order::Title => found.sort_by(|a, b| a.title.cmp(&b.title)),
            Order::Year => found.sort_by_key(|book| book.year),
        }
        found.truncate(limit);
        Books { books: found }
    }

    /// Change what is known of a book
    #[tool(idempotent, destructive)]
    async fn update_book(
        &self,
        /// The id of the book
        id: u32,
        /// A new title
        title: Option<String>,
        /// Another author
        author: Option<String>,
        /// Another year
        year: Option<u16>,
    ) -> Result<Book, String> {
        let mut books = self.books.lock().await;
        let book = books.get_mut(&id).ok_or_else(|| unknown(id))?;
        if let Some(title) = title {
            book.title = title;
        }
        if let Some(author) = author {
            book.author = author;
        }
        book.year = year.or(book.year);
        Ok(book.clone())
    }

    /// Remove a book from the library
    #[tool(destructive)]
    async fn remove_book(
        &self,
        /// The id of the book
        id: u32,
    ) -> Result<String, String> {
        let book = self.books.lock().await.remove(&id).ok_or_else(|| unknown(id))?;
        Ok(format!("{} is gone", book.title))
    }

    /// Lend a book to somebody
    #[tool]
    async fn lend_book(
        &self,
        /// The id of the book
        id: u32,
        /// Name of the borrower
        to: String,
    ) -> Result<&'static str, String> {
        let mut books = self.books.lock().await;
        let book = books.get_mut(&id).ok_or_else(|| unknown(id))?;
        if let Some(holder) = &book.lent_to {
            return Err(format!("{holder} has it"));
        }
        book.lent_to = Some(to);
        Ok("lent")
    }

    /// Take a book back
    #[tool(idempotent)]
    async fn return_book(
        &self,
        /// The id of the book
        id: u32,
    ) -> Result<&'static str, String> {
        let mut books = self.books.lock().await;
        books.get_mut(&id).ok_or_else(|| unknown(id))?.lent_to = None;
        Ok("back on the shelf")
    }

    /// Rate a book
    #[tool]
    async fn rate_book(
        &self,
        /// The id of the book
        id: u32,
        #[arg(range = 1..=5)] stars: u8,
    ) -> Result<&'static str, String> {
        let mut books = self.books.lock().await;
        books.get_mut(&id).ok_or_else(|| unknown(id))?.stars.push(stars);
        Ok("thank you")
    }

    /// Count the books
    #[tool(read_only)]
    async fn statistics(&self) -> Statistics {
        let books = self.books.lock().await;
        let stars: Vec<u8> = books.values().flat_map(|book| book.stars.clone()).collect();
        let sum: f64 = stars.iter().copied().map(f64::from).sum();
        Statistics {
            books: books.len(),
            lent: books.values().filter(|book| book.lent_to.is_some()).count(),
            average_stars: (!stars.is_empty()).then(|| sum / stars.len() as f64),
        }
    }

    /// Get the cover of a book
    #[tool(read_only)]
    async fn cover(
        &self,
        /// The id of the book
        id: u32,
    ) -> Result<Content, String> {
        if !self.books.lock().await.contains_key(&id) {
            return Err(unknown(id));
        }
        Content::image_base64(COVER, "image/png").map_err(|error| error.to_string())
    }
}

#[tokio::main]
async fn main() -> Result<(), ServeError> {
    Service::new(ToolBox::from(Library::default()))
        .info(server_info!())
        .name("library")
        .instructions("The books of a small library.")
        .serve_stdio()
        .await
}
