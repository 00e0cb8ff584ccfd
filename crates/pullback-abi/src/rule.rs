//! A rule as the driver and the engine read it.
//!
//! An attribute such as `#[rrule]` makes a **wrapper** with the signature of the rule's target, whose only work is to
//! call what the marker [`__pullback_rule`](crate::markers::__pullback_rule) returns for a [`Rule`], with the places of
//! the arguments and of the result; and a static of the name [`ENTRY`], a [`RuleEntry`], which tells the driver that
//! the wrapper is to be differentiated in the place of the target.

#![allow(unsafe_code)]

use crate::{Arg, RuleKind, Slice, Str, VERSION};
use core::ptr::null;

/// What the statics are called that are a [`RuleEntry`].
pub const ENTRY: &str = "__PULLBACK_RULE";

/// That a function has a rule.
#[repr(C)]
#[derive(Debug)]
pub struct RuleEntry {
    /// [`VERSION`].
    pub version: u32,
    /// A [`RuleKind`], and perhaps [`RuleEntry::DEFAULT`].
    pub kind: u32,
    /// The function.
    pub target: *const (),
    /// What is differentiated in its place; null where the entry says something else.
    pub wrapper: *const (),
    /// What the function is called where the rule stands.
    pub name: Str,
    /// The file where the rule stands.
    pub file: Str,
    /// The line in it.
    pub line: u32,
    /// The column in it.
    pub column: u32,
}

// SAFETY: S40, constants all the way down; the pointers are addresses of functions.
unsafe impl Sync for RuleEntry {}

impl RuleEntry {
    /// Added to the kind of an entry that gives way to another one for the same function.
    pub const DEFAULT: u32 = 1 << 8;

    /// The function `target`, which is called `name` where the rule stands, is differentiated by differentiating
    /// `wrapper`.
    pub const fn new(
        kind: RuleKind,
        target: *const (),
        wrapper: *const (),
        name: &'static str,
        (file, line, column): (&'static str, u32, u32),
    ) -> Self {
        RuleEntry {
            version: VERSION,
            kind: kind as u32,
            target,
            wrapper,
            name: Str::new(name),
            file: Str::new(file),
            line,
            column,
        }
    }

    /// The same entry, which gives way to another one for the same function.
    #[must_use]
    pub const fn by_default(self) -> Self {
        RuleEntry { kind: self.kind | Self::DEFAULT, ..self }
    }

    /// An entry without a wrapper.
    pub const fn without_wrapper(
        kind: RuleKind,
        target: *const (),
        name: &'static str,
        place: (&'static str, u32, u32),
    ) -> Self {
        Self::new(kind, target, null(), name, place)
    }
}

/// The functions of a rule, with everything by pointer. `docs/architecture.md` has their signatures.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// [`VERSION`].
    pub version: u32,
    /// [`BORROWS`](Self::BORROWS), [`ONCE`](Self::ONCE), [`DROPS`](Self::DROPS).
    pub flags: u32,
    /// The name of the rule's function.
    pub name: Str,
    /// The arguments, and the result's place as the last.
    pub args: Slice<Arg>,
    /// The function that calls the target itself.
    pub primal: *const (),
    /// The function that computes the value and keeps the pullback; null in a rule for forward mode, as the next two.
    pub augmented: *const (),
    /// The function that writes down what the pullback needs of the shadows, or null.
    pub view: *const (),
    /// The function that calls the pullback.
    pub pullback: *const (),
    /// The function that computes value and tangent; null in a rule for reverse mode.
    pub tangent: *const (),
    /// What is kept of the pullback: the closure itself, or the address of one that has to be dropped.
    pub closure: Kept,
    /// What is kept of the shadows.
    pub viewed: Kept,
    /// The function that is called in the place of `augmented` where memory that the arguments refer to may be
    /// overwritten before the pullback runs; null where the rule does not ask about that.
    pub owning: *const (),
}

// SAFETY: S40, constants all the way down; the pointers are addresses of functions.
unsafe impl Sync for Rule {}

/// The size and alignment of what a rule keeps on the tape.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The size in bytes.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

impl Rule {
    /// The flag of a pullback that may refer to memory of the arguments.
    pub const BORROWS: u32 = 1;
    /// The flag of a pullback that owns memory and can be called once.
    pub const ONCE: u32 = 2;
    /// The flag of a pullback that has to be dropped.
    pub const DROPS: u32 = 4;

    /// A rule for reverse mode. `view` is null where there is nothing to view.
    pub const fn reverse(
        name: &'static str,
        flags: u32,
        args: &'static [Arg],
        [augmented, view, pullback]: [*const (); 3],
        closure: Kept,
        viewed: Kept,
    ) -> Self {
        Rule {
            version: VERSION,
            flags,
            name: Str::new(name),
            args: Slice::new(args),
            primal: null(),
            augmented,
            view,
            pullback,
            tangent: null(),
            closure,
            viewed,
            owning: null(),
        }
    }

    /// A rule for forward mode.
    pub const fn forward(name: &'static str, args: &'static [Arg], tangent: *const ()) -> Self {
        let nothing = Kept { size: 0, align: 1 };
        Rule { tangent, ..Self::reverse(name, 0, args, [null(); 3], nothing, nothing) }
    }

    /// The same rule, for the function that `primal` calls.
    #[must_use]
    pub const fn with_primal(&self, primal: *const ()) -> Self {
        Rule { primal, ..*self }
    }

    /// The same rule, with an `augmented` for where memory of the arguments may be overwritten.
    #[must_use]
    pub const fn with_owning(self, owning: *const ()) -> Self {
        Rule { owning, ..self }
    }
}
