use futures_util::Stream;
use toolbox::toolset;

#[toolset]
trait Storage {
    /// Lists the lines.
    #[tool]
    fn lines(&self) -> impl Stream<Item = String>;

    /// Lists the keys.
    #[tool]
    async fn keys(&self) -> impl Iterator<Item = String>;
}

fn main() {}
