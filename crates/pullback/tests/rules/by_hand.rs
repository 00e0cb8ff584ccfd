//! A derivative by hand: calls the functions of a rule as generated code does.

use pullback::abi::Rule;
use pullback::rt::Tape;
use std::mem::{MaybeUninit, transmute};

/// Memory for what a rule keeps, aligned for everything. (Not numbers: pointers that are moved as such would lead
/// nowhere.)
#[repr(align(16))]
pub struct Kept([MaybeUninit<u8>; 256]);

impl Kept {
    fn new() -> Self {
        Kept([MaybeUninit::new(0xaa); 256])
    }

    /// Whether nothing was written behind so many bytes.
    fn ends_at(&self, size: usize) -> bool {
        // SAFETY: what was not written is as in `new`, and what is written are bytes.
        self.0[size..].iter().all(|byte| unsafe { byte.assume_init() } == 0xaa)
    }
}

/// A call of a rule with one place for each argument, and one for the result.
pub struct Call {
    rule: &'static Rule,
    tape: Tape,
    closure: Kept,
    view: Kept,
}

/// The places of an argument, or of the result, and of its shadow.
#[derive(Clone, Copy)]
pub struct Place(*mut (), *mut ());

impl Place {
    /// A value with its shadow, which may be a `&mut` where the value is a `&`.
    pub fn new<T, S>(primal: *mut T, shadow: *mut S) -> Self {
        assert_eq!(size_of::<T>(), size_of::<S>());
        Place(primal.cast(), shadow.cast())
    }

    /// A value without a shadow.
    pub fn constant<T>(primal: *mut T) -> Self {
        Place(primal.cast(), std::ptr::null_mut())
    }

    /// The value, as one without a shadow.
    pub fn without_shadow(self) -> Self {
        Place(self.0, std::ptr::null_mut())
    }
}

type P = *mut ();

/// Calls `$function` with pointers, as many as there are in `$pointers`.
macro_rules! call {
    ($function:expr, $pointers:expr; $($count:literal: $($P:ident)*;)*) => {
        match $pointers[..] {
            // SAFETY: so many pointers is what the function takes.
            $([$($P),*] => unsafe {
                transmute::<*const (), unsafe extern "C-unwind" fn($(call!(@ $P)),*)>($function)($($P),*)
            },)*
            _ => panic!("too many pointers"),
        }
    };
    (@ $P:ident) => { P };
}

fn call_with_pointers(function: *const (), pointers: &[P]) {
    assert!(!function.is_null());
    call! { function, pointers;
        2: a b;
        3: a b c;
        4: a b c d;
        5: a b c d e;
        6: a b c d e f;
        7: a b c d e f g;
        8: a b c d e f g h;
        9: a b c d e f g h i;
        10: a b c d e f g h i j;
        11: a b c d e f g h i j k;
        12: a b c d e f g h i j k l;
        16: a b c d e f g h i j k l m n o p;
    }
}

impl Call {
    /// The forward sweep: the value, the pullback, and the view of the shadows. The last place is the result's.
    ///
    /// # Safety
    /// The places are those of the rule's arguments and of its result.
    pub unsafe fn forward_sweep(rule: &'static Rule, places: &[Place]) -> Self {
        assert_eq!(places.len(), rule.args.get().len());
        let mut call = Call { rule, tape: Tape::new(), closure: Kept::new(), view: Kept::new() };
        let (tape, closure, view) =
            ((&raw mut call.tape).cast(), (&raw mut call.closure).cast(), (&raw mut call.view).cast());
        let primals = places.iter().map(|place| place.0);
        call_with_pointers(rule.augmented, &[tape, closure].into_iter().chain(primals).collect::<Vec<P>>());
        assert_eq!(rule.view.is_null(), rule.viewed.size == 0);
        if !rule.view.is_null() {
            let both = places.iter().flat_map(|place| [place.0, place.1]);
            call_with_pointers(rule.view, &[tape, view].into_iter().chain(both).collect::<Vec<P>>());
        }
        // Nothing is written beyond what the record says.
        assert!(call.closure.ends_at(rule.closure.size) && call.view.ends_at(rule.viewed.size));
        call
    }

    /// The reverse sweep.
    ///
    /// # Safety
    /// As above.
    pub unsafe fn reverse_sweep(&mut self, places: &[Place]) {
        let (closure, view) = ((&raw mut self.closure).cast(), (&raw mut self.view).cast());
        let shadows = places.iter().map(|place| place.1);
        call_with_pointers(self.rule.pullback, &[closure, view].into_iter().chain(shadows).collect::<Vec<P>>());
    }
}

/// The target itself.
///
/// # Safety
/// The places are those of the rule's arguments and of its result.
pub unsafe fn primal(rule: &'static Rule, places: &[Place]) {
    assert_eq!(places.len(), rule.args.get().len());
    call_with_pointers(rule.primal, &places.iter().map(|place| place.0).collect::<Vec<P>>());
}

/// Both sweeps.
///
/// # Safety
/// The places are those of the rule's arguments and of its result.
pub unsafe fn reverse(rule: &'static Rule, places: &[Place]) {
    // SAFETY: asked of the caller.
    unsafe { Call::forward_sweep(rule, places).reverse_sweep(places) }
}

/// Forward mode.
///
/// # Safety
/// The places are those of the rule's arguments and of its result.
pub unsafe fn forward(rule: &'static Rule, places: &[Place]) {
    assert_eq!(places.len(), rule.args.get().len());
    call_with_pointers(rule.tangent, &places.iter().flat_map(|place| [place.0, place.1]).collect::<Vec<P>>());
}

/// The derivative of `f` at `x` by central differences.
pub fn difference(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    let h = 1e-5;
    (f(x + h) - f(x - h)) / (2.0 * h)
}

/// Asserts that two numbers are nearly the same.
#[track_caller]
pub fn assert_close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs())), "{a} is not {b}");
}
