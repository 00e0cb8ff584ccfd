//! Index newtypes for everything a function or module owns.

/// What all index newtypes have in common; for [`Table`](crate::table::Table).
pub trait Entity: Copy {
    /// The entity with this index.
    fn from_index(index: usize) -> Self;

    /// The index of this entity in its owner's table.
    fn index(self) -> usize;
}

macro_rules! entity {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The entity with this index.
            pub fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("more than 2^32 entities"))
            }

            /// The index of this entity in its owner's table.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl Entity for $name {
            fn from_index(index: usize) -> Self {
                $name::from_index(index)
            }

            fn index(self) -> usize {
                $name::index(self)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

entity!(
    /// An SSA value: a constant, a block parameter or an instruction's result.
    Value, "v"
);
entity!(
    /// A basic block.
    Block, "b"
);
entity!(
    /// An instruction.
    Inst, "inst"
);
entity!(
    /// A function of a module.
    FuncId, "fn"
);
entity!(
    /// A global of a module.
    GlobalId, "g"
);
entity!(
    /// An instruction or constant of the original program that this IR does not model, by its number in the importer's
    /// table.
    OpaqueId, "#"
);
entity!(
    /// A source location of a module.
    SourceLoc, "loc"
);
entity!(
    /// A natural loop of a function.
    Loop, "loop"
);
