//! Numbers that look random, always the same.

/// A linear congruential generator.
pub struct Noise(u64);

impl Noise {
    /// From its beginning.
    #[expect(clippy::new_without_default, reason = "there is nothing to leave out")]
    pub fn new() -> Self {
        Noise(0x9e37_79b9_7f4a_7c15)
    }

    /// A number between 0 and 1.
    pub fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.number() * n as f64) as usize
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// `n` numbers between 0 and 1.
    pub fn list(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.number()).collect()
    }

    /// `n` lists.
    pub fn rows(&mut self, n: usize, width: usize) -> Vec<Vec<f64>> {
        (0..n).map(|_| self.list(width)).collect()
    }
}
