use pullback::Differentiable;
use std::cell::Cell;
use std::sync::Mutex;

#[derive(Differentiable)]
struct Logged {
    x: f64,
    #[pullback(skip)]
    log: Mutex<String>,
    #[pullback(skip)]
    last: Cell<Option<Box<str>>>,
}

fn main() {}
