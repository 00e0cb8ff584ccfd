use pullback::{autodiff, rrule};

fn total(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[rrule(for = total)]
fn total_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64]) + use<>) {
    let owned = x.to_vec();
    (total(x), move |dy: f64, dx: &mut [f64]| {
        for (dx, x) in dx.iter_mut().zip(owned) {
            *dx += 2.0 * dy * x;
        }
    })
}

#[autodiff(df, Reverse(2), Duplicated, Active)]
fn f(x: &[f64]) -> f64 {
    total(x)
}

fn main() {
    println!("{:?}", df(&[1.0], [&mut [0.0], &mut [0.0]], [1.0, 2.0]));
}
