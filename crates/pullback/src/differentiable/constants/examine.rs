//! What stands in the way of parts of their own.

use super::super::congruence::Standing;
use super::super::{Congruence, Differentiable};
use super::{CloneFn, VisitConstants, is_token};
use crate::abi::{Kind, Layout};
use std::any::type_name;
use std::collections::{HashMap, HashSet};
use std::fmt::Arguments;
use std::mem::needs_drop;

/// # Safety: as of [`Constants::examine`](super::Constants::examine).
#[track_caller]
#[inline(never)]
pub(super) unsafe fn parts_bookkeeping<T: Differentiable>(
    name: &str,
    primal: &T,
    shadow: *mut T,
    congruence: &Congruence,
) {
    let mut examine = Examine { congruence, standings: None, met: HashSet::new(), obstacle: None, inside: Vec::new() };
    // SAFETY: S19, asked of the caller. This pass writes nothing.
    unsafe { primal.constants(shadow, &mut examine) };
    if let Some(why) = examine.obstacle {
        panic!("argument `{name}` cannot be differentiated in forward mode: {why}");
    }
    types_bookkeeping(format_args!("argument `{name}`"), &T::LAYOUT);
}

/// A type of which the function may make values that can have no tangent.
enum Unfit {
    /// A cell with skipped fields in it.
    Cell,
    /// It has a skipped field of a type that is not `Clone`.
    Single(&'static str),
    /// It has a skipped field that has to be dropped, and lies in an enum.
    Dropped(&'static str),
}

impl Unfit {
    /// One in what `layout` owns or borrows mutably.
    fn find(layout: &'static Layout, in_variant: bool, met: &mut Vec<(*const Layout, bool)>) -> Option<Self> {
        let lent = layout.name.get().starts_with(['&', '*']) && layout.name.get() != "&mut";
        let here = (&raw const *layout, in_variant);
        if lent || met.contains(&here) {
            return None;
        }
        met.push(here);
        // The skipped fields of its variants are fields of an enum's own layout.
        let in_variant = in_variant || layout.fields.get().iter().any(|field| field.kind == Kind::Opaque);
        layout.fields.get().iter().find_map(|field| match field.layout {
            Some(inner) => Self::find(inner(), in_variant, met),
            None if field.is_single() && layout.name.get() == "Cell" => Some(Unfit::Cell),
            None if field.is_single() => Some(Unfit::Single(layout.name.get())),
            None => (in_variant && field.is_dropped()).then(|| Unfit::Dropped(layout.name.get())),
        })
    }
}

/// What the function makes itself may have parts that no argument has yet.
#[track_caller]
#[inline(never)]
pub(super) fn types_bookkeeping(what: Arguments<'_>, layout: &'static Layout) {
    match Unfit::find(layout, false, &mut Vec::new()) {
        None => {}
        Some(Unfit::Cell) => {
            panic!("{what} cannot be differentiated in forward mode: it may hold a `Cell` with skipped fields in it")
        }
        Some(Unfit::Single(name)) => panic!(
            "{what} cannot be differentiated in forward mode: it may hold a `{name}`, which has a skipped field that cannot be cloned for the \
             tangent"
        ),
        Some(Unfit::Dropped(name)) => panic!(
            "{what} cannot be differentiated in forward mode: it may hold a `{name}` in an enum, which has a skipped field that has to be dropped\n\
             help: keep the field outside of the enum, or let it take part: remove its `#[pullback(skip)]`"
        ),
    }
}

/// Finds what stands in the way.
struct Examine<'a> {
    congruence: &'a Congruence,
    standings: Option<HashMap<usize, Standing>>,
    met: HashSet<*const ()>,
    obstacle: Option<String>,
    /// The enums, and counted values, around what is visited.
    inside: Vec<Inside>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Variant,
    Counted,
    /// A counted value with weak references: the function may end them, and have the value to itself.
    Weak,
}

impl Examine<'_> {
    fn object<T: ?Sized>(&mut self, why: &str) {
        self.obstacle.get_or_insert_with(|| format!("it holds a `{}` {why}", type_name::<T>()));
    }
}

impl VisitConstants for Examine<'_> {
    unsafe fn part<T>(&mut self, _: *const T, _: *mut T, clone: Option<CloneFn<T>>, _: bool) {
        if clone.is_none() || is_token::<T>() {
            self.object::<T>("in a skipped field, which cannot be cloned for the tangent");
        } else if needs_drop::<T>() && self.inside.contains(&Inside::Variant) {
            self.object::<T>("in a skipped field of an enum, where it cannot be found");
        } else if self.inside.contains(&Inside::Weak) {
            self.object::<T>("in a skipped field behind an `Rc` that has weak references");
        }
    }

    unsafe fn text(&mut self, _: *const String, _: *mut String) {
        if self.inside.contains(&Inside::Weak) {
            self.object::<String>("behind an `Rc` that has weak references");
        }
    }

    unsafe fn reference<'a, T: ?Sized>(&mut self, _: *const &'a T, _: *mut &'a T) {
        if self.inside.contains(&Inside::Weak) {
            self.object::<&T>("behind an `Rc` that has weak references");
        }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let standings = self.standings.get_or_insert_with(|| self.congruence.standings());
        let inside = match standings.get(&shadow.addr()) {
            Some(Standing::Others) => return false,
            Some(Standing::Weak) => Inside::Weak,
            None => Inside::Counted,
        };
        let new = self.met.insert(shadow);
        if new {
            self.inside.push(inside);
        }
        new
    }

    fn enter_variant(&mut self) {
        self.inside.push(Inside::Variant);
    }

    fn leave(&mut self) {
        self.inside.pop();
    }
}
