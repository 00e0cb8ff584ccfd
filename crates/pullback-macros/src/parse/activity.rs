//! The words for what an argument or a result is to a derivative.

use super::{error, similar};
use proc_macro2::{Ident, Span};

/// What the user says of an argument or of the result.
///
/// This is more than the [`Activity`](pullback_abi::Activity) of a request: how the derivative takes and returns what
/// belongs to the argument. `Dual` and `Duplicated` are one activity, and an `Active` argument has a shadow that the
/// wrapper makes. [`Role`](super::plan::Role) is what a meaning comes to in a mode, for a type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    Active,
    ActiveOnly,
    Duplicated,
    DuplicatedOnly,
    Dual,
    DualOnly,
    Dualv,
    DualvOnly,
    Const,
}

const WORDS: [(&str, Meaning); 11] = [
    ("Active", Meaning::Active),
    ("ActiveOnly", Meaning::ActiveOnly),
    ("Duplicated", Meaning::Duplicated),
    ("DuplicatedOnly", Meaning::DuplicatedOnly),
    ("DuplicatedNoNeed", Meaning::DuplicatedOnly),
    ("Dual", Meaning::Dual),
    ("DualOnly", Meaning::DualOnly),
    ("Dualv", Meaning::Dualv),
    ("DualvOnly", Meaning::DualvOnly),
    ("Const", Meaning::Const),
    ("Constant", Meaning::Const),
];

/// A word for an activity, and what it means.
#[derive(Clone, Debug)]
pub struct Word {
    pub meaning: Meaning,
    pub text: String,
    pub span: Span,
}

impl Word {
    pub fn new(word: &Ident) -> syn::Result<Self> {
        let text = word.to_string();
        match WORDS.iter().find(|(name, _)| *name == text) {
            Some(&(_, meaning)) => Ok(Word { meaning, text, span: word.span() }),
            None => Err(error(
                word.span(),
                format_args!("unknown activity `{text}`"),
                match similar(&text, WORDS.map(|(name, _)| name)) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None => "the activities are `Active`, `Duplicated`, `Dual` and `Const`, and `ActiveOnly`, \
                             `DuplicatedOnly`, `DualOnly`, `Dualv`, `DualvOnly`"
                        .into(),
                },
            )),
        }
    }

    /// What is not named is constant.
    pub fn constant(span: Span) -> Self {
        Word { meaning: Meaning::Const, text: "Const".into(), span }
    }
}

/// Whether a word is an activity.
pub fn is_activity(word: &Ident) -> bool {
    WORDS.iter().any(|(name, _)| word == name)
}
