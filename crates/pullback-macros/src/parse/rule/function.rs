//! The function under a rule's attribute, with a name for every lifetime.

use super::attribute::{RuleAttribute, Target};
use crate::parse::error;
use crate::parse::function::{Argument, ArgumentKind, Function};
use crate::parse::types::has_lifetime;
use proc_macro2::{Ident, Span, TokenStream};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{
    GenericParam, Generics, Lifetime, LifetimeParam, ParenthesizedGenericArguments, Type, TypeFnPtr, TypeReference,
    TypeTraitObject, WherePredicate,
};

/// A rule's function.
pub struct RuleFunction {
    pub function: Function,
    /// What the function returns, if that is not nothing.
    pub output: Option<Type>,
}

impl RuleFunction {
    pub fn parse(item: TokenStream) -> syn::Result<Self> {
        let mut function = Function::parse(item)?;
        if function.is_unsafe {
            return Err(error(
                function.name.span(),
                "a rule is a safe function",
                "call the `unsafe` function in an `unsafe` block of the rule",
            ));
        }
        if let Some(receiver) = function.arguments.iter().find(|a| matches!(a.kind, ArgumentKind::Receiver(_))) {
            return Err(error(
                receiver.span,
                "a rule is a function of its own, not a method",
                "put it outside of the `impl`, with the receiver as its first argument: `this: &Type`",
            ));
        }
        if function.associated {
            return Err(error(
                function.name.span(),
                "a rule is a function of its own, not an associated function",
                "put it outside of the `impl`, and write the type's name for `Self`",
            ));
        }
        if function.type_parameters().any(|parameter| !function.turbofish.contains(parameter)) {
            return Err(error(
                function.name.span(),
                "a rule cannot have an argument of type `impl Trait`",
                "name the type: `fn rule<F: Trait>(f: F)`",
            ));
        }
        name_lifetimes(&mut function)?;
        if let Some(span) = lives_forever(&function.generics) {
            return Err(asked_to_live_forever(span));
        }
        let output = function.result.take();
        Ok(RuleFunction { function, output })
    }

    pub fn name(&self) -> &Ident {
        &self.function.name
    }

    pub fn arguments(&self) -> &[Argument] {
        &self.function.arguments
    }

    pub fn generics(&self) -> &Generics {
        &self.function.generics
    }

    /// Checks the list of instances against the parameters.
    pub fn check_instances(&self, attribute: &RuleAttribute) -> syn::Result<()> {
        for (name, types) in &attribute.instances {
            if !self.function.turbofish.contains(name) {
                return Err(error(
                    name.span(),
                    format_args!("the rule has no type parameter `{name}`"),
                    "the options are `for = path`, `abi = \"C\"`, `default`, and `T = [f32, f64]` for a type parameter \
                     `T`",
                ));
            }
            if types.is_empty() {
                return Err(error(
                    name.span(),
                    format_args!("no type is listed for `{name}`"),
                    "for example `T = [f64]`",
                ));
            }
        }
        let Target::Function { .. } = attribute.target else { return Ok(()) };
        for name in &self.function.turbofish {
            if !attribute.instances.iter().any(|(listed, _)| listed == name) {
                return Err(error(
                    name.span(),
                    format_args!("the rule does not say for which `{name}` it holds"),
                    format_args!(
                        "list them in the attribute, `{name} = [f32, f64]`; or write `#[{}(generic)]`, and \
                         `#[has_{}({})]` on the function",
                        attribute.name,
                        attribute.name,
                        self.name()
                    ),
                ));
            }
        }
        Ok(())
    }
}

/// Gives each lifetime that is left out in an argument a name. `'static` is refused: the rule is called with whatever
/// the target is called with.
pub fn name_lifetimes(function: &mut Function) -> syn::Result<()> {
    let mut naming = NameLifetimes { added: Vec::new(), is_static: None, object: None };
    for argument in &mut function.arguments {
        naming.visit_type_mut(&mut argument.ty);
    }
    if let Some(span) = naming.is_static {
        return Err(asked_to_live_forever(span));
    }
    if let Some(span) = naming.object {
        return Err(error(
            span,
            "an argument of a rule cannot be asked to live forever, as a trait object is that does not say for how \
             long",
            "add `+ '_`: the rule is called with what its function is called with",
        ));
    }
    let lifetimes = naming.added.into_iter().map(|name| GenericParam::Lifetime(LifetimeParam::new(name)));
    let others = std::mem::take(&mut function.generics.params);
    // Lifetimes come first.
    function.generics.params = lifetimes.chain(others).collect();
    Ok(())
}

fn asked_to_live_forever(span: Span) -> syn::Error {
    error(
        span,
        "an argument of a rule cannot be asked to live forever",
        "leave the lifetime out, or give it a name: the rule is called with what its function is called with",
    )
}

/// Where generics ask of a lifetime that it does not end: `'a: 'static`, or by what they ask of a type that it stands
/// in. The derivative calls the rule with memory that ends with the tape, and the compiler does not see for how long
/// that is there.
fn lives_forever(generics: &Generics) -> Option<Span> {
    struct Search<'a>(Vec<&'a Lifetime>, Option<Span>);
    impl Visit<'_> for Search<'_> {
        fn visit_lifetime(&mut self, lifetime: &Lifetime) {
            if self.0.contains(&lifetime) {
                self.1 = Some(lifetime.span());
            }
        }
    }
    let is_static = |lifetime: &&Lifetime| lifetime.ident == "static";
    let of_parameters = generics.lifetimes().flat_map(|parameter| &parameter.bounds);
    let predicates = || generics.where_clause.iter().flat_map(|clause| &clause.predicates);
    let of_clauses = predicates().filter_map(|predicate| match predicate {
        WherePredicate::Lifetime(predicate) => Some(&predicate.bounds),
        _ => None,
    });
    let mut bounds = of_parameters.chain(of_clauses.flatten());
    bounds.find(is_static).map(Spanned::span).or_else(|| {
        let mut search = Search(generics.lifetimes().map(|parameter| &parameter.lifetime).collect(), None);
        for predicate in predicates() {
            if let WherePredicate::Type(predicate) = predicate {
                search.visit_type(&predicate.bounded_ty);
            }
        }
        search.1
    })
}

/// A type with `'static` in the place of these lifetimes. A function whose lifetimes depend on each other, or are those
/// of an `impl`, has a type for each choice of them, and none for all.
pub fn with_static(ty: &Type, lifetimes: &[&Lifetime]) -> Type {
    struct Replace<'a>(&'a [&'a Lifetime]);
    impl VisitMut for Replace<'_> {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if self.0.contains(&&*lifetime) {
                *lifetime = Lifetime::new("'static", lifetime.span());
            }
        }
    }
    let mut ty = ty.clone();
    Replace(lifetimes).visit_type_mut(&mut ty);
    ty
}

struct NameLifetimes {
    added: Vec<Lifetime>,
    is_static: Option<Span>,
    /// A trait object without a lifetime that is not referred to.
    object: Option<Span>,
}

impl NameLifetimes {
    fn fresh(&mut self) -> Lifetime {
        let name = Lifetime::new(&format!("'pullback_{}", self.added.len()), Span::call_site());
        self.added.push(name.clone());
        name
    }
}

impl VisitMut for NameLifetimes {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if reference.lifetime.is_none() {
            reference.lifetime = Some(self.fresh());
        }
        match &mut *reference.elem {
            Type::TraitObject(object) if !has_lifetime(object) => {
                reference.lifetime.iter_mut().for_each(|lifetime| self.visit_lifetime_mut(lifetime));
                syn::visit_mut::visit_type_trait_object_mut(self, object);
            }
            _ => syn::visit_mut::visit_type_reference_mut(self, reference),
        }
    }

    fn visit_type_trait_object_mut(&mut self, object: &mut TypeTraitObject) {
        // It is `'static` where that is left out, but for an object that is referred to.
        if !has_lifetime(object) {
            self.object = Some(object.span());
        }
        syn::visit_mut::visit_type_trait_object_mut(self, object);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = self.fresh();
        } else if lifetime.ident == "static" {
            self.is_static = Some(lifetime.span());
        }
    }

    // What is left out there is bound there.
    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}
    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {}
}
