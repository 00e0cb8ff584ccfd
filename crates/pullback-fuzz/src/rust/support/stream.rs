// The numbers that a program is run on. The fuzzer, the programs and their oracle have this file in common.

/// What numbers are for; each purpose has a sequence of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Values of active arguments.
    Values,
    /// Values of constant arguments.
    Constants,
    /// The direction of a forward derivative.
    Direction,
    /// What the shadows of a reverse derivative hold before: cotangents of what is written, gradients so far of what is
    /// not.
    Cotangents,
    /// Cotangents of the result.
    Seeds,
}

/// A sequence of numbers from −1.5 to 1.5.
#[derive(Clone, Debug)]
pub struct Stream {
    state: u64,
    /// Which point it is: it stands for all integers.
    pub point: u64,
    /// How many numbers were taken.
    pub taken: usize,
    /// Whether numbers are multiples of one half, so that some are equal to constants of the program.
    is_coarse: bool,
}

impl Stream {
    /// The sequence for a point of the program with this seed.
    pub fn new(seed: u64, point: u64, purpose: Purpose) -> Self {
        let mut state =
            seed ^ point.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (purpose as u64).wrapping_mul(0xd134_2543_de82_ef95);
        for _ in 0..2 {
            state = (state ^ (state >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        }
        let is_coarse = purpose == Purpose::Values && seed.wrapping_add(point).is_multiple_of(4);
        Stream { state, point, taken: 0, is_coarse }
    }

    /// The next number.
    pub fn number(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.taken += 1;
        let number = (self.state >> 11) as f64 / (1u64 << 53) as f64 * 3.0 - 1.5;
        match self.is_coarse {
            // Not zero, where many functions are singular.
            true => ((number * 2.0).trunc() / 2.0).abs().max(0.5).copysign(number),
            false => number,
        }
    }
}
