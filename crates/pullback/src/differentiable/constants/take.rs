//! Taking parts out of shadows, and putting others there.

use super::super::congruence::Standing;
use super::super::hashing::{Map, Set};
use super::super::owning::text_address;
use super::super::{Congruence, Differentiable};
use super::examine::Inside;
use super::kept::kept;
use super::own::{self, Ahead, Own, Unknown, Way};
use super::{CloneFn, VisitConstants};
use std::mem::needs_drop;

/// What was taken, and what is known.
pub(super) struct Taken {
    /// Parts that are dropped when the derivative is through.
    parts: Vec<Box<dyn Erased>>,
    /// Where the texts of strings among them are.
    texts: Set<*const u8>,
    /// Parts that may borrow.
    own: Own,
    /// What is borrowed by the derivative, and has other parts when it is through.
    borrowed: Vec<(Later<'static>, Way)>,
    /// Counted values of shadows that came with the arguments, and are not the arguments' alone: they are left alone.
    standings: Map<usize, Standing>,
    /// The counted values of shadows that were met.
    met: Set<*const ()>,
    /// The places of shadows that have got parts of their own: several ways may lead there.
    adopted: Set<*const ()>,
}

/// Puts parts into a shadow, at the end of a way, when the derivative is through.
type Later<'a> = Box<dyn Fn(&mut Adopt<'_>, Way) + 'a>;

/// A value of some type.
trait Erased {}
impl<T> Erased for T {}

impl Taken {
    /// Nothing yet, of arguments that are all noted.
    pub(super) fn of(congruence: &Congruence) -> Self {
        Taken {
            parts: Vec::new(),
            texts: Set::default(),
            own: Own::default(),
            borrowed: Vec::new(),
            standings: congruence.standings(),
            met: Set::default(),
            adopted: Set::default(),
        }
    }

    /// Put parts of their own into what is borrowed by the derivative, which is through.
    pub(super) fn finish(&mut self) {
        let unfinished = Unfinished;
        let borrowed = std::mem::take(&mut self.borrowed);
        self.own.rewind();
        let mut adopt = Adopt::new(self);
        for (borrowed, way) in &borrowed {
            borrowed(&mut adopt, *way);
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
    inside: Vec<(Inside, Ahead)>,
}

impl Stand {
    fn at(root: Way) -> Self {
        Stand { root, inside: Vec::new() }
    }

    /// Into memory that the pointer at `place` leads to.
    fn follow(&mut self, place: *const (), memory: *const ()) {
        self.inside.push((Inside::Owned, Ahead::Pointer { place: place.addr(), memory: memory.addr() }));
    }

    /// Into a counted value. Several ways lead there, with other lifetimes.
    fn share(&mut self) {
        self.inside.push((Inside::Counted, Ahead::Known(Way::default())));
    }

    /// The way here.
    fn way(&mut self, own: &mut Own, unknown: Unknown) -> Way {
        let mut way = self.root;
        let known = self.inside.iter().rposition(|(_, ahead)| matches!(ahead, Ahead::Known(_)));
        for (_, ahead) in &mut self.inside[known.unwrap_or(0)..] {
            way = own.after(way, *ahead, unknown);
            *ahead = Ahead::Known(way);
        }
        way
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

    /// Keep a part that may borrow.
    ///
    /// # Safety
    /// As of [`Own::keep`].
    unsafe fn keep<T>(&mut self, place: *mut T, target: (usize, usize)) {
        let taken = self.taken.get_or_insert_with(|| Box::new(Taken::of(self.congruence)));
        if !self.stand.root.is_known() {
            self.stand.root = taken.own.root(self.shadow);
        }
        let way = self.stand.way(&mut taken.own, Unknown::Note);
        // SAFETY: S19, asked of the caller.
        unsafe { taken.own.keep(way, place, target) }
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
            // SAFETY: S19, asked of the caller.
            unsafe { self.keep(shadow, (0, 0)) };
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

    unsafe fn reference<'a, T: Differentiable + ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        // SAFETY: S19, asked of the caller.
        unsafe { self.keep(shadow, own::target(*primal)) };
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, place: *const ()) {
        // SAFETY: S19, asked of the caller.
        let adopt = move |adopt: &mut Adopt<'_>, way| unsafe { adopt.lent(primal, shadow, Ahead::Known(way)) };
        // SAFETY: S19, it is called before the derivative returns to who lent both.
        let adopt = unsafe { std::mem::transmute::<Later<'_>, Later<'static>>(Box::new(adopt)) };
        let borrowed = &mut self.taken().borrowed;
        let number = borrowed.len();
        borrowed.push((adopt, Way::default()));
        self.stand.follow(place, shadow.cast_const().cast());
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
        // Else nothing was taken out there that is to be found again.
        if let Some((_, Ahead::Known(way))) = self.stand.inside.pop() {
            self.taken().borrowed[number].1 = way;
        }
    }

    fn owned(&mut self, place: *const (), memory: *const ()) {
        self.stand.follow(place, memory);
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let taken = self.taken();
        let new = !taken.standings.contains_key(&shadow.addr()) && taken.met.insert(shadow);
        if new {
            self.stand.share();
        }
        new
    }

    fn enter_variant(&mut self, number: usize) {
        self.stand.inside.push((Inside::Variant, Ahead::Variant(number)));
    }

    fn leave(&mut self) {
        self.stand.inside.pop();
    }
}

/// Puts clones of a primal's parts into a shadow.
pub(super) struct Adopt<'a> {
    taken: &'a mut Taken,
    /// What mutable references lead to: address and size.
    borrowed: Set<(*const (), usize)>,
    met: Set<*const ()>,
    stand: Stand,
}

impl<'a> Adopt<'a> {
    /// Into what nothing is known of yet: the tangent of a result.
    pub(super) fn new(taken: &'a mut Taken) -> Self {
        Adopt { taken, borrowed: Set::default(), met: Set::default(), stand: Stand::at(Way::default()) }
    }

    /// Into what is lent, at the end of a way.
    ///
    /// # Safety
    /// As for [`borrowed`](VisitConstants::borrowed).
    unsafe fn lent<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, way: Ahead) {
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

    /// Put the part back that was here.
    ///
    /// # Safety
    /// As of [`Own::put_back`].
    unsafe fn put_back<T>(&mut self, place: *mut T, target: (usize, usize)) -> bool {
        let way = self.stand.way(&mut self.taken.own, Unknown::Leave);
        // SAFETY: S19, asked of the caller.
        unsafe { self.taken.own.put_back(way, place, target) }
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
            } else if !self.put_back(shadow, (0, 0)) {
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

    unsafe fn reference<'a, T: Differentiable + ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        if !self.is_missing(shadow) {
            return;
        }
        // SAFETY: S19, asked of the caller.
        unsafe {
            if !self.put_back(shadow, own::target(*primal)) {
                shadow.write(kept(*primal));
            }
        }
        self.taken.adopted.insert(shadow.cast_const().cast());
    }

    unsafe fn nothing<T>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { primal.copy_to_nonoverlapping(shadow, 1) }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T, place: *const ()) {
        let way = Ahead::Pointer { place: place.addr(), memory: shadow.addr() };
        // SAFETY: S19, asked of the caller.
        unsafe { self.lent(primal, shadow, way) }
    }

    fn owned(&mut self, place: *const (), memory: *const ()) {
        self.stand.follow(place, memory);
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let new = !self.taken.standings.contains_key(&shadow.addr()) && self.met.insert(shadow);
        if new {
            self.stand.share();
        }
        new
    }

    fn enter_variant(&mut self, number: usize) {
        self.stand.inside.push((Inside::Variant, Ahead::Variant(number)));
    }

    fn leave(&mut self) {
        self.stand.inside.pop();
    }
}
