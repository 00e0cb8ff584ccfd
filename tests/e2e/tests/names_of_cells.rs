//! A cell that is given beside what it lies in has two names. They have one shadow, or there is a panic, wherever it
//! lies.

use pullback::{Differentiable, autodiff};
use std::cell::Cell;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

#[derive(Differentiable)]
struct Node {
    cells: [Cell<f64>; 2],
    next: Option<Box<Node>>,
}

#[derive(Differentiable)]
struct Lent {
    cell: Cell<f64>,
    lent: &'static mut Cell<f64>,
}

#[derive(Differentiable)]
#[allow(dead_code)]
enum Variant {
    Cells { rate: f64, cells: [(Cell<f64>, f64); 2] },
    Nothing,
}

fn lent<T>(value: T) -> &'static mut T {
    Box::leak(Box::new(value))
}

#[track_caller]
fn refused<T>(call: impl FnOnce() -> T) {
    let Err(said) = catch_unwind(AssertUnwindSafe(call)) else { panic!("two names are taken for two cells") };
    let said = said.downcast::<String>().unwrap();
    assert!(said.starts_with("arguments `") && said.contains("` share memory"), "{said}");
}

macro_rules! containers {
    ($($name:ident: $T:ty, $x:ident => $make:expr, $a:ident => $cell:expr;)*) => {$(
        mod $name {
            use super::*;

            #[autodiff(tangent, Forward, Dual, Dual, Dual)]
            #[autodiff(gradient, Reverse, Duplicated, Duplicated, Active)]
            fn both(a: &$T, b: &Cell<f64>) -> f64 {
                cell(a).set(b.get() * b.get());
                b.get() * 3.0
            }

            #[autodiff(tangent_of_cell, Forward, Const, Dual, Dual)]
            #[autodiff(gradient_of_cell, Reverse, Const, Duplicated, Active)]
            fn of_cell(a: &$T, b: &Cell<f64>) -> f64 {
                b.set(b.get() * b.get());
                cell(a).get() * b.get()
            }

            #[autodiff(tangent_of_all, Forward, Dual, Const, Dual)]
            #[autodiff(gradient_of_all, Reverse, Duplicated, Const, Active)]
            fn of_all(a: &$T, b: &Cell<f64>) -> f64 {
                cell(a).set(cell(a).get() * cell(a).get());
                cell(a).get() * b.get()
            }

            fn cell<'a>($a: &'a $T) -> &'a Cell<f64> {
                $cell
            }

            fn make($x: Cell<f64>) -> $T {
                $make
            }

            #[test]
            fn has_names_of_its_own() {
                let (a, mut da) = (make(Cell::new(2.0)), make(Cell::new(0.0)));
                let (b, mut db) = (cell(&a), Cell::new(1.0));
                refused(|| tangent(&a, &da, b, &db));
                refused(|| tangent_of_cell(&a, b, &db));
                refused(|| tangent_of_all(&a, &da, b));
                refused(|| gradient(&a, &mut da, b, &mut db));
                refused(|| gradient_of_cell(&a, b, &mut db));
                refused(|| gradient_of_all(&a, &mut da, b));
                assert_eq!((b.get(), cell(&da).get(), db.get()), (2.0, 0.0, 1.0));
                let da = make(Cell::new(1.0));
                assert_eq!(tangent(&a, &da, b, cell(&da)), (12.0, 12.0));
                assert_eq!((b.get(), cell(&da).get()), (4.0, 4.0));
                // Another cell has another shadow.
                let (b, mut db) = (Cell::new(2.0), Cell::new(1.0));
                assert_eq!(tangent(&a, &da, &b, &db), (6.0, 3.0));
                assert_eq!(gradient(&a, &mut make(Cell::new(1.0)), &b, &mut db), 6.0);
                assert_eq!(db.get(), 8.0);
            }
        }
    )*};
}

containers! {
    by_itself: Cell<f64>, x => x, a => a;
    array: [Cell<f64>; 2], x => [Cell::new(0.0), x], a => &a[1];
    slice_in_a_box: Box<[Cell<f64>]>, x => Box::new([Cell::new(0.0), x]), a => &a[1];
    tuple: (f64, Cell<f64>), x => (0.0, x), a => &a.1;
    range: Range<Cell<f64>>, x => Cell::new(0.0)..x, a => &a.end;
    option: Option<Cell<f64>>, x => Some(x), a => a.as_ref().unwrap();
    option_of_an_array: Option<[Cell<f64>; 2]>, x => Some([Cell::new(0.0), x]), a => &a.as_ref().unwrap()[1];
    result: Result<[Cell<f64>; 1], u8>, x => Ok([x]), a => &a.as_ref().unwrap()[0];
    boxed: Box<Cell<f64>>, x => Box::new(x), a => a;
    vector: Vec<Cell<f64>>, x => vec![Cell::new(0.0), x], a => &a[1];
    vector_of_options: Vec<Option<[Cell<f64>; 1]>>, x => vec![None, Some([x])], a => &a[1].as_ref().unwrap()[0];
    counted: Rc<Cell<f64>>, x => Rc::new(x), a => a;
    mutable_reference: &'static mut Cell<f64>, x => lent(x), a => a;
    mutable_slice: &'static mut [Cell<f64>], x => lent([Cell::new(0.0), x]), a => &a[1];
    counted_mutable_reference: Rc<&'static mut Cell<f64>>, x => Rc::new(lent(x)), a => a;
    list: Node, x => Node { cells: [x, Cell::new(0.0)], next: None }, a => &a.cells[0];
    in_a_list: Node, x => Node {
        cells: Default::default(),
        next: Some(Box::new(Node { cells: [x, Cell::new(0.0)], next: None })),
    },
        a => &a.next.as_ref().unwrap().cells[0];
    beside_a_cell: Lent, x => Lent { cell: Cell::new(0.0), lent: lent(x) }, a => a.lent;
    that_borrows_others: Lent, x => Lent { cell: x, lent: lent(Cell::new(0.0)) }, a => &a.cell;
    variant: Variant, x => Variant::Cells { rate: 0.0, cells: [(Cell::new(0.0), 0.0), (x, 0.0)] },
        a => match a { Variant::Cells { cells, rate: _ } => &cells[1].0, Variant::Nothing => unreachable!() };
}

#[autodiff(t_list, Forward, Dual, Dual, Dual)]
fn list_and_slice(a: &Node, b: &[Cell<f64>]) -> f64 {
    a.cells[0].set(b[0].get() * b[0].get());
    b[0].get() * 3.0
}

#[test]
fn all_cells_of_a_list() {
    let node = |x| Node { cells: [Cell::new(x), Cell::new(0.0)], next: None };
    let (a, da) = (node(2.0), node(1.0));
    refused(|| t_list(&a, &da, &a.cells, &[Cell::new(1.0), Cell::new(0.0)]));
    assert_eq!(t_list(&a, &da, &a.cells, &da.cells), (12.0, 12.0));
}
