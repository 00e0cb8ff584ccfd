//! A random program: a function, those it calls, and the code that runs it and its derivatives.

use super::signature::{Functional, Signature};
use super::template::{Precision, Side, render};
use super::write;
use crate::rng::Rng;

/// A random program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// What it was made of; the numbers it is run on come of it, too.
    pub seed: u64,
    /// Its floats.
    pub precision: Precision,
    /// What its function takes and returns.
    pub signature: Signature,
    /// Its function's body, a template.
    pub body: String,
    /// Other functions, a template.
    pub helpers: String,
}

/// At how many points programs are run.
pub const POINTS: u64 = 3;

impl Program {
    /// The program of this seed.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let precision = if rng.chance(50) { Precision::Single } else { Precision::Double };
        let signature = Signature::random(&mut rng);
        let (body, helpers) = write::body(rng, &signature);
        Program { seed, precision, signature, body, helpers }
    }

    /// Its module; the function is `f_` and this number.
    pub fn module(&self, number: usize, side: Side) -> String {
        let name = format!("f_{number}");
        let mut text = format!("use crate::{}::*;\n", self.precision.module());
        text += match (side, self.signature.functional) {
            (Side::Duals, _) => "use dual::*;\n\n",
            (Side::Floats, Functional::None) => "use floats::*;\nuse pullback::autodiff;\n\n",
            (Side::Floats, Functional::First) => "use floats::*;\nuse pullback::{autodiff, jvp, value_and_grad};\n\n",
            (Side::Floats, Functional::Second) => {
                "use floats::*;\nuse pullback::{autodiff, hvp, jvp, value_and_grad};\n\n"
            }
        };
        if side == Side::Floats {
            text += &self.signature.attributes(&name);
        }
        text += &format!("pub fn {} {{\n{}}}\n{}", self.signature.head(&name), self.body, self.helpers);
        text += &self.signature.harness(&name, side);
        render(&text, side, self.precision)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_program() {
        assert_eq!(Program::new(5), Program::new(5));
        assert_ne!(Program::new(5).body, Program::new(6).body);
    }

    #[test]
    fn both_precisions_come_as_often() {
        let single = (0..1000).filter(|seed| Program::new(*seed).precision == Precision::Single).count();
        assert!((400..600).contains(&single), "{single} of 1000 are f32");
    }

    #[test]
    fn everything_that_is_meant_to_occur_does() {
        let all: String = (0..1500).map(|seed| Program::new(seed).module(0, Side::Floats)).collect();
        let words = [
            "rotate_left",
            "rotate_right",
            "copy_within",
            "split_at_mut",
            "retain(",
            "drain(",
            "splice(",
            "total_cmp",
            "partial_cmp",
            "sort_unstable_by",
            "sort_by_key",
            "as usize",
            "let mut g",
            "let _u",
            "match ",
            "unwrap_or",
            "mem::swap",
            "break '",
            "continue '",
            "E::Tagged",
            "E::Count",
            "push(",
            "rev().step_by",
            "windows(",
            "chunks(",
            "fold(",
            "zip(",
            "format!",
            "a0: P",
            "a0: &mut P",
            "a0: &P",
            "Box::new",
            "hvp(",
            "jvp(",
            "value_and_grad(",
            "&mut [F; ",
            "assert!",
            "a0: &mut Vec<F>",
            "a0: Vec<&mut Vec<F>>",
            "Reverse, Duplicated, Duplicated, Active",
            "Vec<Result<F, u32>>",
            "Vec<G>",
            ".clone()",
            ".split_at_mut(1)",
        ];
        for word in words {
            assert!(all.contains(word), "no program has `{word}`");
        }
    }
}
