use pullback::{autodiff, rrule};

fn total(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[rrule(for = total)]
fn total_rrule(x: &[f64]) -> (f64, impl Fn(f64, &mut [f64])) {
    let pullback = move |dy: f64, dx: &mut [f64]| {
        for (dx, x) in dx.iter_mut().zip(x) {
            *dx += 2.0 * dy * x;
        }
    };
    (total(x), pullback)
}

#[autodiff(df, Reverse, Duplicated, Active)]
fn f(x: &mut [f64]) -> f64 {
    let before = total(x);
    x[0] = before;
    before
}

fn main() {
    println!("{:?}", df(&mut [1.0], &mut [0.0]));
}
