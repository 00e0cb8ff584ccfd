//! Pullback's own build tasks.

fn main() {}
