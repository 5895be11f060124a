//! The stream of the messages of durable calls, and the bucket of their marks and results.

use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::kv::{Store, Watch};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{self, DirectGetErrorKind, Stream};
use async_nats::jetstream::{self, consumer};

use super::mark::Mark;
use crate::fleet::connection::Connection;
use crate::fleet::error::FleetError;
use crate::fleet::payload::Payloads;
use crate::fleet::subjects::QueueKey;

/// The time for which messages, marks and results are kept that no box removes.
pub(in crate::fleet) const MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// The most messages of a queue.
const MAX_MESSAGES: i64 = 100_000;
/// The largest size of a queue, and of its marks and results, in bytes.
const MAX_BYTES: i64 = 1 << 30;
/// The most calls of one tool that run at one time.
const MAX_RUNNING: i64 = 10_000;
/// The reads of a stream that is being made, and the pause between them: a second in all.
const READS: u32 = 50;
const READ_PAUSE: Duration = Duration::from_millis(20);

pub(super) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The queue of a fleet.
pub(in crate::fleet) struct Queue {
    messages: Stream<()>,
    states: Stream<()>,
    bucket: String,
    jetstream: jetstream::Context,
    pub(super) payloads: Payloads,
}

/// The outcome of a write that expects a revision.
#[derive(Debug)]
pub(super) enum Written {
    /// It was stored, as this revision.
    As(u64),
    /// The key has another revision.
    Conflict,
    /// It is not known whether it was stored.
    Unclear(String),
}

/// The outcome of publishing a message.
#[derive(Debug)]
pub(super) enum Published {
    /// It is stored, at this position.
    At(u64),
    /// The server stored nothing.
    Refused(String),
    /// It is not known whether it was stored.
    Unclear(String),
}

/// A value of the bucket.
pub(super) struct Found {
    pub(super) revision: u64,
    pub(super) value: Vec<u8>,
}

impl Queue {
    /// Returns the queue of a fleet, which may have to be [made](Self::ensure).
    pub(super) async fn of(connection: &Connection) -> Result<Self, FleetError> {
        let subjects = &connection.subjects;
        let (queue, bucket) = (subjects.queue(), subjects.states());
        let stream = async |name: String| {
            let stream = connection.jetstream.get_stream_no_info(&name).await;
            stream.map_err(|source| FleetError::Queue { stream: name, source: source.into() })
        };
        Ok(Self {
            messages: stream(queue).await?,
            states: stream(format!("KV_{bucket}")).await?,
            bucket,
            jetstream: connection.jetstream.clone(),
            payloads: Payloads::of_queue(),
        })
    }

    /// Makes the streams that the server does not have, or has no more.
    pub(super) async fn ensure(&self, connection: &Connection) -> Result<(), BoxedError> {
        let subjects = &connection.subjects;
        let messages = stream::Config {
            name: subjects.queue(),
            description: Some("durable calls of a fleet".to_owned()),
            subjects: vec![subjects.all_queued()],
            retention: stream::RetentionPolicy::WorkQueue,
            discard: stream::DiscardPolicy::New,
            max_messages: MAX_MESSAGES,
            max_bytes: MAX_BYTES,
            max_age: MAX_AGE,
            duplicate_window: Duration::from_secs(120),
            storage: stream::StorageType::File,
            allow_direct: true,
            ..stream::Config::default()
        };
        let states = stream::Config {
            name: format!("KV_{}", self.bucket),
            description: Some("states and results of durable calls, by tool and box".to_owned()),
            subjects: vec![format!("$KV.{}.>", self.bucket)],
            max_messages_per_subject: 1,
            discard: stream::DiscardPolicy::New,
            max_bytes: MAX_BYTES,
            max_age: MAX_AGE,
            duplicate_window: Duration::from_secs(120),
            storage: stream::StorageType::File,
            allow_direct: true,
            ..stream::Config::default()
        };
        for config in [states, messages] {
            self.ensure_stream(config).await?;
        }
        Ok(())
    }

    async fn ensure_stream(&self, config: stream::Config) -> Result<(), BoxedError> {
        let name = config.name.clone();
        let Err(first) = self.jetstream.get_stream(&name).await else { return Ok(()) };
        let Err(made) = self.jetstream.create_stream(config).await else { return Ok(()) };
        // Another connection may have made it meanwhile. Who may not make it is told why there is
        // none.
        match self.jetstream.get_stream(&name).await {
            Ok(_) => Ok(()),
            Err(_) => Err(format!("stream `{name}`: {first}; {made}").into()),
        }
    }

    /// Replaces a revision of a key; 0 stands for none.
    pub(super) async fn write(&self, key: &str, value: Vec<u8>, expected: u64) -> Written {
        let subject = self.subject(key);
        let message =
            PublishMessage::build().payload(value.into()).expected_last_subject_sequence(expected);
        let sent = match self.jetstream.send_publish(subject, message).await {
            Ok(sent) => sent.await,
            Err(error) => Err(error),
        };
        match sent {
            Ok(ack) => Written::As(ack.sequence),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Written::Conflict,
            Err(error) => Written::Unclear(error.to_string()),
        }
    }

    /// Replaces a revision of the mark of a call.
    pub(super) async fn mark(&self, key: &QueueKey, mark: &Mark, expected: u64) -> Written {
        // A mark is text and numbers.
        let value = serde_json::to_vec(mark).unwrap_or_default();
        self.write(&key.mark(), value, expected).await
    }

    /// Returns the newest value of a key.
    pub(super) async fn read(&self, key: &str) -> Result<Option<Found>, String> {
        match self.states.direct_get_last_for_subject(self.subject(key)).await {
            Ok(message) => {
                Ok(Some(Found { revision: message.sequence, value: message.payload.to_vec() }))
            }
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns the mark of a call, and its revision.
    pub(super) async fn read_mark(&self, key: &QueueKey) -> Result<Option<(Mark, u64)>, String> {
        let Some(found) = self.read(&key.mark()).await? else { return Ok(None) };
        let mark = serde_json::from_slice(&found.value).map_err(|error| error.to_string())?;
        Ok(Some((mark, found.revision)))
    }

    /// Publishes the message of a call.
    pub(super) async fn publish(&self, subject: String, id: &str, message: Vec<u8>) -> Published {
        let message = PublishMessage::build().payload(message.into()).message_id(id);
        let sent = match self.jetstream.send_publish(subject, message).await {
            Ok(sent) => sent.await,
            Err(error) => return Published::Refused(error.to_string()),
        };
        match sent {
            Ok(ack) => Published::At(ack.sequence),
            Err(error) => {
                let is_answer = std::error::Error::source(&error)
                    .is_some_and(<dyn std::error::Error>::is::<jetstream::Error>);
                if is_answer || error.kind() == PublishErrorKind::StreamNotFound {
                    Published::Refused(crate::call::chain(&error))
                } else {
                    Published::Unclear(error.to_string())
                }
            }
        }
    }

    /// Returns `true` if the message of a call is in the queue.
    pub(super) async fn has_message(&self, subject: &str) -> Result<bool, String> {
        match self.messages.direct_get_last_for_subject(subject).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(false),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Removes the message of a call, if it is in the queue.
    pub(super) async fn remove_message(&self, subject: &str) -> Result<(), BoxedError> {
        self.messages.purge().filter(subject).await?;
        Ok(())
    }

    /// Removes the messages of a box up to a position, and then its marks and results up to a
    /// revision: a message that is there always finds its mark.
    pub(super) async fn remove_until(
        &self,
        messages: (&str, u64),
        states: (&str, u64),
    ) -> Result<(), BoxedError> {
        // A server takes the end of nothing for no end, and would remove everything.
        let (subjects, position) = messages;
        if position > 0 {
            self.messages.purge().filter(subjects).sequence(position + 1).await?;
        }
        let (keys, revision) = states;
        if revision > 0 {
            self.states.purge().filter(self.subject(keys)).sequence(revision + 1).await?;
        }
        Ok(())
    }

    /// Writes that a place is at work.
    pub(super) async fn note_place(&self, place: &str) -> Result<(), String> {
        let sent =
            self.jetstream.publish(self.subject(&QueueKey::of_place(place)), "".into()).await;
        let written = match sent {
            Ok(sent) => sent.await.map(drop),
            Err(error) => Err(error),
        };
        written.map_err(|error| error.to_string())
    }

    /// Watches the marks and results of a box, beginning with those that are there.
    pub(super) async fn watch(&self, keys: &str) -> Result<Watch, BoxedError> {
        let store: Store = self.jetstream.get_key_value(&self.bucket).await?;
        Ok(store.watch_with_history(keys).await?)
    }

    /// Returns the consumer of the calls of one definition of a tool, and makes it if there is
    /// none.
    pub(super) async fn consumer(
        &self,
        name: &str,
        subjects: &str,
        lease: Duration,
    ) -> Result<consumer::Consumer<consumer::pull::Config>, BoxedError> {
        self.until_delivering(subjects).await?;
        let config = consumer::pull::Config {
            durable_name: Some(name.to_owned()),
            filter_subject: subjects.to_owned(),
            ack_policy: consumer::AckPolicy::Explicit,
            ack_wait: lease,
            max_ack_pending: MAX_RUNNING,
            // The workers count the attempts, which the server forgets with its store.
            max_deliver: -1,
            ..consumer::pull::Config::default()
        };
        Ok(self.messages.create_consumer(config).await?)
    }

    /// Waits until the server delivers messages of the queue.
    ///
    /// A stream that another connection makes is found before it is whole, and nats-server 2.9
    /// never delivers to a consumer that is made meanwhile. It answers a direct read once it is
    /// whole.
    async fn until_delivering(&self, subjects: &str) -> Result<(), BoxedError> {
        let none = subjects.replace('>', "none");
        let mut attempt = 0;
        loop {
            attempt += 1;
            match self.messages.direct_get_last_for_subject(&*none).await {
                Ok(_) => return Ok(()),
                Err(error) => match error.kind() {
                    DirectGetErrorKind::NotFound => return Ok(()),
                    // Nobody answers.
                    DirectGetErrorKind::ErrorResponse(..) if attempt < READS => {}
                    _ => return Err(format!("its queue answers no direct read: {error}").into()),
                },
            }
            tokio::time::sleep(READ_PAUSE).await;
        }
    }

    fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.bucket)
    }
}
