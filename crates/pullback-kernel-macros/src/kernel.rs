//! `#[kernel]`: the loop over a tile, the description of the function, and a value with its name that is called.

use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, FnArg, ItemFn, Pat, Result, ReturnType, Type};

/// A parameter of the function.
struct Parameter {
    name: Ident,
    /// Without a `&mut`.
    of: Type,
    /// Whether it is a `&mut`: read and written.
    is_changed: bool,
}

/// A function that is called over arrays.
pub fn expand(attribute: TokenStream, item: TokenStream) -> Result<TokenStream> {
    if !attribute.is_empty() {
        return Err(Error::new(attribute.span(), "`#[kernel]` takes nothing"));
    }
    let function: ItemFn = syn::parse2(item)?;
    check(&function)?;
    let parameters = function.sig.inputs.iter().map(parameter).collect::<Result<Vec<Parameter>>>()?;
    let result = match &function.sig.output {
        ReturnType::Default => None,
        ReturnType::Type(_, ty) => Some(&**ty),
    };
    let (name, vis) = (&function.sig.ident, &function.vis);
    let docs: Vec<&Attribute> = function.attrs.iter().filter(|attr| attr.path().is_ident("doc")).collect();
    let body = format_ident!("__{name}_of_one");
    let kind = format_ident!("__{name}_kernel");
    let mut of_one = function.clone();
    of_one.sig.ident = body.clone();
    of_one.vis = syn::Visibility::Inherited;

    let entry = entry(&body, &parameters, result);
    let description = description(&name.to_string(), &parameters, result);
    let calls = calls(name, &parameters, result);
    let pointer = {
        let types = parameters.iter().map(
            |Parameter { of, is_changed, .. }| {
                if *is_changed { quote!(&mut #of) } else { quote!(#of) }
            },
        );
        let output = &function.sig.output;
        quote!(fn(#(#types),*) #output)
    };
    Ok(quote! {
        #[allow(clippy::needless_pass_by_value, clippy::too_many_arguments)]
        #of_one

        #(#docs)*
        #[allow(non_upper_case_globals)]
        #vis static #name: #kind = #kind { config: ::pullback_kernel::call::Config::DEFAULT };

        #(#docs)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Debug)]
        #vis struct #kind {
            config: ::pullback_kernel::call::Config,
        }

        const _: () = {
            #entry
            #description

            impl #kind {
                #calls

                /// The same function, which takes arrays of equal shapes and single values only; or again others.
                pub fn strict(&self, strict: bool) -> Self {
                    let mut configured = self.clone();
                    configured.config.set_strict(strict);
                    configured
                }

                /// The same function, on so many threads at most.
                pub fn threads(&self, threads: usize) -> Self {
                    let mut configured = self.clone();
                    configured.config.set_threads(threads);
                    configured
                }

                /// The same function, with so many elements in a tile.
                pub fn tile(&self, tile: usize) -> Self {
                    let mut configured = self.clone();
                    configured.config.set_tile(tile);
                    configured
                }

                /// The same function, where the axes of a parameter's array are these axes of the call.
                pub fn map(&self, parameter: &str, axes: &[usize]) -> Self {
                    let mut configured = self.clone();
                    configured.config.set_axes(parameter, axes);
                    configured
                }
            }

            impl ::core::ops::Deref for #kind {
                type Target = #pointer;

                #[inline(always)]
                fn deref(&self) -> &Self::Target {
                    const { &(#body as #pointer) }
                }
            }
        };
    })
}

/// What a function called over arrays cannot be.
fn check(function: &ItemFn) -> Result<()> {
    let sig = &function.sig;
    let no = |span: proc_macro2::Span, message: &str| Err(Error::new(span, message));
    if let Some(it) = &sig.asyncness {
        return no(it.span(), "a kernel function is called for each element, and cannot be `async`");
    }
    if let syn::Safety::Unsafe(it) = &sig.safety {
        return no(it.span(), "a kernel function is called with whatever is in an array, and cannot be `unsafe`");
    }
    if let Some(it) = sig.generics.params.first() {
        return no(it.span(), "a kernel function with generic parameters is not supported: write one for each type");
    }
    if let Some(it) = &sig.variadic {
        return no(it.span(), "a kernel function has a fixed number of parameters");
    }
    Ok(())
}

fn parameter(input: &FnArg) -> Result<Parameter> {
    let FnArg::Typed(input) = input else {
        return Err(Error::new(input.span(), "a kernel function is a function of its own, not a method"));
    };
    let Pat::Ident(name) = &*input.pat else {
        return Err(Error::new(
            input.pat.span(),
            "a parameter of a kernel function has a name, by which errors speak of it",
        ));
    };
    let (of, is_changed) = match &*input.ty {
        Type::Reference(reference) if reference.mutability.is_some() => ((*reference.elem).clone(), true),
        Type::Reference(reference) => {
            let message = "a kernel function takes values, or `&mut` of what it changes: write the type without `&`";
            return Err(Error::new(reference.span(), message));
        }
        of => (of.clone(), false),
    };
    Ok(Parameter { name: name.ident.clone(), of, is_changed })
}

/// The loop over a tile.
fn entry(body: &Ident, parameters: &[Parameter], result: Option<&Type>) -> TokenStream {
    let places: Vec<Ident> = (0..parameters.len()).map(|k| format_ident!("place{k}")).collect();
    let numbers = 0..parameters.len();
    let types = parameters.iter().map(|parameter| &parameter.of);
    let values = parameters.iter().zip(&places).map(|(parameter, place)| {
        if parameter.is_changed { quote!(&mut *#place.add(i)) } else { quote!(*#place.add(i)) }
    });
    let count = parameters.len();
    let call = match result {
        Some(ty) => {
            quote_spanned!(ty.span()=> (*batch_operands.add(#count)).cast::<#ty>().add(i).write(#body(#(#values),*)))
        }
        None => quote!(#body(#(#values),*)),
    };
    quote! {
        unsafe extern "C" fn entry(batch: &mut ::pullback_kernel::abi::Batch) {
            let batch_operands = batch.operands;
            // SAFETY: the operands are those of the description, in this order.
            unsafe {
                #(let #places = (*batch_operands.add(#numbers)).cast::<#types>();)*
                // (What is changed is not what is read, and no other element's.)
                batch.each(|i| #call);
            }
        }
    }
}

/// The description.
fn description(name: &str, parameters: &[Parameter], result: Option<&Type>) -> TokenStream {
    let described = |name: &str, passing: &str, of: &Type| {
        let passing = format_ident!("{passing}");
        quote_spanned! {of.span()=>
            ::pullback_kernel::abi::Parameter {
                name: ::pullback_kernel::abi::Text::of(#name),
                passing: ::pullback_kernel::abi::Passing::#passing,
                of: ::pullback_kernel::value::type_of::<#of>(),
            }
        }
    };
    let all = parameters
        .iter()
        .map(|Parameter { name, of, is_changed }| {
            described(&name.to_string(), if *is_changed { "InOut" } else { "In" }, of)
        })
        .chain(result.map(|of| described("return", "Out", of)));
    quote! {
        static DESCRIBED: ::pullback_kernel::call::Described =
            ::pullback_kernel::call::Described::new(::pullback_kernel::abi::Function {
                version: ::pullback_kernel::abi::VERSION,
                name: ::pullback_kernel::abi::Text::of(#name),
                parameters: ::pullback_kernel::abi::List::new(const { &[#(#all),*] }),
                call: entry,
            });
    }
}

/// The methods by which it is called.
fn calls(name: &Ident, parameters: &[Parameter], result: Option<&Type>) -> TokenStream {
    let names: Vec<&Ident> = parameters.iter().map(|parameter| &parameter.name).collect();
    let given = parameters.iter().map(|Parameter { name, of, is_changed }| {
        if *is_changed {
            quote_spanned!(of.span()=> mut #name: impl ::pullback_kernel::argument::ValuesMut<#of>)
        } else {
            quote_spanned!(of.span()=> #name: impl ::pullback_kernel::argument::Values<#of>)
        }
    });
    let given: Vec<TokenStream> = given.collect();
    let new = quote! {
        // SAFETY: each argument is of the type of its parameter.
        let call = unsafe {
            ::pullback_kernel::call::Call::new(&DESCRIBED, &self.config, [#(#names.argument()),*])?
        };
    };
    let (title, into) = (
        format!("Call `{name}` for each element of arrays."),
        format!("Call `{name}` for each element of arrays, and write the results to an array of the call's shape."),
    );
    let uses = quote!(
        use ::pullback_kernel::argument::{Values as _, ValuesMut as _};
    );
    match result {
        None => quote! {
            #[doc = #title]
            #[allow(clippy::too_many_arguments, unused_imports)]
            pub fn call(&self #(, #given)*) -> ::pullback_kernel::Result<()> {
                #uses
                #new
                call.run()
            }
        },
        Some(ty) => quote_spanned! {ty.span()=>
            #[doc = #title]
            #[allow(clippy::too_many_arguments, unused_imports)]
            pub fn call(&self #(, #given)*) -> ::pullback_kernel::Result<::pullback_kernel::Tensor<#ty>> {
                #uses
                #new
                // SAFETY: this is what the function returns.
                unsafe { call.run_to_tensor::<#ty>() }
            }

            #[doc = #into]
            #[allow(clippy::too_many_arguments, unused_imports)]
            pub fn call_into(
                &self,
                mut __result: impl ::pullback_kernel::argument::ValuesMut<#ty>
                #(, #given)*
            ) -> ::pullback_kernel::Result<()> {
                #uses
                #new
                // SAFETY: this is what the function returns.
                unsafe { call.run_into(__result.argument()) }
            }
        },
    }
}
