//! The lifetimes of a derivative whose result borrows from an argument.
//!
//! A lifetime that the primal's result leaves out is that of one argument. The derivative has that argument and its
//! shadow, and the tangent borrows from the shadow. So the derivative's signature names the lifetimes:
//!
//! ```text
//! fn get(&self, i: usize) -> &f64
//! fn tget<'primal: 'shadow, 'shadow>(&'primal self, d_self: &'shadow Self, i: usize) -> (&'primal f64, &'shadow f64)
//! ```
//!
//! The bound is there because a tangent may refer to memory of the primal that carries no derivative.
//!
//! A path can hide a lifetime (`View` for `View<'_>`). No macro sees it, and rustc gives it the lifetime of the
//! receiver. So where the result of a method has a path that is not known to hide none, receiver and shadow have one
//! lifetime:
//!
//! ```text
//! fn view(&self) -> View
//! fn tview<'primal>(&'primal self, d_self: &'primal Self) -> (View, View)
//! ```
//!
//! Names are no proof: a user's type may be called `Vec`. The proof is a call of the primal with the shadows that never
//! happens, in the derivative's body (`generate/body.rs`). From it the borrow checker gets the lifetime of each
//! tangent, and refuses a signature that promises more. A lifetime that has a name in the primal is the same in
//! arguments, shadows, result and tangent.

use super::error;
use super::function::{Argument, ArgumentKind, Function};
use super::types::{INACTIVE, path_name};
use proc_macro2::{Ident, Span};
use quote::{ToTokens, format_ident};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{
    GenericParam, Generics, Lifetime, LifetimeParam, ParenthesizedGenericArguments, Receiver, ReceiverKind, Type,
    TypeFnPtr, TypePath, TypeReference, parse_quote,
};

/// The argument from which the result borrows, and the names of the lifetimes.
pub struct Borrow {
    argument: usize,
    primal: Lifetime,
    shadow: Lifetime,
}

impl Borrow {
    /// What the result of a function borrows from, if its type does not say. `has_shadow` tells whether an argument has
    /// a shadow from which a tangent may borrow.
    pub fn of(function: &Function, has_shadow: impl Fn(usize) -> bool) -> Option<Self> {
        let result = function.result.as_ref()?;
        // Without a receiver, rustc finds no lifetime for what a path hides, and says so.
        let hides = self_references(function) > 0 && hides_lifetime(result, function);
        if !Elided::in_type(result) && !hides {
            return None;
        }
        let argument = lender(function)?;
        let mut names = function.generics.lifetimes().map(|parameter| parameter.lifetime.ident.clone()).collect();
        let primal = fresh("primal", &mut names);
        let shadow = if hides || !has_shadow(argument) { primal.clone() } else { fresh("shadow", &mut names) };
        Some(Borrow { argument, primal, shadow })
    }

    /// The derivative's lifetime parameters.
    pub fn declare(&self, generics: &mut Generics) {
        let Borrow { primal, shadow, .. } = self;
        let parameters: Vec<LifetimeParam> = if primal == shadow {
            vec![parse_quote!(#primal)]
        } else {
            vec![parse_quote!(#primal: #shadow), parse_quote!(#shadow)]
        };
        for parameter in parameters.into_iter().rev() {
            generics.params.insert(0, GenericParam::Lifetime(parameter));
        }
    }

    /// The receiver of the derivative.
    pub fn receiver(&self, index: usize, receiver: &Receiver) -> Receiver {
        let mut receiver = receiver.clone();
        if index == self.argument {
            match &mut receiver.kind {
                ReceiverKind::Reference(_, lifetime, _) => *lifetime = Some(self.primal.clone()),
                ReceiverKind::Typed(_, ty) => Name { lifetime: &self.primal, only_self: true }.visit_type_mut(ty),
                _ => {}
            }
        }
        receiver
    }

    /// The type of an argument in the derivative.
    pub fn argument(&self, index: usize, argument: &Argument) -> Type {
        self.lent(index, argument, &self.primal)
    }

    /// The type of an argument's tangent.
    pub fn tangent_argument(&self, index: usize, argument: &Argument) -> Type {
        self.lent(index, argument, &self.shadow)
    }

    fn lent(&self, index: usize, argument: &Argument, lifetime: &Lifetime) -> Type {
        let mut ty = argument.ty.clone();
        if index == self.argument {
            let only_self = matches!(argument.kind, ArgumentKind::Receiver(_));
            Name { lifetime, only_self }.visit_type_mut(&mut ty);
        }
        ty
    }

    /// The type of the primal's result.
    pub fn primal(&self, ty: &Type) -> Type {
        named(ty, &self.primal)
    }

    /// The type of the result's tangent.
    pub fn tangent(&self, ty: &Type) -> Type {
        named(ty, &self.shadow)
    }
}

/// That a result's lifetime can be found.
pub fn check(function: &Function) -> syn::Result<()> {
    let Some(result) = &function.result else { return Ok(()) };
    if let Some(span) = ImplTrait::in_type(result) {
        return Err(error(
            span,
            "a result of type `impl Trait` has no layout that could be named",
            "return a type with a name",
        ));
    }
    let mut all = Elided::default();
    function.arguments.iter().for_each(|argument| all.visit_type(&argument.ty));
    if Elided::in_type(result) && all.elided == 0 && all.named == 0 && self_references(function) == 0 {
        return Err(error(
            result.span(),
            "the result borrows from an argument whose type does not show a lifetime",
            "write the lifetime of the argument's type, for example `View<'_>`",
        ));
    }
    Ok(())
}

/// The index of the argument whose lifetime is that of the result, if it has no name. These are Rust's rules: the
/// lifetime of the reference to `Self`, else the only one that there is.
fn lender(function: &Function) -> Option<usize> {
    let arguments = &function.arguments;
    if self_references(function) > 0 {
        let mut search = SelfReferences::default();
        search.visit_type(&arguments[0].ty);
        return (search.elided > 0).then_some(0);
    }
    let mut all = Elided::default();
    arguments.iter().for_each(|argument| all.visit_type(&argument.ty));
    match (all.elided, all.named) {
        (1, 0) => arguments.iter().position(|argument| Elided::in_type(&argument.ty)),
        _ => None,
    }
}

/// How many references to `Self` the receiver has.
fn self_references(function: &Function) -> usize {
    let mut search = SelfReferences::default();
    for argument in &function.arguments {
        if matches!(argument.kind, ArgumentKind::Receiver(_)) {
            search.visit_type(&argument.ty);
        }
    }
    search.all
}

fn named(ty: &Type, lifetime: &Lifetime) -> Type {
    let mut ty = ty.clone();
    Name { lifetime, only_self: false }.visit_type_mut(&mut ty);
    ty
}

fn fresh(name: &str, names: &mut Vec<Ident>) -> Lifetime {
    let mut name = format_ident!("{name}");
    while names.contains(&name) {
        name = format_ident!("{name}_");
    }
    names.push(name.clone());
    Lifetime::new(&format!("'{name}"), Span::call_site())
}

fn is_elided(lifetime: Option<&Lifetime>) -> bool {
    lifetime.is_none_or(|lifetime| lifetime.ident == "_")
}

fn is_self(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("Self"))
}

/// Counts the lifetimes of a type. Those of `Fn(&f64)` and `fn(&f64)` are their own.
#[derive(Default)]
struct Elided {
    elided: usize,
    named: usize,
}

impl Elided {
    fn in_type(ty: &Type) -> bool {
        let mut search = Elided::default();
        search.visit_type(ty);
        search.elided > 0
    }
}

impl Visit<'_> for Elided {
    fn visit_type_reference(&mut self, reference: &TypeReference) {
        if reference.lifetime.is_none() {
            self.elided += 1;
        }
        syn::visit::visit_type_reference(self, reference);
    }

    fn visit_lifetime(&mut self, lifetime: &Lifetime) {
        if is_elided(Some(lifetime)) { self.elided += 1 } else { self.named += 1 }
    }

    fn visit_parenthesized_generic_arguments(&mut self, _: &ParenthesizedGenericArguments) {}

    fn visit_type_fn_ptr(&mut self, _: &TypeFnPtr) {}
}

/// Counts the references to `Self`.
#[derive(Default)]
struct SelfReferences {
    all: usize,
    elided: usize,
}

impl Visit<'_> for SelfReferences {
    fn visit_type_reference(&mut self, reference: &TypeReference) {
        if is_self(&reference.elem) {
            self.all += 1;
            self.elided += usize::from(is_elided(reference.lifetime.as_ref()));
        }
        syn::visit::visit_type_reference(self, reference);
    }
}

/// Gives the lifetimes that are left out a name: all of them, or those of references to `Self`.
struct Name<'a> {
    lifetime: &'a Lifetime,
    only_self: bool,
}

impl VisitMut for Name<'_> {
    fn visit_type_reference_mut(&mut self, reference: &mut TypeReference) {
        if is_elided(reference.lifetime.as_ref()) && (!self.only_self || is_self(&reference.elem)) {
            reference.lifetime = Some(self.lifetime.clone());
        }
        syn::visit_mut::visit_type_reference_mut(self, reference);
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if !self.only_self && is_elided(Some(lifetime)) {
            *lifetime = self.lifetime.clone();
        }
    }

    fn visit_parenthesized_generic_arguments_mut(&mut self, _: &mut ParenthesizedGenericArguments) {}

    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}
}

/// Whether a type has a path that may hide a lifetime: one without a lifetime argument that is not known.
fn hides_lifetime(ty: &Type, function: &Function) -> bool {
    const WITHOUT: [&str; 11] =
        ["f32", "f64", "Self", "Vec", "Box", "Option", "Result", "Rc", "Arc", "Cell", "PhantomData"];
    struct Search<'a>(bool, &'a Function);
    impl Visit<'_> for Search<'_> {
        fn visit_type_path(&mut self, path: &TypePath) {
            let name = path_name(&Type::Path(path.clone()));
            let known = name.is_some_and(|name| {
                WITHOUT.contains(&name.as_str())
                    || INACTIVE.contains(&name.as_str())
                    || self.1.type_parameters().any(|parameter| *parameter == name)
            });
            let mut lifetimes = Elided::default();
            lifetimes.visit_type_path(path);
            self.0 |= !known && lifetimes.elided + lifetimes.named == 0;
            syn::visit::visit_type_path(self, path);
        }
    }
    let mut search = Search(false, function);
    search.visit_type(ty);
    search.0
}

/// Where a type says `impl`.
struct ImplTrait(Option<Span>);

impl ImplTrait {
    fn in_type(ty: &Type) -> Option<Span> {
        let mut search = ImplTrait(None);
        search.visit_type(ty);
        search.0
    }
}

impl Visit<'_> for ImplTrait {
    fn visit_type_impl_trait(&mut self, ty: &syn::TypeImplTrait) {
        self.0 = self.0.or_else(|| Some(ty.to_token_stream().span()));
    }
}
