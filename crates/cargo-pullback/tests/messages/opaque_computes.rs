//! Code of the program's that std runs and that computes floats from active data, where there were none before.

use pullback::grad;
use std::cell::Cell;
use std::fmt::{self, Write};

fn shown(x: &[f64; 2]) -> f64 {
    let (product, last) = (x[0] * x[1], Cell::new(0.0));
    let text = fmt::from_fn(|f| {
        last.set(product);
        f.write_str("shown")
    });
    last.get() + text.to_string().len() as f64 + last.get()
}

struct Sum<'a> {
    sum: &'a mut f64,
    by: f64,
}

impl fmt::Write for Sum<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self.sum += self.by * text.len() as f64;
        Ok(())
    }
}

fn written(x: &[f64; 2]) -> f64 {
    let mut sum = 0.0;
    write!(Sum { sum: &mut sum, by: x[0] * x[1] }, "{}", 3).unwrap();
    sum
}

fn main() {
    println!("{:?} {:?}", grad(shown, &[2.0, 3.0]), grad(written, &[2.0, 3.0]));
}
