//! Where the check of a shadow stands, and what it says when the shadow does not fit.

use super::Differentiable;
use super::congruence::{Congruence, Met, Owner, Piece};
use super::constants::may_have_parts;
use super::masked::{Masked, Part};
use std::fmt;

/// Whether the primal function may change the shape of what the check looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// It is reached through a shared reference.
    Shared,
    /// It is owned, in a cell, or reached through `&mut`: a `Vec` may grow into its spare capacity, an enum may become
    /// another variant.
    Exclusive,
}

/// The way from an argument to a part of it, such as `weights[3].rows`. It lives on the stack: a check that succeeds
/// allocates nothing.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
    access: Access,
    /// Whether it leads through a cell.
    in_cell: bool,
    /// Whether it leads to a shared value, by one of its owners.
    in_counted: bool,
    /// Whether it leads through an enum, in which nobody knows where things lie.
    in_variant: bool,
    /// Whether the memory around what it leads to is noted as one piece.
    is_noted: bool,
    /// Whether the elements of arrays may lie in another order.
    by_index: bool,
    /// What is done on the way.
    task: Task<'a>,
    /// Where the names of shared memory are noted.
    names: Option<&'a Names<'a>>,
}

/// Where the names of shared memory are noted, for one shadow of one argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names<'a> {
    pub congruence: &'a Congruence,
    pub argument: &'static str,
    /// The number of the batch direction.
    pub direction: usize,
    pub shadow: ShadowKind,
}

/// What a shadow is to the derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShadowKind {
    /// In reverse mode floats are added to, and pointers changed for a while.
    Cotangent,
    /// In forward mode all that is written to the primal is written there, too, and what is given back is given back
    /// there.
    Tangent,
    /// There is none. The argument stands for it.
    Missing,
}

/// What a walk through a shadow does beside the check.
#[derive(Clone, Copy, Debug)]
enum Task<'a> {
    Nothing,
    /// Note the enums that may be overwritten.
    Note(&'a Masked),
    /// Find out who owns the cells, and the shared values, of which something is masked. The shadow is compared with
    /// itself.
    FindOwners(&'a Masked),
    /// Find out whether a rule's result has memory in common with anything else. The value is compared with itself.
    FindOthers(&'a Others<'a>),
}

/// What a walk through the result of a rule looks for: memory with a name that is not part of the result.
#[derive(Debug)]
pub(crate) struct Others<'a> {
    pub rule: &'a str,
    /// Whether it matters of all shared values, and not only of those in which there are cells.
    pub counted: bool,
    /// The owners that were met.
    pub masked: Masked,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Argument(&'a str),
    Field(&'static str),
    Index(usize),
    Deref,
    /// What a shared reference points to.
    Borrowed,
    /// The shared value at an address in the shadow, whose owners are counted; and where the primal's is.
    Counted(*const (), usize),
}

impl<'a> Path<'a> {
    /// The argument `name` itself. A check writes what a shadow keeps as spare capacity, so only those who have the
    /// shadow to themselves begin one.
    pub(crate) const fn argument(name: &'a str) -> Self {
        Path {
            parent: None,
            step: Step::Argument(name),
            access: Access::Exclusive,
            in_cell: false,
            in_counted: false,
            in_variant: false,
            is_noted: false,
            by_index: false,
            task: Task::Nothing,
            names: None,
        }
    }

    /// The same way, on which the names of shared memory are noted.
    pub(crate) const fn naming(self, names: Option<&'a Names<'a>>) -> Self {
        Path { names, ..self }
    }

    /// The same way, to what is copied by index: where the elements of arrays lie in memory is no matter.
    pub(crate) const fn by_index(self) -> Self {
        Path { by_index: true, ..self }
    }

    /// Whether the elements of arrays may lie in another order.
    pub(super) const fn is_by_index(&self) -> bool {
        self.by_index
    }

    /// The same way, of which nobody knows where in an enum it leads.
    pub const fn hidden(self) -> Self {
        Path { in_variant: true, ..self }
    }

    /// Whether it leads through an enum.
    pub(super) const fn in_variant(&self) -> bool {
        self.in_variant
    }

    const fn is(&self, kind: ShadowKind) -> bool {
        match self.names {
            Some(names) => names.shadow as u8 == kind as u8,
            None => false,
        }
    }

    /// Whether what is done to the primal is done to the shadow, too: in forward mode.
    pub(super) const fn is_mirrored(&self) -> bool {
        self.is(ShadowKind::Tangent)
    }

    /// Whether there is no shadow to write to.
    pub(super) const fn is_constant(&self) -> bool {
        self.is(ShadowKind::Missing)
    }

    /// Note a cell that others may have names of, unless it is in a piece that is noted.
    pub(super) fn note_cell<T>(&self, primal: &T, shadow: &T) {
        if !self.is_noted {
            self.piece_of(primal, shadow, size_of::<T>(), false);
        }
    }

    /// As [`note_cell`](Self::note_cell), of what is not looked at.
    pub(super) fn note_cell_at<T>(&self, primal: *const T, shadow: *const T) {
        if !self.is_noted {
            self.piece_of(primal, shadow, size_of::<T>(), false);
        }
    }

    /// Whether others may have what `self` leads to, and does not own: by a reference, or as one of several owners.
    pub(super) const fn may_be_lent(&self) -> bool {
        self.names.is_some()
            && !self.is_constant()
            && (matches!(self.access, Access::Shared) || self.in_counted || self.in_cell)
    }

    /// Note that others may have a cell with pointers.
    pub(super) fn lent(&self) {
        if let Some(names) = self.names {
            names.congruence.note_lent(|| self.to_string());
        }
    }

    /// Fails where the content of a `RefCell` is borrowed, mutably in the primal, in any way in the shadow.
    pub(super) fn unborrowed(&self, primal: bool, shadow: bool) -> Result<(), Mismatch> {
        if self.names.is_some() && !self.is_constant() && (primal || shadow) {
            return Err(self.is_borrowed(primal));
        }
        Ok(())
    }

    #[cold]
    fn is_borrowed(&self, primal: bool) -> Mismatch {
        let argument = self.argument_name();
        let message = if primal {
            format!(
                "argument `{argument}` cannot be differentiated: the content of `{self}` is borrowed mutably\n\
                 help: end the borrow before"
            )
        } else {
            format!(
                "shadow of argument `{argument}` cannot be used: the content of `{self}` is borrowed in it\n\
                 help: end the borrow before"
            )
        };
        Mismatch(message.into_boxed_str())
    }

    /// Fails, in forward mode, where others may have a cell whose content has parts without derivative.
    pub(super) fn cell_of_parts<T: Differentiable>(&self) -> Result<(), Mismatch> {
        if T::CONSTANTS && self.is_mirrored() && may_have_parts(super::layout_of::<T>(), &mut Vec::new()) {
            return self.cell_of_constants::<T>();
        }
        Ok(())
    }

    /// Check with the same way, to what a pointer leads to. The memory there is noted as one piece if there are cells
    /// in it. In an enum there are cells in some variants only: those are noted by themselves, or [in
    /// rows](Self::in_row).
    #[inline]
    pub(super) fn around<T: Differentiable + ?Sized, R>(
        &self,
        primal: &T,
        shadow: &T,
        check: impl FnOnce(&Path<'_>) -> R,
    ) -> R {
        // Without a cell in there nobody asks whether one is noted.
        if !T::CELLS {
            return check(self);
        }
        self.has_cells();
        let is_noted = !T::VARIANTS;
        if is_noted {
            self.piece(primal, shadow);
        }
        check(&Path { is_noted, ..*self })
    }

    /// Check with the same way, to values in a row, whose cells are noted at once unless the memory around is.
    #[inline]
    pub(super) fn in_row<T: Differentiable, R>(
        &self,
        primal: &[T],
        shadow: &[T],
        check: impl FnOnce(&Path<'_>) -> R,
    ) -> R {
        if self.is_noted { check(self) } else { self.around(primal, shadow, check) }
    }

    /// Check with the same way, to values whose memory is noted if there are cells in it.
    pub(super) fn noted<T: Differentiable, R>(&self, check: impl FnOnce(&Path<'_>) -> R) -> R {
        check(&Path { is_noted: T::CELLS && !T::VARIANTS, ..*self })
    }

    /// There are cells in what `self` leads to.
    pub(super) fn has_cells(&self) {
        let Task::FindOthers(others) = self.task else { return };
        if let (Some(owner), _) = self.owner_of_it() {
            others.masked.guard(owner, || self.not_own(others.rule));
        }
    }

    /// Note memory that others may have names of.
    fn piece<T: ?Sized>(&self, primal: &T, shadow: &T) {
        self.piece_of((&raw const *primal).cast::<()>(), (&raw const *shadow).cast::<()>(), size_of_val(primal), false);
    }

    /// Note so many bytes that others may have names of; whether owners of them are counted.
    pub(super) fn piece_of<T>(&self, primal: *const T, shadow: *const T, bytes: usize, is_counted: bool) {
        if let Some(&Names { congruence, argument, direction, shadow: kind }) = self.names {
            let shadow = (kind != ShadowKind::Missing).then_some(shadow.addr());
            congruence.note(Piece { argument, direction, primal: primal.addr(), shadow, bytes, is_counted });
        }
    }

    /// Note an owner of the shared value at `value`, in forward mode. The strong and weak counts of the value and of
    /// its shadow have to be the same where the derivative may end the value.
    pub(super) fn owner<R>(
        &self,
        owner: &R,
        value: *const (),
        primal: [usize; 2],
        shadow: [usize; 2],
    ) -> Result<(), Mismatch> {
        if let Some(&Names { congruence, argument, .. }) = self.names {
            let (value, place) = (value.addr(), (&raw const *owner).addr());
            let can_end = self.access == Access::Exclusive;
            let within = self.within();
            congruence.note_owner(Owner { value, place, can_end, argument, counts: primal, within });
        }
        if self.access == Access::Shared || primal == shadow {
            return Ok(());
        }
        let owners = |counts: [usize; 2]| format!("{} owners and {} weak references", counts[0], counts[1]);
        Err(self.mismatch("has", owners(primal), owners(shadow)))
    }

    /// The shared value through which it leads last.
    fn within(&self) -> Option<usize> {
        let ways = std::iter::successors(Some(self), |path| path.parent);
        ways.map(|path| path.step).find_map(|step| match step {
            Step::Counted(_, value) => Some(value),
            _ => None,
        })
    }

    /// Fails where there is a raw pointer that a derivative would follow in the shadow, if nobody answers for what is
    /// behind it.
    pub(super) fn raw_pointer(&self) -> Result<(), Mismatch> {
        match self.names {
            Some(names) if names.shadow != ShadowKind::Missing && !names.congruence.is_answered() => {
                Err(self.unanswered())
            }
            _ => Ok(()),
        }
    }

    /// Fails, in forward mode, where there is a cell whose content has parts without derivative: it is written through
    /// shared references, behind which nobody puts parts of their own.
    pub(super) fn cell_of_constants<T>(&self) -> Result<(), Mismatch> {
        if !self.is_mirrored() {
            return Ok(());
        }
        let message = format!(
            "argument `{}` cannot be differentiated in forward mode: `{self}` is a cell of a `{}`, which has strings \
             or skipped fields, or refers to constants\n\
             help: put such fields beside the cell",
            self.argument_name(),
            std::any::type_name::<T>()
        );
        Err(Mismatch(message.into_boxed_str()))
    }

    #[cold]
    fn unanswered(&self) -> Mismatch {
        let message = format!(
            "argument `{}` cannot be differentiated by a safe function: `{self}` is a raw pointer, and what is behind \
             that of its shadow cannot be checked\n\
             help: put `#[pullback(skip)]` on the field, or make the function `unsafe`, and its derivative will be, \
             too",
            self.argument_name()
        );
        Mismatch(message.into_boxed_str())
    }

    /// Fails where a shadow is pinned, and holds what may not be moved, in a field of a `holder` that is skipped, or of
    /// another crate's type.
    #[cold]
    pub(super) fn pinned(&self, holder: &str) -> Result<(), Mismatch> {
        // What the crate has made itself, a zero say, nobody has pinned.
        if self.names.is_none() || self.is_constant() {
            return Ok(());
        }
        let message = format!(
            "argument `{}` cannot be differentiated: `{self}` is pinned, and leads to a `{holder}`, which has a field, \
             skipped or of another crate's type, that is not known to be `Unpin`: it may not be moved out of the \
             shadow, nor overwritten\n\
             help: put the field into a `Box`, let it take part, or mark the argument `Const`",
            self.argument_name()
        );
        Err(Mismatch(message.into_boxed_str()))
    }

    /// Fails unless two texts are the same.
    pub(super) fn same_text(&self, primal: &str, shadow: &str) -> Result<(), Mismatch> {
        if primal == shadow {
            Ok(())
        } else {
            Err(self.mismatch("is", format_args!("{primal:?}"), format_args!("{shadow:?}")))
        }
    }

    /// The same way, on which the check notes in `masked` what a reverse derivative must not find.
    pub(crate) const fn noting(self, masked: Option<&'a Masked>) -> Self {
        match masked {
            Some(masked) => Path { task: Task::Note(masked), ..self },
            None => self,
        }
    }

    /// The same way, on which the walk finds out who owns what `masked` has noted something of. Nothing is written but
    /// spare capacity.
    pub(crate) const fn finding_owners(self, masked: &'a Masked) -> Self {
        Path { task: Task::FindOwners(masked), ..self }
    }

    /// The same way, on which the walk looks for other owners. Nothing is written.
    pub(crate) const fn finding_others(self, others: &'a Others<'a>) -> Self {
        Path { task: Task::FindOthers(others), access: Access::Shared, ..self }
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

    /// The shared value at `address` that the `Rc` or `Arc` `owner` of the shadow, to which `self` leads, points to;
    /// the primal's is at `value`. There are `owners` of it, or it cannot be told. `can_end`: the primal can find out
    /// that it has the only one. `None` if the walk has been there.
    pub(super) fn counted(
        &'a self,
        owner: *const (),
        address: *const (),
        value: *const (),
        owners: Option<usize>,
        can_end: bool,
    ) -> Option<Self> {
        match (self.task, self.names) {
            (Task::FindOwners(masked), _) if !masked.meet(address, owner, owners, self) => return None,
            (Task::FindOthers(others), _) => {
                if !others.masked.meet(address, owner, owners, self) {
                    return None;
                }
                if others.counted {
                    others.masked.guard(address, || self.not_own(others.rule));
                }
            }
            // A value may have more owners than memory has room for the ways to it, and own itself.
            (Task::Nothing | Task::Note(_), Some(names)) => {
                let way = [self.access == Access::Exclusive, self.in_cell, self.in_variant, self.is_noted];
                if !names.congruence.meet(Met {
                    value: value.addr(),
                    shadow: address.addr(),
                    direction: names.direction,
                    way,
                }) {
                    return None;
                }
            }
            _ => {}
        }
        // Who has the only owner has the value: `Rc::get_mut`, or `try_unwrap`.
        let access = if can_end { self.access } else { Access::Shared };
        Some(Path { in_counted: true, ..self.step(Step::Counted(address, value.addr()), access) })
    }

    /// What the cell that `self` leads to holds. Fails if `variants`, which an enum in it may have, are masked, and
    /// something else than the shadow refers to the cell: it would see an enum of no variant.
    pub(super) fn cell(&'a self, variants: bool) -> Result<Self, Mismatch> {
        if let Task::FindOwners(masked) = self.task
            && variants
        {
            self.guard(masked)?;
        }
        self.has_cells();
        Ok(Path { in_cell: true, ..self.step(Step::Deref, Access::Exclusive) })
    }

    /// The shadow has what `self` leads to for itself: no reference is on the way, from the shared value around it,
    /// which nobody else owns.
    fn guard(&self, masked: &Masked) -> Result<(), Mismatch> {
        let (owner, is_lent) = self.owner_of_it();
        if is_lent {
            return Err(self.not_alone("cell"));
        }
        if let Some(owner) = owner {
            masked.guard(owner, || self.not_alone("cell"));
        }
        Ok(())
    }

    /// The shared value in which is what `self` leads to, and whether a reference is on the way from there.
    pub(super) fn owner_of_it(&self) -> (Option<*const ()>, bool) {
        let mut is_lent = false;
        for path in std::iter::successors(Some(self), |path| path.parent) {
            match path.step {
                Step::Counted(address, _) => return (Some(address), is_lent),
                Step::Borrowed => is_lent = true,
                _ => {}
            }
        }
        (None, is_lent)
    }

    const fn step(&'a self, step: Step<'a>, access: Access) -> Self {
        Path { parent: Some(self), step, access, ..*self }
    }

    /// `shadow` is an enum, and `parts` are the fields of its variant.
    #[inline(always)]
    pub fn variant<T: Differentiable>(&self, shadow: &T, parts: &[Part]) {
        // Long lists come by here with each of their elements.
        if let Task::Note(masked) = self.task {
            masked.note(shadow, parts, self.access, self.in_cell || self.in_counted);
        } else if let Task::FindOwners(masked) = self.task {
            self.guard_owner(masked);
        }
    }

    /// Nothing but shadows may own the enum here, if the primal function may change its shape.
    #[cold]
    fn guard_owner(&self, masked: &Masked) {
        if self.access == Access::Exclusive
            && !self.in_cell
            && let (Some(owner), _) = self.owner_of_it()
        {
            masked.guard(owner, || self.not_alone("`Rc`"));
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

    /// Fails unless a number of the shadow's is that of the primal.
    #[cfg(feature = "nalgebra")]
    pub(super) fn same_number(&self, primal: usize, shadow: usize) -> Result<(), Mismatch> {
        if primal == shadow { Ok(()) } else { Err(self.mismatch("is", primal, shadow)) }
    }

    /// Fails unless the shadow's capacity reaches that of the primal. In forward mode memory is given back with the
    /// primal's capacity.
    pub(super) fn fitting_capacity(&self, primal: usize, shadow: usize) -> Result<(), Mismatch> {
        let fits = if self.is_mirrored() { primal == shadow } else { primal <= shadow };
        if fits { Ok(()) } else { Err(self.mismatch("has capacity", primal, shadow)) }
    }

    /// Fails: the variants differ.
    pub fn different_variants(&self, primal: &str, shadow: &str) -> Mismatch {
        self.mismatch("is", format_args!("`{primal}`"), format_args!("`{shadow}`"))
    }

    /// Fails: the shadow shares a cell.
    #[cold]
    fn not_alone(&self, what: &str) -> Mismatch {
        let message = format!(
            "shadow of argument `{}` does not fit: the {} `{self}` holds an enum, and something that is no shadow may \
             refer to it\n\
             help: let the shadow own its cells, with no `&` on the way and no further owner of an `Rc`; \
             `pullback::make_zero` makes one",
            self.argument_name(),
            what,
        );
        Mismatch(message.into_boxed_str())
    }

    /// Fails: the result of a rule is not its own.
    #[cold]
    fn not_own(&self, rule: &str) -> Mismatch {
        let message = format!(
            "rule `{rule}` returns memory that is not its own: something else may refer to `{self}`, too, by an `Rc`, \
             an `Arc` or a weak reference, and one value cannot have two shadows\n\
             help: return a copy, or give the function no rule"
        );
        Mismatch(message.into_boxed_str())
    }

    /// Fails: the elements of an array lie in another order.
    #[cfg(feature = "ndarray")]
    #[cold]
    pub(super) fn differently_arranged(&self, primal: impl fmt::Debug, shadow: impl fmt::Debug) -> Mismatch {
        let Mismatch(message) = self.mismatch("has strides", format_args!("{primal:?}"), format_args!("{shadow:?}"));
        let of_one = if self.is_mirrored() { "; the stride of an axis of length 1 counts, too" } else { "" };
        Mismatch(format!("{message}, and others can be assigned to it{of_one}").into_boxed_str())
    }

    #[cold]
    pub(super) fn mismatch(&self, verb: &str, primal: impl fmt::Display, shadow: impl fmt::Display) -> Mismatch {
        // What a rule returns is compared with its tangent.
        if self.by_index {
            return Mismatch(format!("`{self}` {verb} {primal}, its tangent {verb} {shadow}").into_boxed_str());
        }
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
            Step::Deref | Step::Borrowed | Step::Counted(..) => Ok(()),
        }
    }
}

/// A shadow that does not have the shape of its primal: which argument, where in it, and both sizes. Two words, so that
/// a check of each node of a long list hands its result on in registers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mismatch(Box<str>);

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mismatch {}
