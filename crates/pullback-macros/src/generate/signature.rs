//! The derivative's signature: the primal's arguments, each followed by its shadows, the seeds, and what is returned.

use crate::parse::attribute::{Family, Width};
use crate::parse::function::{ArgumentKind, Function};
use crate::parse::lifetimes::Borrow;
use crate::parse::plan::{Need, Plan, ResultRole, Role};
use crate::parse::types::{as_reference, writable};
use proc_macro2::{Ident, TokenStream};
use pullback_abi::Mode;
use quote::{ToTokens, format_ident, quote};
use syn::visit::Visit;
use syn::{Generics, Type, TypeReference, parse_quote};

/// A derivative's signature.
pub struct Signature {
    name: Ident,
    generics: Generics,
    pub is_unsafe: bool,
    inputs: Vec<TokenStream>,
    output: Option<TokenStream>,
    /// For each argument, its shadow parameters.
    pub shadows: Vec<Option<Shadow>>,
    /// The parameter for the result's cotangents.
    pub seed: Option<Ident>,
    /// What is returned, in order.
    pub returned: Vec<Returned>,
}

/// How a shadow is passed.
pub struct Shadow {
    /// Its parameters: one, or one for each batch direction.
    pub parameters: Vec<Ident>,
    pub passing: Passing,
    /// The type of its place.
    pub ty: Type,
    /// What was done to the types in the argument's type to get there, if anything.
    pub change: Option<TokenStream>,
}

/// What lies between a shadow's parameter and its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passing {
    /// The parameter, or an element of it, is the place.
    Value,
    /// The parameter, or an element of it, refers to the place.
    Reference,
    /// The parameter is one slice that holds all batch directions.
    Stacked,
}

/// Something the derivative returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Returned {
    /// The gradient of the argument of this index.
    Gradient(usize),
    Primal,
    Tangent,
    /// The primal and its tangents in one array, as `std::autodiff` has it.
    PrimalAndTangents,
}

impl Signature {
    pub fn new(plan: &Plan) -> Self {
        let (function, attribute) = (&plan.function, &plan.attribute);
        let mut names: Vec<Ident> = function.arguments.iter().map(|argument| argument.name.clone()).collect();
        let mut inputs = Vec::new();
        let mut shadows = Vec::new();
        let mut is_unsafe = function.is_unsafe;
        let borrow = Borrow::of(function, |index| plan.has_tangent(index));
        for (index, (argument, &role)) in function.arguments.iter().zip(&plan.roles).enumerate() {
            let (name, ty) = (&argument.name, &argument.ty);
            inputs.push(match (&argument.kind, &borrow) {
                (ArgumentKind::Receiver(receiver), None) => receiver.to_token_stream(),
                (ArgumentKind::Receiver(receiver), Some(borrow)) => borrow.receiver(index, receiver).to_token_stream(),
                (ArgumentKind::Typed, None) => quote!(#name: #ty),
                (ArgumentKind::Typed, Some(borrow)) => {
                    let ty = borrow.argument(index, argument);
                    quote!(#name: #ty)
                }
            });
            let shadow = match &borrow {
                Some(borrow) if attribute.mode == Mode::Forward => {
                    Shadow::of(&borrow.tangent_argument(index, argument), role, attribute.mode)
                }
                _ => Shadow::of(ty, role, attribute.mode),
            };
            shadows.push(shadow.map(|(place, change, passing)| {
                is_unsafe |= matches!(ty, Type::Ptr(_));
                let one = match passing {
                    Passing::Value | Passing::Stacked => place.to_token_stream(),
                    Passing::Reference => quote!(&mut #place),
                };
                let directions = attribute.width.directions();
                let parameters: Vec<Ident> = match (attribute.family, attribute.width, passing) {
                    (Family::Pullback, _, _) | (_, Width::Single, _) | (_, _, Passing::Stacked) => {
                        vec![fresh(format_ident!("d_{name}"), &mut names)]
                    }
                    _ => (0..directions).map(|number| fresh(format_ident!("d_{name}_{number}"), &mut names)).collect(),
                };
                let is_array = attribute.family == Family::Pullback
                    && attribute.width != Width::Single
                    && passing != Passing::Stacked;
                let parameter_type = if is_array { quote!([#one; #directions]) } else { one };
                inputs.extend(parameters.iter().map(|parameter| quote!(#parameter: #parameter_type)));
                Shadow { parameters, passing, ty: place, change }
            }));
        }
        let seed = matches!(plan.result, ResultRole::Seeded(_)).then(|| {
            let seed = fresh(format_ident!("d_return"), &mut names);
            let ty = by_direction(function.result.as_ref(), attribute.width);
            inputs.push(quote!(#seed: #ty));
            seed
        });
        let returned = returned(plan);
        let output = output(plan, &returned, borrow.as_ref());
        let mut generics = bounded(plan);
        if let Some(borrow) = &borrow {
            borrow.declare(&mut generics);
        }
        Signature { name: attribute.name.clone(), generics, is_unsafe, inputs, output, shadows, seed, returned }
    }
}

impl Shadow {
    /// The type of the place of a shadow, what was done to get there, and how it is passed.
    fn of(ty: &Type, role: Role, mode: Mode) -> Option<(Type, Option<TokenStream>, Passing)> {
        match (role, mode) {
            (Role::Const | Role::Active, _) => None,
            (Role::Stacked(_), _) => Some((ty.clone(), None, Passing::Stacked)),
            (Role::Shadowed(_), Mode::Forward) => Some((ty.clone(), None, Passing::Value)),
            (Role::Shadowed(_), Mode::Reverse) => Some(match (as_reference(ty), ty) {
                (Some(reference), _) => {
                    let (elem, change) = writable(&reference.elem);
                    let (elem, mutability) = (Box::new(elem), Some(Default::default()));
                    let reference = TypeReference { lifetime: None, mutability, elem, ..reference.clone() };
                    let change = change.map(|change| quote!(::pullback::__private::Ref<#change>));
                    (Type::Reference(reference), change, Passing::Value)
                }
                (None, Type::Ptr(pointer)) => {
                    let elem = &pointer.elem;
                    (parse_quote!(*mut #elem), None, Passing::Value)
                }
                (None, _) => {
                    let (ty, change) = writable(ty);
                    (ty, change, Passing::Reference)
                }
            }),
        }
    }
}

/// A name that no parameter has yet.
fn fresh(mut name: Ident, names: &mut Vec<Ident>) -> Ident {
    while names.contains(&name) {
        name = format_ident!("{name}_");
    }
    names.push(name.clone());
    name
}

/// The type of a value for each batch direction.
fn by_direction(ty: Option<&Type>, width: Width) -> TokenStream {
    match width {
        Width::Single => quote!(#ty),
        Width::Batch(directions) => quote!([#ty; #directions]),
    }
}

fn returned(plan: &Plan) -> Vec<Returned> {
    let active = plan.roles.iter().enumerate().filter(|(_, role)| **role == Role::Active);
    let mut gradients: Vec<Returned> = active.map(|(index, _)| Returned::Gradient(index)).collect();
    if plan.function.result.is_none() {
        return gradients;
    }
    let primal = match plan.result {
        ResultRole::Const => true,
        ResultRole::One(need) | ResultRole::Seeded(need) | ResultRole::Tangent(need) => need == Need::Needed,
    };
    match (plan.attribute.family, plan.attribute.width, plan.result) {
        (Family::StdForward, Width::Batch(_), ResultRole::Tangent(Need::Needed)) => vec![Returned::PrimalAndTangents],
        (_, _, ResultRole::Tangent(_)) => {
            primal.then_some(Returned::Primal).into_iter().chain([Returned::Tangent]).collect()
        }
        (Family::StdReverse, _, _) => primal.then_some(Returned::Primal).into_iter().chain(gradients).collect(),
        _ => {
            gradients.extend(primal.then_some(Returned::Primal));
            gradients
        }
    }
}

fn output(plan: &Plan, returned: &[Returned], borrow: Option<&Borrow>) -> Option<TokenStream> {
    let Plan { function, attribute, .. } = plan;
    let (result, tangent) = match (borrow, &function.result) {
        (Some(borrow), Some(result)) => (Some(borrow.primal(result)), Some(borrow.tangent(result))),
        (_, result) => (result.clone(), result.clone()),
    };
    let types: Vec<TokenStream> = returned
        .iter()
        .map(|value| match value {
            Returned::Gradient(index) => {
                let argument = &function.arguments[*index];
                let ty = borrow.map_or_else(|| argument.ty.clone(), |borrow| borrow.argument(*index, argument));
                by_direction(Some(&ty), attribute.width)
            }
            Returned::Primal => quote!(#result),
            Returned::Tangent => by_direction(tangent.as_ref(), attribute.width),
            Returned::PrimalAndTangents => {
                let length = attribute.width.directions() + 1;
                quote!([#tangent; #length])
            }
        })
        .collect();
    match &types[..] {
        [] => None,
        [one] => Some(quote!(#one)),
        _ => Some(quote!((#(#types),*))),
    }
}

/// The primal's generics, and what the derivative asks of the parameters of types that take part.
fn bounded(plan: &Plan) -> Generics {
    let function = &plan.function;
    let mut generics = function.generics.clone();
    let mut bound = |ty: &Type, bound: TokenStream| {
        for parameter in parameters_in(ty, function) {
            generics.make_where_clause().predicates.push(parse_quote!(#parameter: #bound));
        }
    };
    for (argument, role) in function.arguments.iter().zip(&plan.roles) {
        match (role, plan.attribute.mode) {
            (Role::Const, _) => {}
            (Role::Active, _) => bound(&argument.ty, quote!(::pullback::MakeZero)),
            (_, Mode::Reverse) => bound(&argument.ty, quote!(::pullback::Writable)),
            (_, Mode::Forward) => bound(&argument.ty, quote!(::pullback::Differentiable)),
        }
    }
    if let Some(ty) = &function.result {
        match plan.result {
            ResultRole::Const => {}
            ResultRole::One(_) => bound(ty, quote!(::pullback::ActiveResult)),
            ResultRole::Seeded(_) => bound(ty, quote!(::pullback::MakeZero + ::core::marker::Copy)),
            ResultRole::Tangent(_) => bound(ty, quote!(::pullback::Differentiable)),
        }
    }
    generics
}

/// The function's type parameters that a type names.
fn parameters_in<'a>(ty: &Type, function: &'a Function) -> Vec<&'a Ident> {
    struct Words(Vec<Ident>);
    impl Visit<'_> for Words {
        fn visit_ident(&mut self, word: &Ident) {
            self.0.push(word.clone());
        }
    }
    let mut words = Words(Vec::new());
    words.visit_type(ty);
    function.type_parameters().filter(|parameter| words.0.contains(parameter)).collect()
}

impl ToTokens for Signature {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Signature { name, generics, inputs, .. } = self;
        let Generics { params: parameters, where_clause, .. } = generics;
        let parameters = if parameters.is_empty() { quote!() } else { quote!(<#parameters>) };
        let safety = self.is_unsafe.then(|| quote!(unsafe));
        let output = self.output.as_ref().map(|output| quote!(-> #output));
        tokens.extend(quote! {
            #safety fn #name #parameters (#(#inputs),*) #output #where_clause
        });
    }
}
