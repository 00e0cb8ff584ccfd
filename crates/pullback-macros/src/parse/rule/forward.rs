//! A rule for forward mode: `fn(x: f64, dx: f64, y: &[f64], dy: &[f64]) -> (f64, f64)`.

use super::attribute::RuleAttribute;
use super::function::RuleFunction;
use super::reverse::refuse_references;
use super::{inside_option, is_no_tangent};
use crate::parse::error;
use crate::parse::function::Argument;
use crate::parse::types::as_reference;
use proc_macro2::TokenStream;
use syn::Type;
use syn::spanned::Spanned;

/// A rule for forward mode.
pub struct ForwardRule {
    pub attribute: RuleAttribute,
    /// Its arguments are those of the target, each followed by its tangent.
    pub rule: RuleFunction,
    /// The type of the value, and what is returned as its tangent.
    pub result: Type,
    pub result_tangent: Type,
    /// How the tangent of each argument of the target comes in.
    pub tangents: Vec<TangentWay>,
}

/// How a tangent comes in.
pub enum TangentWay {
    /// By value, for an argument that is passed by value.
    Value,
    /// `&T`, for a reference to `T`.
    Reference(Type),
    /// `Option<&T>`, for a reference to `T`.
    IfThere(Type),
    /// `NoTangent`, for a reference.
    Nothing,
}

const RETURNS: &str = "a rule for forward mode returns the value and its tangent: `(f64, f64)`";

impl ForwardRule {
    pub fn parse(attribute: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let attribute = RuleAttribute::parse("frule", attribute)?;
        let rule = RuleFunction::parse(item, RETURNS)?;
        rule.check_instances(&attribute)?;
        let (result, result_tangent) = match &rule.output {
            Type::Tuple(tuple) if tuple.elems.len() == 2 => (tuple.elems[0].clone(), tuple.elems[1].clone()),
            other => return Err(error(other.span(), "the rule does not return a value and its tangent", RETURNS)),
        };
        refuse_references(&result)?;
        let tangents = rule.arguments().chunks(2).map(tangent_way).collect::<syn::Result<_>>()?;
        Ok(ForwardRule { attribute, rule, result, result_tangent, tangents })
    }

    /// The arguments of the target.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.rule.arguments().iter().step_by(2)
    }
}

fn tangent_way(pair: &[Argument]) -> syn::Result<TangentWay> {
    let [argument, tangent] = pair else {
        return Err(error(
            pair[0].span,
            format_args!("no tangent follows the argument `{}`", pair[0].label),
            "in a rule for forward mode each argument is followed by its tangent, or by a `NoTangent`",
        ));
    };
    let Some(reference) = as_reference(&argument.ty) else { return Ok(TangentWay::Value) };
    if reference.mutability.is_some() {
        return Err(error(
            argument.span,
            format_args!(
                "`{}` is a `&mut`: a rule for a function that changes its argument is not there yet",
                argument.label
            ),
            "let the function return what it computes",
        ));
    }
    let elem = (*reference.elem).clone();
    if is_no_tangent(&tangent.ty) {
        Ok(TangentWay::Nothing)
    } else if as_reference(&tangent.ty).is_some() {
        Ok(TangentWay::Reference(elem))
    } else if inside_option(&tangent.ty).is_some_and(|inside| as_reference(inside).is_some()) {
        Ok(TangentWay::IfThere(elem))
    } else {
        Err(error(
            tangent.ty.span(),
            format_args!("this is the tangent of `{}`, which is a reference", argument.label),
            "it is a reference, an `Option<&…>` (`None` where there is no tangent), or `NoTangent`",
        ))
    }
}
