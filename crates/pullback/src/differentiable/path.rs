//! Where the check of a shadow stands, and what it says when the shadow does not fit.

use super::Differentiable;
use super::aside::{Aside, Part};
use std::fmt;

/// Whether the primal function may change the shape of what the check looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It is reached through a shared reference.
    Shared,
    /// It is owned, in a cell, or reached through `&mut`: a `Vec` may grow into its spare capacity, an enum may become another
    /// variant.
    Exclusive,
}

/// The way from an argument to a part of it, such as `weights[3].rows`. It lives on the stack: a check that succeeds allocates
/// nothing.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
    access: Access,
    /// Whether it leads through a cell.
    in_cell: bool,
    /// What is done on the way.
    task: Task<'a>,
}

/// What a walk through a shadow does beside the check.
#[derive(Clone, Copy, Debug)]
enum Task<'a> {
    Nothing,
    /// Note the enums that may be overwritten.
    Note(&'a Aside),
    /// Find out who owns the cells that are put aside. The shadow is compared with itself.
    FindOwners(&'a Aside),
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Argument(&'a str),
    Field(&'static str),
    Index(usize),
    Deref,
    /// What a shared reference points to.
    Borrowed,
    /// The shared value at an address, whose owners are counted.
    Counted(*const ()),
}

impl<'a> Path<'a> {
    /// The argument `name` itself. A check writes what a shadow keeps as spare capacity, so only those who have the shadow to themselves
    /// begin one.
    pub(crate) const fn argument(name: &'a str) -> Self {
        Path {
            parent: None,
            step: Step::Argument(name),
            access: Access::Exclusive,
            in_cell: false,
            task: Task::Nothing,
        }
    }

    /// The same way, on which the check notes in `aside` what a reverse derivative must not find.
    pub(crate) const fn noting(self, aside: Option<&'a Aside>) -> Self {
        match aside {
            Some(aside) => Path { task: Task::Note(aside), ..self },
            None => self,
        }
    }

    /// The same way, on which the walk finds out who owns the cells of which `aside` has noted something. Nothing is written: that the
    /// primal may change the shape of what is there is not said again.
    pub(crate) const fn finding_owners(self, aside: &'a Aside) -> Self {
        Path { task: Task::FindOwners(aside), access: Access::Shared, ..self }
    }

    /// A field, or a variant, of what `self` leads to.
    pub const fn field(&'a self, name: &'static str) -> Self {
        self.step(Step::Field(name), self.access)
    }

    /// An element of what `self` leads to.
    pub const fn index(&'a self, index: usize) -> Self {
        self.step(Step::Index(index), self.access)
    }

    /// What the shared reference that `self` leads to points to.
    pub const fn shared(&'a self) -> Self {
        self.step(Step::Borrowed, Access::Shared)
    }

    /// The shared value at `address` that the `Rc` or `Arc` that `self` leads to points to. There are `owners` of it, or it cannot be
    /// told. `None` if the walk has been there.
    pub(super) fn counted(&'a self, address: *const (), owners: Option<usize>) -> Option<Self> {
        if let Task::FindOwners(aside) = self.task
            && !aside.meet(address, owners)
        {
            return None;
        }
        Some(self.step(Step::Counted(address), Access::Shared))
    }

    /// What the cell that `self` leads to holds. Fails if `variants`, which an enum in it may have, are put aside, and something else
    /// than the shadow refers to the cell: it would see an enum of no variant.
    pub(super) fn cell(&'a self, variants: bool) -> Result<Self, Mismatch> {
        let access = match self.task {
            Task::FindOwners(aside) => {
                if variants {
                    self.guard(aside)?;
                }
                Access::Shared
            }
            Task::Nothing | Task::Note(_) => Access::Exclusive,
        };
        Ok(Path { in_cell: true, ..self.step(Step::Deref, access) })
    }

    /// The shadow owns all that is on the way to what `self` leads to.
    fn guard(&self, aside: &Aside) -> Result<(), Mismatch> {
        let mut way = Some(self);
        while let Some(path) = way {
            match path.step {
                Step::Borrowed => return Err(self.not_alone()),
                Step::Counted(address) => aside.guard(address, self),
                _ => {}
            }
            way = path.parent;
        }
        Ok(())
    }

    const fn step(&'a self, step: Step<'a>, access: Access) -> Self {
        Path { parent: Some(self), step, access, in_cell: self.in_cell, task: self.task }
    }

    /// `shadow` is an enum, and `parts` are the fields of its variant.
    #[inline]
    pub fn variant<T: Differentiable>(&self, shadow: &T, parts: &[Part]) {
        if let Task::Note(aside) = self.task {
            aside.note(shadow, parts, self.access, self.in_cell);
        }
    }

    /// Whether the primal function may change the shape of what `self` leads to.
    pub const fn access(&self) -> Access {
        self.access
    }

    fn argument_name(&self) -> &str {
        match (self.parent, self.step) {
            (Some(parent), _) => parent.argument_name(),
            (None, Step::Argument(name)) => name,
            (None, _) => "",
        }
    }

    /// Fails unless two lengths are the same.
    pub fn same_length(&self, primal: usize, shadow: usize) -> Result<(), Mismatch> {
        if primal == shadow { Ok(()) } else { Err(self.mismatch("has length", primal, shadow)) }
    }

    /// Fails unless the shadow's capacity reaches that of the primal.
    pub(super) fn enough_capacity(&self, primal: usize, shadow: usize) -> Result<(), Mismatch> {
        if primal <= shadow { Ok(()) } else { Err(self.mismatch("has capacity", primal, shadow)) }
    }

    /// Fails: the variants differ.
    pub fn different_variants(&self, primal: &str, shadow: &str) -> Mismatch {
        self.mismatch("is", format_args!("`{primal}`"), format_args!("`{shadow}`"))
    }

    /// Fails: the shadow shares a cell.
    #[cold]
    pub(super) fn not_alone(&self) -> Mismatch {
        let message = format!(
            "shadow of argument `{}` does not fit: the cell `{self}` holds an enum, and something that is no shadow may refer to it\n\
             help: let the shadow own its cells, with no `&` on the way and no further owner of an `Rc`; `pullback::make_zero` makes one",
            self.argument_name()
        );
        Mismatch(message.into_boxed_str())
    }

    #[cold]
    pub(super) fn mismatch(&self, verb: &str, primal: impl fmt::Display, shadow: impl fmt::Display) -> Mismatch {
        let message = format!(
            "shadow of argument `{}` does not fit: `{self}` {verb} {primal}, its shadow {verb} {shadow}\n\
             help: `pullback::make_zero` makes a shadow that fits",
            self.argument_name()
        );
        Mismatch(message.into_boxed_str())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Argument(name) => f.write_str(name),
            Step::Field(name) => write!(f, ".{name}"),
            Step::Index(index) => write!(f, "[{index}]"),
            Step::Deref | Step::Borrowed | Step::Counted(_) => Ok(()),
        }
    }
}

/// A shadow that does not have the shape of its primal: which argument, where in it, and both sizes. Two words, so that a check
/// of each node of a long list hands its result on in registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch(Box<str>);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}
