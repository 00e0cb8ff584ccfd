//! The functions of a rule for reverse mode.
//!
//! ```text
//! augmented(tape, closure, a0, a1, out)           runs the rule: writes the value, and keeps the pullback; in two
//!                                                 forms for a rule that asks whether memory stays as it is
//! view(tape, view, a0, a0', a1, a1', out, out')   right after that: writes down what the pullback needs of the shadows
//! pullback(closure, view, a0', a1', out')         in the reverse sweep: calls the pullback, and adds to the shadows
//! ```

use super::scalar::mentions;
use super::{
    Frame, Parts, activity_behind, activity_of, activity_without_shadow, arg, assertion, floats_behind_mut,
    floats_behind_raw, local, local_at, passed_by_value, places, rule_parameter, watched,
};
use crate::generate::abi;
use crate::parse::pretty;
use crate::parse::rule::is_no_tangent;
use crate::parse::rule::reverse::{Access, Calls, CotangentParameter, ReverseRule, ShadowParameter, Way};
use crate::parse::types::{Pointer, has_lifetimes};
use proc_macro2::{Ident, TokenStream};
use pullback_abi::{Activity, RuleKind};
use quote::{format_ident, quote, quote_spanned};
use syn::Type;
use syn::spanned::Spanned;

pub fn generate(rule: &ReverseRule) -> TokenStream {
    let frame = Frame {
        attribute: &rule.attribute,
        rule: &rule.rule,
        kind: RuleKind::Reverse,
        arguments: rule.rule.arguments().iter().map(|argument| (argument.label.as_str(), &argument.ty)).collect(),
        result: &rule.result,
        asks: rule.asks,
    };
    let (primals, shadows) = places(frame.arguments.len());
    Reverse { rule, frame, primals, shadows, closure: format_ident!("__PullbackClosure") }.generate()
}

struct Reverse<'a> {
    rule: &'a ReverseRule,
    frame: Frame<'a>,
    /// The places of the arguments, and of their shadows.
    primals: Vec<Ident>,
    shadows: Vec<Ident>,
    /// The type parameter that stands for the pullback.
    closure: Ident,
}

impl Reverse<'_> {
    fn generate(&self) -> TokenStream {
        let (rule_type, closure) = (rule_parameter(), &self.closure);
        let (augmented, view, pullback) = (self.augmented(), self.view(), self.pullback());
        let (rule_bound, closure_bound, referred_bounds) =
            (self.rule_bound(), self.closure_bound(), self.referred_bounds());
        let named: Vec<(Ident, &Type)> = self.written().map(|(index, ty, _)| (referred_parameter(index), ty)).collect();
        let parameters = [rule_type, closure.clone()].into_iter().chain(self.referred()).collect();
        self.frame.generate(&Parts {
            shims: quote!(#augmented #view #pullback),
            parameters,
            bounds: quote!(#rule_bound #closure_bound #referred_bounds),
            named,
            record: self.record(),
            span: self.rule.pullback,
        })
    }

    fn types(&self) -> impl Iterator<Item = &Type> {
        self.frame.arguments.iter().map(|(_, ty)| *ty)
    }

    /// The arguments that are references or pointers with shadows: position, what it refers to, and how the pullback
    /// takes it.
    fn written(&self) -> impl Iterator<Item = (usize, &Type, ShadowParameter)> {
        self.rule.arguments.iter().enumerate().filter_map(|(index, way)| match way {
            Way::Written(_, _, ShadowParameter::Nothing) | Way::Returned(_) => None,
            Way::Written(ty, _, shadow) => Some((index, ty, *shadow)),
        })
    }

    /// Type parameters for what these arguments refer to.
    fn referred(&self) -> impl Iterator<Item = Ident> {
        self.written().map(|(index, ..)| referred_parameter(index))
    }

    fn referred_bounds(&self) -> TokenStream {
        let bound = |(index, _, shadow)| {
            let referred = referred_parameter(index);
            match shadow {
                ShadowParameter::Raw => quote!(#referred: ::pullback::Differentiable,),
                _ => quote!(#referred: ::pullback::rules::Reached + ?::core::marker::Sized,),
            }
        };
        self.written().map(bound).collect()
    }

    /// The type of all views.
    fn view_type(&self) -> TokenStream {
        let types = self.referred();
        let result = self.frame.result;
        let result = self.lent_result().map(|_| quote!(*mut #result,));
        quote!((#(*mut #types,)* #result))
    }

    /// What the pullback takes the cotangent of the result as, if it takes a reference.
    fn lent_result(&self) -> Option<&Type> {
        match &self.rule.cotangent {
            CotangentParameter::Nothing | CotangentParameter::Value => None,
            CotangentParameter::Reference(ty) => Some(ty),
        }
    }

    /// Whether there is anything to view.
    fn has_view(&self) -> bool {
        self.written().next().is_some() || self.lent_result().is_some()
    }

    fn rule_bound(&self) -> TokenStream {
        let (rule, closure, types, result) = (rule_parameter(), &self.closure, self.types(), self.frame.result);
        let memory = self.rule.asks.then(|| quote!(::pullback::rules::Memory,));
        quote!(#rule: ::core::ops::Fn(#memory #(#types),*) -> (#result, #closure) + ::core::marker::Copy,)
    }

    /// The pullback's parameters are given lifetimes that nobody can choose.
    fn closure_bound(&self) -> TokenStream {
        let result = self.frame.result;
        let cotangent = match &self.rule.cotangent {
            CotangentParameter::Nothing => quote!(),
            CotangentParameter::Value => quote!(#result,),
            CotangentParameter::Reference(ty) => quote!(&#ty,),
        };
        let shadows = self.rule.arguments.iter().enumerate().filter_map(|(index, way)| {
            let ty = referred_parameter(index);
            match way {
                Way::Returned(_) => None,
                Way::Written(_, _, ShadowParameter::Always) => Some(quote!(&mut #ty)),
                Way::Written(_, _, ShadowParameter::IfAsked) => Some(quote!(::core::option::Option<&mut #ty>)),
                Way::Written(_, _, ShadowParameter::Raw) => Some(quote!(*mut #ty)),
                Way::Written(_, _, ShadowParameter::Nothing) => Some(quote!(::pullback::rules::NoTangent)),
            }
        });
        let (closure, returned) = (&self.closure, &self.rule.returned);
        let function = match self.rule.calls {
            Calls::Once => quote!(FnOnce),
            Calls::Shared => quote!(Fn),
        };
        quote!(#closure: ::core::ops::#function(#cotangent #(#shadows),*) -> #returned,)
    }

    /// What becomes of what each argument refers to, in a rule that asks.
    fn lasting(&self) -> impl Iterator<Item = Lasting<'_>> {
        let unknown: Vec<&Ident> = self.frame.unlisted().collect();
        self.types().zip(&self.rule.arguments).map(move |(ty, way)| match (Pointer::of(ty), way) {
            (Some(Pointer::Raw(_)), _) => Lasting::Told,
            (Some(Pointer::Reference(reference)), _) if reference.mutability.is_none() => {
                if has_lifetimes(&reference.elem) { Lasting::Lent } else { Lasting::Copied(&reference.elem) }
            }
            (Some(Pointer::Reference(_)), _) => Lasting::Lent,
            (None, _) if has_lifetimes(ty) => Lasting::Lent,
            (None, _) if !unknown.iter().any(|name| mentions(quote!(#ty), name)) => Lasting::Nothing,
            (None, Way::Returned(component)) if !is_no_tangent(component) => Lasting::NothingIfPlain(ty),
            (None, _) => Lasting::Lent,
        })
    }

    /// Whether all that the pullback can refer to is copied where it may be overwritten, as a constant expression.
    /// Where it is not, the engine refuses to call the rule.
    fn all_last(&self) -> TokenStream {
        let all = self.lasting().filter_map(|lasting| match lasting {
            Lasting::Lent => Some(quote!(false)),
            Lasting::NothingIfPlain(ty) => Some(quote!(<#ty as ::pullback::Differentiable>::PLAIN)),
            Lasting::Copied(ty) => Some(quote!({
                #[allow(unused_imports)]
                use ::pullback::__private::rules::NoCopy as _;
                ::pullback::__private::rules::CopyOf::<#ty>::IS_COPIED
            })),
            Lasting::Nothing | Lasting::Told => None,
        });
        quote!(true #(&& #all)*)
    }

    fn augmented(&self) -> TokenStream {
        let generics = self.frame.rule.generics().params.iter();
        let (rule, closure, result) = (rule_parameter(), &self.closure, self.frame.result);
        let (bound, predicates) = (self.rule_bound(), self.frame.predicates());
        let (primals, types) = (&self.primals, self.types());
        let (tape, place, out) = (local("tape"), local("place"), local("out"));
        let (value, pullback) = (local("value"), local("pullback"));
        let (lifetimes_checked, name) = (self.frame.lifetimes_checked(), self.frame.rule.name().to_string());
        let (stays, memory) = match self.rule.asks {
            true if self.lasting().any(|lasting| matches!(lasting, Lasting::Told)) => {
                (quote!(, const STAYS: bool), quote!(::pullback::rules::Memory::new(STAYS),))
            }
            // All that the arguments refer to is there as it is, or as a copy.
            true => (quote!(, const STAYS: bool), quote!(::pullback::rules::Memory::STAYS,)),
            false => (quote!(), quote!()),
        };
        let arguments = self.primals.iter().zip(self.lasting()).map(|(primal, lasting)| match lasting {
            Lasting::Copied(ty) if self.rule.asks => quote!({
                #[allow(unused_imports)]
                use ::pullback::__private::rules::NoCopy as _;
                ::pullback::__private::rules::CopyOf::<#ty>::lasting::<STAYS>(#tape, #primal.read())
            }),
            _ => quote!(#primal.read()),
        });
        let arguments_and_ways = self.frame.arguments.iter().zip(&self.rule.arguments).enumerate();
        let (before, after): (Vec<_>, Vec<_>) = arguments_and_ways
            .map(|(index, (&(_, ty), way))| {
                let has_shadow = matches!(way, Way::Written(_, _, shadow) if *shadow != ShadowParameter::Nothing);
                let [before, after] = watched(index, &self.primals[index], ty, has_shadow, &self.frame);
                (before, after)
            })
            .unzip();
        quote! {
            unsafe extern "C-unwind" fn __pullback_augmented<#(#generics,)* #rule, #closure #stays>(
                #tape: *mut ::pullback::rt::Tape,
                #place: *mut u8,
                #(#primals: *const #types,)*
                #out: *mut #result,
            )
            where
                #bound
                #predicates
            {
                #lifetimes_checked
                // SAFETY: S30 and S31, the arguments are those of a call of the target, and what they refer to stays if
                // that is said.
                unsafe {
                    #(#before)*
                    let (#value, #pullback) =
                        ::pullback::__private::rules::function::<#rule>()(#memory #(#arguments),*);
                    #(#after)*
                    ::pullback::__private::rules::assert_own(#name, &#value);
                    #out.write(#value);
                    ::pullback::__private::rules::store_closure(#tape, #place, #pullback);
                }
            }
        }
    }

    fn view(&self) -> TokenStream {
        if !self.has_view() {
            return TokenStream::new();
        }
        let generics = self.frame.rule.generics().params.iter();
        let (referred, referred_bounds) = (self.referred(), self.referred_bounds());
        let predicates = self.frame.predicates();
        let (primals, shadows, types) = (&self.primals, &self.shadows, self.types());
        let (tape, place, out, result_shadow) = (local("tape"), local("place"), local("out"), local("result_shadow"));
        let (view, result) = (self.view_type(), self.frame.result);
        let views = self.written().map(|(index, _, parameter)| {
            let (primal, shadow, ty) = (&primals[index], &shadows[index], referred_parameter(index));
            match parameter {
                ShadowParameter::Raw => quote!(::pullback::__private::rules::raw_shadow::<*mut #ty>(#shadow.cast())),
                _ => quote!(::pullback::__private::rules::view::<#ty>(#tape, #primal.cast(), #shadow.cast())),
            }
        });
        let viewed_result =
            self.lent_result().map(|_| quote!(::pullback::__private::rules::view_result(#tape, #out, #result_shadow),));
        quote! {
            #[allow(unused_variables)]
            unsafe extern "C-unwind" fn __pullback_view<#(#generics,)* #(#referred),*>(
                #tape: *mut ::pullback::rt::Tape,
                #place: *mut #view,
                #(#primals: *const #types, #shadows: *mut #types,)*
                #out: *const #result,
                #result_shadow: *mut #result,
            )
            where
                #referred_bounds
                #predicates
            {
                // SAFETY: S34, the driver calls this right after the rule, with the places of all shadows.
                unsafe { #place.write((#(#views,)* #viewed_result)) }
            }
        }
    }

    fn pullback(&self) -> TokenStream {
        let generics = self.frame.rule.generics().params.iter();
        let (bound, predicates) = (self.closure_bound(), self.frame.predicates());
        let (referred, referred_bounds) = (self.referred(), self.referred_bounds());
        let (closure, result, view) = (&self.closure, self.frame.result, self.view_type());
        let (shadows, types) = (&self.shadows, self.types());
        let (place, view_place, out) = (local("place"), local("view"), local("result_shadow"));
        let views: Vec<Ident> = self.written().map(|(index, ..)| local(&format!("view{index}"))).collect();
        let lent: Vec<usize> = (self.written())
            .filter_map(|(index, _, shadow)| (shadow != ShadowParameter::Raw).then_some(index))
            .collect();
        let guests: Vec<Ident> = lent.iter().map(|index| local(&format!("shadow{index}"))).collect();
        let made = lent.iter().enumerate().map(|(position, index)| {
            let (guest, others) = (&guests[position], &guests[..position]);
            let view = local(&format!("view{index}"));
            quote!(let mut #guest = ::pullback::__private::rules::Shadow::new(#view, &[#(#others.range()),*]);)
        });
        let name = self.frame.rule.name().to_string();
        let finished = lent.iter().zip(&guests).map(|(index, guest)| {
            let label = self.frame.arguments[*index].0;
            quote!(#guest.finish(#name, #label);)
        });
        let zero = local("zero");
        let (result_view, result_taken, result_finished) = match self.lent_result() {
            None => (quote!(), quote!(), quote!()),
            Some(ty) => {
                let cotangents = local_at("cotangents", ty.span());
                (
                    quote!(#zero,),
                    quote!(let #cotangents = ::pullback::__private::rules::Cotangents::take(#zero, #out);),
                    quote!(#cotangents.finish();),
                )
            }
        };
        let call = self.call(&place, &out);
        let (pattern, added) = self.gradients();
        quote! {
            #[allow(unused_variables)]
            unsafe extern "C-unwind" fn __pullback_pullback<#(#generics,)* #closure, #(#referred),*>(
                #place: *const u8,
                #view_place: *const #view,
                #(#shadows: *mut #types,)*
                #out: *mut #result,
            )
            where
                #bound
                #referred_bounds
                #predicates
            {
                // SAFETY: S30 to S34, the closure and the views were written in the forward sweep, and the tape is
                // still there.
                unsafe {
                    let (#(#views,)* #result_view) = ::pullback::__private::rules::read_view(#view_place);
                    #(#made)*
                    #result_taken
                    let #pattern = #call;
                    #added
                    #(#guests.copy_back();)*
                    #(#finished)*
                    #result_finished
                }
            }
        }
    }

    /// A pattern for the gradients that the pullback returns, and what adds them to the shadows.
    fn gradients(&self) -> (TokenStream, TokenStream) {
        let components: Vec<Ident> = (0..self.rule.arguments.len()).map(|index| local(&format!("c{index}"))).collect();
        let returned: Vec<(usize, &Type)> = (self.rule.arguments.iter().enumerate())
            .filter_map(|(index, way)| if let Way::Returned(ty) = way { Some((index, ty)) } else { None })
            .collect();
        let pattern = match &returned[..] {
            [] => quote!(()),
            [(one, _)] => {
                let one = &components[*one];
                quote!(#one)
            }
            several => {
                let names = several.iter().map(|(index, _)| &components[*index]);
                quote!((#(#names),*))
            }
        };
        let added = returned.iter().map(|(index, ty)| {
            let (component, shadow, argument) =
                (&components[*index], &self.shadows[*index], &self.frame.arguments[*index].1);
            quote_spanned! {ty.span()=>
                <#ty as ::pullback::rules::Cotangent<#argument>>::add_to(#component, #shadow);
            }
        });
        (pattern, added.collect())
    }

    /// The call of the pullback.
    fn call(&self, place: &Ident, out: &Ident) -> TokenStream {
        let closure = &self.closure;
        let name = self.frame.rule.name().to_string();
        let pullback = match self.rule.calls {
            Calls::Once => quote!(::pullback::__private::rules::take_closure::<#closure>(#place, #name)),
            Calls::Shared => quote!((::pullback::__private::rules::shared_closure::<#closure>(#place))),
        };
        let cotangent = match &self.rule.cotangent {
            CotangentParameter::Nothing => quote!(),
            CotangentParameter::Value => quote!(::pullback::__private::rules::take_cotangent(#out),),
            CotangentParameter::Reference(ty) => {
                let cotangents = local_at("cotangents", ty.span());
                quote_spanned! {ty.span()=>
                    ::pullback::__private::rules::Cotangents::lend::<#ty>(&#cotangents),
                }
            }
        };
        let shadows = self.rule.arguments.iter().enumerate().filter_map(|(index, way)| {
            let guest = local(&format!("shadow{index}"));
            match way {
                Way::Returned(_) => None,
                Way::Written(_, _, ShadowParameter::Always) => Some(quote!(#guest.always())),
                Way::Written(_, _, ShadowParameter::IfAsked) => Some(quote!(#guest.if_asked())),
                Way::Written(_, _, ShadowParameter::Raw) => {
                    let view = local(&format!("view{index}"));
                    Some(quote!(#view))
                }
                Way::Written(_, _, ShadowParameter::Nothing) => Some(quote!(::pullback::rules::NoTangent)),
            }
        });
        quote!(#pullback(#cotangent #(#shadows),*))
    }

    fn record(&self) -> TokenStream {
        let name = self.frame.rule.name().to_string();
        let (rule, closure) = (rule_parameter(), &self.closure);
        let turbofish = &self.frame.rule.function.turbofish;
        let assertions = self.assertions();
        let args = self.args();
        let view_type = self.view_type();
        let referred: Vec<Ident> = self.referred().collect();
        let view = if self.has_view() {
            quote!(__pullback_view::<#(#turbofish,)* #(#referred),*> as *const ())
        } else {
            quote!(::core::ptr::null())
        };
        let borrows = self.rule.borrows;
        let once = matches!(self.rule.calls, Calls::Once);
        let augmented =
            |stays: TokenStream| quote!(__pullback_augmented::<#(#turbofish,)* #rule, #closure #stays> as *const ());
        let (augmented, owning) = if self.rule.asks {
            let owning = augmented(quote!(, false));
            let all_last = self.all_last();
            let owning = quote!(if #all_last { #owning } else { ::core::ptr::null() });
            (augmented(quote!(, true)), quote!(.with_owning(#owning)))
        } else {
            (augmented(quote!()), quote!())
        };
        quote! {
            #assertions
            let borrows =
                if #borrows && ::core::mem::size_of::<#closure>() > 0 { ::pullback::abi::Rule::BORROWS } else { 0 };
            let once = if #once && ::core::mem::needs_drop::<#closure>() { ::pullback::abi::Rule::ONCE } else { 0 };
            let drops = if ::core::mem::needs_drop::<#closure>() { ::pullback::abi::Rule::DROPS } else { 0 };
            &::pullback::abi::Rule::reverse(
                #name,
                borrows | once | drops,
                const { &[#(#args),*] },
                [
                    #augmented,
                    #view,
                    __pullback_pullback::<#(#turbofish,)* #closure, #(#referred),*> as *const (),
                ],
                ::pullback::__private::rules::kept_closure::<#closure>(),
                ::pullback::__private::rules::kept_view::<#view_type>(),
            )#owning
        }
    }

    fn args(&self) -> Vec<TokenStream> {
        let active = abi::activity(Activity::Duplicated);
        let constant = abi::activity(Activity::Const);
        let mut args: Vec<TokenStream> = (self.frame.arguments.iter().zip(&self.rule.arguments))
            .map(|(&(label, ty), way)| match way {
                Way::Returned(component) if is_no_tangent(component) => arg(label, constant.clone(), ty, true),
                Way::Returned(component) => {
                    let activity = quote!(<#component as ::pullback::rules::Cotangent<#ty>>::ACTIVITY);
                    arg(label, activity, ty, false)
                }
                // What is written is written, whether it has a derivative or not.
                Way::Written(_, Access::Exclusive, ShadowParameter::Nothing) => {
                    arg(label, activity_of(Access::Exclusive), ty, true)
                }
                Way::Written(_, Access::Shared, ShadowParameter::Nothing) => {
                    arg(label, activity_without_shadow(ty, self.frame.result), ty, true)
                }
                Way::Written(_, access, _) => arg(label, activity_behind(ty, *access, self.frame.result), ty, false),
            })
            .collect();
        args.push(arg("return", active, self.frame.result, false));
        args
    }

    fn assertions(&self) -> TokenStream {
        let mut assertions = TokenStream::new();
        for (&(label, ty), way) in self.frame.arguments.iter().zip(&self.rule.arguments) {
            assertions.extend(match way {
                Way::Returned(_) => passed_by_value(label, ty),
                Way::Written(_, _, ShadowParameter::Nothing) => TokenStream::new(),
                Way::Written(referred, _, ShadowParameter::Raw) => floats_behind_raw(label, ty, referred),
                Way::Written(_, Access::Shared, _) => TokenStream::new(),
                Way::Written(referred, Access::Exclusive, _) => floats_behind_mut(label, ty, referred),
            });
        }
        if self.lent_result().is_none() {
            let result = self.frame.result;
            let written = pretty(&quote!(#result));
            assertions.extend(assertion(
                result.span(),
                quote!(<#result as ::pullback::Differentiable>::PLAIN),
                &format!(
                    "the result is more than floats, so the pullback takes its cotangent as a reference: `&{written}`"
                ),
            ));
        }
        assertions
    }
}

/// What becomes of what an argument refers to where it may be overwritten.
enum Lasting<'a> {
    /// It refers to nothing.
    Nothing,
    /// It refers to nothing if it is floats only.
    NothingIfPlain(&'a Type),
    /// It is copied, if it can be.
    Copied(&'a Type),
    /// It is a raw pointer: the rule is told.
    Told,
    /// Neither: it must not be overwritten.
    Lent,
}

/// The type parameter that stands for what an argument refers to.
fn referred_parameter(index: usize) -> Ident {
    format_ident!("__PullbackReferred{index}")
}
