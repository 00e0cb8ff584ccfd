//! Source that is written once, for floats and for dual numbers.
//!
//! | in a template | with floats | with dual numbers |
//! |---|---|---|
//! | `F` | an alias of `f32` or `f64` | an alias of `Dual<f32>` or `Dual<f64>` |
//! | `§0.5§` | `0.5_f32` | `F::lit(0.5)` |
//! | `(n) §as_float` | `(n) as F` | `(n).as_float()` |
//! | `(x) §as_usize` | `(x) as usize` | `(x).as_usize()` |
//! | `§derive` | `#[derive(Differentiable, Clone, Debug)]` | `#[derive(Clone, Debug)]` |
//!
//! All else is the same, so what is differentiated is a program as anyone would write it.

/// The float that a program is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precision {
    /// `f32`
    Single,
    /// `f64`
    Double,
}

impl Precision {
    /// The type's name.
    pub fn float(self) -> &'static str {
        match self {
            Precision::Single => "f32",
            Precision::Double => "f64",
        }
    }

    /// The module with its types.
    pub fn module(self) -> &'static str {
        match self {
            Precision::Single => "single",
            Precision::Double => "double",
        }
    }
}

/// What numbers are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// The machine's floats: what is differentiated.
    Floats,
    /// Dual numbers: the oracle.
    Duals,
}

/// The source that a template stands for.
pub fn render(template: &str, side: Side, precision: Precision) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('§') {
        out += before;
        if after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
            out += word(&after[..end], side);
            rest = &after[end..];
        } else {
            let (literal, after) = after.split_once('§').expect("a literal has two ends");
            out += &match side {
                Side::Floats => format!("{literal}_{}", precision.float()),
                Side::Duals => format!("F::lit({literal})"),
            };
            rest = after;
        }
    }
    out + rest
}

fn word(word: &str, side: Side) -> &'static str {
    match (word, side) {
        ("as_float", Side::Floats) => "as F",
        ("as_float", Side::Duals) => ".as_float()",
        ("as_usize", Side::Floats) => "as usize",
        ("as_usize", Side::Duals) => ".as_usize()",
        ("as_i64", Side::Floats) => "as i64",
        ("as_i64", Side::Duals) => ".as_i64()",
        ("derive", Side::Floats) => "#[derive(Differentiable, Clone, Debug)]",
        ("derive", Side::Duals) => "#[derive(Clone, Debug)]",
        _ => panic!("no template has the word `{word}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_floats_or_duals() {
        let text = "let k = (x * §-0.5§) §as_usize % 3;";
        assert_eq!(render(text, Side::Floats, Precision::Single), "let k = (x * -0.5_f32) as usize % 3;");
        assert_eq!(render(text, Side::Duals, Precision::Single), "let k = (x * F::lit(-0.5)) .as_usize() % 3;");
    }
}
