//! A rule as the driver and the engine read it.
//!
//! An attribute such as `#[rrule]` makes a **wrapper** with the signature of the rule's target, whose only work is to
//! call what the marker [`__pullback_rule`] returns for a [`Rule`], with the places of the arguments and of the result;
//! and a static `__PULLBACK_RULE`, a [`RuleEntry`], which tells the driver that the wrapper is to be differentiated in
//! the place of the target.

use super::{Arg, Str};
use std::ptr::null;

/// What an entry says of its target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum RuleKind {
    /// It has a rule for forward mode.
    Forward = 0,
    /// It has a rule for reverse mode.
    Reverse = 1,
    /// Its result carries no derivative.
    NonDifferentiable = 2,
    /// It is differentiated although it has a rule.
    OptOut = 3,
}

/// That a function has a rule.
#[repr(C)]
#[derive(Debug)]
pub struct RuleEntry {
    version: u32,
    /// A [`RuleKind`], and perhaps [`RuleEntry::DEFAULT`].
    kind: u32,
    target: *const (),
    wrapper: *const (),
    name: Str,
    file: Str,
    line: u32,
    column: u32,
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
            version: Rule::VERSION,
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
    version: u32,
    flags: u32,
    name: Str,
    args: *const Arg,
    arg_count: usize,
    primal: *const (),
    augmented: *const (),
    view: *const (),
    pullback: *const (),
    tangent: *const (),
    closure_size: usize,
    closure_align: usize,
    view_size: usize,
    view_align: usize,
    owning: *const (),
}

// SAFETY: S40, constants all the way down; the pointers are a `&'static [Arg]` and addresses of functions.
unsafe impl Sync for Rule {}

/// The size and alignment of what a rule keeps on the tape.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Kept {
    /// The size in bytes.
    pub size: usize,
    /// The alignment in bytes.
    pub align: usize,
}

impl Rule {
    /// The version of these structures.
    pub const VERSION: u32 = 2;
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
            version: Self::VERSION,
            flags,
            name: Str::new(name),
            args: args.as_ptr(),
            arg_count: args.len(),
            primal: null(),
            augmented,
            view,
            pullback,
            tangent: null(),
            closure_size: closure.size,
            closure_align: closure.align,
            view_size: viewed.size,
            view_align: viewed.align,
            owning: null(),
        }
    }

    /// A rule for forward mode.
    pub const fn forward(name: &'static str, args: &'static [Arg], tangent: *const ()) -> Self {
        let nothing = Kept { size: 0, align: 1 };
        Rule { tangent, ..Self::reverse(name, 0, args, [null(); 3], nothing, nothing) }
    }

    /// The same rule, for the function that `primal` calls.
    pub const fn with_primal(&self, primal: *const ()) -> Self {
        Rule { primal, ..*self }
    }

    /// The same rule, with an `augmented` for where memory of the arguments may be overwritten.
    pub const fn with_owning(self, owning: *const ()) -> Self {
        Rule { owning, ..self }
    }

    /// The name of the rule's function.
    pub const fn name(&self) -> &'static str {
        self.name.get()
    }

    /// See [`Rule::BORROWS`], [`Rule::ONCE`] and [`Rule::DROPS`].
    pub const fn flags(&self) -> u32 {
        self.flags
    }

    /// The arguments, and the result's place as the last.
    pub const fn args(&self) -> &'static [Arg] {
        // SAFETY: S40, the constructors took both from a `&'static [Arg]`.
        unsafe { std::slice::from_raw_parts(self.args, self.arg_count) }
    }

    /// The function that calls the target itself.
    pub const fn primal(&self) -> *const () {
        self.primal
    }

    /// The function that computes the value and keeps the pullback; null in a rule for forward mode, as the next two.
    pub const fn augmented(&self) -> *const () {
        self.augmented
    }

    /// The function that is called in its place where memory that the arguments refer to may be overwritten before the
    /// pullback runs; null where the rule does not ask about that.
    pub const fn owning(&self) -> *const () {
        self.owning
    }

    /// The function that writes down what the pullback needs of the shadows, or null.
    pub const fn view(&self) -> *const () {
        self.view
    }

    /// The function that calls the pullback.
    pub const fn pullback(&self) -> *const () {
        self.pullback
    }

    /// The function that computes value and tangent; null in a rule for reverse mode.
    pub const fn tangent(&self) -> *const () {
        self.tangent
    }

    /// What is kept of the pullback: the closure itself, or the address of one that has to be dropped.
    pub const fn closure(&self) -> Kept {
        Kept { size: self.closure_size, align: self.closure_align }
    }

    /// What is kept of the shadows.
    pub const fn viewed(&self) -> Kept {
        Kept { size: self.view_size, align: self.view_align }
    }
}

// The engine reads a rule, and nobody calls this.
#[expect(improper_ctypes)]
unsafe extern "C" {
    /// Stands, in a wrapper, for the address of what `rule` does with the places of the arguments and of the result. It
    /// is never defined: a wrapper is differentiated, not run.
    pub fn __pullback_rule(rule: *const Rule) -> *const ();

    /// Stands for the address of the target of `entry`, and tells the driver of the entry. It is never defined.
    pub fn __pullback_ruled(entry: *const RuleEntry) -> *const ();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// The byte offsets of the contract, which the driver reads by.
    #[test]
    fn structures_lie_as_the_driver_reads_them() {
        assert_eq!(
            [
                offset_of!(RuleEntry, version),
                offset_of!(RuleEntry, kind),
                offset_of!(RuleEntry, target),
                offset_of!(RuleEntry, wrapper),
                offset_of!(RuleEntry, name),
                offset_of!(RuleEntry, file),
                offset_of!(RuleEntry, line),
                offset_of!(RuleEntry, column),
                size_of::<RuleEntry>(),
            ],
            [0, 4, 8, 16, 24, 40, 56, 60, 64]
        );
        assert_eq!(
            [
                offset_of!(Rule, version),
                offset_of!(Rule, flags),
                offset_of!(Rule, name),
                offset_of!(Rule, args),
                offset_of!(Rule, arg_count),
                offset_of!(Rule, primal),
                offset_of!(Rule, augmented),
                offset_of!(Rule, view),
                offset_of!(Rule, pullback),
                offset_of!(Rule, tangent),
                offset_of!(Rule, closure_size),
                offset_of!(Rule, closure_align),
                offset_of!(Rule, view_size),
                offset_of!(Rule, view_align),
                offset_of!(Rule, owning),
                size_of::<Rule>(),
            ],
            [0, 4, 8, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120]
        );
    }
}
