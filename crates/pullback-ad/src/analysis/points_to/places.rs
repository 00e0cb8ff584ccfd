//! Places in an object, and what layouts say of them.

use crate::analysis::points_to::objects::{ContentId, Kinds};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::Strided;

/// A place in an object.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Where.
    pub at: Strided,
    /// How many bytes.
    pub width: u64,
    /// What is there.
    pub content: ContentId,
}

impl Cell {
    /// Whether `width` bytes at one of these offsets may touch it.
    pub fn meets(&self, at: &Offsets, width: u64) -> bool {
        at.meet(width, self.at, self.width)
    }
}

/// Bytes of an argument's object whose content depends on a variant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Opaque {
    /// Where.
    pub at: Strided,
    /// How many.
    pub bytes: u64,
    /// What some variant has there.
    pub kinds: Kinds,
    /// Whether some variant has numbers there, or something of an unknown type.
    pub numbers: bool,
    /// At how many places floats may lie, at most.
    pub floats: u64,
    /// Whether some variant has a skipped field in which floats may lie.
    pub skips: bool,
    /// The first float behind a pointer that some variant has there.
    pub leads_to: Option<FloatAt>,
    /// Whether some variant has a shared reference there.
    pub lent: bool,
}

impl Opaque {
    /// Whether `width` bytes at one of these offsets may touch them.
    pub fn meets(&self, at: &Offsets, width: u64) -> bool {
        at.meet(width, self.at, self.bytes)
    }
}

/// A float of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatAt {
    /// Where in the layout.
    pub offset: u64,
    /// How many bytes.
    pub width: u64,
}

/// What a layout says of some bytes besides what they hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// They take no part: no float there is active, and no pointer has a shadow.
    Inert,
    /// They are [inert](Property::Inert) in some of the memory that the object stands for.
    PartlyInert,
    /// They may be written through a shared reference.
    Shared,
    /// They could be, but are in a place that has one name only. Their pointers may be known by others.
    Alone,
    /// They count who owns the object, or refers to it weakly.
    Owners,
    /// They are a number, whatever is done with words of which they are a part.
    Number,
}

/// Bytes of an object that have a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    pub(super) at: Strided,
    pub(super) bytes: u64,
    pub(super) property: Property,
}

impl Mark {
    /// Whether `width` bytes lie within it, wherever among `at` they are.
    pub(super) fn holds(&self, at: Strided, width: u64) -> bool {
        let (Some(distance), Some(last)) = (at.k.checked_sub(self.at.k), self.bytes.checked_sub(width)) else {
            return false;
        };
        let start = match i64::try_from(self.at.m) {
            Ok(0) | Err(_) => distance,
            Ok(stride) => distance.rem_euclid(stride),
        };
        (0..=last as i64).contains(&start) && self.at.plus(Strided::exact(start)).contains(at)
    }
}
