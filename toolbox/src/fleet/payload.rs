//! Arguments and results that are too large for a message, in the object store.

use std::time::Duration;

use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream;
use tokio::io::AsyncReadExt;
use tokio::sync::OnceCell;

use super::connection::Connection;

/// The time for which a payload is kept that nobody deleted.
const MAX_AGE: Duration = Duration::from_secs(3600);
/// The largest size of all payloads of a fleet at one time, in bytes.
const MAX_BYTES: i64 = 1 << 30;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// An object store of a fleet, opened when it is first needed.
#[derive(Default)]
pub(super) struct Payloads {
    store: OnceCell<ObjectStore>,
    kind: PayloadKind,
}

/// The calls that payloads belong to.
#[derive(Debug, Clone, Copy, Default)]
enum PayloadKind {
    #[default]
    Quick,
    #[cfg(feature = "durable")]
    Queued,
}

impl PayloadKind {
    fn bucket(self, connection: &Connection) -> String {
        match self {
            Self::Quick => connection.subjects.payloads(),
            #[cfg(feature = "durable")]
            Self::Queued => connection.subjects.queue_payloads(),
        }
    }

    fn max_age(self) -> Duration {
        match self {
            Self::Quick => MAX_AGE,
            #[cfg(feature = "durable")]
            Self::Queued => super::queue::MAX_AGE,
        }
    }
}

impl Payloads {
    /// Returns the payloads of durable calls, which are kept as long as their queue.
    #[cfg(feature = "durable")]
    pub(super) fn of_queue() -> Self {
        Self { store: OnceCell::new(), kind: PayloadKind::Queued }
    }

    async fn store(&self, connection: &Connection) -> Result<&ObjectStore, BoxedError> {
        self.store.get_or_try_init(|| open(connection, self.kind)).await
    }

    /// Stores a payload.
    pub(super) async fn put(
        &self,
        connection: &Connection,
        name: &str,
        payload: &[u8],
    ) -> Result<(), String> {
        let put = async || {
            let mut payload = payload;
            self.store(connection).await?.put(name, &mut payload).await?;
            Ok::<_, BoxedError>(())
        };
        let stored = match put().await {
            Ok(()) => Ok(()),
            // A server that lost its store has the bucket no more.
            Err(_) if open(connection, self.kind).await.is_ok() => put().await,
            Err(error) => Err(error),
        };
        stored.map_err(|error| {
            format!("{} bytes cannot be put into the object store: {error}", payload.len())
        })
    }

    /// Reads a payload of at most `limit` bytes.
    pub(super) async fn get(
        &self,
        connection: &Connection,
        name: &str,
        limit: usize,
    ) -> Result<Vec<u8>, String> {
        let get = async {
            let mut object = self.store(connection).await?.get(name).await?;
            // A link would lead to what another peer stored.
            if object.info.name != name || object.info.bucket != self.kind.bucket(connection) {
                return Err("it is a link".into());
            }
            if object.info.size > limit {
                let size = object.info.size;
                return Err(format!("it has {size} bytes, more than {limit}").into());
            }
            let mut payload = Vec::with_capacity(object.info.size);
            // The size that is stated need not be that of the chunks.
            let mut bounded = (&mut object).take(limit as u64 + 1);
            bounded.read_to_end(&mut payload).await?;
            if payload.len() > limit {
                return Err(format!("it has more than {limit} bytes").into());
            }
            Ok::<_, BoxedError>(payload)
        };
        get.await.map_err(|error| format!("the stored payload cannot be read: {error}"))
    }

    /// Deletes a payload. One that stays expires.
    pub(super) async fn delete(&self, connection: &Connection, name: &str) {
        if let Ok(store) = self.store(connection).await {
            let _ = store.delete(name).await;
        }
    }
}

async fn open(connection: &Connection, kind: PayloadKind) -> Result<ObjectStore, BoxedError> {
    let bucket = kind.bucket(connection);
    if let Ok(store) = connection.jetstream.get_object_store(&bucket).await {
        return Ok(store);
    }
    let config = stream::Config {
        name: format!("OBJ_{bucket}"),
        description: Some("large arguments and results of a fleet".to_owned()),
        subjects: vec![format!("$O.{bucket}.C.>"), format!("$O.{bucket}.M.>")],
        max_age: kind.max_age(),
        max_bytes: MAX_BYTES,
        discard: stream::DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        ..stream::Config::default()
    };
    let made = connection.jetstream.create_stream(config).await;
    match connection.jetstream.get_object_store(&bucket).await {
        Ok(store) => Ok(store),
        Err(error) => Err(made.err().map_or_else(|| error.into(), Into::into)),
    }
}
