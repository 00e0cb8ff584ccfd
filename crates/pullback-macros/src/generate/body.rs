//! The derivative's body: check the shadows, make places for everything, ask the driver for the derivative, call it,
//! return.
//!
//! ```text
//! let shim: fn(*const _, *mut _) =
//!     |a0, out| { let a0 = unsafe { read(a0) }; let r = f(a0); unsafe { write(out, r) } };
//! let [mut d0_0] = [d_y];                                   // one binding for each batch direction of each shadow
//! let mut d1_0 = zero(&x);                                  // the gradient of an `Active` argument; see `Body::zeros`
//! let (mut masked, mut congruence) = (Masked::default(), Congruence::default());
//! check("y", &y, &d0_0, Some(&masked), (&congruence, 0));   // panics if a shadow does not fit, before all writes
//! let s0_0 = writable("y", &mut d0_0, &masked);             // its place
//! masked.assert_alone();                                    // panics if something else sees what is masked
//! check("x", &x, &d1_0, Some(&masked), (&congruence, 0));   // the gradient of an `Active` argument, too
//! Constants::examine("y", &y, &raw mut d0_0, …, renews(…)); // forward mode: panics if a part cannot be taken out
//! congruence.assert_congruent();                            // panics if the shadows have other names of memory
//! if congruence.is_lent() && yields(…) { … }                // panics if others may change pointers in cells
//! if disowns(…) { congruence.assert_owned() }               // forward mode: panics if owners without shadow may go
//! let a0 = ManuallyDrop::new(y);                            // from here on the arguments belong to the primal
//! let mut out = MaybeUninit::<f64>::uninit();
//! { let mut tape = Tape::new(); …                            // the block of which it is dropped at the end
//! if saves(…) { note(&mut tape, &mut n0_0, &a0, &mut d0_0) } // it may have to be put back, see `rt::saved`
//! if !masked.is_empty() { masked.reaches(…); masked.clear() } // what a shadow's enums hold beside floats
//! transmute::<_, fn(…)>(marker(shim as *const (), const { &Request::new(…) }))
//!     (&mut tape, &a0, &mut d0_0, &mut out, …);
//! ```
//! The shim is a closure because a nested function could use neither the generics around it nor `Self`. It captures
//! nothing, so it is a plain function to the driver.

use super::abi;
use super::passed::Passed;
use super::signature::{Passing, Returned, Shadow, Signature};
use crate::parse::attribute::Width;
use crate::parse::function::Argument;
use crate::parse::plan::{Need, Plan, ResultRole, Role};
use crate::parse::types::as_reference;
use proc_macro2::{Ident, Span, TokenStream};
use pullback_abi::{Activity, Mode, Request};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Type, parse_quote};

/// The parts of a body, in the order in which they run.
struct Body<'a> {
    plan: &'a Plan,
    signature: &'a Signature,
    /// The result's type.
    result: Type,
    /// The places of the arguments.
    arguments: Vec<Ident>,
    /// For each argument and then the result, its shadow places, one for each batch direction.
    shadows: Vec<Vec<Ident>>,
    /// The place of the result.
    out: Ident,
    tape: Ident,
    masked: Ident,
    congruence: Ident,
    constants: Ident,
    shim: Ident,
    /// Whether the cotangent of a result lies where the derivative looks for it.
    is_flat: Ident,
}

pub fn generate(plan: &Plan, signature: &Signature) -> TokenStream {
    let count = plan.function.arguments.len();
    let directions = plan.attribute.width.directions();
    let shadows = |index| (0..directions).map(|number| local(&format!("d{index}_{number}"))).collect();
    let body = Body {
        plan,
        signature,
        result: plan.function.result.clone().unwrap_or_else(|| parse_quote!(())),
        arguments: (0..count).map(|index| local(&format!("a{index}"))).collect(),
        shadows: (0..=count).map(shadows).collect(),
        out: local("out"),
        tape: local("tape"),
        masked: local("masked"),
        congruence: local("congruence"),
        constants: local("constants"),
        shim: local("shim"),
        is_flat: local("is_flat"),
    };
    let (shim, checks, places) = (body.shim(), body.checks(), body.places());
    let (result, types, call, returned) = (body.result_places(), body.types(), body.call(), body.returned());
    quote! {
        ::pullback::__private::built_by_driver::<()>();
        #shim
        #checks
        #places
        #result
        #types
        #call
        #returned
    }
}

/// A name that cannot collide with the user's.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

impl Body<'_> {
    /// The shadows as one binding for each batch direction, each checked against its primal, and all else that is
    /// checked before anything is written.
    fn checks(&self) -> TokenStream {
        let Body { masked, congruence, .. } = self;
        let mode = self.plan.attribute.mode;
        let mut tokens = TokenStream::new();
        if mode == Mode::Reverse {
            tokens.extend(self.zeros());
            tokens.extend(quote!(let mut #masked = ::pullback::__private::Masked::default();));
        }
        if self.has_shadows() {
            // SAFETY: S41, the derivative is `unsafe`: its caller answers for what is behind raw pointers.
            tokens.extend(if self.signature.is_unsafe {
                quote!(let mut #congruence = unsafe { ::pullback::__private::Congruence::answered() };)
            } else {
                quote!(let mut #congruence = ::pullback::__private::Congruence::default();)
            });
        }
        for index in 0..self.arguments.len() {
            tokens.extend(self.checked(index));
        }
        tokens.extend(self.named());
        match mode {
            Mode::Reverse => {
                tokens.extend(self.written());
                tokens.extend(self.checked_zeros());
            }
            Mode::Forward => tokens.extend(self.examined()),
        }
        if self.has_shadows() {
            let (shim, request) = (&self.shim, self.request());
            // SAFETY: S40, the driver puts an address in the place of the marker.
            tokens.extend(quote! {
                #congruence.assert_congruent();
                if #congruence.is_lent()
                    && !unsafe { ::pullback::__private::yields(#shim as *const (), const { #request }) }.is_null()
                {
                    #congruence.refuse_lent_bookkeeping();
                }
            });
        }
        if self.has_shadows() && mode == Mode::Forward {
            let (shim, request) = (&self.shim, self.request());
            // SAFETY: S40, the driver puts an address in the place of the marker.
            tokens.extend(quote! {
                if !unsafe { ::pullback::__private::disowns(#shim as *const (), const { #request }) }.is_null() {
                    #congruence.assert_owned();
                }
            });
        }
        tokens
    }

    /// The shadows of an argument, bound and checked.
    fn checked(&self, index: usize) -> TokenStream {
        let Some(Shadow { parameters, passing, ty, change }) = &self.signature.shadows[index] else {
            return TokenStream::new();
        };
        let Body { masked, congruence, .. } = self;
        let (argument, bindings) = (&self.plan.function.arguments[index], &self.shadows[index]);
        let (name, label, span) = (&argument.name, &argument.label, argument.ty.span());
        let noting = match self.plan.attribute.mode {
            Mode::Forward => quote!(::core::option::Option::None),
            Mode::Reverse => quote!(::core::option::Option::Some(&#masked)),
        };
        let mut tokens = match (&parameters[..], passing) {
            ([stacked], Passing::Stacked) => {
                let split = match as_reference(&argument.ty) {
                    Some(reference) if reference.mutability.is_some() => quote!(unstack_mut),
                    _ => quote!(unstack),
                };
                let directions = self.plan.attribute.width.directions();
                quote! {
                    let [#(mut #bindings),*] =
                        ::pullback::__private::#split::<_, #directions>(#label, #name.len(), #stacked);
                }
            }
            ([one], _) if matches!(self.plan.attribute.width, Width::Batch(_)) => {
                quote!(let [#(mut #bindings),*] = #one;)
            }
            (each, _) => quote!(#(let mut #bindings = #each;)*),
        };
        let shadow = match passing {
            Passing::Reference => quote!(*),
            Passing::Value | Passing::Stacked => quote!(),
        };
        if let Some(change) = change {
            let primal = &argument.ty;
            tokens.extend(quote_spanned!(span=> ::pullback::__private::shadow_of::<#primal, #ty, #change>();));
        }
        // SAFETY: S7, the shadow's type is the argument's, but for references that were made mutable, and types in
        // which they were: of those it is said above.
        for (direction, binding) in bindings.iter().enumerate() {
            let check = quote_spanned! {span=>
                ::pullback::__private::check(#label, &#name, & #shadow #binding, #noting, (&#congruence, #direction))
            };
            // Not with the user's span: the block is not the user's, who may forbid them.
            tokens.extend(quote!(unsafe { #check };));
        }
        tokens
    }

    /// The names of shared memory that `Const` arguments reach.
    fn named(&self) -> TokenStream {
        if !self.has_shadows() {
            return TokenStream::new();
        }
        let congruence = &self.congruence;
        let arguments = self.plan.function.arguments.iter().zip(&self.plan.roles);
        let constants = arguments.filter(|(_, role)| **role == Role::Const).map(|(argument, _)| {
            let (label, name, ty) = (&argument.label, &argument.name, &argument.ty);
            quote! {{
                #[allow(unused_imports)]
                use ::pullback::__private::AnyLayout as _;
                ::pullback::__private::LayoutOf::<#ty>::name(#label, &#name, &#congruence);
            }}
        });
        constants.collect()
    }

    /// Whether all that carries no derivative can be taken out of the tangents.
    fn examined(&self) -> TokenStream {
        let (mut tokens, congruence) = (TokenStream::new(), &self.congruence);
        let renews = local("renews");
        if self.has_shadows() {
            let (shim, request) = (&self.shim, self.request());
            // SAFETY: S40, the driver puts an address in the place of the marker.
            tokens.extend(quote! {
                let #renews =
                    !unsafe { ::pullback::__private::renews(#shim as *const (), const { #request }) }.is_null();
            });
        }
        for (index, argument) in self.plan.function.arguments.iter().enumerate() {
            if self.signature.shadows[index].is_some() {
                let (label, name, shadows) = (&argument.label, &argument.name, &self.shadows[index]);
                // SAFETY: S1 and S7, the shadow was checked.
                let examined = quote_spanned! {argument.ty.span()=> #(
                    ::pullback::__private::Constants::examine(#label, &#name, &raw mut #shadows, &#congruence, #renews);
                )*};
                tokens.extend(quote!(unsafe { #examined }));
            }
        }
        if matches!(self.plan.result, ResultRole::Tangent(_)) {
            let result = &self.result;
            tokens
                .extend(quote_spanned!(result.span()=> ::pullback::__private::Constants::examine_result::<#result>();));
        }
        tokens
    }

    /// Whether any argument has a shadow.
    fn has_shadows(&self) -> bool {
        self.plan.roles.iter().any(|role| *role != Role::Const)
    }

    /// The places of the shadows that are written, which nothing but the derivative sees.
    fn written(&self) -> TokenStream {
        let masked = &self.masked;
        let mut tokens = TokenStream::new();
        for (index, argument) in self.plan.function.arguments.iter().enumerate() {
            let Some(Shadow { passing, .. }) = &self.signature.shadows[index] else { continue };
            let (label, span) = (&argument.label, argument.ty.span());
            let by_reference = matches!(passing, Passing::Reference).then(|| quote!(*));
            for (direction, shadow) in self.shadows[index].iter().enumerate() {
                let place = local(&format!("s{index}_{direction}"));
                tokens.extend(quote_spanned! {span=>
                    let #place = ::pullback::__private::writable(#label, &mut #by_reference #shadow, &#masked);
                });
            }
        }
        if !tokens.is_empty() {
            tokens.extend(quote!(#masked.assert_alone();));
        }
        tokens
    }

    /// The gradients of `Active` arguments, which are zeros: whoever makes one may panic, so the arguments still belong
    /// to the derivative, which drops them then. They come before what is masked in them, so that they are dropped
    /// after it, when all is there again.
    fn zeros(&self) -> TokenStream {
        let zeros = self.active().map(|(argument, shadows)| {
            let name = &argument.name;
            quote_spanned!(argument.ty.span()=> #(let mut #shadows = ::pullback::__private::zero(&#name);)*)
        });
        zeros.collect()
    }

    /// What of the gradients of `Active` arguments is to be masked.
    fn checked_zeros(&self) -> TokenStream {
        let (mut tokens, Body { masked, congruence, .. }) = (TokenStream::new(), self);
        for (argument, shadows) in self.active() {
            let (label, name) = (&argument.label, &argument.name);
            // SAFETY: S7, a zero has the type of its value.
            for (direction, shadow) in shadows.iter().enumerate() {
                let check = quote_spanned! {argument.ty.span()=> ::pullback::__private::check(
                    #label, &#name, &#shadow, ::core::option::Option::Some(&#masked), (&#congruence, #direction),
                )};
                tokens.extend(quote!(unsafe { #check };));
            }
        }
        tokens
    }

    /// The `Active` arguments, with their shadows.
    fn active(&self) -> impl Iterator<Item = (&Argument, &Vec<Ident>)> {
        let all = self.plan.function.arguments.iter().zip(&self.shadows).zip(&self.plan.roles);
        all.filter(|(_, role)| **role == Role::Active).map(|(active, _)| active)
    }

    /// The places of the arguments. From here on they belong to the primal.
    fn places(&self) -> TokenStream {
        let mut tokens = TokenStream::new();
        let Body { congruence, constants, .. } = self;
        let mut taken = TokenStream::new();
        for (index, argument) in self.plan.function.arguments.iter().enumerate() {
            let (name, place, shadows) = (&argument.name, &self.arguments[index], &self.shadows[index]);
            tokens.extend(quote!(let #place = ::core::mem::ManuallyDrop::new(#name);));
            // A tangent that is passed by value is moved into the derivative, as its primal is.
            if self.plan.attribute.mode == Mode::Forward && self.plan.roles[index] != Role::Const {
                tokens.extend(quote!(#(let mut #shadows = ::core::mem::ManuallyDrop::new(#shadows);)*));
                taken.extend(quote_spanned! {argument.ty.span()=>
                    #(#constants.take(&*#place, &raw mut *#shadows, &#congruence);)*
                });
            }
        }
        if !taken.is_empty() || matches!(self.plan.result, ResultRole::Tangent(_)) {
            tokens.extend(quote!(let mut #constants = ::pullback::__private::Constants::default();));
            if !taken.is_empty() {
                // SAFETY: S19, each shadow was checked and examined, and nothing but the derivative, which comes next,
                // uses it.
                tokens.extend(quote!(unsafe { #taken }));
            }
        }
        tokens
    }

    /// The place of the result, and of its shadows.
    fn result_places(&self) -> TokenStream {
        let Body { out, result, masked, .. } = self;
        let shadows = &self.shadows[self.arguments.len()];
        let span = result.span();
        let made = match self.plan.result {
            ResultRole::Const => quote!(),
            ResultRole::One(_) => {
                quote_spanned! {span=>
                    #(let mut #shadows = <#result as ::pullback::ActiveResult>::ONE;)*
                    #(::pullback::__private::seed(&#shadows, true, &#masked);)*
                }
            }
            ResultRole::Seeded(_) => {
                let (seed, is_flat, is_result_flat) = (&self.signature.seed, &self.is_flat, self.is_result_flat());
                let places = self.seed_places();
                let pattern = match self.plan.attribute.width {
                    Width::Single => quote!(#(mut #shadows)*),
                    Width::Batch(_) => quote!([#(mut #shadows),*]),
                };
                quote_spanned! {span=>
                    let #is_flat = #is_result_flat;
                    let #pattern = #seed;
                    #(::pullback::__private::seed(&#shadows, #is_flat, &#masked);)*
                    #(let mut #places = ::pullback::__private::result_shadow::<#result>(#is_flat);)*
                }
            }
            ResultRole::Tangent(_) => quote! {
                #(let mut #shadows = ::core::mem::MaybeUninit::<#result>::uninit();)*
            },
        };
        quote! {
            let mut #out = ::core::mem::MaybeUninit::<#result>::uninit();
            #made
        }
    }

    /// Whether the cotangent of the result is floats, and can lie where the derivative looks for it.
    fn is_result_flat(&self) -> TokenStream {
        let result = &self.result;
        quote!({
            #[allow(unused_imports)]
            use ::pullback::__private::OwnsMemory as _;
            ::pullback::__private::SeedOf::<#result>::IS_FLAT
        })
    }

    /// The places of the result's shadows, if it owns memory.
    fn seed_places(&self) -> Vec<Ident> {
        (0..self.plan.attribute.width.directions()).map(|number| local(&format!("seed{number}"))).collect()
    }

    /// The function that the driver differentiates, with everything by pointer. A safe function is called outside of
    /// `unsafe`, so that it is rustc who says where it may be called: one with target features only in a derivative
    /// that has them too.
    fn shim(&self) -> TokenStream {
        let Body { arguments, out, shim, .. } = self;
        let path = self.path();
        let inputs = arguments.iter().map(|_| quote!(*const _));
        let result = local("result");
        let call = quote!(#path(#(#arguments),*));
        // SAFETY: S41, the derivative is `unsafe` then, too: whoever calls it keeps the function's own promises.
        let call = if self.plan.function.is_unsafe { quote!(unsafe { #call }) } else { call };
        // SAFETY: S40, the derivative gives the shim places of the arguments, each of which it reads once, and a place
        // for the result.
        quote! {
            let #shim: fn(#(#inputs,)* *mut _) = |#(#arguments,)* #out| {
                #(let #arguments = unsafe { ::core::ptr::read(#arguments) };)*
                let #result = #call;
                unsafe { ::core::ptr::write(#out, #result) }
            };
        }
    }

    /// The function that is differentiated, as it is called.
    fn path(&self) -> TokenStream {
        let function = &self.plan.function;
        let turbofish = &function.turbofish;
        let name = &function.name;
        let path = if function.associated { quote!(Self::#name) } else { quote!(#name) };
        if turbofish.is_empty() { path } else { quote!(#path::<#(#turbofish),*>) }
    }

    /// A call of the shim that never happens gives its arguments their types, lifetimes included. So do calls of the
    /// function with the shadows, one for each batch direction, for the tangents of its result: a tangent lives as long
    /// as the result that the function would have of the shadows.
    fn types(&self) -> TokenStream {
        let Body { arguments, out, shim, .. } = self;
        let path = self.path();
        let tangents = matches!(self.plan.result, ResultRole::Tangent(_)).then(|| {
            let directions = 0..self.plan.attribute.width.directions();
            let calls = directions.map(|direction| {
                let places = arguments.iter().enumerate().map(|(index, argument)| {
                    if self.plan.roles[index] == Role::Const { argument } else { &self.shadows[index][direction] }
                });
                let tangent = &self.shadows[arguments.len()][direction];
                quote!(#tangent.write(#path(#(::core::ptr::read(&raw const *#places)),*));)
            });
            // SAFETY: S21, this is never executed.
            quote!(unsafe { #(#calls)* })
        });
        quote! {
            if false {
                #shim(#(&raw const *#arguments,)* #out.as_mut_ptr());
                #tangents
            }
        }
    }

    /// The request, and the call of the derivative.
    fn call(&self) -> TokenStream {
        let Body { out, tape, masked, shim, constants, congruence, .. } = self;
        let request = self.request();
        let derivative = local("derivative");
        let Passed { values, reached, places, notes, seeds } = self.passed();
        let pointers = values.iter().map(|_| quote!(*mut ()));
        let is_reverse = self.plan.attribute.mode == Mode::Reverse;
        let clear = is_reverse.then(|| {
            quote! {
                if !#masked.is_empty() {
                    #(#reached)*
                    #masked.clear();
                }
            }
        });
        let notes = (!notes.is_empty()).then(|| {
            quote! {
                if !::pullback::__private::saves(#shim as *const (), const { #request }).is_null() {
                    #(#notes)*
                }
            }
        });
        let completed = matches!(self.plan.result, ResultRole::Tangent(_)).then(|| {
            let shadows = &self.shadows[self.arguments.len()];
            quote!(#(#constants.complete(#out.as_ptr(), #shadows.as_mut_ptr(), &#congruence);)*)
        });
        // SAFETY: S40, the driver puts a function with this signature in the place of the marker. All shadows were
        // checked (S1, S3 to S6); they and the notes stay where they are until the tape and what is masked are
        // dropped below (S12, S23).
        let call = quote! {
            unsafe {
                #(#places)*
                #clear
                #notes
                #(#seeds)*
                let #derivative = ::core::mem::transmute::<*const (), unsafe extern "C-unwind" fn(#(#pointers),*)>(
                    ::pullback::__private::marker(#shim as *const (), const { #request }),
                );
                #derivative(#(#values),*);
                #completed
            }
        };
        // The tape is dropped where it lies: of one that is moved LLVM does not see that it is empty.
        if is_reverse {
            quote!({ let mut #tape = ::pullback::__private::Tape::new(); #call } ::core::mem::drop(#masked);)
        } else {
            call
        }
    }

    /// What the derivative is called with.
    fn passed(&self) -> Passed {
        let Body { arguments, out, tape, masked, .. } = self;
        let mut passed = Passed::default();
        if self.plan.attribute.mode == Mode::Reverse {
            passed.values.push(quote!((&raw mut #tape).cast::<()>()));
        }
        let place_of = |shadow: &Ident| quote!((&raw mut #shadow).cast::<()>());
        for (index, place) in arguments.iter().enumerate() {
            passed.values.push(quote!((&raw const #place).cast_mut().cast::<()>()));
            let (shadows, span) = (&self.shadows[index], self.plan.function.arguments[index].ty.span());
            let primal = quote!(&*#place);
            match (self.plan.roles[index], self.plan.attribute.mode, &self.signature.shadows[index]) {
                (Role::Const, _, _) => {}
                (_, Mode::Reverse, Some(_)) => {
                    for direction in 0..shadows.len() {
                        let shadow = local(&format!("s{index}_{direction}"));
                        let note = local(&format!("n{index}_{direction}"));
                        passed.places.push(quote!(let mut #note = ::core::mem::MaybeUninit::uninit();));
                        passed.notes.push(quote_spanned! {span=>
                            ::pullback::__private::note(&mut #tape, &mut #note, &*#place, #shadow);
                        });
                        passed.shadow(masked, &primal, quote!(#shadow), span);
                    }
                }
                _ => shadows.iter().for_each(|place| passed.shadow(masked, &primal, place_of(place), span)),
            }
        }
        passed.values.push(quote!(#out.as_mut_ptr().cast::<()>()));
        if self.plan.result != ResultRole::Const {
            let (span, is_seeded) = (self.result.span(), matches!(self.plan.result, ResultRole::Seeded(_)));
            for (place, seed) in self.shadows[arguments.len()].iter().zip(self.seed_places()) {
                // There is no result yet. A cotangent that is floats leads nowhere.
                if !is_seeded {
                    passed.shadow(masked, &quote!(&*&raw const #place), place_of(place), span);
                    continue;
                }
                let (is_flat, note) = (&self.is_flat, local(&format!("note_{seed}")));
                let own = place_of(&seed);
                let pointer = place_of(place);
                passed.shadow_if(is_flat, masked, &quote!(&*&raw const #place), (&pointer, &own), span);
                passed.places.push(quote!(let mut #note = ::core::mem::MaybeUninit::uninit();));
                passed.seeds.push(quote_spanned! {span=>
                    if !#is_flat {
                        ::pullback::__private::note_seed(
                            &mut #tape, &mut #note, #out.as_mut_ptr(), #seed.as_mut_ptr(), &mut #place,
                        );
                    }
                });
            }
        }
        passed
    }

    fn request(&self) -> TokenStream {
        let Plan { attribute, function, .. } = self.plan;
        let mode = abi::mode(attribute.mode);
        let width = attribute.width.directions() as u32;
        let flags = if attribute.options.strong_zero { Request::STRONG_ZERO } else { 0 };
        let flags = match self.plan.result {
            ResultRole::Seeded(_) => {
                let is_flat = self.is_result_flat();
                quote!(::pullback::__private::Request::seeded(#flags, #is_flat))
            }
            _ => quote!(#flags),
        };
        let name = function.name.to_string();
        let arguments = function.arguments.iter().zip(&self.plan.roles).map(|(argument, role)| {
            let activity = match role {
                Role::Const => Activity::Const,
                // A caller can still look behind `&`, so the primal is always needed there.
                Role::Shadowed(Need::Unneeded) | Role::Stacked(Need::Unneeded)
                    if as_reference(&argument.ty).is_none_or(|reference| reference.mutability.is_some()) =>
                {
                    Activity::DuplicatedNoNeed
                }
                _ => Activity::Duplicated,
            };
            let arg = self.arg(&argument.label, abi::activity(activity), &argument.ty, *role == Role::Const);
            let moved = matches!(role, Role::Shadowed(_)) && as_reference(&argument.ty).is_none();
            if moved && attribute.mode == Mode::Reverse { quote!(#arg.by_value()) } else { arg }
        });
        let result_activity = match self.plan.result {
            ResultRole::Const => abi::activity(Activity::Const),
            ResultRole::One(Need::Needed) | ResultRole::Seeded(Need::Needed) | ResultRole::Tangent(Need::Needed) => {
                abi::activity(Activity::Duplicated)
            }
            _ => {
                let result = &self.result;
                quote!(::pullback::__private::unneeded::<#result>())
            }
        };
        let result = self.arg("return", result_activity, &self.result, self.plan.result == ResultRole::Const);
        quote! {
            &::pullback::__private::Request::new(
                #mode,
                #width,
                #flags,
                #name,
                (::core::file!(), ::core::line!(), ::core::column!()),
                const { &[#(#arguments,)* #result] },
            )
        }
    }

    fn arg(&self, name: &str, activity: TokenStream, ty: &Type, constant: bool) -> TokenStream {
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

    /// What the derivative returns.
    fn returned(&self) -> TokenStream {
        let Body { out, signature, .. } = self;
        let result_shadows = &self.shadows[self.arguments.len()];
        let batch = matches!(self.plan.attribute.width, Width::Batch(_));
        let by_direction = |values: Vec<TokenStream>| if batch { quote!([#(#values),*]) } else { quote!(#(#values)*) };
        let tangents: Vec<TokenStream> = result_shadows.iter().map(|shadow| quote!(#shadow.assume_init())).collect();
        let values: Vec<TokenStream> = signature
            .returned
            .iter()
            .map(|value| match value {
                Returned::Gradient(index) => {
                    by_direction(self.shadows[*index].iter().map(|shadow| quote!(#shadow)).collect())
                }
                Returned::Primal => quote!(#out.assume_init()),
                Returned::Tangent => by_direction(tangents.clone()),
                Returned::PrimalAndTangents => quote!([#out.assume_init(), #(#tangents),*]),
            })
            .collect();
        let returns_primal =
            signature.returned.iter().any(|value| matches!(value, Returned::Primal | Returned::PrimalAndTangents));
        let dropped = (!returns_primal && self.plan.function.result.is_some())
            .then(|| quote!(::pullback::__private::drop_unneeded(#out);));
        let values = match &values[..] {
            [] => quote!(),
            [one] => quote!(#one),
            _ => quote!((#(#values),*)),
        };
        // SAFETY: S40, the derivative has returned, so it has written the result, and by S18 its tangents.
        quote!(unsafe { #dropped #values })
    }
}
