//! An attribute and its function together: what each argument and the result is to the derivative.

use super::activity::{Meaning, Word};
use super::attribute::{Activities, Attribute, Family, Width};
use super::function::{Argument, Function};
use super::lifetimes;
use super::types::{as_reference, is_inactive, is_slice_reference, path_name};
use super::{error, pretty, similar};
use proc_macro2::TokenStream;
use pullback_abi::Mode;
use quote::ToTokens;
use syn::Type;
use syn::spanned::Spanned;

/// A derivative to be written.
pub struct Plan {
    pub attribute: Attribute,
    pub function: Function,
    /// One for each argument.
    pub roles: Vec<Role>,
    pub result: ResultRole,
}

/// Whether the primal value is of use to the caller afterwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    Needed,
    Unneeded,
}

/// What an argument is to the derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// No derivative.
    Const,
    /// Its gradient is returned.
    Active,
    /// It is followed by its shadows.
    Shadowed(Need),
    /// It is followed by one slice that holds all its tangents.
    Stacked(Need),
}

/// What the result is to the derivative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultRole {
    /// No derivative.
    Const,
    /// Its cotangent is 1.
    One(Need),
    /// Its cotangents are passed as the last argument.
    Seeded(Need),
    /// Its tangents are returned.
    Tangent(Need),
}

impl Plan {
    pub fn new(family: Family, attribute: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let function = Function::parse(item)?;
        let attribute = Attribute::parse(family, attribute)?;
        if attribute.name == function.name {
            return Err(error(
                attribute.name.span(),
                format_args!("the derivative has the name of the function, `{}`", function.name),
                format_args!("give it one of its own, for example `d_{}`", function.name),
            ));
        }
        lifetimes::check(&function)?;
        let (words, result_word) = words(&attribute, &function)?;
        let roles = all(function.arguments.iter().zip(&words).map(|(argument, word)| role(&attribute, argument, word)));
        let result = match (&function.result, &result_word) {
            (Some(ty), Some(word)) => result_role(&attribute, ty, word),
            _ => Ok(ResultRole::Const),
        };
        let (roles, result) = match (roles, result) {
            (Ok(roles), Ok(result)) => (roles, result),
            (Err(mut errors), Err(error)) => {
                errors.combine(error);
                return Err(errors);
            }
            (Err(error), _) | (_, Err(error)) => return Err(error),
        };
        let takes_or_returns = !roles.is_empty() || function.result.is_some();
        if takes_or_returns && roles.iter().all(|role| *role == Role::Const) && result == ResultRole::Const {
            return Err(error(
                attribute.name.span(),
                format_args!("`{}` would differentiate nothing: everything is `Const`", attribute.name),
                match attribute.mode {
                    Mode::Reverse => "mark what has a derivative `Active` or `Duplicated`",
                    Mode::Forward => "mark what has a derivative `Dual`",
                },
            ));
        }
        Ok(Plan {
            function: Function { associated: function.associated || attribute.associated, ..function },
            attribute,
            roles,
            result,
        })
    }
}

impl Plan {
    /// Whether an argument has a tangent from which that of the result may borrow.
    pub fn has_tangent(&self, argument: usize) -> bool {
        let shadowed = matches!(self.roles[argument], Role::Shadowed(_) | Role::Stacked(_));
        shadowed && matches!(self.result, ResultRole::Tangent(_))
    }
}

/// All values, or all errors in one.
fn all<T>(results: impl Iterator<Item = syn::Result<T>>) -> syn::Result<Vec<T>> {
    let mut values = Vec::new();
    let mut errors: Option<syn::Error> = None;
    for result in results {
        match (result, &mut errors) {
            (Ok(value), _) => values.push(value),
            (Err(error), Some(errors)) => errors.combine(error),
            (Err(error), None) => errors = Some(error),
        }
    }
    errors.map_or(Ok(values), Err)
}

/// An activity for each argument, and one for the result.
fn words(attribute: &Attribute, function: &Function) -> syn::Result<(Vec<Word>, Option<Word>)> {
    match &attribute.activities {
        Activities::Positional(words) => positional(words, function),
        Activities::Named(words) => named(words, function),
    }
}

fn positional(words: &[Word], function: &Function) -> syn::Result<(Vec<Word>, Option<Word>)> {
    let arguments = &function.arguments;
    if let Some(missing) = arguments.get(words.len()) {
        return Err(error(
            missing.span,
            format_args!("no activity for the argument `{}`", missing.label),
            format_args!("`{}` needs {}", function.name, expected(function)),
        ));
    }
    let (for_arguments, rest) = words.split_at(arguments.len());
    match (rest, &function.result) {
        ([], None) => Ok((for_arguments.to_vec(), None)),
        ([], Some(result)) => Err(error(
            result.span(),
            "no activity for the result",
            format_args!("`{}` needs {}", function.name, expected(function)),
        )),
        ([word], None) if word.meaning == Meaning::Const => Ok((for_arguments.to_vec(), None)),
        ([word], None) => Err(error(
            word.span,
            format_args!("`{}` for the result, but `{}` returns nothing", word.text, function.name),
            "leave it out, or write `Const`",
        )),
        ([word], Some(_)) => Ok((for_arguments.to_vec(), Some(word.clone()))),
        ([_, extra, ..], _) => Err(error(
            extra.span,
            format_args!("an activity too many: `{}`", extra.text),
            format_args!("`{}` needs {}", function.name, expected(function)),
        )),
    }
}

/// How many activities a function needs, in words.
fn expected(function: &Function) -> String {
    let names: Vec<String> = function.arguments.iter().map(|argument| format!("`{}`", argument.label)).collect();
    match (names.is_empty(), &function.result) {
        (true, Some(_)) => "one activity, for its result".into(),
        (true, None) => "no activities".into(),
        (false, Some(_)) => format!("{} activities: for {} and the result", names.len() + 1, names.join(", ")),
        (false, None) => format!("{} activities: for {}", names.len(), names.join(", ")),
    }
}

fn named(words: &[(syn::Ident, Word)], function: &Function) -> syn::Result<(Vec<Word>, Option<Word>)> {
    for (index, (name, word)) in words.iter().enumerate() {
        if words[..index].iter().any(|(earlier, _)| earlier == name) {
            return Err(error(name.span(), format_args!("`{name}` is given twice"), "give each argument one activity"));
        }
        if name == "return" {
            if function.result.is_none() && word.meaning != Meaning::Const {
                return Err(error(
                    name.span(),
                    format_args!("`{}` for the result, but `{}` returns nothing", word.text, function.name),
                    "leave it out, or write `Const`",
                ));
            }
        } else if !function.arguments.iter().any(|argument| name == argument.label.as_str()) {
            let names: Vec<String> = function.arguments.iter().map(|argument| argument.label.clone()).collect();
            let help = match similar(&name.to_string(), names.iter().map(String::as_str)) {
                Some(name) => format!("did you mean `{name}`?"),
                None if names.is_empty() => "only `return` can be given".into(),
                None => format!("its arguments are `{}`; the result is `return`", names.join("`, `")),
            };
            return Err(error(name.span(), format_args!("`{}` has no argument `{name}`", function.name), help));
        }
    }
    let find = |name: &str, span| {
        words.iter().find(|(given, _)| given == name).map_or_else(|| Word::constant(span), |(_, word)| word.clone())
    };
    let arguments = function.arguments.iter().map(|argument| find(&argument.label, argument.span)).collect();
    Ok((arguments, function.result.as_ref().map(|result| find("return", result.span()))))
}

fn role(attribute: &Attribute, argument: &Argument, word: &Word) -> syn::Result<Role> {
    let (name, text, ty) = (&argument.label, &word.text, &argument.ty);
    let shown = pretty(&ty.to_token_stream());
    if word.meaning != Meaning::Const && is_inactive(ty) {
        return Err(error(
            word.span,
            format_args!("`{text}` on `{name}`, but `{shown}` has no derivative"),
            "mark it `Const`",
        ));
    }
    match (attribute.mode, word.meaning) {
        (_, Meaning::Const) => Ok(Role::Const),
        (Mode::Reverse, Meaning::Active) if is_indirect(ty) => Err(error(
            word.span,
            format_args!("`Active` on `{name}`, which is passed by reference"),
            "use `Duplicated`: its gradient is then added to a shadow that you pass",
        )),
        (Mode::Reverse, Meaning::Active) => Ok(Role::Active),
        (_, Meaning::ActiveOnly) => Err(error(
            word.span,
            "`ActiveOnly` is for the result",
            if attribute.mode == Mode::Forward { "use `Dual`" } else { "use `Active`" },
        )),
        (_, Meaning::Duplicated) => Ok(Role::Shadowed(Need::Needed)),
        (_, Meaning::DuplicatedOnly) => Ok(Role::Shadowed(Need::Unneeded)),
        (Mode::Forward, Meaning::Active) => {
            Err(error(word.span, "`Active` is an activity of reverse mode", "use `Dual` in forward mode"))
        }
        (Mode::Reverse, Meaning::Dual | Meaning::DualOnly | Meaning::Dualv | Meaning::DualvOnly) => Err(error(
            word.span,
            format_args!("`{text}` is an activity of forward mode"),
            if is_indirect(ty) {
                "use `Duplicated` in reverse mode"
            } else {
                "use `Active` or `Duplicated` in reverse mode"
            },
        )),
        (Mode::Forward, Meaning::Dual) => Ok(Role::Shadowed(Need::Needed)),
        (Mode::Forward, Meaning::DualOnly) => Ok(Role::Shadowed(Need::Unneeded)),
        (Mode::Forward, Meaning::Dualv | Meaning::DualvOnly) if !is_slice_reference(ty) => Err(error(
            word.span,
            format_args!("`{text}` on `{name}`, which is not a slice but `{shown}`"),
            "use `Dual`; `Dualv` is for `&[T]` and `&mut [T]`",
        )),
        (Mode::Forward, Meaning::Dualv) => Ok(Role::Stacked(Need::Needed)),
        (Mode::Forward, Meaning::DualvOnly) => Ok(Role::Stacked(Need::Unneeded)),
    }
}

/// Whether a value of a type is, to be seen, a reference, a pointer or a slice.
fn is_indirect(ty: &Type) -> bool {
    as_reference(ty).is_some() || matches!(ty, Type::Ptr(_) | Type::Slice(_))
}

fn result_role(attribute: &Attribute, ty: &Type, word: &Word) -> syn::Result<ResultRole> {
    let text = &word.text;
    if word.meaning != Meaning::Const && is_inactive(ty) {
        return Err(error(
            word.span,
            format_args!("`{text}` for the result, but `{}` has no derivative", pretty(&ty.to_token_stream())),
            "mark it `Const`",
        ));
    }
    let needs = match word.meaning {
        Meaning::Const => return Ok(ResultRole::Const),
        Meaning::Active | Meaning::Duplicated | Meaning::Dual => Need::Needed,
        Meaning::ActiveOnly | Meaning::DuplicatedOnly | Meaning::DualOnly => Need::Unneeded,
        Meaning::Dualv | Meaning::DualvOnly => {
            return Err(error(
                word.span,
                format_args!("`{text}` is for arguments"),
                "use `Dual` or `DualOnly` for the result",
            ));
        }
    };
    match (attribute.mode, word.meaning) {
        (Mode::Forward, Meaning::Active | Meaning::ActiveOnly) => Err(error(
            word.span,
            format_args!("`{text}` is an activity of reverse mode"),
            format_args!("use `{}` in forward mode", if needs == Need::Needed { "Dual" } else { "DualOnly" }),
        )),
        (Mode::Forward, _) => Ok(ResultRole::Tangent(needs)),
        (Mode::Reverse, Meaning::Dual | Meaning::DualOnly) => Err(error(
            word.span,
            format_args!("`{text}` is an activity of forward mode"),
            format_args!("use `{}` in reverse mode", if needs == Need::Needed { "Active" } else { "ActiveOnly" }),
        )),
        (Mode::Reverse, _) if is_indirect(ty) => Err(error(
            word.span,
            format_args!("`{text}` for a result behind a pointer"),
            "return floats, or write the result through a `&mut` argument that is `Duplicated`",
        )),
        (Mode::Reverse, Meaning::Duplicated) => Ok(ResultRole::Seeded(needs)),
        (Mode::Reverse, _) if attribute.family == Family::Pullback && attribute.width == Width::Single => {
            if matches!(ty, Type::Tuple(_) | Type::Array(_)) || is_on_the_heap(ty) {
                return Err(error(
                    word.span,
                    format_args!("`{text}` for a result that is not one float"),
                    "use `Duplicated`: its cotangent is then the derivative's last argument",
                ));
            }
            Ok(ResultRole::One(needs))
        }
        (Mode::Reverse, _) => Ok(ResultRole::Seeded(needs)),
    }
}

fn is_on_the_heap(ty: &Type) -> bool {
    path_name(ty).is_some_and(|name| ["Vec", "Box", "Rc", "Arc"].contains(&name.as_str()))
}
