//! Gradient descent, as `particle` and `saddle` have it: it is differentiated itself.

/// How a gradient is found.
pub trait Mode {
    fn gradient<const N: usize>(f: impl Fn(&[f64; N]) -> f64, x: &[f64; N]) -> [f64; N];
}

/// All at once.
pub struct Reverse;

impl Mode for Reverse {
    fn gradient<const N: usize>(f: impl Fn(&[f64; N]) -> f64, x: &[f64; N]) -> [f64; N] {
        pullback::grad(f, x)
    }
}

/// One direction after the other.
pub struct Forward;

impl Mode for Forward {
    fn gradient<const N: usize>(f: impl Fn(&[f64; N]) -> f64, x: &[f64; N]) -> [f64; N] {
        std::array::from_fn(|i| pullback::jvp(&f, x, &std::array::from_fn(|j| f64::from(i == j))).1)
    }
}

/// How many steps must have led downhill before they get longer.
pub const PATIENCE: u32 = 10;

/// Where `f` is least, from `start` downhill.
pub fn argmin<M: Mode, const N: usize>(f: impl Fn(&[f64; N]) -> f64, start: [f64; N], patience: u32) -> [f64; N] {
    let (mut x, mut value, mut slope) = (start, f(&start), M::gradient(&f, &start));
    let (mut rate, mut successes) = (1e-5, 0);
    while norm(&slope) > 1e-5 {
        if successes == patience {
            rate *= 2.0;
            successes = 0;
            continue;
        }
        let next = std::array::from_fn(|i| x[i] - rate * slope[i]);
        if norm(&std::array::from_fn::<f64, N, _>(|i| x[i] - next[i])) <= 1e-5 {
            break;
        }
        let next_value = f(&next);
        if next_value < value {
            (x, value, slope) = (next, next_value, M::gradient(&f, &next));
            successes += 1;
        } else {
            rate /= 2.0;
            successes = 0;
        }
    }
    x
}

fn norm<const N: usize>(x: &[f64; N]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}
