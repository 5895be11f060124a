//! The bucket of the offers: one key for each tool and worker.
//!
//! Keys expire by the age of the bucket's stream, since servers before 2.11 have no other way.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::kv::{Store, Watch};
use async_nats::jetstream::stream;
use async_nats::jetstream::{self, ErrorCode};

use super::connection::{Connection, ConnectionEvents, denied};
use super::error::FleetError;
use super::subjects;

/// The largest size of all offers of a fleet, in bytes.
const MAX_BYTES: i64 = 256 << 20;

type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The bucket of a fleet's offers.
pub(super) struct Bucket {
    store: Store,
    events: Arc<ConnectionEvents>,
    /// The time after which a key expires that is not put again.
    pub(super) lifetime: Duration,
    /// `true` if there was an offer when it was opened.
    pub(super) has_offers: bool,
}

impl Bucket {
    /// Opens the bucket, and makes it if there is none.
    pub(super) async fn open(connection: &Connection) -> Result<Self, FleetError> {
        Self::try_open(connection).await.map_err(|source| {
            let bucket = connection.subjects.offers();
            FleetError::Offers { bucket, source }
        })
    }

    async fn try_open(connection: &Connection) -> Result<Self, BoxedError> {
        let name = connection.subjects.offers();
        let stream = format!("KV_{name}");
        let found = connection.jetstream.get_stream(&stream).await;
        let found = match found {
            Ok(found) => found,
            Err(error) if is_missing(&error) => {
                let made = connection.jetstream.create_stream(config(&name, connection)).await;
                match made {
                    Ok(made) => made,
                    // Another connection may have made it meanwhile, with a lifetime of its own.
                    Err(error) => match connection.jetstream.get_stream(&stream).await {
                        Ok(found) => found,
                        Err(_) => return Err(error.into()),
                    },
                }
            }
            Err(error) => return Err(error.into()),
        };
        let info = found.cached_info();
        let lifetime = info.config.max_age;
        if lifetime.is_zero() {
            return Err("its keys do not expire; delete it, and it is made again".into());
        }
        let has_offers = info.state.messages > 0;
        let store = connection.jetstream.get_key_value(&name).await?;
        let events = Arc::clone(&connection.events);
        Ok(Self { store, events, lifetime, has_offers })
    }

    /// Puts the offer of a tool.
    pub(super) async fn put(&self, key: &str, value: Vec<u8>) -> Result<(), BoxedError> {
        let mut denials = self.events.denials();
        let subject = format!("$KV.{}.{key}", self.store.name);
        tokio::select! {
            put = self.store.put(key, value.into()) => put.map(drop).map_err(Into::into),
            // The server does not answer a message that it denies.
            denial = denied(&mut denials, &subject) => Err(denial.into()),
        }
    }

    /// Removes the offer of a tool.
    pub(super) async fn delete(&self, key: &str) -> Result<(), BoxedError> {
        self.store.delete(key).await?;
        Ok(())
    }

    /// Watches all offers, beginning with those that are there.
    pub(super) async fn watch(&self) -> Result<Watch, BoxedError> {
        Ok(self.store.watch_with_history(subjects::OFFERS).await?)
    }
}

fn is_missing(error: &jetstream::context::GetStreamError) -> bool {
    use jetstream::context::GetStreamErrorKind as Kind;

    match error.kind() {
        Kind::JetStream(error) => error.error_code() == ErrorCode::STREAM_NOT_FOUND,
        _ => false,
    }
}

/// Returns the stream of the bucket, with nothing that nats-server 2.9 does not know.
///
/// It is not made as a bucket by the client, which first asks for limits that 2.9 does not report.
fn config(bucket: &str, connection: &Connection) -> stream::Config {
    let lifetime = connection.options.lifetime;
    stream::Config {
        name: format!("KV_{bucket}"),
        description: Some("tools of a fleet, by tool and worker".to_owned()),
        subjects: vec![format!("$KV.{bucket}.>")],
        max_messages_per_subject: 1,
        max_bytes: MAX_BYTES,
        max_age: lifetime,
        duplicate_window: lifetime.min(Duration::from_secs(120)),
        discard: stream::DiscardPolicy::New,
        // Offers are put again when the server returns.
        storage: stream::StorageType::Memory,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..stream::Config::default()
    }
}
