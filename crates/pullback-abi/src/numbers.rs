//! The enumerations of the contract. Each variant has a number, which is how the driver reads it.

use core::fmt;

/// A number that stands for nothing in the place where it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownNumber {
    /// What it would be the number of.
    pub what: &'static str,
    /// The number.
    pub number: u32,
}

impl fmt::Display for UnknownNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no {} {}", self.what, self.number)
    }
}

impl core::error::Error for UnknownNumber {}

/// An enumeration, and the way back from its numbers.
macro_rules! numbered {
    (
        $(#[$doc:meta])*
        $name:ident: $what:literal {
            $($(#[$variant_doc:meta])* $variant:ident = $number:literal,)*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u32)]
        pub enum $name {
            $($(#[$variant_doc])* $variant = $number,)*
        }

        impl TryFrom<u32> for $name {
            type Error = UnknownNumber;

            fn try_from(number: u32) -> Result<Self, UnknownNumber> {
                match number {
                    $($number => Ok($name::$variant),)*
                    _ => Err(UnknownNumber { what: $what, number }),
                }
            }
        }
    };
}

numbered! {
    /// Whether derivatives run with the computation or against it.
    Mode: "mode" {
        /// Tangents beside values.
        Forward = 0,
        /// Cotangents after values.
        Reverse = 1,
    }
}

impl Mode {
    /// The other one.
    pub const fn other(self) -> Mode {
        match self {
            Mode::Forward => Mode::Reverse,
            Mode::Reverse => Mode::Forward,
        }
    }

    /// The word for it in a sentence.
    pub const fn word(self) -> &'static str {
        match self {
            Mode::Forward => "forward",
            Mode::Reverse => "reverse",
        }
    }
}

numbered! {
    /// Whether an argument takes part.
    Activity: "activity" {
        /// It has no shadow.
        Const = 0,
        /// It has a shadow beside it. (In a rule: it is read.)
        Duplicated = 1,
        /// It has a shadow, and nobody looks at the primal afterwards. (In a rule: what it refers to may be written.)
        DuplicatedNoNeed = 2,
    }
}

impl Activity {
    /// Whether there is a shadow.
    pub const fn has_shadow(self) -> bool {
        !matches!(self, Activity::Const)
    }
}

numbered! {
    /// What lies at an offset.
    Kind: "kind of field" {
        /// An `f32`.
        F32 = 1,
        /// An `f64`.
        F64 = 2,
        /// A pointer to one or more values of the field's layout; without a layout, to nothing that is differentiated.
        Pointer = 3,
        /// So many bytes that carry no derivative.
        Inactive = 4,
        /// So many values of the field's layout in a row.
        Nested = 5,
        /// So many bytes whose content depends on a variant.
        Opaque = 6,
        /// In the opaque bytes of the same layout, some variant has a value of the field's layout; nobody knows where.
        Payload = 7,
        /// So many bytes of a type that takes no part, of which nothing is known. Memory that is reached through them
        /// has no shadow.
        Unknown = 8,
        /// So many bytes that lie in a cell: they may be written through a shared reference. Other fields say what they
        /// are.
        Cell = 9,
        /// So many bytes that count owners of the value, or weak references to it.
        Owners = 10,
    }
}

numbered! {
    /// What an entry says of its target.
    RuleKind: "kind of rule" {
        /// It has a rule for forward mode.
        Forward = 0,
        /// It has a rule for reverse mode.
        Reverse = 1,
        /// Its result carries no derivative.
        NonDifferentiable = 2,
        /// It is differentiated although it has a rule.
        OptOut = 3,
    }
}
