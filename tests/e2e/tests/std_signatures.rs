//! Code written for nightly's `std::autodiff`, with only its `use` line changed.

use pullback::{autodiff_forward, autodiff_reverse};

#[autodiff_reverse(d_square, Duplicated, Active)]
#[autodiff_forward(t_square, Dual, Dual)]
#[autodiff_forward(t_square_only, Dual, DualOnly)]
#[autodiff_forward(t_square_4, 4, Dual, Dual)]
#[autodiff_forward(t_square_4_only, 4, Dual, DualOnly)]
fn square(x: &f64) -> f64 {
    x * x
}

#[test]
fn reverse() {
    let mut dx = 0.0;
    assert_eq!(d_square(&3.0, &mut dx, 1.0), 9.0);
    assert_eq!(dx, 6.0);
    d_square(&3.0, &mut dx, 10.0);
    assert_eq!(dx, 66.0);
}

#[test]
fn forward() {
    assert_eq!(t_square(&3.0, &1.0), (9.0, 6.0));
    assert_eq!(t_square_only(&3.0, &2.0), 12.0);
    assert_eq!(t_square_4(&3.0, &1.0, &0.0, &2.0, &-1.0), [9.0, 6.0, 0.0, 12.0, -6.0]);
    assert_eq!(t_square_4_only(&3.0, &1.0, &0.0, &2.0, &-1.0), [6.0, 0.0, 12.0, -6.0]);
}

#[autodiff_reverse(d_scalars, Active, Active, Active)]
#[autodiff_reverse(d_scalars_only, Active, Const, ActiveOnly)]
fn scalars(x: f32, y: f32) -> f32 {
    x * y
}

#[test]
fn the_primal_comes_first() {
    assert_eq!(d_scalars(2.0, 5.0, 1.0), (10.0, 5.0, 2.0));
    assert_eq!(d_scalars_only(2.0, 5.0, 1.0), 5.0);
}

#[autodiff_reverse(d_batch, 2, Duplicated, Active)]
#[autodiff_forward(t_stacked, 2, Dualv, Dual)]
fn product(x: &[f32]) -> f32 {
    x[0] * x[1]
}

#[test]
fn widths() {
    let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
    assert_eq!(d_batch(&[2.0, 5.0], &mut a, &mut b, [1.0, -1.0]), 10.0);
    assert_eq!((a, b), ([5.0, 2.0], [-5.0, -2.0]));
    assert_eq!(t_stacked(&[2.0, 5.0], &[1.0, 0.0, 0.0, 1.0]), [10.0, 5.0, 2.0]);
}

#[autodiff_reverse(d_pointer, Duplicated, Active)]
unsafe fn pointer(x: *const f32) -> f32 {
    // SAFETY: asked of the caller.
    unsafe { *x * *x.add(1) }
}

#[test]
fn raw_pointers() {
    let (x, mut dx) = ([2.0, 5.0], [0.0; 2]);
    // SAFETY: both arrays have the two elements that the function reads.
    let value = unsafe { d_pointer(x.as_ptr(), dx.as_mut_ptr(), 1.0) };
    assert_eq!((value, dx), (10.0, [5.0, 2.0]));
}

thread_local! {
    static CALLS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[autodiff_forward(t_nothing)]
fn nothing() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
}

#[test]
fn no_arguments() {
    t_nothing();
    assert_eq!(CALLS.with(std::cell::Cell::get), 1);
}
