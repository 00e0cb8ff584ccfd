//! What the user wrote, checked.

pub mod activity;
pub mod attribute;
pub mod function;
pub mod plan;
pub mod type_def;
pub mod types;

use proc_macro2::Span;

/// An error at a word, with the way out of it.
pub fn error(span: Span, message: impl std::fmt::Display, help: impl std::fmt::Display) -> syn::Error {
    syn::Error::new(span, format!("{message}\nhelp: {help}"))
}

/// The candidate that a mistyped word probably means.
pub fn similar<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let distance = |candidate: &str| edit_distance(&lower, &candidate.to_lowercase());
    let (nearest, best) =
        candidates.into_iter().map(|candidate| (candidate, distance(candidate))).min_by_key(|&(_, distance)| distance)?;
    (best <= word.len().div_ceil(3)).then_some(nearest)
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
    fn similar_words_are_found() {
        let words = ["Active", "Duplicated", "Const"];
        assert_eq!(similar("active", words), Some("Active"));
        assert_eq!(similar("Duplicate", words), Some("Duplicated"));
        assert_eq!(similar("Cnost", words), Some("Const"));
        assert_eq!(similar("Foo", words), None);
    }
}
