//! The derivative's documentation: its signature, and what it takes and returns.

use super::signature::{Returned, Signature};
use crate::parse::attribute::Width;
use crate::parse::plan::Plan;
use crate::parse::pretty;
use pullback_abi::Mode;
use quote::ToTokens;

pub fn describe(plan: &Plan, signature: &Signature) -> String {
    let (function, attribute) = (&plan.function, &plan.attribute);
    let mode = attribute.mode.word();
    let batch = match attribute.width {
        Width::Single => String::new(),
        Width::Batch(directions) => format!(", {directions} at a time"),
    };
    let name = &function.name;
    let mut text = format!("The derivative of `{name}` in {mode} mode{batch}.\n\n");
    text += &format!("```text\n{}\n```\n\n", pretty(&signature.to_token_stream()));
    for (argument, shadow) in function.arguments.iter().zip(&signature.shadows) {
        let Some(shadow) = shadow else { continue };
        let parameters: Vec<String> = shadow.parameters.iter().map(|parameter| format!("`{parameter}`")).collect();
        let (parameters, argument) = (parameters.join(", "), &argument.name);
        text += &match attribute.mode {
            Mode::Forward => format!("- {parameters}: the tangent of `{argument}`\n"),
            Mode::Reverse => format!("- {parameters}: the gradient with respect to `{argument}` is added to it\n"),
        };
    }
    if let Some(seed) = &signature.seed {
        text += &format!("- `{seed}`: the cotangent of the result\n");
    }
    let returned: Vec<String> = signature
        .returned
        .iter()
        .map(|value| match value {
            Returned::Gradient(index) => format!("the gradient with respect to `{}`", function.arguments[*index].name),
            Returned::Primal => format!("the result of `{name}`"),
            Returned::Tangent => "its tangent".into(),
            Returned::PrimalAndTangents => format!("the result of `{name}` followed by its tangents"),
        })
        .collect();
    match &returned[..] {
        [] => {}
        [first] if first == "its tangent" => text += "\nReturns the tangent of the result.",
        [others @ .., last] if !others.is_empty() => {
            text += &format!("\nReturns {} and {last}.", others.join(", "));
        }
        _ => text += &format!("\nReturns {}.", returned[0]),
    }
    text
}
