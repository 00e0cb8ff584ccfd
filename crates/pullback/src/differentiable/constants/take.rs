//! Taking parts out of shadows, and putting others there.

use super::super::congruence::Standing;
use super::super::owning::text_address;
use super::super::{Congruence, Differentiable};
use super::examine::Inside;
use super::own::{self, Own};
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
    pub(super) borrowed: Vec<Later<'static>>,
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
}

/// Is dropped if a `clone` panics when the derivative is through. Then there is no value for the caller's shadow, which
/// will be dropped.
pub(super) struct Unfinished;

impl Drop for Unfinished {
    #[cold]
    fn drop(&mut self) {
        eprintln!("a skipped field of a tangent cannot be made, for `Clone::clone` of its type has panicked");
        std::process::abort();
    }
}

/// Takes parts out of a shadow.
pub(super) struct Take<'a> {
    taken: &'a mut Option<Box<Taken>>,
    congruence: &'a Congruence,
    inside: Vec<Inside>,
}

impl<'a> Take<'a> {
    pub(super) fn new(taken: &'a mut Option<Box<Taken>>, congruence: &'a Congruence) -> Self {
        Take { taken, congruence, inside: Vec::new() }
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
        if borrows {
            // SAFETY: S19, asked of the caller.
            unsafe { self.taken().own.keep(shadow) };
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
        if !self.inside.contains(&Inside::Variant) {
            // SAFETY: S19, asked of the caller.
            unsafe {
                self.taken().texts.insert(text_address(shadow));
                self.part(primal, shadow, Some(String::clone), false);
            }
        }
    }

    unsafe fn reference<'a, T: ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        // SAFETY: S19, asked of the caller.
        unsafe { self.taken().own.keep_reference(*primal, shadow) };
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        let adopt = move |adopt: &mut Adopt<'_>| unsafe { adopt.borrowed(primal, shadow) };
        // SAFETY: S19, it is called before the derivative returns to who lent both.
        let adopt = unsafe { std::mem::transmute::<Later<'_>, Later<'static>>(Box::new(adopt)) };
        self.taken().borrowed.push(adopt);
        // SAFETY: S19, asked of the caller.
        unsafe { (*primal).constants(shadow, self) }
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let taken = self.taken();
        let new = !taken.standings.contains_key(&shadow.addr()) && taken.met.insert(shadow);
        if new {
            self.inside.push(Inside::Counted);
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

/// Puts clones of a primal's parts into a shadow.
pub(super) struct Adopt<'a> {
    taken: &'a mut Taken,
    /// Whether it is an argument's shadow, which the caller has had before.
    is_argument: bool,
    /// What mutable references lead to: address and size.
    borrowed: HashSet<(*const (), usize)>,
    met: HashSet<*const ()>,
    inside: Vec<Inside>,
}

impl<'a> Adopt<'a> {
    /// The tangents of results.
    pub(super) fn result(taken: &'a mut Taken) -> Self {
        Adopt { taken, is_argument: false, borrowed: HashSet::new(), met: HashSet::new(), inside: Vec::new() }
    }

    /// The shadows of arguments.
    pub(super) fn arguments(taken: &'a mut Taken) -> Self {
        Adopt { is_argument: true, ..Self::result(taken) }
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

    /// A value of a type that may borrow, of which another one may be made for this place in a shadow.
    fn lasting<T>(&self, primal: *const T) -> *const T {
        let own = &self.taken.own;
        match own.any::<T>() {
            Some(own) if self.is_argument => own,
            None if self.is_argument && !own.is_empty() => {
                eprintln!(
                    "a function differentiated in forward mode makes a `{}`, which may borrow what does not live as long as its tangent",
                    std::any::type_name::<T>()
                );
                std::process::abort()
            }
            _ => primal,
        }
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
            if !borrows {
                shadow.write(clone(&*primal));
            } else if !self.taken.own.put_back(shadow) {
                shadow.write(clone(&*self.lasting(primal)));
            }
        }
        self.taken.adopted.insert(shadow.cast_const().cast());
    }

    unsafe fn text(&mut self, primal: *const String, shadow: *mut String) {
        // SAFETY: S19, asked of the caller.
        unsafe {
            // In an enum the engine makes memory for the shadow, too, where it sees the primal's made. Elsewhere it
            // writes no string.
            let own =
                self.inside.contains(&Inside::Variant) && self.is_text(text_address(shadow), text_address(primal));
            if !own {
                self.part(primal, shadow, Some(with_room), false);
            }
        }
    }

    unsafe fn reference<'a, T: ?Sized>(&mut self, primal: *const &'a T, shadow: *mut &'a T) {
        // SAFETY: S19, asked of the caller. Whoever has a reference may have it twice.
        unsafe {
            let own = self.taken.own.reference(*primal).or_else(|| self.taken.own.at(shadow));
            shadow.write(match own {
                Some(own) => own,
                None if self.is_argument && !self.taken.own.is_empty() => own::kept(*primal),
                None => *primal,
            });
        }
    }

    unsafe fn nothing<T>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller.
        unsafe { primal.copy_to_nonoverlapping(shadow, 1) }
    }

    unsafe fn borrowed<T: Differentiable + ?Sized>(&mut self, primal: *const T, shadow: *mut T) {
        // SAFETY: S19, asked of the caller. It may be memory that the function has made and never gives back, of which
        // nobody else knows.
        unsafe {
            if self.borrowed.insert((shadow.cast_const().cast(), size_of_val(&*primal))) {
                (*primal).constants(shadow, self);
            }
        }
    }

    fn counted(&mut self, shadow: *const ()) -> bool {
        let new = !self.taken.standings.contains_key(&shadow.addr()) && self.met.insert(shadow);
        if new {
            self.inside.push(Inside::Counted);
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
