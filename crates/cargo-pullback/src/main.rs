//! The cargo subcommand and link driver of Pullback.

fn main() {}
