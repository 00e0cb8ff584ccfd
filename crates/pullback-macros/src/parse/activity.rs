//! The words for what an argument or a result is to a derivative.

use super::{error, similar};
use proc_macro2::{Ident, Span};

/// An activity as the user wrote it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
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

const WORDS: [(&str, Activity); 11] = [
    ("Active", Activity::Active),
    ("ActiveOnly", Activity::ActiveOnly),
    ("Duplicated", Activity::Duplicated),
    ("DuplicatedOnly", Activity::DuplicatedOnly),
    ("DuplicatedNoNeed", Activity::DuplicatedOnly),
    ("Dual", Activity::Dual),
    ("DualOnly", Activity::DualOnly),
    ("Dualv", Activity::Dualv),
    ("DualvOnly", Activity::DualvOnly),
    ("Const", Activity::Const),
    ("Constant", Activity::Const),
];

/// An activity, and the word that says so.
#[derive(Clone, Debug)]
pub struct Word {
    pub activity: Activity,
    pub text: String,
    pub span: Span,
}

impl Word {
    pub fn new(word: &Ident) -> syn::Result<Self> {
        let text = word.to_string();
        match WORDS.iter().find(|(name, _)| *name == text) {
            Some(&(_, activity)) => Ok(Word { activity, text, span: word.span() }),
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
        Word { activity: Activity::Const, text: "Const".into(), span }
    }
}

/// Whether a word is an activity.
pub fn is_activity(word: &Ident) -> bool {
    WORDS.iter().any(|(name, _)| word == name)
}
