//! Whole expansions, token by token, and what the documentation says.

use super::*;
use crate::parse::attribute::Family;

fn expanded(family: Family, attribute: TokenStream, item: TokenStream) -> String {
    expand(family, attribute, item).to_string()
}

#[test]
fn a_function_without_arguments() {
    let item = quote! { fn f() {} };
    let expected = quote! {
        fn f() {}
        #[doc = "The derivative of `f` in forward mode.\n\n```text\nfn df()\n```\n\n"]
        #[allow(unused_mut, unused_unsafe, clippy::all)]
        #[track_caller]
        fn df() {
            ::pullback::__private::built_by_driver::<()>();
            let shim: fn(*mut _) = |out| {
                let result = f();
                unsafe { ::core::ptr::write(out, result) }
            };
            let mut out = ::core::mem::MaybeUninit::<()>::uninit();
            if false {
                shim(out.as_mut_ptr());
            }
            unsafe {
                let derivative = ::core::mem::transmute::<*const (), unsafe extern "C-unwind" fn(*mut ())>(
                    ::pullback::__private::marker(shim as *const (), const {
                        &::pullback::__private::Request::new(
                            ::pullback::__private::Mode::Forward,
                            1u32,
                            0u32,
                            "f",
                            (::core::file!(), ::core::line!(), ::core::column!()),
                            const {
                                &[::pullback::__private::Arg::new("return", ::pullback::__private::Activity::Const, {
                                    #[allow(unused_imports)]
                                    use ::pullback::__private::AnyLayout as _;
                                    ::pullback::__private::LayoutOf::<()>::LAYOUT
                                })]
                            },
                        )
                    }),
                );
                derivative(out.as_mut_ptr().cast::<()>());
            }
            unsafe {}
        }
    };
    assert_eq!(expanded(Family::StdForward, quote!(df), item), expected.to_string());
}

#[test]
fn the_seeds_example() {
    let item = quote! {
        pub fn f(x: f32, y: &f32) -> f32 {
            x * x + 3.0 * y
        }
    };
    let docs = "The derivative of `f` in reverse mode.\n\n\
                ```text\nfn df(x: f32, y: &f32, d_y: &mut f32) -> (f32, f32)\n```\n\n\
                - `d_y`: the gradient with respect to `y` is added to it\n\n\
                Returns the gradient with respect to `x` and the result of `f`.";
    let request = quote! {
        &::pullback::__private::Request::new(
            ::pullback::__private::Mode::Reverse,
            1u32,
            0u32,
            "f",
            (::core::file!(), ::core::line!(), ::core::column!()),
            const {
                &[
                    ::pullback::__private::Arg::new(
                        "x",
                        ::pullback::__private::Activity::Duplicated,
                        ::pullback::__private::layout_of::<f32>
                    ),
                    ::pullback::__private::Arg::new(
                        "y",
                        ::pullback::__private::Activity::Duplicated,
                        ::pullback::__private::layout_of::<&f32>
                    ),
                    ::pullback::__private::Arg::new(
                        "return",
                        ::pullback::__private::Activity::Duplicated,
                        ::pullback::__private::layout_of::<f32>
                    )
                ]
            },
        )
    };
    let expected = quote! {
        #item
        #[doc = #docs]
        #[allow(unused_mut, unused_unsafe, clippy::all)]
        #[track_caller]
        pub fn df(x: f32, y: &f32, d_y: &mut f32) -> (f32, f32) {
            ::pullback::__private::built_by_driver::<()>();
            let shim: fn(*const _, *const _, *mut _) = |a0, a1, out| {
                let a0 = unsafe { ::core::ptr::read(a0) };
                let a1 = unsafe { ::core::ptr::read(a1) };
                let result = f(a0, a1);
                unsafe { ::core::ptr::write(out, result) }
            };
            let mut d0_0 = ::pullback::__private::zero(&x);
            let mut masked = ::pullback::__private::Masked::default();
            let mut congruence = ::pullback::__private::Congruence::default();
            let mut d1_0 = d_y;
            unsafe {
                ::pullback::__private::check(
                    "y", &y, &d1_0, ::core::option::Option::Some(&masked), (&congruence, 0usize)
                )
            };
            let s1_0 = ::pullback::__private::writable("y", &mut d1_0, &masked);
            masked.assert_alone();
            unsafe {
                ::pullback::__private::check(
                    "x", &x, &d0_0, ::core::option::Option::Some(&masked), (&congruence, 0usize),
                )
            };
            congruence.assert_congruent();
            if congruence.is_lent()
                && !unsafe { ::pullback::__private::yields(shim as *const (), const { #request }) }.is_null()
            {
                congruence.refuse_lent_bookkeeping();
            }
            let a0 = ::core::mem::ManuallyDrop::new(x);
            let a1 = ::core::mem::ManuallyDrop::new(y);
            let mut out = ::core::mem::MaybeUninit::<f32>::uninit();
            let mut d2_0 = <f32 as ::pullback::ActiveResult>::ONE;
            ::pullback::__private::seed(&d2_0, true, &masked);
            if false {
                shim(&raw const *a0, &raw const *a1, out.as_mut_ptr());
            }
            {
            let mut tape = ::pullback::__private::Tape::new();
            unsafe {
                let mut n1_0 = ::core::mem::MaybeUninit::uninit();
                if !masked.is_empty() {
                    masked.reaches_bookkeeping(&*a0, (&raw mut d0_0).cast::<()>());
                    masked.reaches_bookkeeping(&*a1, s1_0);
                    masked.reaches_bookkeeping(&*&raw const d2_0, (&raw mut d2_0).cast::<()>());
                    masked.clear();
                }
                if !::pullback::__private::saves(shim as *const (), const { #request }).is_null() {
                    ::pullback::__private::note(&mut tape, &mut n1_0, &*a1, s1_0);
                }
                let derivative = ::core::mem::transmute::<
                    *const (),
                    unsafe extern "C-unwind" fn(*mut (), *mut (), *mut (), *mut (), *mut (), *mut (), *mut ())
                >(::pullback::__private::marker(shim as *const (), const {
                    #request
                }),);
                derivative(
                    (&raw mut tape).cast::<()>(),
                    (&raw const a0).cast_mut().cast::<()>(),
                    (&raw mut d0_0).cast::<()>(),
                    (&raw const a1).cast_mut().cast::<()>(),
                    s1_0,
                    out.as_mut_ptr().cast::<()>(),
                    (&raw mut d2_0).cast::<()>()
                );
            }
            }
            ::core::mem::drop(masked);
            unsafe { (d0_0, out.assume_init()) }
        }
    };
    let attribute = quote!(df, Reverse, Active, Duplicated, Active);
    assert_eq!(expanded(Family::Pullback, attribute, item), expected.to_string());
}

/// An attribute below the derive may have written other types, which the derive does not see.
#[test]
fn each_field_is_of_the_type_that_the_derive_has_seen() {
    let derived = |item: TokenStream| {
        let definition = crate::parse::type_def::parse(item).unwrap();
        super::differentiable::generate(&definition).to_string()
    };
    let seen =
        |ty: TokenStream, place: TokenStream| quote!(let _: *mut #ty = (&raw const #place).cast_mut();).to_string();
    let text = derived(quote! { struct S<'a> { x: f64, #[pullback(skip)] name: &'a str } });
    assert!(
        text.contains(&seen(quote!(f64), quote!(self.x))) && text.contains(&seen(quote!(&'a str), quote!(self.name)))
    );
    let text = derived(quote! { enum E { A { x: f64 }, B(#[pullback(skip)] u8) } });
    assert_eq!(text.matches("let _ : * mut f64 = (& raw const * ").count(), 1, "{text}");
    assert_eq!(text.matches("let _ : * mut u8 = (& raw const * ").count(), 1, "{text}");
}

/// As its own fields are compared with what the derive has seen, so are those of the type that it stands for: invariantly,
/// for a `fn(&'static str)` is no `fn(&str)`.
#[test]
fn each_field_of_a_mirror_is_of_the_type_that_the_derive_has_seen() {
    let item = quote! { #[pullback(remote = "other::S")] struct S { #[pullback(skip)] log: fn(&'static str), x: f64 } };
    let text = super::differentiable::generate(&crate::parse::type_def::parse(item).unwrap()).to_string();
    let types = |ty: TokenStream| text.matches(&quote!(let _: *mut #ty = &raw mut *).to_string()).count();
    assert_eq!((types(quote!(fn(&'static str))), types(quote!(f64))), (2, 2), "{text}");
}

#[test]
fn an_error_leaves_the_function_as_it_was() {
    let item = quote! { fn f(x: f64) -> f64 { x } };
    let text = expanded(Family::Pullback, quote!(df, Reverse, Dual, Active), item.clone());
    assert!(text.starts_with(&item.to_string()) && text.contains("compile_error"));
}

/// The two rules that `scalar_rule!` writes are reached by nobody's name, so this is where they are seen.
#[test]
fn a_scalar_rule() {
    use crate::parse::rule::scalar::ScalarRule;
    let rule =
        ScalarRule::parse(quote!(f64::atan2(y, x) => r; d/dx = -y / (x * x + y * y), d/dy = x / (x * x + y * y)));
    let thunk = quote!(::pullback::rules::Thunk<f64, (f64, f64, f64)>);
    let expected = quote! {
        const _: () = {
            #[allow(unused_variables, unused_parens, clippy::all)]
            #[::pullback::rrule(for = f64::atan2)]
            fn __pullback_scalar_rrule(y: f64, x: f64) -> (f64, impl Fn(f64) -> (#thunk, #thunk)) {
                let function: fn(f64, f64) -> f64 = f64::atan2;
                let r: f64 = function(y, x);
                (r, move |d: f64| (
                    ::pullback::rules::Thunk::new((d, y, x), |(d, y, x): (f64, f64, f64)| -> f64 {
                        d * (x / (x * x + y * y))
                    }),
                    ::pullback::rules::Thunk::new((d, y, x), |(d, y, x): (f64, f64, f64)| -> f64 {
                        d * (-y / (x * x + y * y))
                    })
                ))
            }
            #[allow(unused_variables, unused_mut, unused_parens, clippy::all)]
            #[::pullback::frule(for = f64::atan2)]
            fn __pullback_scalar_frule(
                y: f64, d_y: ::core::option::Option<f64>, x: f64, d_x: ::core::option::Option<f64>
            ) -> (f64, f64) {
                let function: fn(f64, f64) -> f64 = f64::atan2;
                let r: f64 = function(y, x);
                let mut tangent: f64 = 0.0;
                if let ::core::option::Option::Some(d_y) = d_y { tangent += (x / (x * x + y * y)) * d_y; }
                if let ::core::option::Option::Some(d_x) = d_x { tangent += (-y / (x * x + y * y)) * d_x; }
                (r, tangent)
            }
        };
    };
    assert_eq!(super::rule::scalar::generate(&rule.unwrap()).to_string(), expected.to_string());
}
