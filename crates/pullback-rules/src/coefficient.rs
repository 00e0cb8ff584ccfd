//! What a tangent or cotangent is multiplied with.

use pullback_ir::Value;
use std::hash::{Hash, Hasher};

/// The coefficient of a tangent in a linear operation: a factor, and where it takes part at all.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Coefficient {
    /// What the tangent is multiplied with.
    pub factor: Factor,
    /// Where the coefficient is not zero; `None`: nothing is known of that.
    pub support: Option<Support>,
}

/// What a tangent `t` is multiplied with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Factor {
    /// `t`.
    One,
    /// `−t`.
    MinusOne,
    /// `c·t`.
    Value(Value),
    /// `c·k·t`, with a power of two for `k`. It goes to whichever is known first of `c` and `t`, so that it takes no
    /// time.
    Scaled(f64, Value),
}

/// Where a coefficient is not zero. Elsewhere the product is zero whatever the tangent is, infinite or NaN: it is not
/// multiplied.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Support {
    /// A condition.
    pub cond: Value,
    /// What it has to be.
    pub when: bool,
}

impl Coefficient {
    /// 1.
    pub const ONE: Coefficient = Coefficient { factor: Factor::One, support: None };
    /// −1.
    pub const MINUS_ONE: Coefficient = Coefficient { factor: Factor::MinusOne, support: None };

    /// The values that it takes from the program.
    pub fn values(self) -> impl Iterator<Item = Value> {
        let factor = match self.factor {
            Factor::One | Factor::MinusOne => None,
            Factor::Value(c) | Factor::Scaled(_, c) => Some(c),
        };
        factor.into_iter().chain(self.support.map(|support| support.cond))
    }
}

/// The number of a `Scaled` is a power of two, and so equal to itself.
impl Eq for Factor {}

impl Hash for Factor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Factor::One => 0.hash(state),
            Factor::MinusOne => 1.hash(state),
            Factor::Value(c) => c.hash(state),
            Factor::Scaled(k, c) => (k.to_bits(), c).hash(state),
        }
    }
}

impl From<Factor> for Coefficient {
    fn from(factor: Factor) -> Self {
        Coefficient { factor, support: None }
    }
}
