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

mod floats_and_numbers_of_32_bits {
    //! In registers they are halves of a word with the tag.

    use pullback::{Differentiable, autodiff, grad, jvp, vjp};
    use std::num::NonZeroU32;

    #[autodiff(d_passed, Reverse, Active, Active)]
    #[autodiff(t_passed, Forward, Dual, Dual)]
    fn passed(u: Result<f32, u32>) -> f32 {
        match u {
            Ok(a) => a * a,
            Err(z) => (z + 1) as f32,
        }
    }

    #[test]
    fn passed_by_value() {
        assert_eq!(d_passed(Ok(1.5)), (Ok(3.0), 2.25));
        assert_eq!(t_passed(Ok(1.5), Ok(1.0)), (2.25, 3.0));
        assert_eq!(d_passed(Err(4)), (Err(4), 5.0));
        assert_eq!(t_passed(Err(4), Err(4)), (5.0, 0.0));
    }

    #[test]
    fn returned() {
        let f = |x: &f32| if *x > 0.0 { Ok(x * x) } else { Err((x * -10.0) as u32) };
        assert_eq!(jvp(f, &3.0, &1.0), (Ok(9.0), Ok(6.0)));
        assert_eq!(jvp(f, &-3.0, &1.0), (Err(30), Err(30)));
        let (value, pullback) = vjp(f, &3.0);
        assert_eq!((value, pullback(Ok(1.0))), (Ok(9.0), 6.0));
    }

    #[test]
    fn in_a_vector() {
        let f = |x: &[f32]| -> f32 {
            let mut all = vec![];
            for &y in x {
                all.push(if y > 1.0 { Ok(y * y) } else { Err((y * 10.0) as u32) });
            }
            all.iter().map(|r| r.map_or_else(|e| e as f32, |a| a)).sum()
        };
        assert_eq!(jvp(f, &[3.0, 0.25][..], &[1.0, 1.0][..]), (11.0, 6.0));
        assert_eq!(grad(f, &[3.0, 0.25][..]), [6.0, 0.0]);
    }

    #[derive(Clone, Copy, Debug, PartialEq, Differentiable)]
    enum Entry {
        Value(f32),
        Key(NonZeroU32),
    }

    #[autodiff(t_mapped, Forward, Const, Dual, Dual)]
    fn mapped(entry: Entry, x: f32) -> Entry {
        match entry {
            Entry::Value(a) => Entry::Value(a * x),
            Entry::Key(k) => Entry::Key(k.saturating_mul(k)),
        }
    }

    #[autodiff(d_looked_up, Reverse, Active, Active, Active)]
    fn looked_up(entry: Entry, x: f32) -> f32 {
        match mapped(entry, x) {
            Entry::Value(a) => a,
            Entry::Key(k) => k.get() as f32,
        }
    }

    #[test]
    fn mapped_inside() {
        let key = |k: u32| Entry::Key(NonZeroU32::new(k).expect("not zero"));
        assert_eq!(t_mapped(Entry::Value(5.0), 2.0, 1.0), (Entry::Value(10.0), Entry::Value(5.0)));
        assert_eq!(t_mapped(key(3), 2.0, 1.0), (key(9), key(9)));
        assert_eq!(d_looked_up(Entry::Value(5.0), 2.0), (Entry::Value(2.0), 5.0, 10.0));
        assert_eq!(d_looked_up(key(3), 2.0), (key(3), 0.0, 9.0));
    }
}

mod strings_beside_floats {
    use pullback::{grad, hvp, jvp};

    #[derive(Clone)]
    enum Item {
        Float(f64),
        Floats(Vec<f64>),
        Name(String),
    }

    fn sum_of_clones(x: &[f64]) -> f64 {
        let mut items = vec![];
        for i in 0..x.len() {
            items.push(match i % 3 {
                0 => Item::Float(x[i]),
                1 => Item::Floats(vec![x[i]]),
                _ => Item::Name(format!("the {i}th")),
            });
        }
        let clones = items.clone();
        let value = |item: &Item| match item {
            Item::Float(x) => x * x,
            Item::Floats(x) => x[0].powi(3),
            Item::Name(name) => name.len() as f64,
        };
        items.iter().chain(&clones).map(value).sum()
    }

    /// The bytes of a string lie where those of a vector lie in another variant, and have no shadow.
    #[test]
    fn cloned() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(jvp(sum_of_clones, &x[..], &x[..]), (314.0, 866.0));
        assert_eq!(grad(sum_of_clones, &x[..]), [4.0, 24.0, 0.0, 16.0, 150.0]);
    }

    #[test]
    fn cloned_in_second_derivatives() {
        let (x, ones) = ([1.0, 2.0, 3.0, 4.0, 5.0], [1.0; 5]);
        let along = |x: &[f64]| jvp(sum_of_clones, x, &[1.0; 5][..]).1;
        let second = [4.0, 24.0, 0.0, 4.0, 60.0];
        assert_eq!(hvp(sum_of_clones, &x[..], &ones[..]), second);
        assert_eq!(grad(along, &x[..]), second);
        assert_eq!(jvp(along, &x[..], &ones[..]).1, second.iter().sum());
    }
}
