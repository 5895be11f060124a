//! Types that implement the traits of an argument, and that no call can fill in as their author
//! means it.
//!
//! serde and schemars implement their traits for what is shared or changes behind `&`, some of it
//! only if another crate of the program turns a feature on, and for maps whose keys no JSON object
//! can have. Each kind is a trait here, with a marker for the way from the argument's type to the
//! part at fault. An expansion takes its arguments with `slot.take()`: method lookup tries `self`,
//! then `&self`, then `&mut self`, so the traits of this module come before the method that serves
//! the rest. Their implementations apply to no type, and their messages name the mistake.

#![allow(clippy::implicit_hasher, reason = "the hasher of a map says nothing of its keys")]

use std::borrow::Cow;
use std::cell::{Cell, LazyCell, OnceCell, RefCell, UnsafeCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::num::Wrapping;
use std::ops::{Range, RangeInclusive};
use std::sync::{LazyLock, Mutex, OnceLock, RwLock, atomic};

use schemars::SchemaGenerator;

use super::argument::{
    Absent, ArgumentOrigin, FromProgram, LentArgument, TheContext, ToolArgument,
};
use super::reader::ArgumentReader;
use super::slot::{LentSlot, OwnedSlot};
use crate::context::{FromContext, ToolContext};
use crate::validate::ReadError;

/// Marks arguments of a type that is refused, with the reason and the way to the part at fault.
#[derive(Debug)]
pub struct Refused<Reason>(Reason);

/// The type itself.
#[derive(Debug)]
pub struct Here;

/// A part of the type: the parameter of this number.
#[derive(Debug)]
pub struct Inside<const PARAMETER: usize, Way>(Way);

/// Types that several owners share, or that change behind `&`.
pub trait SharedType<Way> {}

/// References to types whose values are not lent from the text of a call.
pub trait Reference<Way> {}

/// Types of which no value is written as the key of a JSON object.
pub trait NoKey {}

/// Maps with such keys.
pub trait Unkeyed<Way> {}

macro_rules! shared {
    ($($type:ident),*; $([$($generic:tt)*] $shared:ty),* $(,)?) => {
        $(impl SharedType<Here> for atomic::$type {})*
        $(impl<$($generic)*> SharedType<Here> for $shared {})*
    };
}

shared! {
    AtomicBool, AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicIsize, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize;
    [T: ?Sized] std::sync::Arc<T>, [T: ?Sized] std::sync::Weak<T>,
    [T: ?Sized] std::rc::Rc<T>, [T: ?Sized] std::rc::Weak<T>,
    [T: ?Sized] Cell<T>, [T: ?Sized] RefCell<T>, [T: ?Sized] UnsafeCell<T>, [T] OnceCell<T>, [T, F] LazyCell<T, F>,
    [T: ?Sized] Mutex<T>, [T: ?Sized] RwLock<T>, [T] OnceLock<T>, [T, F] LazyLock<T, F>, [T] atomic::AtomicPtr<T>,
    [T: ?Sized] tokio::sync::Mutex<T>, [T: ?Sized] tokio::sync::RwLock<T>, [T] tokio::sync::OnceCell<T>,
    [T] std::sync::mpsc::Sender<T>, [T] std::sync::mpsc::Receiver<T>, [T] tokio::sync::mpsc::Sender<T>,
    [T] tokio::sync::mpsc::UnboundedSender<T>, [T] tokio::sync::watch::Receiver<T>,
    [T] tokio::sync::broadcast::Sender<T>, [] tokio::sync::Semaphore, [] tokio::sync::Notify,
}

impl<T> Reference<Here> for &T {}
impl<T> Reference<Here> for &mut T {}
impl<T> Reference<Here> for &[T] {}
impl<T> Reference<Here> for &mut [T] {}

macro_rules! no_keys {
    ($([$($generic:tt)*] $type:ty),* $(,)?) => {
        $(impl<$($generic)*> NoKey for $type {})*
    };
}

no_keys! {
    [] (), [A] (A,), [A, B] (A, B), [A, B, C] (A, B, C), [A, B, C, D] (A, B, C, D), [A, B, C, D, E] (A, B, C, D, E),
    [A, B, C, D, E, F] (A, B, C, D, E, F), [T] Vec<T>, [T] VecDeque<T>, [T, const N: usize] [T; N], [T] BTreeSet<T>,
    [T, S] HashSet<T, S>, [K, V] BTreeMap<K, V>, [K, V, S] HashMap<K, V, S>, [T] std::marker::PhantomData<T>,
    [] std::time::Duration, [] std::time::SystemTime, [T] Range<T>, [T] RangeInclusive<T>,
}

impl<K: NoKey, V, S> Unkeyed<Here> for HashMap<K, V, S> {}
impl<K: NoKey, V> Unkeyed<Here> for BTreeMap<K, V> {}
impl<K: NoKey, V, S> Unkeyed<Here> for indexmap::IndexMap<K, V, S> {}

/// Carries each of the traits from the parameters of a type to the type.
macro_rules! carry {
    (@ $trait:ident: $([$($generic:tt)*] $at:literal $part:ident in $type:ty),* $(,)?) => {
        $(impl<$($generic)* $part: $trait<Way>, Way> $trait<Inside<$at, Way>> for $type {})*
    };
    ($($trait:ident),*) => {$(
        impl<B: ?Sized + ToOwned + $trait<Way>, Way> $trait<Inside<0, Way>> for Cow<'_, B> {}
        impl<T: ?Sized + $trait<Way>, Way> $trait<Inside<0, Way>> for Box<T> {}
        impl<T: $trait<Way>, Way> $trait<Inside<0, Way>> for [T] {}
        carry! {
            @ $trait:
            [] 0 T in Option<T>, [] 0 T in Vec<T>, [] 0 T in VecDeque<T>, [] 0 T in LinkedList<T>,
            [] 0 T in BinaryHeap<T>, [] 0 T in BTreeSet<T>, [S,] 0 T in HashSet<T, S>,
            [S,] 0 T in indexmap::IndexSet<T, S>, [const N: usize,] 0 T in [T; N],
            [] 0 T in Wrapping<T>, [] 0 T in Reverse<T>, [] 0 T in Range<T>, [] 0 T in RangeInclusive<T>,
            [B,] 0 A in Result<A, B>, [A,] 1 B in Result<A, B>,
            [V,] 0 K in BTreeMap<K, V>, [K,] 1 V in BTreeMap<K, V>,
            [V, S,] 0 K in HashMap<K, V, S>, [K, S,] 1 V in HashMap<K, V, S>,
            [V, S,] 0 K in indexmap::IndexMap<K, V, S>, [K, S,] 1 V in indexmap::IndexMap<K, V, S>,
            [] 0 A in (A,),
            [B,] 0 A in (A, B), [A,] 1 B in (A, B),
            [B, C,] 0 A in (A, B, C), [A, C,] 1 B in (A, B, C), [A, B,] 2 C in (A, B, C),
            [B, C, D,] 0 A in (A, B, C, D), [A, C, D,] 1 B in (A, B, C, D), [A, B, D,] 2 C in (A, B, C, D),
            [A, B, C,] 3 D in (A, B, C, D),
        }
    )*};
}

carry!(SharedType, Reference, Unkeyed);

/// The reason for a [`SharedType`].
#[derive(Debug)]
pub struct IsShared<Way>(Way);

/// The reason for a type that holds a [`Reference`].
#[derive(Debug)]
pub struct HoldsReference<Way>(Way);

/// The reason for a type that is or holds an [`Unkeyed`] map.
#[derive(Debug)]
pub struct IsUnkeyed<Way>(Way);

macro_rules! refused {
    ($([$($generic:tt)*] $trait:ident<$way:ty> because $reason:ident),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl<'call, T: $trait<$way>, $($generic)*> ToolArgument<'call, Refused<$reason<$way>>> for T {
            fn read(_reader: &mut ArgumentReader<'call>) -> Result<Self, ReadError> {
                unreachable!("{NEVER_COMPILED}")
            }

            fn absent(_context: &'call ToolContext) -> Result<Self, Absent> {
                unreachable!("{NEVER_COMPILED}")
            }

            fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
                unreachable!("{NEVER_COMPILED}")
            }
        }

        #[diagnostic::do_not_recommend]
        impl<'call, T: ?Sized + $trait<$way>, $($generic)*> LentArgument<'call, Refused<$reason<$way>>> for T {
            type Held = ();

            fn read(_reader: &mut ArgumentReader<'call>) -> Result<(), ReadError> {
                unreachable!("{NEVER_COMPILED}")
            }

            fn absent(_context: &'call ToolContext) -> Result<(), Absent> {
                unreachable!("{NEVER_COMPILED}")
            }

            fn origin(_schemas: &mut SchemaGenerator) -> ArgumentOrigin {
                unreachable!("{NEVER_COMPILED}")
            }

            fn lend(_held: &()) -> &Self {
                unreachable!("{NEVER_COMPILED}")
            }
        }
    )*};
}

const NEVER_COMPILED: &str = "whatever takes such an argument does not compile";

refused! {
    [Way] SharedType<Way> because IsShared,
    // By itself, a reference is an argument that is lent, or the context.
    [const PARAMETER: usize, Way] Reference<Inside<PARAMETER, Way>> because HoldsReference,
    [Way] Unkeyed<Way> because IsUnkeyed,
}

/// Implemented for no type. The compiler assumes it for a type that is still to be inferred.
pub trait Never {}

/// Takes a shared value out of its slot. Never called; the type is part of the message.
#[diagnostic::on_unimplemented(
    message = "`{Taken}` cannot be an argument of a tool: it is shared, or changes behind `&`",
    label = "the model would fill in a new one for each call",
    note = "if your program supplies it: take `State<..>` of the type, and give the value to the box with `.state(..)`",
    note = "if the model fills it in: take the plain value, without `Arc`, `Mutex`, `Cell` and the like"
)]
pub trait TakeShared<Taken>: Sized {
    #[doc(hidden)]
    fn take(self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
    #[doc(hidden)]
    fn take_described(self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
}

/// Takes a value that holds a reference out of its slot.
#[diagnostic::on_unimplemented(
    message = "`{Taken}` cannot be an argument of a tool: it holds a reference",
    label = "only text is lent from inside a value",
    note = "take what `&` points at by value: `Option<Place>`, not `Option<&Place>`",
    note = "an argument itself may be a reference (`&Place`, `&[Place]`), and text may be lent anywhere (`Option<&str>`)"
)]
pub trait TakeReference<Taken> {
    #[doc(hidden)]
    fn take(&self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
    #[doc(hidden)]
    fn take_described(&self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
}

/// Takes a map without keys out of its slot.
#[diagnostic::on_unimplemented(
    message = "`{Taken}` cannot be an argument of a tool: the keys of a map are text in JSON",
    label = "no model can fill this map in",
    note = "key it by `String`, a number or an enum of plain variants, or take a list of pairs: `Vec<(Key, Value)>`"
)]
pub trait TakeUnkeyed<Taken> {
    #[doc(hidden)]
    fn take(&self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
    #[doc(hidden)]
    fn take_described(&self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
}

/// Takes a value that the program supplies out of a slot with a description for the model.
#[diagnostic::on_unimplemented(
    message = "`#[arg(..)]` on an argument that the program supplies",
    label = "the model is told nothing of a `{Taken}`",
    note = "take `#[arg(..)]` or `#[deprecated]` out: they describe and bound what the model fills in"
)]
pub trait TakeSupplied<Taken>: Sized {
    #[doc(hidden)]
    fn take_described(self) -> Taken {
        unreachable!("{NEVER_COMPILED}")
    }
}

macro_rules! take {
    ($([$($generic:tt)*] $take:ident: $part:ident [$($bound:tt)*] from $source:ty),* $(,)?) => {$(
        #[diagnostic::do_not_recommend]
        impl<$part: $($bound)*, Taken: Never, $($generic)*> $take<Taken> for OwnedSlot<$part, $source> {}
        #[diagnostic::do_not_recommend]
        impl<$part: ?Sized + $($bound)*, Taken: Never, Held, $($generic)*> $take<Taken>
            for LentSlot<'_, $part, Held, $source> {}
    )*};
}

take! {
    [Way] TakeShared: T [SharedType<Way>] from Refused<IsShared<Way>>,
    [const PARAMETER: usize, Way] TakeReference: T [Reference<Inside<PARAMETER, Way>>]
        from Refused<HoldsReference<Inside<PARAMETER, Way>>>,
    [Way] TakeUnkeyed: T [Unkeyed<Way>] from Refused<IsUnkeyed<Way>>,
    [] TakeSupplied: T [FromContext] from FromProgram,
}

#[diagnostic::do_not_recommend]
impl<Taken: Never> TakeSupplied<Taken> for OwnedSlot<ToolContext, TheContext> {}
#[diagnostic::do_not_recommend]
impl<Taken: Never> TakeSupplied<Taken> for OwnedSlot<&ToolContext, TheContext> {}
#[diagnostic::do_not_recommend]
impl<Taken: Never, Held> TakeSupplied<Taken> for LentSlot<'_, ToolContext, Held, TheContext> {}

/// Returns the shared part in the name of a type, which also covers the parameters of unknown
/// types.
///
/// The fields of a type are not part of its name.
pub(crate) fn shared_part(type_name: &str) -> Option<&str> {
    const SHARED: &[&str] = &[
        "alloc::sync::Arc<",
        "alloc::sync::Weak<",
        "alloc::rc::Rc<",
        "alloc::rc::Weak<",
        "core::cell::Cell<",
        "core::cell::RefCell<",
        "core::cell::once::OnceCell<",
        "std::sync::poison::mutex::Mutex<",
        "std::sync::poison::rwlock::RwLock<",
        "std::sync::mutex::Mutex<",
        "std::sync::rwlock::RwLock<",
        "std::sync::once_lock::OnceLock<",
        "core::sync::atomic::Atomic",
    ];
    SHARED.iter().find_map(|name| {
        let start = type_name.find(name)?;
        let end = start + name.trim_end_matches('<').len();
        type_name[..end].rsplit("::").next()
    })
}
