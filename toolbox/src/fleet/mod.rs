//! Tools on many machines, over a NATS cluster.
//!
//! A [`Worker`] offers the tools of a box; a [`Fleet`] mounts what the workers offer into another.
//! The tools are ordinary ones: no line of them is written for it, and a call returns what it would
//! return within one process.
//!
//! ```no_run
//! use toolbox::fleet::{Fleet, FleetOptions, Worker};
//! use toolbox::{Tool, ToolBox, ToolCall};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), toolbox::fleet::FleetError> {
//! // On ten machines:
//! let ping = Tool::new("ping", "Answers").call(|_| "pong");
//! let worker = Worker::connect("nats://127.0.0.1:4222", FleetOptions::new()).await?;
//! tokio::spawn(async move { worker.serve(ToolBox::from(ping)).await });
//!
//! // On the box:
//! let toolbox = ToolBox::new();
//! let fleet = Fleet::connect("nats://127.0.0.1:4222", FleetOptions::new()).await?;
//! let _mounted = fleet.mount(&toolbox).await?;
//! println!("{}", toolbox.call(ToolCall::new("1", "ping", "{}")).await.text());
//! # Ok(())
//! # }
//! ```
//!
//! A call is a request to the queue group of the workers that offer the very same definition of the
//! tool: it runs at most once, and where there is no worker it fails at once. See
//! [`docs/fleet.md`](https://docs.rs/crate/toolbox/latest/source/docs/fleet.md) for what travels
//! with a call, the permissions of workers and boxes, and figures.
//!
//! | to | see |
//! |---|---|
//! | offer the tools of a box | [`Worker`], [`WorkerStatus`] |
//! | use the tools of a fleet | [`Fleet`], [`Mounted`], [`FleetStatus`], [`FleetTool`] |
//! | see which offers are not used | [`WithheldOffer`], [`WithheldOfferReason`] |
//! | make calls that outlive the box (feature `durable`) | `Relay`, `Worker::durable` |
//! | sign in, and name a fleet | [`FleetOptions`], [`FleetError`] |

mod bucket;
mod calls;
mod connection;
mod error;
mod mount;
mod offer;
mod options;
mod outbox;
mod payload;
#[cfg(feature = "durable")]
mod queue;
mod random;
mod remote;
mod service;
mod status;
mod subjects;
mod table;
mod wire;
mod worker;

pub use error::FleetError;
pub use mount::{Fleet, Mounted};
pub use options::FleetOptions;
#[cfg(feature = "durable")]
pub use queue::Relay;
pub use status::{FleetStatus, FleetTool, WithheldOffer, WithheldOfferReason};
pub use worker::{Worker, WorkerStatus};
