//! The struct or enum under `#[derive(Differentiable)]`.

use super::error;
use proc_macro2::TokenStream;
use quote::format_ident;
use syn::visit::Visit;
use syn::{Data, DeriveInput, Fields, Generics, Ident, Index, Lifetime, Member, Type, TypeReference};

/// A type to be made differentiable.
pub struct TypeDef {
    pub name: Ident,
    pub generics: Generics,
    pub shape: Shape,
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
    Ok(TypeDef { name: input.ident, generics: input.generics, shape })
}

fn fields(fields: Fields) -> syn::Result<Vec<Field>> {
    fields
        .into_iter()
        .enumerate()
        .map(|(index, field)| {
            Ok(Field {
                role: role(&field)?,
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

fn role(field: &syn::Field) -> syn::Result<FieldRole> {
    let mut role = FieldRole::Differentiable;
    for attribute in field.attrs.iter().filter(|attribute| attribute.path().is_ident("pullback")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("skip") {
                role = FieldRole::Skipped;
                Ok(())
            } else {
                Err(error(
                    syn::spanned::Spanned::span(&meta.path),
                    "unknown option of a field",
                    "write `#[pullback(skip)]` for a field that carries no derivative",
                ))
            }
        })?;
    }
    Ok(role)
}
