//! What cannot be an element of an array, or an argument.

use pullback_kernel::{Value, kernel};

#[kernel]
fn length(text: String) -> u64 {
    text.len() as u64
}

#[derive(Value, Clone, Copy)]
enum Shape {
    Round,
    Square,
}

#[derive(Value, Clone, Copy)]
struct Named {
    x: f32,
    name: &'static str,
}

#[kernel]
fn add(x: f32, y: f32) -> f32 {
    x + y
}

#[kernel]
fn increase(x: &mut f32) {
    *x += 1.0;
}

fn main() {
    let doubles = vec![1.0_f64, 2.0];
    let floats = vec![1.0_f32, 2.0];
    let _ = add.call(&doubles, 1.0);
    let _ = add.call(&floats);
    let _ = increase.call(&floats);
}
