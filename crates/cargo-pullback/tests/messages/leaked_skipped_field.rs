use pullback::{Differentiable, autodiff};

#[derive(Differentiable)]
struct Named {
    x: f64,
    #[pullback(skip)]
    name: Box<str>,
}

fn named(x: f64) -> Named {
    Named { x, name: Box::from("made inside") }
}

#[autodiff(t_one, Forward, Dual, Dual)]
fn one(x: f64) -> &'static Named {
    Box::leak(Box::new(named(x * x)))
}

#[autodiff(t_text, Forward, Dual, Dual)]
fn text(x: f64) -> &'static Vec<(f64, String)> {
    Box::leak(Box::new(vec![(x * x, String::from("made inside"))]))
}

#[autodiff(t_slot, Forward, Dual, Dual)]
fn slot(slot: &mut Option<&'static [Named]>, x: f64) {
    let all = vec![named(x), named(x * x)].leak();
    all[0].x *= 2.0;
    *slot = Some(all);
}

#[autodiff(t_floats, Forward, Dual, Dual)]
fn floats(x: f64) -> &'static [f64] {
    vec![x, x * x].leak()
}

#[autodiff(t_lent, Forward, Dual, Dual)]
fn lent(all: &mut Vec<Named>) -> &mut Named {
    all.push(named(all[0].x * 2.0));
    let last = all.len() - 1;
    &mut all[last]
}

fn main() {
    let (mut all, mut tangents) = (vec![named(1.0)], vec![named(1.0)]);
    println!("{} {}", t_one(3.0, 1.0).1.x, t_text(3.0, 1.0).1.len());
    t_slot(&mut None, &mut None, 3.0, 1.0);
    println!("{:?} {}", t_floats(3.0, 1.0), t_lent(&mut all, &mut tangents).1.name);
}
