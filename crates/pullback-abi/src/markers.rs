//! What the driver knows by name: functions that are declared, never defined, whose calls it replaces; and, by the end
//! of their names, functions of `pullback` that it leaves as they are.

#![allow(unsafe_code)]

use crate::{Request, Rule, RuleEntry};

/// How the names of functions end that the wrapper of a derivative calls besides the derivative: they check shadows,
/// note and mask, drop the tape. A derivative of such a wrapper calls them as they are, with the primal's
/// arguments. The same holds for what is inside of them, closures for example.
///
/// The mark is part of the name because a name is what the driver can rely on. It is in the symbol of each instance of
/// a generic function, of a method and of a closure, under both of rustc's manglings and at every opt-level.
/// Attributes that leave something in bitcode are for one symbol, and a generic function has many. A list of paths
/// would have to be kept in the driver, and whoever moves a function would not know of it. (What rustc has inlined has
/// no name: so large ones are `#[inline(never)]`.)
pub const BOOKKEEPING: &str = "_bookkeeping";

/// Declares the markers, each with a constant for its name.
macro_rules! markers {
    ($($(#[$doc:meta])* $name:ident: $function:ident($($argument:ident: $ty:ty),*);)*) => {
        $(
            #[doc = concat!("The symbol of [`", stringify!($function), "`].")]
            pub const $name: &str = stringify!($function);
        )*

        /// The symbols of all of them.
        pub const ALL: &[&str] = &[$($name),*];

        // The driver reads the constants, and nobody gets them from C.
        #[expect(improper_ctypes)]
        unsafe extern "C" {
            $(
                $(#[$doc])*
                pub fn $function($($argument: $ty),*) -> *const ();
            )*
        }
    };
}

markers! {
    /// Stands for the derivative that `request` asks of the function behind `shim`: the driver puts its address in the
    /// place of each call.
    MARKER: __pullback_marker(shim: *const (), request: *const Request);

    /// Stands for the reverse sweep of the split derivative that [`__pullback_marker`] stands for.
    LATER: __pullback_later(shim: *const (), request: *const Request);

    /// Stands for whether the derivative that [`__pullback_marker`] stands for has the caller's shadows saved: null if
    /// it has not.
    SAVES: __pullback_saves(shim: *const (), request: *const Request);

    /// Stands for whether the derivative that [`__pullback_marker`] stands for may drop owners of values that have no
    /// shadow: null if it does not.
    DISOWNS: __pullback_disowns(shim: *const (), request: *const Request);

    /// Stands for whether the derivative that [`__pullback_marker`] stands for may put values into what the arguments
    /// lead to, where there were none of their type: null if it does not.
    RENEWS: __pullback_renews(shim: *const (), request: *const Request);

    /// Stands for whether code may run, while the derivative does that [`__pullback_marker`] stands for, that changes
    /// pointers in cells of the arguments by other names: null if none does.
    YIELDS: __pullback_yields(shim: *const (), request: *const Request);

    /// Stands, in a wrapper, for the address of what `rule` does with the places of the arguments and of the result. A
    /// wrapper is differentiated, not run.
    RULE_MARKER: __pullback_rule(rule: *const Rule);

    /// Stands for the address of the target of `entry`, and tells the driver of the entry.
    RULED_MARKER: __pullback_ruled(entry: *const RuleEntry);
}
