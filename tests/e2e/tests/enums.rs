//! Enums with payload: built inside, as arguments, as shadows.

use pullback::{Differentiable, autodiff, make_zero};

#[derive(Clone, Copy)]
enum Op {
    Add(f64),
    Mul(f64),
    Sin,
    Pair(f64, f64),
}

fn apply(op: Op, x: f64) -> f64 {
    match op {
        Op::Add(c) => x + c,
        Op::Mul(c) => x * c,
        Op::Sin => x.sin(),
        Op::Pair(a, b) => a * x + b,
    }
}

pullback_e2e::differentiated! {
    fn built_inside(x) {
        let ops = [Op::Add(x[0]), Op::Mul(x[1]), Op::Sin, Op::Pair(x[0], x[1])];
        ops.iter().fold(x[2], |v, op| apply(*op, v))
    } at [0.5, 1.5, 2.5];

    fn chosen_by_data(x) {
        let mut v = x[0];
        for (i, c) in x.iter().enumerate() {
            let op = match i % 3 {
                0 => Op::Mul(*c),
                1 if *c > 1.0 => Op::Add(*c),
                _ => Op::Sin,
            };
            v = apply(op, v);
        }
        v
    } at [1.1, 2.2, 0.3, 0.4, 0.5], [0.9, 0.8, 0.7];

    fn in_a_vec(x) {
        let ops: Vec<Op> = x.iter().map(|v| if *v > 0.0 { Op::Mul(*v) } else { Op::Pair(*v, 1.0) }).collect();
        ops.into_iter().fold(1.0, |v, op| apply(op, v))
    } at [1.5, -2.0, 0.5];
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
enum Shape {
    Empty,
    Circle { radius: f64 },
    Rectangle(f64, f64),
    Polygon(Vec<(f64, f64)>),
}

#[autodiff(d_area, Reverse, Duplicated, Active)]
#[autodiff(t_area, Forward, Dual, Dual)]
fn area(shape: &Shape) -> f64 {
    match shape {
        Shape::Empty => 0.0,
        Shape::Circle { radius } => std::f64::consts::PI * radius * radius,
        Shape::Rectangle(a, b) => a * b,
        Shape::Polygon(points) => {
            let next = points.iter().cycle().skip(1);
            points.iter().zip(next).map(|(p, q)| 0.5 * (p.0 * q.1 - p.1 * q.0)).sum()
        }
    }
}

#[test]
fn as_arguments() {
    let gradient = |shape: Shape| {
        let mut shadow = make_zero(&shape);
        assert_eq!(d_area(&shape, &mut shadow), area(&shape));
        shadow
    };
    assert_eq!(gradient(Shape::Empty), Shape::Empty);
    assert_eq!(gradient(Shape::Circle { radius: 2.0 }), Shape::Circle { radius: 4.0 * std::f64::consts::PI });
    assert_eq!(gradient(Shape::Rectangle(2.0, 3.0)), Shape::Rectangle(3.0, 2.0));
    assert_eq!(
        gradient(Shape::Polygon(vec![(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)])),
        Shape::Polygon(vec![(-1.0, 0.0), (1.0, -1.0), (0.0, 1.0)])
    );
}

#[test]
fn tangents() {
    assert_eq!(t_area(&Shape::Rectangle(2.0, 3.0), &Shape::Rectangle(1.0, 10.0)), (6.0, 23.0));
}
