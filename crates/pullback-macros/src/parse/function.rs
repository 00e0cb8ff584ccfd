//! The function under an attribute.

use super::error;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::VisitMut;
use syn::{
    Attribute, Block, FnArg, GenericParam, Generics, Item, Macro, Pat, ReceiverKind, ReturnType, Safety, Signature,
    Type, TypeImplTrait, TypeParam, Visibility, parse_quote,
};

/// A function to be differentiated.
pub struct Function {
    pub name: Ident,
    pub visibility: Visibility,
    /// Those attributes that hold for the derivative too.
    pub attributes: Vec<Attribute>,
    /// With a parameter of its own for each `impl Trait`.
    pub generics: Generics,
    /// The type and const parameters that can be named, in order.
    pub turbofish: Vec<Ident>,
    pub is_unsafe: bool,
    /// Whether it is called `Self::name`.
    pub associated: bool,
    pub arguments: Vec<Argument>,
    /// `None` if there is no result, or `()`.
    pub result: Option<Type>,
}

/// An argument, or the receiver.
pub struct Argument {
    /// Its name in the source, or `arg0` where it is a pattern.
    pub label: String,
    /// Its name in the derivative: `self`, or its own where that is possible.
    pub name: Ident,
    pub ty: Type,
    pub kind: ArgumentKind,
    pub span: Span,
}

/// How an argument is written in the derivative's signature.
pub enum ArgumentKind {
    /// As the receiver it is.
    Receiver(syn::Receiver),
    /// As `name: ty`.
    Typed,
}

/// The tokens of a function that are read: all but the body, which is kept only to see whether it says `Self`.
struct Header {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    rest: TokenStream,
}

impl Parse for Header {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Header {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            rest: input.parse()?,
        })
    }
}

impl Function {
    pub fn parse(item: TokenStream) -> syn::Result<Self> {
        let span = item.span();
        let Header { attributes, visibility, signature, rest } = syn::parse2(item)
            .map_err(|_| error(span, "only a function can be differentiated", "put the attribute on a `fn`"))?;
        refuse(&signature)?;
        let mut generics = signature.generics.clone();
        let turbofish = generics
            .params
            .iter()
            .filter_map(|parameter| match parameter {
                GenericParam::Type(parameter) => Some(parameter.ident.clone()),
                GenericParam::Const(parameter) => Some(parameter.ident.clone()),
                _ => None,
            })
            .collect();
        let mut arguments = Vec::new();
        for (index, input) in signature.inputs.iter().enumerate() {
            let mut argument = Argument::new(input, index, &signature.ident);
            NameImplTraits(&mut generics).visit_type_mut(&mut argument.ty);
            arguments.push(argument);
        }
        let result = match &signature.output {
            ReturnType::Default => None,
            ReturnType::Type(_, ty) if matches!(&**ty, Type::Tuple(tuple) if tuple.elems.is_empty()) => None,
            ReturnType::Type(_, ty) => Some((**ty).clone()),
        };
        let associated =
            signature.receiver().is_some() || says_self(signature.to_token_stream()) || body_says_self(rest);
        Ok(Function {
            name: signature.ident,
            visibility,
            attributes: attributes.iter().filter_map(for_derivative).collect(),
            generics,
            turbofish,
            is_unsafe: matches!(signature.safety, Safety::Unsafe(_)),
            associated,
            arguments,
            result,
        })
    }

    /// The type parameters.
    pub fn type_parameters(&self) -> impl Iterator<Item = &Ident> {
        self.generics.type_params().map(|parameter| &parameter.ident)
    }
}

impl Argument {
    fn new(input: &FnArg, index: usize, function: &Ident) -> Self {
        match input {
            FnArg::Receiver(receiver) => Argument {
                label: "self".into(),
                name: Ident::new("self", receiver.self_token.span),
                ty: match &receiver.kind {
                    ReceiverKind::Reference(_, lifetime, None) => parse_quote!(& #lifetime Self),
                    ReceiverKind::Reference(_, lifetime, Some(_)) => parse_quote!(& #lifetime mut Self),
                    ReceiverKind::Typed(_, ty) => (**ty).clone(),
                    _ => parse_quote!(Self),
                },
                kind: ArgumentKind::Receiver(syn::Receiver { mutability: None, ..receiver.clone() }),
                span: receiver.self_token.span,
            },
            FnArg::Typed(typed) => {
                let name = match &*typed.pat {
                    Pat::Ident(pattern) => pattern.ident.clone(),
                    _ => format_ident!("arg{index}"),
                };
                Argument {
                    label: name.to_string(),
                    // The derivative calls the function, so no argument may hide it.
                    name: if name == *function { format_ident!("{name}_") } else { name },
                    ty: (*typed.ty).clone(),
                    kind: ArgumentKind::Typed,
                    span: typed.pat.span(),
                }
            }
        }
    }
}

fn refuse(signature: &Signature) -> syn::Result<()> {
    if let Some(token) = &signature.asyncness {
        return Err(error(
            token.span,
            "an `async` function has no derivative: calling it computes nothing yet",
            "differentiate a plain function, and call it from the `async` one",
        ));
    }
    if let Some(variadic) = &signature.variadic {
        return Err(error(
            variadic.span(),
            "a function with a variable number of arguments cannot be differentiated",
            "take a slice instead",
        ));
    }
    Ok(())
}

/// What an attribute of the function says of the derivative. Lint levels and conditions hold for it too, and so do
/// target features: it may be called where the function may be. Other attributes (`inline`, `no_mangle`, further
/// `autodiff`s, the documentation) are about the function alone.
fn for_derivative(attribute: &Attribute) -> Option<Attribute> {
    let holds = |path: &syn::Path| {
        let name = path.get_ident().map(|name| name.unraw().to_string()).unwrap_or_default();
        ["cfg", "allow", "expect", "warn", "deny", "deprecated", "target_feature"].contains(&name.as_str())
    };
    if !attribute.path().is_ident("cfg_attr") {
        return holds(attribute.path()).then(|| attribute.clone());
    }
    // `cfg_attr(condition, attribute, …)`: those that hold, under the condition.
    let parts = attribute.parse_args_with(Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated).ok()?;
    let mut parts = parts.into_iter();
    let condition = parts.next()?;
    let held: Vec<syn::Meta> = parts.filter(|part| holds(part.path())).collect();
    (!held.is_empty()).then(|| parse_quote!(#[cfg_attr(#condition, #(#held),*)]))
}

/// Gives each `impl Trait` a parameter of its own.
struct NameImplTraits<'a>(&'a mut Generics);

impl VisitMut for NameImplTraits<'_> {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::ImplTrait(TypeImplTrait { bounds, .. }) = ty {
            let name = format_ident!("Impl{}", self.0.params.len());
            let parameter: TypeParam = parse_quote!(#name: #bounds);
            self.0.params.push(GenericParam::Type(parameter));
            *ty = parse_quote!(#name);
        } else {
            syn::visit_mut::visit_type_mut(self, ty);
        }
    }
}

fn says_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => word == "Self",
        TokenTree::Group(group) => says_self(group.stream()),
        _ => false,
    })
}

/// Whether a function's body says `Self`, other than in items of its own.
fn body_says_self(body: TokenStream) -> bool {
    struct Search(bool);
    impl Visit<'_> for Search {
        fn visit_ident(&mut self, word: &Ident) {
            self.0 |= word == "Self";
        }
        fn visit_item(&mut self, _: &Item) {}
        fn visit_macro(&mut self, call: &Macro) {
            self.0 |= says_self(call.tokens.clone());
        }
    }
    let Ok(block) = syn::parse2::<Block>(body) else { return false };
    let mut search = Search(false);
    search.visit_block(&block);
    search.0
}
