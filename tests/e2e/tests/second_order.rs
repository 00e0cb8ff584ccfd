//! Derivatives of derivatives: every mode over every mode, against finite differences of the first derivative.

use pullback::{Differentiable, grad, hessian, hvp, jvp, value_and_grad, vjp};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    assert!((a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs())), "{what}: {a} and {b}");
}

/// The product of the Hessian of `f` at `x` with `v`, by all four pairs of modes, and by differences of gradients.
#[track_caller]
fn check<F: Fn(&[f64]) -> f64 + Copy>(f: F, x: &[f64], v: &[f64]) {
    let by_reverse = |x: &[f64]| dot(&grad(f, x), v);
    let by_forward = |x: &[f64]| jvp(f, x, v).1;
    let reverse_reverse = grad(by_reverse, x);
    let reverse_forward = grad(by_forward, x);
    let forward_reverse = jvp(by_reverse, x, v);
    let forward_forward = jvp(by_forward, x, v);
    let h = 1e-6;
    let moved = |i: usize, h: f64| {
        let mut x = x.to_vec();
        x[i] += h;
        by_reverse(&x)
    };
    for i in 0..x.len() {
        close(reverse_reverse[i], reverse_forward[i], 1e-12, &format!("rr and rf at {i}"));
        let difference = (moved(i, h) - moved(i, -h)) / (2.0 * h);
        close(reverse_reverse[i], difference, 1e-6, &format!("rr and differences at {i}"));
    }
    let curvature = dot(&reverse_reverse, v);
    close(forward_reverse.1, curvature, 1e-12, "fr and rr");
    close(forward_forward.1, curvature, 1e-12, "ff and rr");
    close(forward_reverse.0, by_reverse(x), 1e-14, "the slope by fr");
    close(forward_forward.0, by_forward(x), 1e-14, "the slope by ff");
    close(by_reverse(x), by_forward(x), 1e-13, "r and f");
}

#[test]
fn straight_line() {
    check(|x| x[0] * x[0] * x[1] + (x[0] * x[1]).sin(), &[1.3, -0.7], &[0.3, 1.1]);
    check(|x| (x[0] / x[1]).exp().sqrt() + x[1].powf(x[0]).ln_1p(), &[0.4, 1.7], &[-0.3, 0.9]);
}

#[test]
fn a_loop_over_a_slice() {
    check(|x| x.iter().map(|x| x * x * x).sum(), &[1.0, 2.0, 3.0], &[0.1, 0.2, 0.3]);
    let rosenbrock =
        |x: &[f64]| -> f64 { x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum() };
    check(rosenbrock, &[0.3, -0.2, 0.7, 1.1], &[1.0, -1.0, 0.5, 0.25]);
}

#[test]
fn a_loop_that_carries_a_product() {
    check(|x| x.iter().fold(1.0, |p, x| p * x.sin() + x), &[0.5, 1.5, 2.5, 0.1], &[1.0, 2.0, -1.0, 0.5]);
}

#[test]
fn nested_loops() {
    let energy = |x: &[f64]| {
        let mut sum = 0.0;
        for i in 0..x.len() {
            for j in 0..i {
                sum += 1.0 / ((x[i] - x[j]).powi(2) + 0.1);
            }
        }
        sum
    };
    check(energy, &[0.1, 0.7, 1.9, -0.4], &[1.0, -0.5, 0.25, 2.0]);
}

#[test]
fn a_loop_whose_count_depends_on_the_data() {
    let newton = |x: &[f64]| {
        let mut y = x[0];
        while (y * y - x[1]).abs() > 1e-13 {
            y = 0.5 * (y + x[1] / y);
        }
        y * x[0]
    };
    check(newton, &[1.1, 2.3], &[0.4, 0.6]);
    let collatz = |x: &[f64]| {
        let (mut y, mut n) = (x[0], 7_u32);
        while n != 1 {
            y = if n % 2 == 0 { y * x[1] } else { y.sin() + x[1] * y };
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
        }
        y
    };
    check(collatz, &[0.3, 0.9], &[1.0, 0.3]);
}

#[test]
fn memory_that_is_overwritten() {
    let f = |x: &[f64]| {
        let mut a = x.to_vec();
        for _ in 0..3 {
            for i in 1..a.len() {
                a[i] = a[i] * a[i - 1] + a[i].cos();
            }
        }
        a.iter().sum()
    };
    check(f, &[0.5, -0.3, 0.8, 0.2], &[1.0, 0.5, -0.5, 0.1]);
}

#[test]
fn vectors_that_grow_and_are_copied() {
    let f = |x: &[f64]| {
        let mut all = Vec::new();
        for (i, x) in x.iter().enumerate() {
            if i % 2 == 0 {
                all.push(x * x);
            }
            all.push(x.exp());
        }
        let copy = all.clone();
        all.extend_from_slice(&copy);
        let mut other = vec![0.0; all.len()];
        other.copy_from_slice(&all);
        other.iter().zip(&all).map(|(a, b)| a * b).sum()
    };
    check(f, &[0.5, 0.3, -0.8], &[1.0, 0.5, -0.5]);
}

fn power(x: f64, n: u32) -> f64 {
    if n == 0 { 1.0 } else { x * power(x, n - 1) + (n as f64) * x }
}

fn tree(x: &[f64]) -> f64 {
    match x {
        [] => 1.0,
        [x] => x.sin(),
        _ => {
            let (a, b) = x.split_at(x.len() / 2);
            tree(a) * tree(b) + tree(a)
        }
    }
}

#[test]
fn recursion() {
    check(|x| power(x[0], 5) * x[1], &[0.7, 1.3], &[0.2, 0.5]);
    check(tree, &[0.7, 1.3, 0.2, -0.4, 0.9], &[0.2, 0.5, 1.0, -1.0, 0.3]);
}

#[test]
fn matrices() {
    let f = |x: &[f64]| {
        let mut m = [[0.0; 3]; 3];
        for (i, row) in m.iter_mut().enumerate() {
            for (j, m) in row.iter_mut().enumerate() {
                *m = x[(i * 3 + j) % x.len()] * (i + 1) as f64 + if i == j { 4.0 } else { 0.0 };
            }
        }
        // The determinant by elimination.
        let mut det = 1.0;
        for k in 0..3 {
            det *= m[k][k];
            for i in k + 1..3 {
                let factor = m[i][k] / m[k][k];
                for j in k..3 {
                    m[i][j] -= factor * m[k][j];
                }
            }
        }
        det.ln()
    };
    check(f, &[0.5, 0.3, -0.8, 0.2], &[1.0, 0.5, -0.5, 0.3]);
}

#[test]
fn boxes_and_structures() {
    struct Node {
        value: f64,
        next: Option<Box<Node>>,
    }
    let f = |x: &[f64]| {
        let mut list: Option<Box<Node>> = None;
        for x in x {
            list = Some(Box::new(Node { value: x * x, next: list }));
        }
        let (mut sum, mut at) = (0.0, &list);
        while let Some(node) = at {
            sum = sum * 0.5 + node.value.sin();
            at = &node.next;
        }
        sum
    };
    check(f, &[0.5, 0.3, -0.8, 0.2], &[1.0, 0.5, -0.5, 0.3]);
}

#[test]
fn what_a_closure_captures_is_active_outside() {
    // d/da of d/dx of a·x³ at x = a: 3a² + 6a·a… by hand: f(a) = ∂/∂x (a x³) at x = a² is 3 a (a²)² = 3 a⁵.
    let f = |a: &[f64]| {
        let a = a[0];
        grad(|x: &[f64]| a * x[0] * x[0] * x[0], &[a * a][..])[0]
    };
    let (value, gradient) = value_and_grad(f, &[1.1][..]);
    close(value, 3.0 * 1.1_f64.powi(5), 1e-14, "value");
    close(gradient[0], 15.0 * 1.1_f64.powi(4), 1e-13, "gradient");
}

#[test]
fn third_order() {
    // f = x⁵: f''' = 60 x².
    let f = |x: &f64| x * x * x * x * x;
    let first = |x: &f64| grad(f, x);
    let second = |x: &f64| grad(first, x);
    close(grad(second, &1.1), 60.0 * 1.21, 1e-12, "rrr");
    close(jvp(second, &1.1, &1.0).1, 60.0 * 1.21, 1e-12, "frr");
    let second = |x: &f64| jvp(first, x, &1.0).1;
    close(grad(second, &1.1), 60.0 * 1.21, 1e-12, "rfr");
    let power = |x: &f64| (0..6).fold(1.0, |p, _| p * x.sin());
    let first = |x: &f64| grad(power, x);
    let second = |x: &f64| grad(first, x);
    let third = |x: f64| (second(&(x + 1e-5)) - second(&(x - 1e-5))) / 2e-5;
    close(grad(second, &0.8), third(0.8), 1e-7, "rrr of a loop");
    close(jvp(second, &0.8, &1.0).1, third(0.8), 1e-7, "frr of a loop");
}

#[test]
fn pullbacks_that_are_called_later() {
    let f = |x: &[f64]| [x[0] * x[0] * x[1], x[1].sin()];
    let slope = |x: &[f64]| {
        let (y, pullback) = vjp(f, x);
        let rows = [pullback([1.0, 0.0]), pullback([0.0, 1.0])];
        rows[0][0] * rows[1][1] + y[0] * rows[0][1]
    };
    // 2 x y cos y + x² y x²
    let (x, y) = (1.3_f64, 0.7_f64);
    close(slope(&[x, y]), 2.0 * x * y * y.cos() + x.powi(4) * y, 1e-14, "value");
    let expected = [2.0 * y * y.cos() + 4.0 * x.powi(3) * y, 2.0 * x * y.cos() - 2.0 * x * y * y.sin() + x.powi(4)];
    let found = grad(slope, &[x, y][..]);
    close(found[0], expected[0], 1e-13, "by x");
    close(found[1], expected[1], 1e-13, "by y");
    close(jvp(slope, &[x, y][..], &[0.3, 0.4][..]).1, 0.3 * expected[0] + 0.4 * expected[1], 1e-13, "forward");
}

const AT: [f64; 4] = [0.7, -0.4, 1.3, 0.2];
const ALONG: [f64; 4] = [0.5, 0.2, -0.1, -0.4];

#[test]
fn enums_that_are_built_inside() {
    let present = |x: &[f64]| {
        let all: Vec<Option<f64>> = x.iter().map(|x| (*x > 0.0).then(|| x * x * x)).collect();
        let copy = all.clone();
        all.iter().zip(&copy).filter_map(|(a, b)| Some((*a)? * (*b)?)).sum()
    };
    check(present, &AT, &ALONG);
    let results = |x: &[f64]| {
        let f = |x: f64| if x > -1.0 { Ok(x.exp()) } else { Err(format!("{x} is too small")) };
        let all = || -> Result<f64, String> { Ok(f(x[0])? * f(x[1])? + f(x[2])?) };
        all().unwrap_or(0.0)
    };
    check(results, &AT, &ALONG);
}

/// Floats in one variant, pointers in another.
#[derive(Clone)]
enum Expr {
    Number(f64),
    Negative(Box<Expr>),
    Product(Box<Expr>, Box<Expr>),
}

impl Expr {
    fn value(&self) -> f64 {
        match self {
            Expr::Number(x) => *x,
            Expr::Negative(e) => -e.value(),
            Expr::Product(a, b) => a.value() * b.value(),
        }
    }
}

#[test]
fn expressions() {
    let number = |x: f64| Box::new(Expr::Number(x));
    let one = |x: &[f64]| {
        let left = Expr::Negative(number(x[0] * x[1]));
        Expr::Product(Box::new(left), Box::new(Expr::Product(number(x[2]), number(x[0])))).value()
    };
    check(one, &AT, &ALONG);
    let many = |x: &[f64]| {
        let mut all: Vec<Expr> = x.iter().map(|x| Expr::Number(x * x)).collect();
        let last = all.pop().unwrap();
        all.push(Expr::Product(Box::new(last), Box::new(all[0].clone())));
        all.reverse();
        all.iter().map(Expr::value).product()
    };
    check(many, &AT, &ALONG);
}

#[test]
fn data_that_is_moved_about() {
    let sorted = |x: &[f64]| {
        let mut x = x.to_vec();
        x.sort_by(f64::total_cmp);
        x.iter().zip(1..).map(|(x, i)| x.powi(i)).sum()
    };
    check(sorted, &AT, &ALONG);
    let swapped = |x: &[f64]| {
        let mut x = x.to_vec();
        x.swap(0, 2);
        x.rotate_left(1);
        let first = x[0];
        x[0] *= x[1];
        x[3] = first * x[0];
        x.iter().product()
    };
    check(swapped, &AT, &ALONG);
    let rows = |x: &[f64]| {
        let m: Vec<Vec<f64>> = (0..3).map(|i| (0..3).map(|j| x[(i + j) % 4] * x[i]).collect()).collect();
        (0..27).map(|n| m[n / 9][n % 3] * m[n % 3][n / 3 % 3]).sum()
    };
    check(rows, &AT, &ALONG);
    let texts = |x: &[f64]| {
        let (mut text, mut product) = (String::new(), 1.0);
        for x in x {
            text += &format!("{x} ");
            product *= x.sin() + 1.0;
        }
        product + text.len() as f64
    };
    check(texts, &AT, &ALONG);
}

#[test]
fn the_largest() {
    let by_fold = |x: &[f64]| {
        let most = x.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        most * most * most + x.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
    };
    check(by_fold, &AT, &ALONG);
    let by_comparison = |x: &[f64]| {
        let mut most = x[0];
        for x in x {
            if *x > most {
                most = *x;
            }
        }
        most * most * most
    };
    check(by_comparison, &AT, &ALONG);
}

/// So that third derivatives are taken.
#[test]
fn derivatives_inside() {
    let descent = |x: &[f64]| {
        let mut x = x.to_vec();
        for _ in 0..3 {
            let slope = grad(|x: &[f64]| x.iter().map(|x| x.powi(4)).sum::<f64>() + x[0] * x[1], &x[..]);
            for (x, slope) in x.iter_mut().zip(&slope) {
                *x -= 0.05 * slope;
            }
        }
        x.iter().map(|x| x * x).sum()
    };
    check(descent, &AT, &ALONG);
    let twice = |x: &[f64]| {
        let (y, pullback) = vjp(|x: &[f64]| x[0] * x[1] * x[2], x);
        pullback(1.0)[0] * pullback(y)[1]
    };
    check(twice, &AT, &ALONG);
}

#[test]
fn structures() {
    #[derive(Differentiable, Clone)]
    struct Net {
        weights: Vec<Vec<f64>>,
        bias: f64,
    }
    let loss = |net: &Net| net.weights.iter().map(|row| (row.iter().sum::<f64>() * net.bias).tanh()).product::<f64>();
    let net = |step: f64| Net { weights: vec![vec![0.3 + step, 0.5], vec![0.5 * step - 0.2]], bias: 0.7 + 0.25 * step };
    let along = Net { weights: vec![vec![1.0, 0.0], vec![0.5]], bias: 0.25 };
    let product = hvp(loss, &net(0.0), &along);
    let (high, low) = (grad(loss, &net(1e-5)), grad(loss, &net(-1e-5)));
    close(product.bias, (high.bias - low.bias) / 2e-5, 1e-8, "bias");
    close(product.weights[1][0], (high.weights[1][0] - low.weights[1][0]) / 2e-5, 1e-8, "weight");
    assert_eq!(
        hessian(|x: &Vec<f64>| x.iter().product::<f64>(), &vec![2.0, 3.0, 5.0]),
        [[0.0, 5.0, 3.0], [5.0, 0.0, 2.0], [3.0, 2.0, 0.0]]
    );
    assert_eq!(hessian(|x: &[f32; 2]| x[0] * x[0] * x[1], &[2.0, 3.0]), [[6.0, 4.0], [4.0, 0.0]]);
}

/// A gradient that is a pair of constant `f32`: the optimiser chooses among such pairs as integers.
#[test]
fn a_piecewise_linear_function_of_single_precision() {
    fn f(x: &[f32; 2]) -> f32 {
        let kept = if x[1] <= 0.5 { Some(Box::new(x[0])) } else { None };
        kept.as_deref().copied().unwrap_or(1.75)
    }
    for (x, gradient) in [([1.0, 0.0], [1.0, 0.0]), ([1.0, 1.0], [0.0, 0.0])] {
        assert_eq!(grad(f, &x), gradient);
        assert_eq!(hvp(f, &x, &[0.7, 0.3]), [0.0, 0.0]);
    }
}
