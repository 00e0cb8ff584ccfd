//! The table as a page: `docs/rules.md` is what [`markdown`] makes of it, and a test holds the two together.

use super::{Rule, rule};
use pullback_ir::MathFn;

/// The table of rules in Markdown.
pub fn markdown() -> String {
    let mut page = String::from(HEAD);
    for function in MathFn::ALL {
        let rule = rule(*function);
        page += &format!("| `{}` | {} | {} |\n", signature(*function), partials(rule), rule.edge);
    }
    page
}

const HEAD: &str = "\
# Derivative rules of the float functions

Made from the table in `crates/pullback-ad/src/rules/table.rs`; to make it anew, run
`UPDATE_DOCS=1 cargo test -p pullback-ad rules`.

`r` is the function's result, `n` an `i32`. A partial that is not listed is zero. Each formula is computed in the
operands' own type, with the fast-math flags the primal had and no others. At the edges a derivative is what IEEE
arithmetic makes of the formula; the last column says what that is, and which choice was made where there is no
derivative. An operand that is NaN gives a NaN wherever the formula contains it.

| function | partial derivatives | at the edges |
|---|---|---|
";

fn operand(function: MathFn, index: usize) -> &'static str {
    match index {
        1 if function.takes_int() => "n",
        _ => ["x", "y", "z"][index],
    }
}

fn signature(function: MathFn) -> String {
    let operands: Vec<_> = (0..function.arity()).map(|i| operand(function, i)).collect();
    format!("{function}({})", operands.join(", "))
}

fn partials(rule: &Rule) -> String {
    let one = |(i, p): (usize, &Option<super::Expr>)| Some(format!("∂{}: {}", operand(rule.function, i), (*p)?));
    let all: Vec<_> = rule.partials.iter().enumerate().filter_map(one).collect();
    if all.is_empty() { "0".to_owned() } else { all.join("<br>") }
}
