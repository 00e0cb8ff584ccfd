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
    /// Where enums that may be overwritten are noted.
    aside: Option<&'a Aside>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Argument(&'a str),
    Field(&'static str),
    Index(usize),
    Deref,
}

impl<'a> Path<'a> {
    /// The argument `name` itself.
    pub const fn argument(name: &'a str) -> Self {
        Path { parent: None, step: Step::Argument(name), access: Access::Exclusive, aside: None }
    }

    /// The same way, on which the check notes in `aside` what a reverse derivative must not find.
    pub(crate) const fn noting(self, aside: Option<&'a Aside>) -> Self {
        Path { aside, ..self }
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
        self.step(Step::Deref, Access::Shared)
    }

    /// What the cell that `self` leads to holds.
    pub const fn cell(&'a self) -> Self {
        self.step(Step::Deref, Access::Exclusive)
    }

    const fn step(&'a self, step: Step<'a>, access: Access) -> Self {
        Path { parent: Some(self), step, access, aside: self.aside }
    }

    /// `shadow` is an enum, and `parts` are the fields of its variant.
    #[inline]
    pub fn variant<T: Differentiable>(&self, shadow: &T, parts: &[Part]) {
        if let Some(aside) = self.aside {
            aside.note(shadow, parts, self.access);
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
            Step::Deref => Ok(()),
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
