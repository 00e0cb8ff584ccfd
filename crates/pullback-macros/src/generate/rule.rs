//! A rule's attribute leaves the function as it is, and adds what the driver and the engine read.
//!
//! ```text
//! enum dot_rrule {}                                            // in the namespace of types: a place for the record
//! const _: () = {
//!     unsafe extern "C-unwind" fn augmented<Rule, Closure>(…)  // the rule with everything by pointer; see `reverse`, `forward`
//!     …
//!     const fn record<Rule, Closure>(_: Rule) -> &'static Rule // generic, since nobody can name the type of a closure
//!     where Rule: Fn(&[f64], &[f64]) -> (f64, Closure) …
//!
//!     const _: () = {                                          // once for each listed instance of a generic rule
//!         const TARGET: unsafe fn(&[f64], &[f64]) -> f64 = dot;
//!         unsafe extern "C-unwind" fn primal(…) { … }          // the target with everything by pointer
//!         const RECORD: &Rule = &record(dot_rrule).with_primal(primal);
//!         fn wrapper(a0: &[f64], a1: &[f64]) -> f64 { … __pullback_rule(RECORD)(&a0, &a1, &mut out) … }
//!         #[used] static __PULLBACK_RULE: RuleEntry = RuleEntry::new(…, TARGET, wrapper, …);
//!         impl dot_rrule { pub const fn record() -> &'static Rule { RECORD } }
//!     };
//! };
//! ```
//! The wrapper and the static are there only in a build by the driver.

pub mod attached;
pub mod forward;
mod lifetimes;
pub mod marks;
pub mod reverse;
pub mod scalar;
pub mod transpose;

use super::abi;
use crate::parse::rule::attribute::{RuleAttribute, Target};
use crate::parse::rule::function::{RuleFunction, with_static};
use crate::parse::rule::reverse::Access;
use crate::parse::types::as_reference;
use proc_macro2::{Ident, Span, TokenStream};
use pullback_abi::{Activity, RuleKind};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{ExprPath, LitStr, Type};

/// The function as it was, and its record or what is wrong.
pub fn expand<R>(item: TokenStream, rule: syn::Result<R>, generate: impl FnOnce(&R) -> TokenStream) -> TokenStream {
    let added = rule.map_or_else(|error| error.to_compile_error(), |rule| generate(&rule));
    // The form of a rule is not the user's choice.
    quote! {
        #[allow(clippy::type_complexity, clippy::too_many_arguments)]
        #item
        #added
    }
}

/// What both modes have in common.
pub struct Frame<'a> {
    pub attribute: &'a RuleAttribute,
    pub rule: &'a RuleFunction,
    /// `Forward` or `Reverse`.
    pub kind: RuleKind,
    /// The target's arguments: names and types.
    pub arguments: Vec<(&'a str, &'a Type)>,
    pub result: &'a Type,
    /// Whether the rule takes a `Memory` before them.
    pub asks: bool,
}

/// What is particular to a mode.
pub struct Parts<'a> {
    /// The functions of the rule.
    pub shims: TokenStream,
    /// Further type parameters of the record, after those of the rule: the type of the rule, and what it returns.
    pub parameters: Vec<Ident>,
    /// What holds for them.
    pub bounds: TokenStream,
    /// Those of them that stand for types that can be named, and these types. In generic code the compiler takes the
    /// bounds for granted, so it complains of each type once, where it is put in.
    pub named: Vec<(Ident, &'a Type)>,
    /// An expression for the record.
    pub record: TokenStream,
    /// Where errors about the bounds are shown.
    pub span: Span,
}

impl Frame<'_> {
    pub fn generate(&self, parts: &Parts<'_>) -> TokenStream {
        let Parts { shims, .. } = parts;
        let function = &self.rule.function;
        let (name, visibility) = (&function.name, &function.visibility);
        let attributes: Vec<_> =
            function.attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).collect();
        let record = self.record(parts);
        let (entries, called) = (self.entries(parts), self.called_with_tangents());
        quote! {
            #(#attributes)*
            #[doc(hidden)]
            #[allow(non_camel_case_types, dead_code)]
            #visibility enum #name {}

            #(#attributes)*
            #[allow(non_local_definitions, unused_unsafe, clippy::all)]
            const _: () = {
                #shims
                #record
                #called
                #entries
            };
        }
    }

    /// The record as a function of the rule. That of a generic rule is reached by the rule's name; it lacks the primal.
    fn record(&self, parts: &Parts<'_>) -> TokenStream {
        let Parts { parameters, bounds, named, record, .. } = parts;
        let name = self.rule.name();
        let generics = self.rule.generics();
        let all = generics.params.iter();
        let own = generics.params.iter().filter(|parameter| !matches!(parameter, syn::GenericParam::Lifetime(_)));
        let predicates = self.predicates();
        let turbofish = &self.rule.function.turbofish;
        let rule_type = &parameters[0];
        let call = self.call(parts);
        let named = named.iter().map(|(parameter, _)| parameter);
        let types = self.rule.arguments().iter().map(|argument| &argument.ty);
        let reached_here = !turbofish.is_empty() || matches!(self.attribute.target, Target::Named);
        let generic = reached_here.then(|| {
            quote! {
                impl #name {
                    pub const fn record<#(#own),*>() -> &'static ::pullback::abi::Rule
                    where
                        #predicates
                    {
                        #call
                    }
                }
            }
        });
        quote! {
            // With the arguments' types in its signature, what they imply (`T: 'a` for a `&'a [T]`) holds in it.
            const fn __pullback_record<#(#all,)* #(#parameters),*>(
                _: #rule_type,
                _: ::core::marker::PhantomData<(#(#types,)*)>,
                #(_: ::core::marker::PhantomData<#named>,)*
            ) -> &'static ::pullback::abi::Rule
            where
                #bounds
                #predicates
            {
                const { #record }
            }

            #generic
        }
    }

    /// The call that makes the record. It has the span of what is asked of the rule, so that this is where the compiler
    /// says what does not hold.
    fn call(&self, parts: &Parts<'_>) -> TokenStream {
        let (name, turbofish) = (self.rule.name(), &self.rule.function.turbofish);
        let named = parts.named.iter().map(|(_, ty)| quote_spanned!(ty.span()=> ::core::marker::PhantomData::<#ty>));
        quote_spanned! {parts.span=>
            __pullback_record(#name::<#(#turbofish),*>, ::core::marker::PhantomData, #(#named),*)
        }
    }

    /// Type parameters of the rule of which the attribute does not list what they stand for.
    pub fn unlisted(&self) -> impl Iterator<Item = &Ident> {
        let listed = |name: &Ident| self.attribute.instances.iter().any(|(listed, _)| listed == name);
        self.rule.generics().type_params().map(|parameter| &parameter.ident).filter(move |name| !listed(name))
    }

    /// What the rule's own where clause says.
    pub fn predicates(&self) -> TokenStream {
        let predicates = self.rule.generics().where_clause.iter().flat_map(|clause| &clause.predicates);
        quote!(#(#predicates,)*)
    }

    /// For each listed instance, the target's signature is checked, and the driver told.
    fn entries(&self, parts: &Parts<'_>) -> TokenStream {
        let Target::Function { path, abi } = &self.attribute.target else { return TokenStream::new() };
        let mut instances = vec![TokenStream::new()];
        for (parameter, types) in &self.attribute.instances {
            let with = |before: &TokenStream, ty: &Type| quote!(#before type #parameter = #ty;);
            instances = instances.iter().flat_map(|before| types.iter().map(move |ty| with(before, ty))).collect();
        }
        instances.iter().map(|instance| self.entry(path, abi.as_ref(), instance, parts)).collect()
    }

    fn entry(&self, target: &ExprPath, abi: Option<&LitStr>, instance: &TokenStream, parts: &Parts<'_>) -> TokenStream {
        let (result, kind, entry) = (self.result, abi::rule_kind(self.kind), abi::entry_name());
        let name = self.rule.name();
        let turbofish = &self.rule.function.turbofish;
        let types = self.static_types();
        let extern_abi = abi.map(|abi| quote!(extern #abi));
        let target_type = quote_spanned!(target.span()=> unsafe #extern_abi fn(#(#types),*) -> #result);
        let (primal, wrapper) = (self.primal(), self.wrapper(abi));
        let general = self.general(target, abi);
        let record = self.call(parts);
        let reached = turbofish.is_empty().then(|| {
            quote! {
                impl #name {
                    pub const fn record() -> &'static ::pullback::abi::Rule {
                        RECORD
                    }
                }
            }
        });
        let text = crate::parse::pretty(&quote!(#target));
        let default = self.attribute.default.then(|| quote!(.by_default()));
        quote! {
            const _: () = {
                #instance
                const TARGET: #target_type = #target;
                #primal
                const RECORD: &::pullback::abi::Rule = &#record.with_primal(__pullback_primal as *const ());
                let _ = (TARGET, RECORD);
                #general
                #reached
                ::pullback::__private::with_driver! {
                    #wrapper
                    #[used]
                    static #entry: ::pullback::abi::RuleEntry = ::pullback::abi::RuleEntry::new(
                        #kind,
                        TARGET as *const (),
                        __pullback_wrapper as *const (),
                        #text,
                        (::core::file!(), ::core::line!(), ::core::column!()),
                    )#default;
                }
            };
        }
    }

    /// The types of the arguments, with `'static` for all lifetimes.
    fn static_types(&self) -> Vec<Type> {
        let lifetimes: Vec<_> = self.rule.generics().lifetimes().map(|parameter| &parameter.lifetime).collect();
        self.arguments.iter().map(|(_, ty)| with_static(ty, &lifetimes)).collect()
    }

    /// The target, with everything by pointer.
    fn primal(&self) -> TokenStream {
        let (places, _) = places(self.arguments.len());
        let (types, result, out) = (self.static_types(), self.result, local("out"));
        quote! {
            unsafe extern "C-unwind" fn __pullback_primal(#(#places: *const #types,)* #out: *mut #result) {
                // SAFETY: S30, called as the target is, with what it is called with.
                unsafe { #out.write(TARGET(#(#places.read()),*)) }
            }
        }
    }

    /// A function with the signature of the target, which is differentiated in its place.
    fn wrapper(&self, abi: Option<&LitStr>) -> TokenStream {
        let generics = self.rule.generics();
        let lifetimes = generics.lifetimes();
        let types = self.arguments.iter().map(|(_, ty)| ty);
        let (places, _) = places(self.arguments.len());
        let result = self.result;
        let body = wrapper_body(&places, result, &quote!(RECORD));
        // The rule may panic, though its target may not.
        let abi = abi.map(|abi| match abi.value() {
            text if text == "Rust" || text.ends_with("-unwind") => quote!(extern #abi),
            text => {
                let unwinding = format!("{text}-unwind");
                quote!(extern #unwinding)
            }
        });
        quote! {
            #[inline(always)]
            #[allow(improper_ctypes_definitions)]
            unsafe #abi fn __pullback_wrapper<#(#lifetimes),*>(#(#places: #types),*) -> #result {
                #body
            }
        }
    }
}

/// What a wrapper does: it moves its arguments into places, and calls what the marker stands for.
pub fn wrapper_body(places: &[Ident], result: &Type, record: &TokenStream) -> TokenStream {
    let out = local("out");
    let pointers = places.iter().map(|_| quote!(*const ()));
    quote! {
        #(let #places = ::core::mem::ManuallyDrop::new(#places);)*
        let mut #out = ::core::mem::MaybeUninit::<#result>::uninit();
        // SAFETY: S40, the driver puts a function there that takes the arguments out of their places and writes the
        // result.
        unsafe {
            ::core::mem::transmute::<*const (), unsafe extern "C-unwind" fn(#(#pointers,)* *mut ())>(
                ::pullback::abi::__pullback_rule(#record),
            )(#((&raw const #places).cast(),)* #out.as_mut_ptr().cast());
            #out.assume_init()
        }
    }
}

/// A name that cannot collide with the user's variables.
pub fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// A name for code whose errors are shown at `span`, which a name of another hygiene in it would prevent.
pub fn local_at(name: &str, span: Span) -> Ident {
    format_ident!("__pullback_{name}", span = span)
}

/// Names for the places of arguments and of their shadows.
pub fn places(count: usize) -> (Vec<Ident>, Vec<Ident>) {
    (0..count).map(|index| (local(&format!("a{index}")), local(&format!("d{index}")))).unzip()
}

/// The type parameter that stands for the rule.
pub fn rule_parameter() -> Ident {
    format_ident!("__PullbackRule")
}

/// The description of an argument with a tangent, of one without, and of the result.
pub fn arg(name: &str, activity: TokenStream, ty: &Type, constant: bool) -> TokenStream {
    let layout = if constant {
        quote!({
            #[allow(unused_imports)]
            use ::pullback::__private::AnyLayout as _;
            ::pullback::__private::LayoutOf::<#ty>::LAYOUT
        })
    } else {
        quote_spanned!(ty.span()=> ::pullback::__private::layout_of::<#ty>)
    };
    quote!(::pullback::__private::Arg::new(#name, #activity, #layout))
}

/// An assertion that is shown at `span`.
pub fn assertion(span: Span, holds: TokenStream, message: &str) -> TokenStream {
    quote_spanned!(span=> ::core::assert!(#holds, #message);)
}

/// The activity of an argument that is a reference with a shadow.
pub fn activity_of(access: Access) -> TokenStream {
    abi::activity(match access {
        Access::Shared => Activity::Duplicated,
        // It may be written.
        Access::Exclusive => Activity::DuplicatedNoNeed,
    })
}

/// What is done before and after a call of a rule, about an argument that is no `&mut`: the cells that it leads to are not
/// written, unless the rule is given their shadow and the function returns nothing with a derivative.
pub fn watched(index: usize, place: &Ident, ty: &Type, has_shadow: bool, frame: &Frame<'_>) -> [TokenStream; 2] {
    if as_reference(ty).is_some_and(|reference| reference.mutability.is_some()) {
        return [TokenStream::new(), TokenStream::new()];
    }
    let watched = local(&format!("watched{index}"));
    let (rule, label, result) = (frame.rule.name().to_string(), frame.arguments[index].0, frame.result);
    let before = quote! {
        let #watched = {
            #[allow(unused_imports)]
            use ::pullback::__private::rules::NotWatched as _;
            let lent = #has_shadow && <#result as ::pullback::Differentiable>::INERT;
            ::pullback::__private::rules::Behind::<#ty>::watch(#place, lent)
        };
    };
    [before, quote!(#watched.assert_unchanged(#rule, #label);)]
}

/// The activity of a reference with a shadow. Cells may be written by a `&`, too: they are what a function writes that
/// returns nothing with a derivative.
pub fn activity_behind(ty: &Type, access: Access, result: &Type) -> TokenStream {
    match access {
        Access::Exclusive => activity_of(access),
        Access::Shared => written_if(&quote!(MAY_REACH_CELLS), ty, result, &activity_of(access)),
    }
}

/// The activity of a shared reference of which the rule knows no shadow.
pub fn activity_without_shadow(ty: &Type, result: &Type) -> TokenStream {
    written_if(&quote!(CELLS), ty, result, &abi::activity(Activity::Const))
}

/// The activity of a shared reference that is written if `condition` holds of it and nothing else comes out of the function.
fn written_if(condition: &TokenStream, ty: &Type, result: &Type, otherwise: &TokenStream) -> TokenStream {
    let written = activity_of(Access::Exclusive);
    quote!({
        #[allow(unused_imports)]
        use ::pullback::__private::rules::NotWatched as _;
        if <#result as ::pullback::Differentiable>::INERT && ::pullback::__private::rules::Behind::<#ty>::#condition {
            #written
        } else {
            #otherwise
        }
    })
}

/// That there are floats only behind a `&mut`.
pub fn floats_behind_mut(label: &str, ty: &Type, referred: &Type) -> TokenStream {
    assertion(
        ty.span(),
        quote!(<#referred as ::pullback::Differentiable>::PLAIN),
        &format!(
            "`{label}` is a `&mut` to more than floats, which a rule cannot have: a `Vec` may get another length in it"
        ),
    )
}

/// That there are floats only behind a raw pointer.
pub fn floats_behind_raw(label: &str, ty: &Type, referred: &Type) -> TokenStream {
    assertion(
        ty.span(),
        quote!(<#referred as ::pullback::Differentiable>::PLAIN),
        &format!("`{label}` is a raw pointer to more than floats, of which a rule cannot be given a shadow"),
    )
}

/// That an argument which seems to be passed by value is no reference, of which it would have to be seen how long it
/// lives; and that it owns no memory.
pub fn passed_by_value(label: &str, ty: &Type) -> TokenStream {
    let is_reference = quote!({
        #[allow(unused_imports)]
        use ::pullback::__private::NoReference as _;
        ::pullback::__private::ReferenceOf::<#ty>::IS_REFERENCE
    });
    let mut both = assertion(
        ty.span(),
        quote!(!#is_reference),
        &format!("the argument `{label}` is a reference behind another name: write it as the reference that it is"),
    );
    both.extend(owns_nothing(label, ty));
    both
}

/// That an argument which is passed by value owns no memory.
fn owns_nothing(label: &str, ty: &Type) -> TokenStream {
    assertion(
        ty.span(),
        quote!(!::core::mem::needs_drop::<#ty>()),
        &format!(
            "the argument `{label}` owns memory, and is passed by value: a rule takes a reference to such a value"
        ),
    )
}
