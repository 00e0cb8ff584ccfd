//! The environment variables by which the faces speak to each other and the user to the driver.

use std::ffi::OsString;
use std::path::PathBuf;

/// The `RUSTC_WRAPPER` that was set before ours (`sccache`, say); we call it in our turn.
pub const INNER_WRAPPER: &str = "PULLBACK_INNER_RUSTC_WRAPPER";
/// The `RUSTDOC` that was set before ours.
pub const INNER_RUSTDOC: &str = "PULLBACK_INNER_RUSTDOC";
/// The linker the user has chosen with `-Clinker`.
pub const INNER_LINKER: &str = "PULLBACK_INNER_LINKER";
/// The file in which the link driver leaves its messages.
pub const REPORT: &str = "PULLBACK_REPORT";

/// For debugging, set by the user: what to print, a list of `request`, `ir`, `derivative` and `llvm`.
pub const PRINT: &str = "PULLBACK_PRINT";
/// For debugging, set by the user: print how long each step took.
pub const TIMINGS: &str = "PULLBACK_TIMINGS";
/// For debugging, set by the user: a directory in which the modules of each step are kept.
pub const SAVE: &str = "PULLBACK_SAVE";

/// For debugging, set by the user: `0` leaves derivatives as they are made, however their caller is optimised.
pub const OPTIMISE: &str = "PULLBACK_OPTIMISE";

/// The variables that change what a link does: cargo links again when one of them changes.
pub const TRACKED: [&str; 4] = [PRINT, TIMINGS, SAVE, OPTIMISE];

/// A variable that is set and not empty.
pub fn var(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// What the user wants to see of the driver's work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Debugging {
    /// The decoded requests.
    pub request: bool,
    /// The primal in Pullback's IR.
    pub ir: bool,
    /// The linear program of the primal, in reverse mode.
    pub linear: bool,
    /// The derivative in Pullback's IR.
    pub derivative: bool,
    /// The derivative in LLVM's IR, optimised.
    pub llvm: bool,
    /// How long each step took.
    pub timings: bool,
    /// Where to keep the modules of each step.
    pub save: Option<PathBuf>,
    /// Whether derivatives stay as they are made.
    pub as_made: bool,
}

impl Debugging {
    /// What [`PRINT`], [`TIMINGS`], [`SAVE`] and [`OPTIMISE`] ask for.
    pub fn from_env() -> Self {
        let print = var(PRINT).unwrap_or_default();
        let mut debugging = Self::parse_print(&print.to_string_lossy());
        debugging.timings = var(TIMINGS).is_some_and(|v| v != "0");
        debugging.save = var(SAVE).map(PathBuf::from);
        debugging.as_made = var(OPTIMISE).is_some_and(|v| v == "0");
        debugging
    }

    fn parse_print(list: &str) -> Self {
        let has = |name| list.split(',').any(|item| item.trim() == name);
        Debugging {
            request: has("request"),
            ir: has("ir"),
            linear: has("linear"),
            derivative: has("derivative"),
            llvm: has("llvm"),
            ..Debugging::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn print_is_a_list() {
        let d = Debugging::parse_print("request, llvm");
        assert!(d.request && d.llvm && !d.ir && !d.linear && !d.derivative);
        assert_eq!(Debugging::parse_print(""), Debugging::default());
    }
}
