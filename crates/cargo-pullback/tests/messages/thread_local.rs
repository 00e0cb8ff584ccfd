use pullback::grad;
use std::cell::Cell;
use std::hint::black_box;

thread_local! {
    static LAST: Cell<f64> = Cell::new(black_box(1.0));
}

fn f(x: &[f64; 2]) -> f64 {
    LAST.set(x[0] * x[1]);
    LAST.get()
}

fn main() {
    println!("{:?}", grad(f, &[2.0, 3.0]));
}
