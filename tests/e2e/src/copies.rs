//! Functions of which this crate has copies of its own, and the test another one.

/// `x` by itself.
pub fn square<T: Copy + std::ops::Mul<Output = T>>(x: T) -> T {
    x * x
}

/// The square, with a copy of `square`, of the exponential, with a copy of `f64::exp`.
pub fn square_of_exponential(x: f64) -> f64 {
    square(x.exp())
}
