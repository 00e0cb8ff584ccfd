//! Pullback as a tool of GradBench: answers the messages on standard input, one line each, on standard output.
//!
//! An eval is a module of [`evals`]: a primal in plain Rust, and its derivatives by Pullback.

mod evals;
mod protocol;

use pullback_measure::memory::Counting;
use std::io;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> io::Result<()> {
    protocol::serve(&evals::ALL, io::stdin().lock(), io::stdout().lock())
}
