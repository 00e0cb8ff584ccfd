//! Recursion and mutual recursion, whose depth depends on data.

fn power(x: f64, n: u32) -> f64 {
    if n == 0 {
        1.0
    } else if n % 2 == 0 {
        let half = power(x, n / 2);
        half * half
    } else {
        x * power(x, n - 1)
    }
}

fn even(x: f64, depth: u32) -> f64 {
    if depth == 0 { x } else { odd(x.sin() + x, depth - 1) }
}

fn odd(x: f64, depth: u32) -> f64 {
    if depth == 0 { x * x } else { even(x * 0.9, depth - 1) * x }
}

fn integral(f: &impl Fn(f64) -> f64, a: f64, b: f64, depth: u32) -> f64 {
    let m = 0.5 * (a + b);
    if depth == 0 { f(m) * (b - a) } else { integral(f, a, m, depth - 1) + integral(f, m, b, depth - 1) }
}

fn ackermann_like(x: f64, m: u32, n: u32) -> f64 {
    match (m, n) {
        (0, _) => x + n as f64,
        (_, 0) => ackermann_like(x * 0.5, m - 1, 1),
        _ => 0.1 * ackermann_like(x * 1.01, m - 1, ackermann_like(x, m, n - 1).abs() as u32 % 3),
    }
}

pullback_e2e::differentiated! {
    fn by_squaring(x) {
        power(x[0], 13) + power(x[1], 6)
    } at [1.1, 0.9];

    fn mutual(x) {
        even(x[0], 7) * odd(x[1], 4)
    } at [0.3, 0.8];

    fn depth_from_data(x) {
        power(x[1], x[0] as u32)
    } at [3.5, 1.2], [9.5, 0.8];

    fn two_calls(x) {
        fn fibonacci(x: &[f64], n: usize) -> f64 {
            if n < 2 { x[n] } else { fibonacci(x, n - 1) * 0.5 + fibonacci(x, n - 2).sin() }
        }
        fibonacci(x, 9)
    } at [0.4, 1.2];

    fn through_slices(x) {
        fn tree_sum(x: &[f64]) -> f64 {
            match x {
                [] => 0.0,
                [one] => one * one,
                _ => {
                    let (left, right) = x.split_at(x.len() / 2);
                    tree_sum(left) * 0.5 + tree_sum(right)
                }
            }
        }
        tree_sum(x)
    } at [1.0, 2.0, 3.0, 4.0, 5.0];

    fn in_place(x) {
        fn butterfly(y: &mut [f64]) {
            if y.len() > 1 {
                let half = y.len() / 2;
                let (left, right) = y.split_at_mut(half);
                for (l, r) in left.iter_mut().zip(right.iter_mut()) {
                    (*l, *r) = (*l + *r, *l * *r);
                }
                butterfly(left);
                butterfly(right);
            }
        }
        let mut y = x.to_vec();
        butterfly(&mut y);
        y.iter().enumerate().map(|(i, v)| v * (i + 1) as f64).sum()
    } at [1.0, 0.5, 0.25, 2.0];

    fn nested_recursion(x) {
        ackermann_like(x[0], 2, 2)
    } at [0.3];

    fn integral_of_a_closure(x) {
        integral(&|t| (x[0] * t).sin(), 0.0, x[1], 4)
    } at [1.3, 0.9];
}
