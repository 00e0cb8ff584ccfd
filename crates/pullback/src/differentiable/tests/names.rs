//! Cells have names wherever they lie: in every container of every container, given beside the cell itself.

use super::super::*;

use crate::__private::{LayoutOf, check};
use pullback_macros::Differentiable;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex};

/// A value in which there is a cell.
trait Holds: Differentiable + 'static {
    fn new() -> Self;
    fn cell(&self) -> &Cell<f64>;
}

/// A value that is lent for ever. It is reached from here, so that nobody takes it for lost.
fn lent<T>(value: T) -> &'static mut T {
    static LENT: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());
    let lent = Box::leak(Box::new(value));
    LENT.lock().unwrap().push(AtomicPtr::new((&raw mut *lent).cast()));
    lent
}

impl Holds for Cell<f64> {
    fn new() -> Self {
        Cell::new(1.0)
    }

    fn cell(&self) -> &Cell<f64> {
        self
    }
}

#[derive(Differentiable)]
#[allow(dead_code)]
struct Named<T> {
    x: f64,
    inner: T,
}

/// What lies where depends on a variant that has nothing to do with the cell.
#[derive(Differentiable)]
struct Beside<T> {
    next: Option<Box<Self>>,
    inner: T,
}

/// The memory around has a cell of its own.
#[derive(Differentiable)]
struct Among<T> {
    cell: Cell<f64>,
    inner: T,
}

#[derive(Differentiable)]
#[allow(dead_code)]
enum Variant<T> {
    Nothing,
    Something { x: f64, inner: T },
}

macro_rules! containers {
    ($($C:ty, $inner:ident => $make:expr, $this:pat => $cell:expr;)*) => {
        $(impl<T: Holds> Holds for $C {
            fn new() -> Self {
                let $inner = T::new;
                $make
            }

            fn cell(&self) -> &Cell<f64> {
                #[allow(irrefutable_let_patterns)]
                let $this = self else { unreachable!() };
                T::cell($cell)
            }
        })*

        /// Calls `test` for each container of a `T`.
        fn each<T: Holds>(test: &mut impl Test) {
            $(test.run::<$C>();)*
        }
    };
}

containers! {
    [T; 2], new => [new(), new()], [_, inner] => inner;
    (T, f64), new => (new(), 0.0), (inner, _) => inner;
    (u8, T, Option<f64>), new => (0, new(), None), (_, inner, _) => inner;
    Range<T>, new => new()..new(), Range { end, .. } => end;
    Option<T>, new => Some(new()), Some(inner) => inner;
    Result<T, u8>, new => Ok(new()), Ok(inner) => inner;
    Result<f64, T>, new => Err(new()), Err(inner) => inner;
    Box<T>, new => Box::new(new()), inner => inner;
    Box<[T]>, new => Box::new([new(), new()]), inner => &inner[1];
    Vec<T>, new => vec![new(), new()], inner => &inner[1];
    VecDeque<T>, new => VecDeque::from([new(), new()]), inner => &inner[1];
    Rc<T>, new => Rc::new(new()), inner => inner;
    Arc<T>, new => Arc::new(new()), inner => inner;
    &'static T, new => lent(new()), inner => inner;
    &'static [T], new => lent([new(), new()]), inner => &inner[1];
    &'static mut T, new => lent(new()), inner => inner;
    &'static mut [T], new => lent([new(), new()]), inner => &inner[1];
    Named<T>, new => Named { x: 0.0, inner: new() }, Named { inner, .. } => inner;
    Beside<T>, new => Beside { next: None, inner: new() }, Beside { inner, .. } => inner;
    Among<T>, new => Among { cell: Cell::new(0.0), inner: new() }, Among { inner, .. } => inner;
    Variant<T>, new => Variant::Something { x: 0.0, inner: new() }, Variant::Something { inner, .. } => inner;
}

trait Test {
    fn run<T: Holds>(&mut self);
}

/// The containers of which a cell has a name that is missed.
#[derive(Default)]
struct Missed(Vec<String>);

impl Test for Missed {
    fn run<T: Holds>(&mut self) {
        let (a, da, db) = (&T::new(), &T::new(), Cell::new(1.0));
        let (b, both) = (a.cell(), Some(da.cell()));
        // The names of the container and of the cell, each with its shadow, or as a constant.
        let names = |masked: Option<&Masked>, da: Option<&T>, db: Option<&Cell<f64>>| {
            let mut congruence = Congruence::default();
            // SAFETY: S7, the types are the same.
            unsafe {
                match da {
                    Some(da) => check("a", &a, &da, masked, (&congruence, 0)),
                    None => LayoutOf::<&T>::name("a", &a, &congruence),
                }
                match db {
                    Some(db) => check("b", &b, &db, masked, (&congruence, 0)),
                    None => LayoutOf::<&Cell<f64>>::name("b", &b, &congruence),
                }
            }
            let said = catch_unwind(AssertUnwindSafe(|| congruence.assert_congruent()));
            said.err().map(|said| *said.downcast::<String>().unwrap())
        };
        let masked = Masked::default();
        for masked in [None, Some(&masked)] {
            let wrong = [
                names(masked, Some(da), Some(&db)),
                names(masked, None, Some(&db)),
                names(masked, Some(da), None),
                names(masked, Some(a), Some(&db)),
            ];
            for (number, said) in wrong.into_iter().enumerate() {
                if !said.is_some_and(|said| said.contains(" memory")) {
                    self.0.push(format!("{number} {} {}", masked.is_some(), std::any::type_name::<T>()));
                }
            }
            assert_eq!(names(masked, Some(da), both), None, "{}", std::any::type_name::<T>());
            assert_eq!(names(masked, None, None), None, "{}", std::any::type_name::<T>());
        }
    }
}

/// The containers of each container.
struct Nested<'a>(&'a mut Missed);

impl Test for Nested<'_> {
    fn run<T: Holds>(&mut self) {
        self.0.run::<T>();
        // Miri, a thousand times slower, sees each container once.
        if !cfg!(miri) {
            each::<T>(self.0);
        }
    }
}

#[test]
fn a_cell_is_known_by_its_name_in_every_container() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Missed::default();
    each::<Cell<f64>>(&mut Nested(&mut missed));
    std::panic::set_hook(hook);
    assert!(missed.0.is_empty(), "{} names are missed: {:#?}", missed.0.len(), missed.0);
}
