use pullback::{Differentiable, autodiff};

#[derive(Clone, Copy, Differentiable)]
enum Reading {
    Exact(f64),
    Count(u64),
    Half(f32),
}

fn pick(a: &Reading, b: &Reading, first: bool) -> Reading {
    if first { *a } else { *b }
}

#[autodiff(df, Reverse, Duplicated, Duplicated, Const, Const)]
fn f(from: &Reading, to: &mut Reading, first: bool) {
    *to = pick(from, to, first);
}

fn main() {
    let (mut d_from, mut to, mut d_to) = (Reading::Exact(0.0), Reading::Half(0.0), Reading::Half(0.0));
    df(&Reading::Exact(1.0), &mut d_from, &mut to, &mut d_to, true);
    if let Reading::Count(n) = to {
        println!("{n}");
    }
}
