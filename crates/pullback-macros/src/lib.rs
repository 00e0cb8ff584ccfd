//! The attributes and derives of Pullback. Users meet them through the crate `pullback`, which documents and re-exports
//! them.
//!
//! `parse/` turns an attribute and its function into a `Plan`, or an error at the word that is wrong;
//! `generate/` turns a plan into the derivative. The function itself is handed on as it was.

mod generate;
mod parse;

use parse::attribute::Family;
use parse::rule::attached::{Attached, TAKEN};
use parse::rule::forward::ForwardRule;
use parse::rule::reverse::ReverseRule;
use parse::rule::scalar::ScalarRule;
use proc_macro::TokenStream;
use pullback_abi::RuleKind;

/// Differentiate a function: `#[autodiff(df, Reverse, Active, Duplicated, Active)]` adds the function `df` beside it.
///
/// After the derivative's name come the mode (`Reverse` or `Forward`, with a width: `Reverse(4)`), options
/// (`strong_zero`), and an activity for each argument and, last, for the result (which may be left out if there is
/// none). Activities can also be given by name, `x = Active, weights = Duplicated, return = Active`; then what is not
/// named is `Const`.
///
/// In **reverse mode** the derivative returns the gradients of the `Active` arguments in order and the result of the
/// function last. A `Duplicated` argument is followed by its shadow, a `&mut` to which the gradient is added. The seed
/// of an `Active` result is 1; the cotangent of a `Duplicated` result is the derivative's last argument.
///
/// In **forward mode** each `Dual` argument is followed by its tangent, and a `Dual` result comes back with its
/// tangent.
///
/// With a **width** N each shadow is an array of N shadows, gradients and tangents come back as arrays, and a
/// reverse-mode derivative takes N seeds as its last argument.
///
/// On an associated function without `self`, write `Self::df` for the name.
#[proc_macro_attribute]
pub fn autodiff(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(Family::Pullback, attribute, item)
}

/// Differentiate a function in reverse mode, with the signature of `std::autodiff::autodiff_reverse`.
///
/// The cotangent of an `Active` result is the derivative's last argument; it returns the result of the function first,
/// then the gradients of the `Active` arguments. A width N comes after the name, and gives each `Duplicated` argument N
/// shadow arguments.
#[proc_macro_attribute]
pub fn autodiff_reverse(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(Family::StdReverse, attribute, item)
}

/// Differentiate a function in forward mode, with the signature of `std::autodiff::autodiff_forward`.
///
/// Each `Dual` argument is followed by its tangent, N tangents with a width of N. A `Dual` result gives `(result,
/// tangent)`, or `[result, tangent, …]` with a width; `DualOnly` only the tangents.
#[proc_macro_attribute]
pub fn autodiff_forward(attribute: TokenStream, item: TokenStream) -> TokenStream {
    expand(Family::StdForward, attribute, item)
}

/// A rule for reverse mode: how a function is differentiated, as a function that returns its value and the pullback.
///
/// `#[rrule(for = f)]` on a function with the arguments of `f`. It returns a tuple: the value of `f`, and a closure.
/// The closure takes the cotangent of the value, and then, for each argument of `f` that is a reference, the shadow of
/// what it refers to, to which it adds. It returns the cotangents of the arguments that are passed by value: one, or a
/// tuple of several.
#[proc_macro_attribute]
pub fn rrule(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let rule = ReverseRule::parse(attribute.into(), item.clone().into());
    generate::rule::expand(item.into(), rule, generate::rule::reverse::generate).into()
}

/// A rule for forward mode: how the tangent of a function is computed.
///
/// `#[frule(for = f)]` on a function with the arguments of `f`, each followed by its tangent. It returns the value of
/// `f` and its tangent.
///
/// With `#[frule(for = f, transpose)]` the rule for reverse mode is the transpose of this one: the tangent is
/// differentiated with respect to the tangents of the arguments.
#[proc_macro_attribute]
pub fn frule(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let rule = ForwardRule::parse(attribute.into(), item.clone().into());
    generate::rule::expand(item.into(), rule, generate::rule::forward::generate).into()
}

/// A rule for both modes for a function of numbers, from its partial derivatives:
/// `scalar_rule!(hypot(x, y) => r; d/dx = x / r, d/dy = y / r)`.
///
/// `r` is the function's result. Arguments are `f64` unless they say otherwise: `f(x: f32, n: i32) => r`; those that
/// are not floats have no partial derivative. The result is of the type of the first float, unless it says otherwise:
/// `f(x: f32) -> f64 => r`. A foreign function is written `extern "C" cbrt(x) => r`. A rule that starts with the word
/// `default` gives way to another one for the function.
#[proc_macro]
pub fn scalar_rule(rule: TokenStream) -> TokenStream {
    ScalarRule::parse(rule.into())
        .map_or_else(|error| error.to_compile_error(), |rule| generate::rule::scalar::generate(&rule))
        .into()
}

/// Attach a rule for reverse mode to a function: `#[has_rrule(map_rrule)]`, where `map_rrule` is a function with
/// `#[rrule(generic)]`.
///
/// For generic functions, whatever their parameters are: the rule has the same type parameters in the same order.
#[proc_macro_attribute]
pub fn has_rrule(attribute: TokenStream, item: TokenStream) -> TokenStream {
    attach("has_rrule", attribute, item)
}

/// Attach a rule for forward mode to a function, as [`macro@has_rrule`] does for reverse mode.
#[proc_macro_attribute]
pub fn has_frule(attribute: TokenStream, item: TokenStream) -> TokenStream {
    attach("has_frule", attribute, item)
}

/// Say that what a function returns carries no derivative, whatever it is computed from.
#[proc_macro_attribute]
pub fn non_differentiable(attribute: TokenStream, item: TokenStream) -> TokenStream {
    attach("non_differentiable", attribute, item)
}

/// Say of functions of other crates, of methods, or of instances of generic functions, what
/// [`#[non_differentiable]`](macro@non_differentiable) says.
#[proc_macro]
pub fn non_differentiable_fn(paths: TokenStream) -> TokenStream {
    mark("non_differentiable_fn", RuleKind::NonDifferentiable, paths)
}

/// Have a function differentiated as if there were no rules for it.
#[proc_macro_attribute]
pub fn opt_out(attribute: TokenStream, item: TokenStream) -> TokenStream {
    attach("opt_out", attribute, item)
}

/// Say of functions of other crates, of methods, or of instances of generic functions, what
/// [`#[opt_out]`](macro@opt_out) says.
#[proc_macro]
pub fn opt_out_fn(paths: TokenStream) -> TokenStream {
    mark("opt_out_fn", RuleKind::OptOut, paths)
}

/// Make a struct or enum `Differentiable`.
///
/// Every field has to be `Differentiable` too. A field that carries no derivative and is of some other type gets
/// `#[pullback(skip)]`; it is then cloned into shadows.
///
/// A struct of another crate whose fields are public, and that is not `Drop`, is `Differentiable` by one that has the same fields:
///
/// ```ignore
/// #[derive(Differentiable)]
/// #[pullback(remote = "kurbo::Vec2")]
/// struct Vector {
///     x: f64,
///     y: f64,
/// }
/// ```
///
/// Both lie in memory in the same way, which rustc checks, so a `&Vec2` is a `&Vector`, by `Vector::of`. The derive also
/// writes `of_mut`, `Deref`, `DerefMut` and `From`. A field of type `Vec2` takes part with
/// `#[pullback(with = "Vector")]`.
#[proc_macro_derive(Differentiable, attributes(pullback))]
pub fn differentiable(item: TokenStream) -> TokenStream {
    parse::type_def::parse(item.into())
        .map_or_else(|error| error.to_compile_error(), |definition| generate::differentiable::generate(&definition))
        .into()
}

fn attach(name: &str, attribute: TokenStream, item: TokenStream) -> TokenStream {
    if attribute.to_string() == TAKEN {
        return item;
    }
    match Attached::parse(name, attribute.into(), item.clone().into()) {
        Ok(attached) => generate::rule::attached::generate(&attached, item.into()).into(),
        Err(error) => [item, error.to_compile_error().into()].into_iter().collect(),
    }
}

fn mark(name: &str, kind: RuleKind, paths: TokenStream) -> TokenStream {
    parse::rule::marks::paths(name, paths.into())
        .map_or_else(|error| error.to_compile_error(), |paths| generate::rule::marks::entries(kind, &paths))
        .into()
}

fn expand(family: Family, attribute: TokenStream, item: TokenStream) -> TokenStream {
    generate::expand(family, attribute.into(), item.into()).into()
}
