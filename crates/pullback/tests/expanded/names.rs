//! Memory with several names: cells and `Rc`s.

use super::stand_ins::{StandIn, asked, message};
use pullback::abi::Mode;
use pullback::rt::Tape;
use pullback::{autodiff, make_zero};
use std::cell::Cell;
use std::rc::Rc;

type Shared = Rc<Vec<Cell<f64>>>;

#[autodiff(d_store, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(d_store_const, Reverse, Const, Duplicated, Active)]
fn store(to: &Cell<f64>, from: &[Shared]) -> f64 {
    let sum: f64 = from.iter().flat_map(|shared| shared.iter()).map(Cell::get).sum();
    to.set(2.0 * sum);
    sum
}

unsafe extern "C-unwind" fn store_derivative(
    _: *mut Tape,
    to: *const &Cell<f64>,
    d_to: *const *const Cell<f64>,
    from: *const &[Shared],
    d_from: *const *const [Shared],
    out: *mut f64,
    d_out: *mut f64,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(store(to.read(), from.read()));
        let seed = d_out.replace(0.0) + 2.0 * (*d_to.read()).take();
        for cell in (*d_from.read()).iter().flat_map(|shared| shared.iter()) {
            cell.set(cell.get() + seed);
        }
    }
}

#[test]
fn one_value_has_one_shadow() {
    StandIn::new(store_derivative as *const ()).of("store", Mode::Reverse);
    let shared: Shared = Rc::new(vec![Cell::new(1.0), Cell::new(2.0)]);
    let from = [shared.clone(), shared.clone()];
    let mut shadow = make_zero(&from);
    assert!(Rc::ptr_eq(&shadow[0], &shadow[1]));
    let (to, mut d_to) = (Cell::new(0.0), Cell::new(1.0));
    assert_eq!(d_store(&to, &mut d_to, &from, &mut shadow), 6.0);
    assert_eq!((to.get(), d_to.get(), shadow[0][0].get(), shadow[0][1].get()), (12.0, 0.0, 6.0, 6.0));

    // Two shadows for one value.
    let mut wrong = [make_zero(&shared), make_zero(&shared)];
    let said = message(|| d_store(&to, &mut d_to, &from, &mut wrong));
    assert!(said.contains("what is one value in the arguments"), "{said}");
    // `to` is one of the cells, and its shadow is not.
    let said = message(|| d_store(&shared[0], &mut d_to, &from, &mut shadow));
    assert!(said.contains("`to` and `from` share memory"), "{said}");
    let said = message(|| d_store_const(&shared[0], &from, &mut shadow));
    assert!(said.contains("one is `Const`"), "{said}");
    // A shadow that is the primal.
    let mut itself = [shared.clone(), shared.clone()];
    let said = message(|| d_store(&to, &mut d_to, &from, &mut itself));
    assert!(said.contains("is memory of argument"), "{said}");
    assert_eq!((asked(), to.get(), shadow[0][0].get()), (1, 12.0, 6.0));
}

#[autodiff(t_drop_one, Forward, Dual, Const, Dual)]
fn drop_one(mut values: Vec<Rc<f64>>, _other: Option<Rc<f64>>) -> Vec<Rc<f64>> {
    values.pop();
    values
}

unsafe extern "C-unwind" fn drop_one_derivative(
    values: *mut Vec<Rc<f64>>,
    d_values: *mut Vec<Rc<f64>>,
    other: *mut Option<Rc<f64>>,
    out: *mut Vec<Rc<f64>>,
    d_out: *mut Vec<Rc<f64>>,
) {
    // SAFETY: as of a derivative.
    unsafe {
        out.write(drop_one(values.read(), other.read()));
        d_out.write(drop_one(d_values.read(), None));
    }
}

#[test]
fn owners_are_counted_in_forward_mode() {
    StandIn::new(drop_one_derivative as *const ()).disowning().of("drop_one", Mode::Forward);
    let values = |of: f64| {
        let value = Rc::new(of);
        vec![value.clone(), value]
    };
    let (value, tangent) = t_drop_one(values(2.0), values(3.0), None);
    assert_eq!((value, tangent), (vec![Rc::new(2.0)], vec![Rc::new(3.0)]));
    let said = message(|| t_drop_one(values(2.0), vec![Rc::new(3.0), Rc::new(4.0)], None));
    assert!(said.contains("owners"), "{said}");
    // An owner without a shadow, which may be the last one then.
    let (of, tangent) = (values(2.0), values(3.0));
    let (other, d_other) = (of[0].clone(), tangent[0].clone());
    let said = message(|| t_drop_one(of, tangent, Some(other)));
    assert!(said.contains("have a shadow"), "{said}");
    assert_eq!((Rc::strong_count(&d_other), asked()), (1, 1));
}
