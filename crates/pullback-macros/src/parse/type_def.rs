//! The struct or enum under `#[derive(Differentiable)]`.

use super::error;
use proc_macro2::TokenStream;
use quote::format_ident;
use syn::meta::ParseNestedMeta;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{
    Attribute, Data, DeriveInput, Fields, Generics, Ident, Index, Lifetime, LitStr, Member, Type, TypeReference,
};

/// A type to be made differentiable.
pub struct TypeDef {
    pub name: Ident,
    pub generics: Generics,
    pub shape: Shape,
    /// The type of another crate that this one has the fields of.
    pub remote: Option<Type>,
}

/// A struct's fields, or an enum's variants.
pub enum Shape {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

/// A variant of an enum.
pub struct Variant {
    pub name: Ident,
    pub fields: Vec<Field>,
}

/// A field.
pub struct Field {
    pub member: Member,
    /// A name for its value in generated code.
    pub binding: Ident,
    pub ty: Type,
    pub role: FieldRole,
    /// The type that has the fields of the field's type.
    pub with: Option<Type>,
}

/// Whether a field takes part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldRole {
    /// Its type is `Differentiable`.
    Differentiable,
    /// It carries no derivative, and is cloned into shadows.
    Skipped,
}

impl TypeDef {
    /// All fields.
    pub fn fields(&self) -> Box<dyn Iterator<Item = &Field> + '_> {
        match &self.shape {
            Shape::Struct(fields) => Box::new(fields.iter()),
            Shape::Enum(variants) => Box::new(variants.iter().flat_map(|variant| &variant.fields)),
        }
    }

    /// The fields that take part.
    pub fn differentiable_fields(&self) -> impl Iterator<Item = &Field> {
        self.fields().filter(|field| field.role == FieldRole::Differentiable)
    }
}

impl Field {
    /// The type that says how the field takes part.
    pub fn part(&self) -> &Type {
        self.with.as_ref().unwrap_or(&self.ty)
    }

    /// Whether the type is, or holds, a reference that can be seen, and whether it names a lifetime.
    pub fn references(&self) -> References {
        let mut search = References { reference: false, lifetime: false };
        search.visit_type(&self.ty);
        search
    }
}

/// What is seen of references in a type.
pub struct References {
    pub reference: bool,
    pub lifetime: bool,
}

impl Visit<'_> for References {
    fn visit_type_reference(&mut self, reference: &TypeReference) {
        self.reference = true;
        syn::visit::visit_type_reference(self, reference);
    }

    fn visit_lifetime(&mut self, _: &Lifetime) {
        self.lifetime = true;
    }
}

pub fn parse(item: TokenStream) -> syn::Result<TypeDef> {
    let input: DeriveInput = syn::parse2(item)?;
    let mut remote = None;
    for_each_option(&input.attrs, |meta| {
        if meta.path.is_ident("remote") {
            remote = Some(named_type(&meta)?);
            return Ok(());
        }
        let help = "write `#[pullback(remote = \"path::Type\")]` on a struct that has the fields of another crate's";
        Err(error(meta.path.span(), "unknown option of a type", help))
    })?;
    if let (Data::Enum(data), Some(_)) = (&input.data, &remote) {
        return Err(error(
            data.enum_token.span,
            "an enum cannot stand for one of another crate: nothing says that both lie in memory in the same way",
            "let the function take a struct, or an enum of your own that is made of the other one",
        ));
    }
    let shape = match input.data {
        Data::Struct(data) => Shape::Struct(fields(data.fields)?),
        Data::Enum(data) => Shape::Enum(
            data.variants
                .into_iter()
                .map(|variant| Ok(Variant { name: variant.ident, fields: fields(variant.fields)? }))
                .collect::<syn::Result<_>>()?,
        ),
        Data::Union(data) => {
            return Err(error(
                data.union_token.span,
                "a union cannot be `Differentiable`: nothing says which of its fields holds",
                "use an enum",
            ));
        }
    };
    Ok(TypeDef { name: input.ident, generics: input.generics, shape, remote })
}

/// Read each option of the attributes `#[pullback(…)]` among these.
fn for_each_option(attrs: &[Attribute], mut read: impl FnMut(ParseNestedMeta) -> syn::Result<()>) -> syn::Result<()> {
    let mut ours = attrs.iter().filter(|attribute| attribute.path().is_ident("pullback"));
    ours.try_for_each(|attribute| attribute.parse_nested_meta(&mut read))
}

/// The type of `option = "path::Type"`.
fn named_type(meta: &ParseNestedMeta) -> syn::Result<Type> {
    meta.value()?.parse::<LitStr>()?.parse()
}

fn fields(fields: Fields) -> syn::Result<Vec<Field>> {
    fields
        .into_iter()
        .enumerate()
        .map(|(index, field)| {
            let (role, with) = options(&field)?;
            Ok(Field {
                role,
                with,
                binding: format_ident!("field{index}"),
                member: match field.ident {
                    Some(name) => Member::Named(name),
                    None => Member::Unnamed(Index::from(index)),
                },
                ty: field.ty,
            })
        })
        .collect()
}

fn options(field: &syn::Field) -> syn::Result<(FieldRole, Option<Type>)> {
    let (mut role, mut with) = (FieldRole::Differentiable, None);
    for_each_option(&field.attrs, |meta| {
        if meta.path.is_ident("skip") {
            role = FieldRole::Skipped;
        } else if meta.path.is_ident("with") {
            with = Some(named_type(&meta)?);
        } else {
            return Err(error(
                meta.path.span(),
                "unknown option of a field",
                "write `#[pullback(skip)]` for a field that carries no derivative, `#[pullback(with = \"Type\")]` for \
                 one of another crate's type",
            ));
        }
        Ok(())
    })?;
    match &with {
        Some(with) if role == FieldRole::Skipped => {
            Err(error(with.span(), "a field that carries no derivative does so with any type", "remove `with`"))
        }
        _ => Ok((role, with)),
    }
}
