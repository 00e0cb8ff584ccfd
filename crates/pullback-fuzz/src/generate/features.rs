//! What a program may contain; each seed switches half of it on.

use crate::rng::Rng;
use std::fmt;

macro_rules! features {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Something a program may contain.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Feature { $($(#[$doc])* $name,)* }

        impl Feature {
            /// All of them.
            pub const ALL: &'static [Feature] = &[$(Feature::$name),*];
        }
    };
}

features! {
    /// `f32` beside `f64`, and casts between them.
    Single,
    /// Float functions.
    Math,
    /// `select` on floats.
    Select,
    /// Integer arithmetic, and indices and trip counts that depend on data.
    Ints,
    /// `if` and `switch`.
    Branches,
    /// Counted loops.
    Loops,
    /// Loops that end on a float's value, `break`, `continue`.
    Exits,
    /// `return` in the middle.
    Returns,
    /// Loops in loops.
    Nesting,
    /// Arrays on the stack, loads and stores.
    Memory,
    /// Allocation and deallocation.
    Heap,
    /// Pointers that may point to one of several arrays.
    Alias,
    /// Pointers in memory.
    Slots,
    /// `memcpy`, `memmove`, `memset`.
    Copies,
    /// Floats copied as integers.
    Bits,
    /// Two `f32` in one `i64`.
    Pairs,
    /// Structs as array elements.
    Structs,
    /// Linked lists.
    Lists,
    /// Calls of other functions.
    Calls,
    /// Recursion.
    Recursion,
    /// First-class aggregates.
    Aggregates,
    /// A table of constants.
    Globals,
    /// Checks that end in a panic.
    Panics,
    /// Arguments without a shadow.
    Constants,
    /// Records whose payload is a float, a pointer or a number.
    Variants,
    /// Results made of sums over arrays.
    Sums,
}

/// A set of features.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Features(u32);

impl Features {
    /// Everything.
    pub const ALL: Features = Features((1 << Feature::ALL.len()) - 1);
    /// Straight-line arithmetic.
    pub const NONE: Features = Features(0);

    /// A random half.
    pub fn random(rng: &mut Rng) -> Self {
        Features(rng.bits() as u32 & Self::ALL.0)
    }

    /// Whether this one is on.
    pub fn has(self, feature: Feature) -> bool {
        self.0 >> feature as u32 & 1 == 1
    }

    /// With this one.
    pub fn with(self, feature: Feature) -> Self {
        Features(self.0 | 1 << feature as u32)
    }

    /// Without this one.
    pub fn without(self, feature: Feature) -> Self {
        Features(self.0 & !(1 << feature as u32))
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(Feature::ALL.iter().filter(|x| self.has(**x))).finish()
    }
}
