//! Taking parts out of shadows, and putting others there.

use super::super::congruence::Standing;
use super::super::owning::text_address;
use super::super::{Congruence, Differentiable};
use super::examine::Inside;
use super::own::{self, Own, Way};
use super::{CloneFn, VisitConstants};
use std::collections::{HashMap, HashSet};
use std::mem::needs_drop;

/// What was taken, and what is known.
pub(super) struct Taken {
    /// Parts that are dropped when the derivative is through.
    parts: Vec<Box<dyn Erased>>,
    /// Where the texts of strings among them are.
    texts: HashSet<*const u8>,
    /// Parts that may borrow.
    own: Own,
    /// What is borrowed by the derivative, and has other parts when it is through.
    borrowed: Vec<Later<'static>>,
    /// Counted values of shadows that came with the arguments, and are not the arguments' alone: they are left alone.
    standings: HashMap<usize, Standing>,
    /// The counted values of shadows that were met.
    met: HashSet<*const ()>,
    /// The places of shadows that have got parts of their own: several ways may lead there.
    adopted: HashSet<*const ()>,
}

/// Puts parts into a shadow when the derivative is through.
type Later<'a> = Box<dyn Fn(&mut Adopt<'_>) + 'a>;

/// A value of some type.
trait Erased {}
impl<T> Erased for T {}

impl Taken {
    /// Nothing yet, of arguments that are all noted.
    pub(super) fn of(congruence: &Congruence) -> Self {
        Taken {
            parts: Vec::new(),
            texts: HashSet::new(),
            own: Own::default(),
            borrowed: Vec::new(),
            standings: congruence.standings(),
            met: HashSet::new(),
            adopted: HashSet::new(),
        }
    }

    /// Put parts of their own into what is borrowed by the derivative, which is through.
    pub(super) fn finish(&mut self) {
        let unfinished = Unfinished;
        let borrowed = std::mem::take(&mut self.borrowed);
        let mut adopt = Adopt::new(self);
        for borrowed in &borrowed {
            borrowed(&mut adopt);
        }
        std::mem::forget(unfinished);
    }
}

/// Is dropped if a `clone` panics when the derivative is through. Then there is no value for the caller's shadow, which
/// will be dropped.
struct Unfinished;

impl Drop for Unfinished {
    #[cold]
    fn drop(&mut self) {
        eprintln!("a skipped field of a tangent cannot be made, for `Clone::clone` of its type has panicked");
        std::process::abort();
    }
}

/// Where a walk through a shadow stands: the enums, owned and counted values around, and the ways to them.
struct Stand {
    root: Way,
    inside: Vec<(Inside, Way)>,
}

impl Stand {
    fn at(root: Way) -> Self {
        Stand { root, inside: Vec::new() }
    }

    fn way(&self) -> Way {
        self.inside.last().map_or(self.root, |(_, way)| *way)
    }

    fn in_variant(&self) -> bool {
        self.inside.iter().any(|(inside, _)| *inside == Inside::Variant)
    }
}

/// Takes parts out of a shadow.
pub(super) struct Take<'a> {
    taken: &'a mut Option<Box<Taken>>,
    congruence: &'a Congruence,
    shadow: *const (),
    stand: Stand,
}

impl<'a> Take<'a> {
    pub(super) fn new<T>(taken: &'a mut Option<Box<Taken>>, congruence: &'a Congruence, shadow: *const T) -> Self {
        Take { taken, congruence, shadow: shadow.cast(), stand: Stand::at(Way::default()) }
    }

    fn way(&mut self) -> Way {
        if self.stand.inside.is_empty() && !self.stand.root.is_known() {
            let shadow = self.shadow;
            self.stand.root = self.taken().own.root(shadow);
        }
        self.stand.way()
    }

    fn taken(&mut self) -> &mut Taken {
        self.taken.get_or_insert_with(|| Box::new(Taken::of(self.congruence)))
    }
}

impl VisitConstants for Take<'_> {
    unsafe fn part<T>(&mut self, _: *const T, shadow: *mut T, _: Option<CloneFn<T>>, borrows: bool) {
        if size_of::<T>() == 0 {
            return;
        }
        if borrows && own::may_borrow::<T>() {
            let way = self.way();
            // SAFETY: S19, asked of the caller.
            unsafe { self.taken().own.keep(way, shadow, (0, 0)) };
        } else if needs_drop::<T>() {
            // SAFETY: S19, asked of the caller.
            let part: Box<dyn Erased> = Box::new(unsafe { shadow.read() });
            // SAFETY: S19, a value that was part of a shadow is dropped before the derivative returns to who lent the
            // shadow.
            let part = unsafe { std::mem::transmute::<Box<dyn Erased + '_>, Box<dyn Erased>>(part) };
            self.taken().parts.push(part);
        }
    }

    unsafe fn text(&mut self, primal: *const String, shadow: *mut String) {
        if !self.stand.in_variant() {
            // SAFETY: S19, asked of the caller.
            unsafe {
                self.taken().texts.insert(text_address(shadow));
                self.part(primal, shadow, Some(String::clone), false);
            }
        }
    }

    unsafe fn reference<'a, T: ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        let way = self.way();
        // SAFETY: S19, asked of the caller.
        unsafe { self.taken().own.keep(way, shadow, own::target(*primal)) };
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, place: *const ()) {
        self.owned(place, shadow.cast_const().cast());
        let way = self.way();
        // SAFETY: S19, asked of the caller.
        let adopt = move |adopt: &mut Adopt<'_>| unsafe { adopt.lent(primal, shadow, way) };
        // SAFETY: S19, it is called before the derivative returns to who lent both.
        let adopt = unsafe { std::mem::transmute::<Later<'_>, Later<'static>>(Box::new(adopt)) };
        self.taken().borrowed.push(adopt);
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
        self.leave();
    }

    fn owned(&mut self, place: *const (), memory: *const ()) {
        let way = self.way();
        let way = self.taken().own.along(way, place, memory);
        self.stand.inside.push((Inside::Owned, way));
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let taken = self.taken();
        let new = !taken.standings.contains_key(&shadow.addr()) && taken.met.insert(shadow);
        if new {
            // Several ways lead there, with other lifetimes.
            self.stand.inside.push((Inside::Counted, Way::default()));
        }
        new
    }

    fn enter_variant(&mut self, number: usize) {
        let way = self.way();
        let way = self.taken().own.in_variant(way, number);
        self.stand.inside.push((Inside::Variant, way));
    }

    fn leave(&mut self) {
        self.stand.inside.pop();
    }
}

/// Puts clones of a primal's parts into a shadow.
pub(super) struct Adopt<'a> {
    taken: &'a mut Taken,
    /// What mutable references lead to: address and size.
    borrowed: HashSet<(*const (), usize)>,
    met: HashSet<*const ()>,
    stand: Stand,
}

impl<'a> Adopt<'a> {
    /// Into what nothing is known of yet: the tangent of a result.
    pub(super) fn new(taken: &'a mut Taken) -> Self {
        Adopt { taken, borrowed: HashSet::new(), met: HashSet::new(), stand: Stand::at(Way::default()) }
    }

    /// Into what is lent, at the end of a way.
    ///
    /// # Safety
    /// As for [`borrowed`](VisitConstants::borrowed).
    unsafe fn lent<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, way: Way) {
        // SAFETY: S19, asked of the caller. It may be memory that the function has made and never gives back, of which
        // nobody else knows.
        unsafe {
            if self.borrowed.insert((shadow.cast_const().cast(), size_of_val(&*primal))) {
                self.stand.inside.push((Inside::Owned, way));
                (*primal).constants(shadow, self);
                self.leave();
            }
        }
    }

    /// Whether there is no value at this place yet.
    fn is_missing<T>(&self, place: *mut T) -> bool {
        !self.taken.adopted.contains(&place.cast_const().cast())
    }

    /// Whether there is text of a shadow at this address: not the primal's, and not one that was taken out and moved
    /// there.
    fn is_text(&self, address: *const u8, primal: *const u8) -> bool {
        !address.is_null() && address != primal && !self.taken.texts.contains(&address)
    }
}

/// A clone with the room of the original: in an enum the two are compared when a derivative is called again.
fn with_room(text: &String) -> String {
    let mut clone = String::with_capacity(text.capacity());
    clone.push_str(text);
    clone
}

impl VisitConstants for Adopt<'_> {
    unsafe fn part<T>(&mut self, primal: *const T, shadow: *mut T, clone: Option<CloneFn<T>>, borrows: bool) {
        // Several values without a size may lie at one place. They are there already.
        let Some(clone) = clone.filter(|_| size_of::<T>() > 0 && self.is_missing(shadow)) else { return };
        // SAFETY: S19, asked of the caller. What is there is no value.
        unsafe {
            if !(borrows && own::may_borrow::<T>()) {
                shadow.write(clone(&*primal));
            } else if !self.taken.own.put_back(self.stand.way(), shadow, (0, 0)) {
                // The types of all arguments and results were looked at before.
                let part = own::lasting(primal);
                shadow.write(part.expect("there is a part wherever none can be made"));
            }
        }
        self.taken.adopted.insert(shadow.cast_const().cast());
    }

    unsafe fn text(&mut self, primal: *const String, shadow: *mut String) {
        // SAFETY: S19, asked of the caller.
        unsafe {
            // In an enum the engine makes memory for the shadow, too, where it sees the primal's made. Elsewhere it
            // writes no string.
            let own = self.stand.in_variant() && self.is_text(text_address(shadow), text_address(primal));
            if !own {
                self.part(primal, shadow, Some(with_room), false);
            }
        }
    }

    unsafe fn reference<'a, T: ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        if !self.is_missing(shadow) {
            return;
        }
        // SAFETY: S19, asked of the caller.
        unsafe {
            if !self.taken.own.put_back(self.stand.way(), shadow, own::target(*primal)) {
                shadow.write(own::kept(*primal));
            }
        }
        self.taken.adopted.insert(shadow.cast_const().cast());
    }

    unsafe fn nothing<T>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { primal.copy_to_nonoverlapping(shadow, 1) }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, place: *const ()) {
        let way = self.taken.own.along(self.stand.way(), place, shadow);
        // SAFETY: S19, asked of the caller.
        unsafe { self.lent(primal, shadow, way) }
    }

    fn owned(&mut self, place: *const (), memory: *const ()) {
        let way = self.taken.own.along(self.stand.way(), place, memory);
        self.stand.inside.push((Inside::Owned, way));
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let new = !self.taken.standings.contains_key(&shadow.addr()) && self.met.insert(shadow);
        if new {
            self.stand.inside.push((Inside::Counted, Way::default()));
        }
        new
    }

    fn enter_variant(&mut self, number: usize) {
        let way = self.taken.own.in_variant(self.stand.way(), number);
        self.stand.inside.push((Inside::Variant, way));
    }

    fn leave(&mut self) {
        self.stand.inside.pop();
    }
}
