//! The enumerations of `pullback-abi`, as the program names them.

use proc_macro2::{Ident, TokenStream};
use pullback_abi::{Activity, Mode, RuleKind};
use quote::{format_ident, quote};

/// The path of a mode.
pub fn mode(mode: Mode) -> TokenStream {
    let variant = format_ident!("{mode:?}");
    quote!(::pullback::__private::Mode::#variant)
}

/// The path of an activity.
pub fn activity(activity: Activity) -> TokenStream {
    let variant = format_ident!("{activity:?}");
    quote!(::pullback::__private::Activity::#variant)
}

/// The path of what an entry says of its function.
pub fn rule_kind(kind: RuleKind) -> TokenStream {
    let variant = format_ident!("{kind:?}");
    quote!(::pullback::abi::RuleKind::#variant)
}

/// The name of a static by which the driver finds an entry.
pub fn entry_name() -> Ident {
    format_ident!("{}", pullback_abi::ENTRY)
}
