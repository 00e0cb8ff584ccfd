//! A crate of random functions, with a `main` that checks their derivatives.

use super::write::function;

/// The manifest of the crate; `pullback` is the path of the crate users depend on.
pub fn manifest(pullback: &str) -> String {
    format!(
        "[package]\nname = \"fuzzed\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
         [dependencies]\npullback = {{ path = {pullback:?} }}\n\n[workspace]\n\n\
         [profile.dev]\ndebug = \"line-tables-only\"\n"
    )
}

/// The crate's `main.rs` for the functions of these seeds.
pub fn source(seeds: &[u64]) -> String {
    let mut text = String::from(PRELUDE);
    for seed in seeds {
        text += &format!(
            "\n#[autodiff(df_{seed}, Reverse, Active, Duplicated, Duplicated, Duplicated, Const, Const, Active)]\n\
             #[autodiff(tf_{seed}, Forward, Dual, Dual, Dual, Dual, Const, Const, Dual)]\n{}",
            function(*seed, &format!("f_{seed}"))
        );
    }
    text += "\nfn main() {\n    let mut wrong = 0;\n";
    for seed in seeds {
        text += &format!("    wrong += check({seed}, f_{seed}, df_{seed}, tf_{seed});\n");
    }
    text += "    std::process::exit(if wrong == 0 { 0 } else { 101 });\n}\n";
    text
}

const PRELUDE: &str = include_str!("prelude.rs.txt");
