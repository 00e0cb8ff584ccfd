//! What stands in the way of parts of their own.

use super::super::congruence::Standing;
use super::super::hashing::{Map, Set};
use super::super::{Congruence, Differentiable, layout_of};
use super::{CloneFn, VisitConstants, is_token, own};
use crate::abi::{Field, Kind, Layout};
use std::any::type_name;
use std::cell::Cell;
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
    place: Place,
) {
    let known = Known::of(layout_of::<T>(), place);
    if known == Some(Known::NoParts) {
        return;
    }
    let mut examine = Examine { congruence, standings: None, met: Set::default(), obstacle: None, inside: Vec::new() };
    // SAFETY: S19, asked of the caller. This pass writes nothing.
    unsafe { primal.constants(shadow, &mut examine) };
    if let Some(why) = examine.obstacle {
        panic!("argument `{name}` cannot be differentiated in forward mode: {why}");
    }
    if known.is_none() {
        types_bookkeeping(format_args!("argument `{name}`"), layout_of::<T>(), place);
    }
}

/// What is known of a type that has been looked at, and found fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Known {
    /// There may be parts in its values, or in what they lead to.
    Parts,
    /// There are none.
    NoParts,
}

/// Layouts and places of which something is known.
type Lines = [Cell<Option<(*const Layout, Place, Known)>>; 64];

thread_local! {
    static KNOWN: Lines = const { [const { Cell::new(None) }; 64] };
}

impl Known {
    /// Types are known by the addresses of their layouts. If two have one, it is the same layout.
    fn of(layout: &'static Layout, place: Place) -> Option<Self> {
        let known = KNOWN.with(|lines| Self::line(lines, layout).get());
        known.filter(|known| (known.0, known.1) == (&raw const *layout, place)).map(|known| known.2)
    }

    /// Note that a type is fit.
    fn note(layout: &'static Layout, place: Place) {
        let known = if may_have_parts(layout, &mut Vec::new()) { Known::Parts } else { Known::NoParts };
        KNOWN.with(|lines| Self::line(lines, layout).set(Some((layout, place, known))));
    }

    fn line<'a>(lines: &'a Lines, layout: &'static Layout) -> &'a Cell<Option<(*const Layout, Place, Self)>> {
        let address = (&raw const *layout).addr();
        &lines[(address / align_of::<Layout>()) % lines.len()]
    }
}

/// Whether there may be strings, skipped fields, or references to what carries no derivative, in what a type leads to.
pub(in super::super) fn may_have_parts(layout: &'static Layout, met: &mut Vec<*const Layout>) -> bool {
    if met.contains(&&raw const *layout) {
        return false;
    }
    met.push(layout);
    let name = layout.name.get();
    let holds = |field: &Field| {
        field.kind == Kind::Unknown && !field.is_borrows()
            || field.layout.is_some_and(|inner| may_have_parts(inner(), met))
    };
    // Nothing is visited behind a raw pointer.
    !name.starts_with('*') && (name == "&" || name == "String" || layout.fields.get().iter().any(holds))
}

/// A type of which the function may make values that can have no tangent.
enum Unfit {
    /// A cell with skipped fields in it.
    Cell,
    /// It has a skipped field of a type that is not `Clone`.
    Single(&'static str),
    /// It has a skipped field that has to be dropped, and lies in an enum.
    Dropped(&'static str),
    /// It has a skipped field that may borrow, and of which there may be none in the shadow yet.
    Borrowing(&'static str),
}

/// Where values of a type may lie when the derivative is through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Nowhere: they were moved in.
    Moved,
    /// Where there were such values before.
    Lent,
    /// As `Moved`, of a function that puts no values where there were none.
    MovedToStay,
    /// Where they were before.
    Still,
    /// Where there may have been none.
    New,
}

impl Place {
    /// In what `field` of `layout` is or leads to.
    fn within(self, layout: &Layout, field: &Field, inner: &Layout) -> Self {
        let holds = |layout: &Layout, kind| layout.fields.get().iter().any(|field| field.kind == kind);
        let is_pointer = field.kind == Kind::Pointer;
        match self {
            Place::Moved if is_pointer && layout.name.get() == "&mut" => Place::Lent,
            Place::MovedToStay if is_pointer && layout.name.get() == "&mut" => Place::Still,
            // Several ways lead there, so nobody knows it as the same place.
            Place::Still if is_pointer && holds(inner, Kind::Owners) => Place::New,
            Place::Lent => {
                // There is always one value behind a thin pointer; others have lengths.
                let is_thin = layout.size == size_of::<usize>() && !holds(inner, Kind::Owners);
                let may_be_none = field.is_optional() || holds(layout, Kind::Opaque) || is_pointer && !is_thin;
                if may_be_none { Place::New } else { Place::Lent }
            }
            place => place,
        }
    }
}

/// What the layout of a skipped field of a type leads to, if its type may name a lifetime. The driver does not look at
/// it.
pub fn part_layout<T>() -> &'static Layout {
    if size_of::<T>() > 0 && own::may_borrow::<T>() && !own::can_last::<T>() {
        const { &Layout::new::<T>(BORROWING, &[]) }
    } else {
        const { &Layout::new::<T>("", &[]) }
    }
}

/// The name of the layout of what borrows.
const BORROWING: &str = "borrowing";

impl Unfit {
    /// One in what `layout` owns or borrows mutably.
    fn find(
        layout: &'static Layout,
        in_variant: bool,
        place: Place,
        met: &mut Vec<(*const Layout, bool, Place)>,
    ) -> Option<Self> {
        let lent = layout.name.get().starts_with(['&', '*']) && layout.name.get() != "&mut";
        let here = (&raw const *layout, in_variant, place);
        if lent || met.contains(&here) {
            return None;
        }
        met.push(here);
        // The skipped fields of its variants are fields of an enum's own layout.
        let in_variant = in_variant || layout.fields.get().iter().any(|field| field.kind == Kind::Opaque);
        layout.fields.get().iter().find_map(|field| match field.layout {
            Some(inner) if field.kind != Kind::Unknown => {
                let inner = inner();
                Self::find(inner, in_variant, place.within(layout, field, inner), met)
            }
            _ if field.is_single() && layout.name.get() == "Cell" => Some(Unfit::Cell),
            _ if field.is_single() => Some(Unfit::Single(layout.name.get())),
            _ if in_variant && field.is_dropped() => Some(Unfit::Dropped(layout.name.get())),
            Some(of) => {
                let is_new = place == Place::New || place == Place::Lent && in_variant;
                (is_new && of().name.get() == BORROWING).then(|| Unfit::Borrowing(layout.name.get()))
            }
            None => None,
        })
    }
}

/// What the function makes itself may have parts that no argument has yet.
#[track_caller]
#[inline(never)]
pub(super) fn types_bookkeeping(what: Arguments<'_>, layout: &'static Layout, place: Place) {
    if Known::of(layout, place).is_some() {
        return;
    }
    match Unfit::find(layout, false, place, &mut Vec::new()) {
        None => Known::note(layout, place),
        Some(Unfit::Cell) => {
            panic!("{what} cannot be differentiated in forward mode: it may hold a `Cell` with skipped fields in it")
        }
        Some(Unfit::Single(name)) => panic!(
            "{what} cannot be differentiated in forward mode: it may hold a `{name}`, which has a skipped field that \
             cannot be cloned for the tangent"
        ),
        Some(Unfit::Dropped(name)) => panic!(
            "{what} cannot be differentiated in forward mode: it may hold a `{name}` in an enum, which has a skipped \
             field that has to be dropped\n\
             help: keep the field outside of the enum, or let it take part: remove its `#[pullback(skip)]`"
        ),
        Some(Unfit::Borrowing(name)) => panic!(
            "{what} cannot be differentiated in forward mode: there may be a new `{name}` in it, with a skipped field \
             that borrows what may not live as long as the tangent\n\
             help: let the field own what it holds, or lend such values by `&mut` to them, or to a slice of them"
        ),
    }
}

/// Finds what stands in the way.
struct Examine<'a> {
    congruence: &'a Congruence,
    standings: Option<Map<usize, Standing>>,
    met: Set<*const ()>,
    obstacle: Option<String>,
    /// The enums, and counted values, around what is visited.
    inside: Vec<Inside>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Inside {
    Variant,
    Owned,
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

    unsafe fn reference<'a, T: Differentiable + ?Sized>(&mut self, _: *const &'a T, _: *mut &'a T) {
        if self.inside.contains(&Inside::Weak) {
            self.object::<&T>("behind an `Rc` that has weak references");
        }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, _: *const ()) {
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
    }

    fn owned(&mut self, _: *const (), _: *const ()) {
        self.inside.push(Inside::Owned);
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

    fn enter_variant(&mut self, _: usize) {
        self.inside.push(Inside::Variant);
    }

    fn leave(&mut self) {
        self.inside.pop();
    }
}
