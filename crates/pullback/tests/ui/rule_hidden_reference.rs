//! A reference that an alias hides, and that seems to live forever: the rule gets the arguments of its function.

use pullback::rules::NoTangent;
use pullback::{frule, rrule};

type Table = &'static [f64];

fn lookup(table: &[f64], x: f64) -> f64 {
    table[0] * x
}

#[rrule(for = lookup)]
fn lookup_rrule(table: Table, x: f64) -> (f64, impl Fn(f64) -> (NoTangent, f64) + 'static) {
    (lookup(table, x), move |d| (NoTangent, table[0] * d))
}

#[frule(for = lookup)]
fn lookup_frule(table: Table, _: NoTangent, x: f64, dx: f64) -> (f64, f64) {
    (lookup(table, x), table[0] * dx)
}

fn main() {}
