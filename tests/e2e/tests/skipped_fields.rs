//! Fields with `#[pullback(skip)]` are constants, whatever they hold and wherever the value goes.

use pullback::{Differentiable, autodiff, grad, jvp, make_zero};

#[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
struct Rated {
    weight: f64,
    #[pullback(skip)]
    rate: f64,
    bias: f64,
}

const R: Rated = Rated { weight: 3.0, rate: 0.5, bias: 2.0 };

fn product(r: &Rated) -> f64 {
    r.weight * r.rate * r.bias
}

/// The shadow's own rate is no tangent, and gets no cotangent.
#[test]
fn a_float_that_is_skipped() {
    let direction = Rated { weight: 1.0, rate: 100.0, bias: 10.0 };
    assert_eq!(jvp(product, &R, &direction), (3.0, 0.5 * 2.0 + 10.0 * 3.0 * 0.5));
    assert_eq!(grad(product, &R), Rated { weight: 1.0, rate: 0.5, bias: 1.5 });
}

#[autodiff(d_moved, Reverse, Duplicated, Const, Active)]
#[autodiff(t_moved, Forward, Dual, Const, Dual)]
fn moved(all: &[Rated], k: usize) -> f64 {
    // Copies of one, of a few and of many.
    let one = all[k];
    let mut many = all.to_vec();
    many.rotate_left(k);
    many.push(one);
    many.iter().zip(all).map(|(a, b)| a.weight * a.rate + b.bias * a.bias * b.rate).sum::<f64>() + product(&one)
}

#[test]
fn skipped_floats_that_are_copied() {
    let all: Vec<Rated> =
        (0..5).map(|i| Rated { weight: 1.0 + i as f64, rate: 0.25 * i as f64 + 1.0, bias: 2.0 - i as f64 }).collect();
    let mut shadow: Vec<Rated> = all.clone();
    shadow.iter_mut().for_each(|s| (s.weight, s.bias) = (0.0, 0.0));
    let value = d_moved(&all, &mut shadow, 2);
    assert_eq!(value, moved(&all, 2));
    for i in 0..5 {
        assert_eq!(shadow[i].rate, all[i].rate);
        for weight in [true, false] {
            let (mut up, mut down, h) = (all.clone(), all.clone(), 1e-6);
            let mut direction: Vec<Rated> = all.clone();
            direction.iter_mut().for_each(|s| (s.weight, s.bias) = (0.0, 0.0));
            if weight {
                (up[i].weight, down[i].weight, direction[i].weight) = (all[i].weight + h, all[i].weight - h, 1.0);
            } else {
                (up[i].bias, down[i].bias, direction[i].bias) = (all[i].bias + h, all[i].bias - h, 1.0);
            }
            let difference = (moved(&up, 2) - moved(&down, 2)) / (2.0 * h);
            let gradient = if weight { shadow[i].weight } else { shadow[i].bias };
            assert!((gradient - difference).abs() < 1e-6, "{i} {weight}: {gradient}, {difference}");
            assert_eq!(t_moved(&all, &direction, 2), (value, gradient));
        }
    }
}

#[autodiff(d_assigned, Reverse, Duplicated, Duplicated)]
fn assigned(to: &mut Rated, from: &Rated) {
    let rate = to.rate;
    *to = *from;
    to.weight *= to.rate;
    to.rate = rate + 1.0;
}

/// The shadow's skipped fields are the caller's.
#[test]
fn skipped_floats_that_are_overwritten() {
    let (mut to, from) = (R, Rated { weight: 5.0, rate: 7.0, bias: 11.0 });
    let mut d_to = Rated { weight: 1.0, rate: 13.0, bias: 10.0 };
    let mut d_from = Rated { weight: 0.0, rate: 17.0, bias: 0.0 };
    d_assigned(&mut to, &mut d_to, &from, &mut d_from);
    assert_eq!(to, Rated { weight: 35.0, rate: 1.5, bias: 11.0 });
    assert_eq!(d_from, Rated { weight: 7.0, rate: 17.0, bias: 10.0 });
    assert_eq!(d_to, Rated { weight: 0.0, rate: 13.0, bias: 0.0 });
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Table {
    scale: f64,
    #[pullback(skip)]
    knots: Vec<f64>,
    #[pullback(skip)]
    order: Vec<usize>,
}

#[test]
fn what_a_skipped_field_leads_to() {
    let table = Table { scale: 2.0, knots: vec![1.0, 2.0, 4.0], order: vec![2, 0, 1] };
    let f = |t: &Table| t.order.iter().enumerate().map(|(i, k)| t.knots[*k] * t.scale.powi(i as i32)).sum::<f64>();
    let gradient = grad(f, &table);
    assert_eq!(gradient, Table { scale: 1.0 + 2.0 * 2.0 * 2.0, ..table.clone() });
    let mut direction = make_zero(&table);
    direction.scale = 1.0;
    assert_eq!(jvp(f, &table, &direction), (4.0 + 2.0 + 8.0, 9.0));
}
