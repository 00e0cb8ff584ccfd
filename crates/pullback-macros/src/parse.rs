//! What the user wrote, checked.

pub mod activity;
pub mod attribute;
pub mod function;
pub mod lifetimes;
pub mod plan;
pub mod rule;
pub mod type_def;
pub mod types;

use proc_macro2::{Span, TokenStream};

/// An error at a word, with the way out of it.
pub fn error(span: Span, message: impl std::fmt::Display, help: impl std::fmt::Display) -> syn::Error {
    syn::Error::new(span, format!("{message}\nhelp: {help}"))
}

/// The candidate that a mistyped word probably means.
pub fn similar<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let distance = |candidate: &str| edit_distance(&lower, &candidate.to_lowercase());
    let (nearest, best) = candidates
        .into_iter()
        .map(|candidate| (candidate, distance(candidate)))
        .min_by_key(|&(_, distance)| distance)?;
    (best <= word.len().div_ceil(3)).then_some(nearest)
}

/// Tokens of a type or signature, with the spaces that a person would write.
pub fn pretty(tokens: &TokenStream) -> String {
    const TIGHT: [(&str, &str); 12] = [
        (" :: ", "::"),
        (":: ", "::"),
        (" : ", ": "),
        (" ,", ","),
        ("& ", "&"),
        (" (", "("),
        (" ;", ";"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("->(", "-> ("),
        (":(", ": ("),
    ];
    let text = tokens.to_string().replace("-> ", "-> \u{0}");
    TIGHT.iter().fold(text, |text, (from, to)| text.replace(from, to)).replace('\u{0}', "")
}

fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_written_as_a_person_would() {
        let text = "fn df<T: Copy>(x: &mut [f64; 3], y: Vec<T>, z: (f64, f64)) -> (f64, [T; 2]) where T: a::B";
        assert_eq!(pretty(&text.parse().unwrap()), text);
    }

    #[test]
    fn similar_words_are_found() {
        let words = ["Active", "Duplicated", "Const"];
        assert_eq!(similar("active", words), Some("Active"));
        assert_eq!(similar("Duplicate", words), Some("Duplicated"));
        assert_eq!(similar("Cnost", words), Some("Const"));
        assert_eq!(similar("Foo", words), None);
    }
}
