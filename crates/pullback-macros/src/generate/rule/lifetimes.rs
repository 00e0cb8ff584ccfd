//! The lifetimes of a rule: that it is for all that its target is for. What the compiler can prove of that, it does;
//! what aliases hide is found when the rule is called (`rules/lifetimes.rs` in `pullback`).

use super::scalar::occurrences;
use super::{Frame, local, places};
use crate::generate::names;
use crate::parse::rule::attribute::Target;
use crate::parse::types::{INACTIVE, leaves, lifetimes_in, path_name};
use proc_macro2::{Span, TokenStream};
use pullback_abi::RuleKind;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{BoundLifetimes, ExprPath, GenericParam, Lifetime, LitStr, Type};

impl Frame<'_> {
    /// That the rule is for all lifetimes that its target is for.
    ///
    /// ```text
    /// fn general<'x, 'y>(a: &'x [f64], b: &'y [f64]) -> f64          // for any lifetimes
    /// fn called<'x, 'y>(a: &'x [f64], b: &'y [f64]) { rule(a, b); }    // what `general` is called with, the rule can be called with
    /// [target, general]                                              // of two functions in an array, the second is for all that the first is for
    /// let _: for<'x> fn(&Cell<&'x [f64]>, &Cell<&'x [f64]>) = target;
    /// ```
    /// The lifetimes of `general` are all different where that may be, see [`keeps_together`](Self::keeps_together).
    /// Where one stands several times as in the rule, the array says nothing of the lifetimes of an `impl`, or those
    /// with bounds: the compiler finds some that fit. The last line holds if the target has none of these.
    pub fn general(&self, target: &ExprPath, abi: Option<&LitStr>) -> TokenStream {
        let lifetimes: Vec<_> = self.rule.generics().lifetimes().map(|parameter| &parameter.lifetime).collect();
        let is_number = |ty: &Type| {
            path_name(ty).is_some_and(|name| name == "f32" || name == "f64" || INACTIVE.contains(&name.as_str()))
        };
        // If a number's name stands for something else, it is found when the rule is called.
        if lifetimes.is_empty() && self.arguments.iter().all(|(_, ty)| is_number(ty)) {
            return TokenStream::new();
        }
        let kept: Vec<&Lifetime> =
            lifetimes.iter().copied().filter(|lifetime| self.keeps_together(lifetime, target)).collect();
        let mut apart = Apart { lifetimes: &lifetimes, kept: &kept, made: Vec::new() };
        let types: Vec<Type> = self.arguments.iter().map(|(_, ty)| apart.of(ty)).collect();
        let made = apart.made.clone();
        // A tangent ends with the call of the rule, whatever lifetime it is given.
        apart.kept = &[];
        let all = self.rule.arguments().iter().enumerate().map(|(index, argument)| match self.kind {
            RuleKind::Forward if index % 2 == 0 => types[index / 2].clone(),
            RuleKind::Forward => apart.of(&argument.ty),
            _ => types[index].clone(),
        });
        let all: Vec<Type> = all.collect();
        let of_call = apart.made;
        let (result, abi) = (self.result, abi.map(|abi| quote!(extern #abi)));
        let statics = self.static_types();
        let (first, general) = (local("target"), local("general"));
        let both = quote_spanned!(target.span()=> [#first, #general]);
        let together = (!kept.is_empty()).then(|| {
            let pointer =
                quote_spanned!(target.span()=> for<#(#kept,)* #(#made),*> unsafe #abi fn(#(#types),*) -> #result);
            quote_spanned!(target.span()=> let _: #pointer = #first;)
        });
        let (name, turbofish) = (self.rule.name(), &self.rule.function.turbofish);
        let memory = self.asks.then(|| quote!(::pullback::rules::Memory::STAYS,));
        let (passed, _) = places(all.len());
        let call = quote_spanned!(name.span()=> #name::<#(#turbofish),*>(#memory #(#passed),*));
        quote! {
            #[allow(dead_code, improper_ctypes_definitions, clippy::all)]
            fn __pullback_general() {
                #[allow(unused_imports)]
                use ::pullback::__private::rules::{SafeFunction as _, UnsafeFunction as _};
                #abi fn general_safe<#(#kept,)* #(#made),*>(#(_: #types),*) -> #result { loop {} }
                unsafe #abi fn general_unsafe<#(#kept,)* #(#made),*>(#(_: #types),*) -> #result { loop {} }
                fn called<#(#kept,)* #(#of_call),*>(#(#passed: #all),*) {
                    let _ = #call;
                }
                let #first = #target;
                let _: unsafe #abi fn(#(#statics),*) -> #result = #first;
                #together
                let #general = (&::pullback::__private::rules::Target(#first)).choose(general_safe, general_unsafe);
                let _ = #both;
            }
        }
    }

    /// Whether a lifetime of the rule that stands several times in the types of its arguments is taken as one: that the
    /// rule can be called with others is proved otherwise, and only where each of them can end earlier. That may not be
    /// so in a type of the user's. If the target seems to be a method, its lifetimes may be those of the `impl`, and it
    /// is tried.
    fn keeps_together(&self, lifetime: &Lifetime, target: &ExprPath) -> bool {
        let types = || self.arguments.iter().map(|(_, ty)| *ty);
        let count: usize = types().map(|ty| occurrences_of(lifetime, ty)).sum();
        let segments = &target.path.segments;
        let is_type = |segment: &syn::PathSegment| segment.ident.to_string().starts_with(char::is_uppercase);
        let is_method = target.qself.is_some() || segments.iter().rev().nth(1).is_some_and(is_type);
        count > 1 && !is_method && !types().all(|ty| may_end_earlier(lifetime, ty))
    }

    /// That a rule whose target is told elsewhere can be called with tangents of any lifetimes: they end with its call.
    /// That its arguments are those of the target is told there.
    pub fn called_with_tangents(&self) -> TokenStream {
        if self.kind != RuleKind::Forward || !matches!(self.attribute.target, Target::Named) {
            return TokenStream::new();
        }
        let generics = self.rule.generics();
        let lifetimes: Vec<_> = generics.lifetimes().map(|parameter| &parameter.lifetime).collect();
        let mut apart = Apart { lifetimes: &lifetimes, kept: &[], made: Vec::new() };
        let arguments = self.rule.arguments().iter().enumerate();
        let types: Vec<Type> = arguments
            .map(|(index, argument)| if index % 2 == 0 { argument.ty.clone() } else { apart.of(&argument.ty) })
            .collect();
        let (made, params, predicates) = (apart.made, generics.params.iter(), self.predicates());
        let (name, turbofish) = (self.rule.name(), &self.rule.function.turbofish);
        let (passed, _) = places(types.len());
        let call = quote_spanned!(name.span()=> #name::<#(#turbofish),*>(#(#passed),*));
        quote! {
            #[allow(dead_code)]
            fn __pullback_called<#(#made,)* #(#params),*>(#(#passed: #types),*)
            where
                #predicates
            {
                let _ = #call;
            }
        }
    }

    /// Checks, before the rule is called, that its arguments have the lifetimes that are written, and no others.
    pub fn lifetimes_checked(&self) -> TokenStream {
        let rule = self.rule.name().to_string();
        let mut checks = names::checked();
        for (label, ty) in &self.arguments {
            let mut found = Vec::new();
            leaves(ty, &mut found);
            for leaf in found {
                let written = lifetimes_in(leaf);
                let unused = lifetimes_used(leaf).into_iter().map(|(apart, together)| {
                    quote!(usize::from(::pullback::__private::rules::is_lifetime_unused::<#apart, #together>()))
                });
                // One for each time that it stands there.
                let unlisted = self.unlisted().flat_map(|name| vec![name; occurrences(quote!(#leaf), name)]);
                checks.extend(quote! {
                    if !{
                        #[allow(unused_imports)]
                        use ::pullback::__private::rules::AnyLifetimes as _;
                        ::pullback::__private::rules::LifetimesOf::<#leaf>::NONE
                    } {
                        let written = #written #(+ ::pullback::__private::rules::lifetimes_in::<#unlisted>())*;
                        let unused = 0 #(+ #unused)*;
                        ::pullback::__private::rules::check_lifetimes::<#leaf>(written, unused, #rule, #label);
                    }
                });
            }
        }
        checks
    }
}

/// Gives lifetimes a name of their own wherever they stand.
struct Apart<'a, 'b> {
    lifetimes: &'a [&'b Lifetime],
    /// But for these.
    kept: &'a [&'b Lifetime],
    made: Vec<Lifetime>,
}

impl Apart<'_, '_> {
    fn of(&mut self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        self.visit_type_mut(&mut ty);
        ty
    }
}

impl VisitMut for Apart<'_, '_> {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if self.lifetimes.contains(&&*lifetime) && !self.kept.contains(&&*lifetime) {
            *lifetime = Lifetime::new(&format!("'pullback_apart_{}", self.made.len()), lifetime.span());
            self.made.push(lifetime.clone());
        }
    }
}

/// How often a lifetime stands in a type.
fn occurrences_of(lifetime: &Lifetime, ty: &Type) -> usize {
    struct Count<'a>(&'a Lifetime, usize);
    impl Visit<'_> for Count<'_> {
        fn visit_lifetime(&mut self, lifetime: &Lifetime) {
            self.1 += usize::from(lifetime == self.0);
        }
    }
    let mut count = Count(lifetime, 0);
    count.visit_type(ty);
    count.1
}

/// Whether a value of a type is also one with an earlier end in the place of a lifetime, as far as is known.
fn may_end_earlier(lifetime: &Lifetime, ty: &Type) -> bool {
    let inside = |ty: &Type| may_end_earlier(lifetime, ty);
    match ty {
        Type::Reference(reference) if reference.mutability.is_none() => inside(&reference.elem),
        // The reference itself may.
        Type::Reference(reference) => occurrences_of(lifetime, &reference.elem) == 0,
        Type::Slice(slice) => inside(&slice.elem),
        Type::Array(array) => inside(&array.elem),
        Type::Tuple(tuple) => tuple.elems.iter().all(inside),
        Type::Paren(inner) => inside(&inner.elem),
        Type::Group(inner) => inside(&inner.elem),
        _ => occurrences_of(lifetime, ty) == 0,
    }
}

/// For each lifetime that is written in a type, a function's type with this type twice as argument, with another
/// lifetime in the second and with the same. The two are one type if the lifetime says nothing.
fn lifetimes_used(ty: &Type) -> Vec<(TokenStream, TokenStream)> {
    /// Gives each lifetime that is written, in order, a name by its number. Those that a `for<'a>` binds are left.
    struct Rename<F: Fn(usize) -> Lifetime> {
        name: F,
        count: usize,
        bound: Vec<Lifetime>,
    }
    impl<F: Fn(usize) -> Lifetime> VisitMut for Rename<F> {
        fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
            if !self.bound.contains(lifetime) {
                *lifetime = (self.name)(self.count);
                self.count += 1;
            }
        }
        fn visit_bound_lifetimes_mut(&mut self, bound: &mut BoundLifetimes) {
            self.bound.extend(bound.lifetimes.iter().filter_map(|parameter| match parameter {
                GenericParam::Lifetime(parameter) => Some(parameter.lifetime.clone()),
                _ => None,
            }));
        }
    }
    let renamed = |name: &dyn Fn(usize) -> Lifetime| {
        let (mut ty, mut rename) = (ty.clone(), Rename { name, count: 0, bound: Vec::new() });
        rename.visit_type_mut(&mut ty);
        (ty, rename.count)
    };
    let lifetime = |number: usize| Lifetime::new(&format!("'__pullback_{number}"), Span::call_site());
    let (first, count) = renamed(&lifetime);
    let all: Vec<Lifetime> = (0..=count).map(lifetime).collect();
    let pairs = (0..count).map(|other| {
        let (second, _) = renamed(&|number| lifetime(if number == other { count } else { number }));
        let function = |second: &Type| quote!(for<#(#all),*> fn(*const #first, *const #second));
        (function(&second), function(&first))
    });
    pairs.collect()
}
