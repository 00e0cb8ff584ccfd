//! What the code of a derivative is written for: options of the request, names, and the run-time support.

use crate::runtime::Runtime;
use pullback_ir::{Flags, Module};

/// What the functions of one derivative are written for.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    /// The module that they go into.
    pub module: &'a Module,
    /// The derivative's name.
    pub name: &'a str,
    /// How many batch directions there are.
    pub width: usize,
    /// Whether a zero cotangent stays zero whatever it is multiplied with.
    pub strong_zero: bool,
    /// Whether the derivative is differentiated itself.
    pub nested: bool,
    /// Whether the cotangents that the caller gave are settled between the sweeps.
    pub settles: bool,
    /// The run-time functions.
    pub runtime: Runtime,
}

impl Target<'_> {
    /// What may be done with additions of cotangents. In which order they come is up to us: a sum over a loop may be
    /// several partial sums, as vector code has them. Not where the derivative is differentiated itself, for what may
    /// come out in more than one way cannot be recomputed.
    pub fn summing(&self) -> Flags {
        if self.nested { Flags::NONE } else { Flags::REASSOC }
    }

    /// The number of a place in the code where something is put on the tape, and taken off it. It is the same in both
    /// sweeps of a function, and another one in every function.
    pub fn site(&self, function: &str, key: &str) -> i64 {
        let bytes = [self.name, function, key].into_iter().flat_map(|part| part.bytes().chain([0xff]));
        // FNV-1a.
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
        (hash >> 2) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_functions_of_a_callee_have_sites_of_their_own_when_they_are_differentiated() {
        let mut module = Module::default();
        let runtime = Runtime::declare(&mut module, true);
        let (module, name) = (&module, "d");
        let target = Target { module, name, width: 1, strong_zero: false, nested: true, settles: false, runtime };
        assert_ne!(target.site("d.inner.f.fwd", "call"), target.site("d.inner.f.rev", "call"));
    }
}
