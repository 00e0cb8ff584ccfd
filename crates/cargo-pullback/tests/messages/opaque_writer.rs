//! Memory of std's types that std itself writes text to: in forward mode its tangent would have to follow.

use pullback::{Differentiable, autodiff};
use std::fmt::Write as _;
use std::io::Write as _;

#[derive(Differentiable)]
struct Journal {
    x: f64,
    bytes: Vec<u8>,
}

#[autodiff(t_bytes, Forward, Dual, Dual)]
fn bytes(of: &mut Journal) -> f64 {
    write!(of.bytes, "x = {}", of.x).unwrap();
    of.bytes.push(b'!');
    of.x * of.x
}

#[derive(Differentiable)]
enum Entry {
    Number(f64),
    Text(f64, String),
}

#[autodiff(t_text, Forward, Dual, Dual)]
fn text(entry: &mut Entry) -> f64 {
    match entry {
        Entry::Number(x) => *x,
        Entry::Text(x, text) => {
            write!(text, "x = {x}").unwrap();
            text.push('!');
            *x * *x
        }
    }
}

fn main() {
    let journal = |x| Journal { x, bytes: Vec::new() };
    println!("{:?}", t_bytes(&mut journal(3.0), &mut journal(1.0)));
    let entry = |x| Entry::Text(x, String::new());
    println!("{:?}", t_text(&mut entry(3.0), &mut entry(1.0)));
    println!("{:?}", t_text(&mut Entry::Number(3.0), &mut Entry::Number(1.0)));
}
