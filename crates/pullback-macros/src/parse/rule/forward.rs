//! A rule for forward mode: `fn(x: f64, dx: f64, y: &[f64], dy: &[f64]) -> (f64, f64)`.

use super::attribute::RuleAttribute;
use super::function::RuleFunction;
use super::reverse::{Access, access, refuse_references, refuse_untracked};
use super::{inside_option, is_no_tangent};
use crate::parse::error;
use crate::parse::function::Argument;
use crate::parse::types::{Pointer, as_reference};
use proc_macro2::TokenStream;
use syn::spanned::Spanned;
use syn::{Type, parse_quote};

/// A rule for forward mode.
pub struct ForwardRule {
    pub attribute: RuleAttribute,
    /// Its arguments are those of the target, each followed by its tangent.
    pub rule: RuleFunction,
    /// The type of the value, and what is returned as its tangent: `()` and `()` if the rule returns nothing.
    pub result: Type,
    pub result_tangent: Type,
    /// How the tangent of each argument of the target comes in.
    pub tangents: Vec<TangentWay>,
}

/// How a tangent comes in.
pub enum TangentWay {
    /// By value, for an argument that is passed by value.
    Value,
    /// By reference, for a reference to this type: `&T`, `Option<&T>` or `&mut T`.
    Reference(Box<Type>),
    /// By raw pointer, for a raw pointer: null where there is none.
    Raw(Box<Type>),
    /// `NoTangent`, for a reference or a raw pointer.
    Nothing,
}

const RETURNS: &str = "a rule for forward mode returns the value and its tangent: `(f64, f64)`";

impl ForwardRule {
    pub fn parse(attribute: TokenStream, item: TokenStream) -> syn::Result<Self> {
        let attribute = RuleAttribute::parse("frule", attribute)?;
        let rule = RuleFunction::parse(item)?;
        rule.check_instances(&attribute)?;
        let (result, result_tangent) = match &rule.output {
            None => (parse_quote!(()), parse_quote!(())),
            Some(Type::Tuple(tuple)) if tuple.elems.len() == 2 => (tuple.elems[0].clone(), tuple.elems[1].clone()),
            Some(other) => {
                return Err(error(other.span(), "the rule does not return a value and its tangent", RETURNS));
            }
        };
        refuse_references(&result)?;
        let tangents: Vec<TangentWay> = rule.arguments().chunks(2).map(tangent_way).collect::<syn::Result<_>>()?;
        if attribute.transpose {
            refuse_transpose(&rule, &tangents)?;
        }
        Ok(ForwardRule { attribute, rule, result, result_tangent, tangents })
    }

    /// The arguments of the target.
    pub fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.rule.arguments().iter().step_by(2)
    }
}

/// What is written has no tangent by value that could be transposed, and what is behind a raw pointer has no known
/// length.
fn refuse_transpose(rule: &RuleFunction, tangents: &[TangentWay]) -> syn::Result<()> {
    let help = "leave `transpose` out, and write a rule for reverse mode";
    for (argument, way) in rule.arguments().iter().step_by(2).zip(tangents) {
        let pointer = Pointer::of(&argument.ty);
        if matches!(way, TangentWay::Raw(_)) || pointer.is_some_and(|pointer| access(pointer) == Access::Exclusive) {
            return Err(error(argument.span, "a rule with this argument cannot be transposed", help));
        }
    }
    match rule.output {
        Some(_) => Ok(()),
        None => Err(error(rule.name().span(), "a rule without a result cannot be transposed", help)),
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
    let Some(pointer) = Pointer::of(&argument.ty) else { return Ok(TangentWay::Value) };
    let access = access(pointer);
    let elem = Box::new(pointer.elem().clone());
    if is_no_tangent(&tangent.ty) {
        if access == Access::Exclusive {
            refuse_untracked(&argument.label, pointer, tangent.ty.span())?;
        }
        return Ok(TangentWay::Nothing);
    }
    if let Pointer::Raw(_) = pointer {
        return match Pointer::of(&tangent.ty) {
            Some(tangent @ Pointer::Raw(_)) if tangent.is_mutable() == pointer.is_mutable() => {
                Ok(TangentWay::Raw(elem))
            }
            _ => Err(error(
                tangent.ty.span(),
                format_args!("this is the tangent of `{}`, which is a raw pointer", argument.label),
                "it is a pointer of the same type, which is null where there is no tangent, or `NoTangent`",
            )),
        };
    }
    let is_option = inside_option(&tangent.ty).is_some_and(|inside| as_reference(inside).is_some());
    match (access, as_reference(&tangent.ty)) {
        (Access::Shared, Some(tangent)) if tangent.mutability.is_none() => Ok(TangentWay::Reference(elem)),
        (Access::Exclusive, Some(tangent)) if tangent.mutability.is_some() => Ok(TangentWay::Reference(elem)),
        (Access::Shared, None) if is_option => Ok(TangentWay::Reference(elem)),
        (Access::Shared, _) => Err(error(
            tangent.ty.span(),
            format_args!("this is the tangent of `{}`, which is a reference", argument.label),
            "it is a reference, an `Option<&…>` (`None` where there is no tangent), or `NoTangent`",
        )),
        (Access::Exclusive, _) => Err(error(
            tangent.ty.span(),
            format_args!("this is the tangent of `{}`, which is a `&mut`", argument.label),
            "it is a `&mut`, in which the rule leaves the tangent of what it leaves in the argument",
        )),
    }
}
