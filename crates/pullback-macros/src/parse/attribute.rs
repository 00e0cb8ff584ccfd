//! The inside of an attribute: `df, Reverse(2), strong_zero, Active, Const` or `df, Forward, x = Dual, return = Dual`.

use super::activity::{Word, is_activity};
use super::{error, similar};
use proc_macro2::{Ident, Span};
use pullback_abi::Mode;
use syn::ext::IdentExt;
use syn::parse::{ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{Expr, LitInt, Path, Token, parenthesized};

/// Whose signature the derivative has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// That of `#[autodiff]`.
    Pullback,
    /// That of `std::autodiff::autodiff_forward`.
    StdForward,
    /// That of `std::autodiff::autodiff_reverse`.
    StdReverse,
}

/// How many derivatives run side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Width {
    /// One, and no arrays.
    Single,
    /// So many, in arrays.
    Batch(usize),
}

impl Width {
    pub fn directions(self) -> usize {
        match self {
            Width::Single => 1,
            Width::Batch(directions) => directions,
        }
    }
}

/// The options, as the request has them.
#[derive(Clone, Copy, Default, Debug)]
pub struct Options {
    pub strong_zero: bool,
}

/// The activities, by position or by name.
#[derive(Debug)]
pub enum Activities {
    Positional(Vec<Word>),
    Named(Vec<(Ident, Word)>),
}

/// An attribute's inside.
#[derive(Debug)]
pub struct Attribute {
    pub family: Family,
    /// The derivative's name.
    pub name: Ident,
    /// Whether the name was written `Self::df`: the function is an associated one.
    pub associated: bool,
    pub mode: Mode,
    pub width: Width,
    pub options: Options,
    pub activities: Activities,
}

const MODES: [&str; 2] = ["Reverse", "Forward"];
const OPTIONS: [&str; 4] = ["strong_zero", "runtime_activity", "checkpoint", "holomorphic"];

impl Attribute {
    pub fn parse(family: Family, tokens: proc_macro2::TokenStream) -> syn::Result<Self> {
        (|input: ParseStream<'_>| Self::parse_from(family, input)).parse2(tokens)
    }

    fn parse_from(family: Family, input: ParseStream<'_>) -> syn::Result<Self> {
        if input.is_empty() {
            let example = match family {
                Family::Pullback => "#[autodiff(df, Reverse, Active, Active)]",
                Family::StdReverse => "#[autodiff_reverse(df, Active, Active)]",
                Family::StdForward => "#[autodiff_forward(df, Dual, Dual)]",
            };
            return Err(error(
                Span::call_site(),
                "the derivative needs a name",
                format_args!("for example `{example}`"),
            ));
        }
        let (name, associated) = parse_name(input)?;
        let (mode, width) = match family {
            Family::Pullback => parse_mode(input, &name)?,
            Family::StdReverse => (Mode::Reverse, parse_std_width(input)?),
            Family::StdForward => (Mode::Forward, parse_std_width(input)?),
        };
        let mut options = Options::default();
        let mut positional = Vec::new();
        let mut named: Vec<(Ident, Word)> = Vec::new();
        while comma(input)? {
            if !input.peek(Ident::peek_any) {
                return Err(error(
                    input.span(),
                    "expected an activity",
                    "such as `Active`, `Duplicated`, `Dual` or `Const`",
                ));
            }
            let word = input.call(Ident::parse_any)?;
            if input.peek(Token![=]) {
                input.parse::<Token![=]>()?;
                match Self::parse_value(input, &word)? {
                    Some(activity) => named.push((word, activity)),
                    None => return Err(not_yet(&word)),
                }
            } else if OPTIONS.iter().any(|option| word == option) {
                match word.to_string().as_str() {
                    "strong_zero" => options.strong_zero = true,
                    _ => return Err(not_yet(&word)),
                }
            } else if is_option_like(&word) {
                return Err(unknown_option(&word));
            } else {
                positional.push(Word::new(&word)?);
            }
        }
        let activities = match (positional.first(), named.is_empty()) {
            (Some(word), false) => {
                return Err(error(
                    word.span,
                    format_args!("`{}` is given by position, other activities by name", word.text),
                    "write `name = Activity` for all of them, or for none",
                ));
            }
            (_, false) => Activities::Named(named),
            (_, true) => Activities::Positional(positional),
        };
        Ok(Attribute { family, name, associated, mode, width, options, activities })
    }

    /// What follows `word =`: an activity, or `None` for the value of an option.
    fn parse_value(input: ParseStream<'_>, word: &Ident) -> syn::Result<Option<Word>> {
        let value: Ident = match input.fork().call(Ident::parse_any) {
            Ok(value) if is_activity(&value) || word != "checkpoint" => input.call(Ident::parse_any)?,
            _ => {
                let value: Expr = input.parse()?;
                return if word == "checkpoint" {
                    Ok(None)
                } else {
                    Err(error(value.span(), "expected an activity", format_args!("for example `{word} = Duplicated`")))
                };
            }
        };
        Word::new(&value).map(Some)
    }
}

/// The comma before a further item; false at the end.
fn comma(input: ParseStream<'_>) -> syn::Result<bool> {
    if input.is_empty() {
        return Ok(false);
    }
    if !input.peek(Token![,]) {
        return Err(error(
            input.span(),
            "expected a comma",
            "separate the name, the mode and the activities by commas",
        ));
    }
    input.parse::<Token![,]>()?;
    Ok(!input.is_empty())
}

fn parse_name(input: ParseStream<'_>) -> syn::Result<(Ident, bool)> {
    let path: Path = input.parse().map_err(|cause| {
        error(cause.span(), "expected the derivative's name", "the first item names the new function, for example `df`")
    })?;
    let segments: Vec<&Ident> = path.segments.iter().map(|segment| &segment.ident).collect();
    match segments[..] {
        [name] if MODES.iter().any(|mode| name == mode) || is_activity(name) => Err(error(
            name.span(),
            format_args!("`{name}` stands where the derivative's name belongs"),
            "the first item names the new function, for example `df`",
        )),
        [name] => Ok((name.clone(), false)),
        [scope, name] if scope == "Self" => Ok((name.clone(), true)),
        _ => Err(error(
            path.span(),
            "the derivative's name is not a path",
            "the derivative is put beside the function: write `df`, or `Self::df` on an associated function",
        )),
    }
}

fn parse_mode(input: ParseStream<'_>, name: &Ident) -> syn::Result<(Mode, Width)> {
    let help = "`Reverse` or `Forward` follows the name, for example `#[autodiff(df, Reverse, Active, Active)]`";
    if !comma(input)? {
        return Err(error(name.span(), "the mode is missing", help));
    }
    let word = input.call(Ident::parse_any).map_err(|cause| error(cause.span(), "expected the mode", help))?;
    let mode = match word.to_string().as_str() {
        "Reverse" => Mode::Reverse,
        "Forward" => Mode::Forward,
        text => {
            let help = similar(text, MODES).map_or(help.to_owned(), |mode| format!("did you mean `{mode}`?"));
            return Err(error(word.span(), format_args!("`{text}` is not a mode"), help));
        }
    };
    if !input.peek(syn::token::Paren) {
        return Ok((mode, Width::Single));
    }
    let inside;
    parenthesized!(inside in input);
    let width = parse_width(&inside)?;
    if !inside.is_empty() {
        return Err(error(inside.span(), "the width is one number", format_args!("for example `{word}(4)`")));
    }
    Ok((mode, Width::Batch(width)))
}

/// The number after the name in `std`'s attributes. A width of 1 is that of no number, there.
fn parse_std_width(input: ParseStream<'_>) -> syn::Result<Width> {
    let ahead = input.fork();
    if !(comma(&ahead)? && ahead.peek(syn::Lit)) {
        return Ok(Width::Single);
    }
    comma(input)?;
    Ok(match parse_width(input)? {
        1 => Width::Single,
        directions => Width::Batch(directions),
    })
}

fn parse_width(input: ParseStream<'_>) -> syn::Result<usize> {
    let help = "the width is how many derivatives run side by side, 1 or more";
    let literal: LitInt =
        input.parse().map_err(|cause| error(cause.span(), "the width is not a whole number", help))?;
    match literal.base10_parse() {
        Ok(0) => Err(error(literal.span(), "the width is zero", help)),
        Ok(width @ 1..=256) => Ok(width),
        _ => Err(error(literal.span(), "the width is too large", "at most 256; run the derivative several times")),
    }
}

/// Options are written in lower case, activities are not.
fn is_option_like(word: &Ident) -> bool {
    let text = word.to_string();
    text.contains('_') || similar(&text, OPTIONS).is_some()
}

fn unknown_option(word: &Ident) -> syn::Error {
    let text = word.to_string();
    let help = match similar(&text, OPTIONS) {
        Some(option) => format!("did you mean `{option}`?"),
        None => "the option there is now is `strong_zero`".into(),
    };
    error(word.span(), format_args!("unknown option `{text}`"), help)
}

fn not_yet(word: &Ident) -> syn::Error {
    error(
        word.span(),
        format_args!("the option `{word}` is not there yet"),
        "leave it out; the option there is now is `strong_zero`",
    )
}
