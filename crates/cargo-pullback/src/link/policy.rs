//! Which functions are differentiated with their bodies, which are left alone, and which carry no derivative by their
//! nature.
//!
//! The decision is by the demangled name: by [who wrote the function](Home), and by whether the types that it is for
//! may carry a derivative. A function is only called inactive here if nothing that comes out of it can depend on a
//! float's derivative: printing and formatting, panics, clocks, the environment. What runs a closure of the user's (a
//! thread, say) is never in the list, since a derivative would be lost without a word.

use super::path::{Home, demangled, is_mangled, names_program};
use pullback_abi::markers::BOOKKEEPING;
use pullback_llvm::{Policy, is_known};

/// Paths whose functions carry no derivative, whatever types they are for: they format, do not return, or are what the
/// run time does. A path that ends in `::` stands for all that is below it.
const FOR_ALL_TYPES: &[&str] = &[
    "core::fmt::",
    "alloc::fmt::",
    "core::panicking::",
    "core::panic::panic_info::",
    "std::panicking::",
    "std::backtrace::",
    "std::backtrace_rs::",
    "alloc::alloc::handle_alloc_error",
    "alloc::raw_vec::handle_error",
    "alloc::raw_vec::capacity_overflow",
    "core::result::unwrap_failed",
    "core::option::expect_failed",
    "core::option::unwrap_failed",
    "core::cell::panic_already_borrowed",
    "core::cell::panic_already_mutably_borrowed",
    "core::str::slice_error_fail",
    "core::slice::copy_from_slice_impl::len_mismatch_fail",
    "std::sys::pal::",
    "std::sys::random::",
    "std::sys::stdio::",
    "std::sys::sync::",
    "std::sys::thread_local::",
    "std::sys::time::",
    "std::thread::current::",
    "std::thread::id::",
];

/// Paths whose functions carry no derivative, unless they are for types that may.
const OUTSIDE: &[&str] = &[
    "core::num::flt2dec::",
    "core::num::dec2flt::",
    "core::num::imp::flt2dec::",
    "core::num::imp::dec2flt::",
    "core::unicode::",
    "alloc::str::",
    "std::alloc::",
    "std::env::",
    "std::fs::",
    "std::io::",
    "std::net::",
    "std::os::",
    "std::path::",
    "std::process::",
    "std::thread::functions::sleep",
    "std::thread::functions::yield_now",
    "std::time::",
];

/// The methods of `core::fmt::Write` that let `core::fmt` write to a place.
const HANDS_ON: &[&str] = &["write_fmt", "spec_write_fmt"];

/// The methods of the traits of `std::io` that give back counts and errors. (Others move what they are for, or make grow
/// what they are given.)
const TRANSFERS: &[&str] = &[
    "write",
    "write_all",
    "write_fmt",
    "write_vectored",
    "is_write_vectored",
    "flush",
    "read",
    "read_exact",
    "read_vectored",
    "is_read_vectored",
    "skip_until",
    "seek",
    "seek_relative",
    "rewind",
    "stream_position",
];

/// Parts of a path, below those of the lists, whose functions run a closure of the user's.
const RUNS_CLOSURES: &[&str] =
    &["std::panicking::catch_unwind", "std::panicking::try", "::once::", "::try_with", "::with"];

/// Paths below those of the lists whose functions move values, or make them grow.
const MOVES: &[&str] = &["std::io::cursor::", "std::io::stdio::Stdin"];

/// What becomes of a function of the program.
pub fn policy(symbol: &str) -> Policy {
    if symbol.starts_with("llvm.") {
        return Policy::Import;
    }
    if is_support(symbol) {
        return Policy::Declare;
    }
    // Their bodies are not looked into: the importer knows what they do.
    if is_known(symbol) {
        return Policy::Declare;
    }
    if is_mangled(symbol) && is_inactive(&demangled(symbol)) { Policy::Inactive } else { Policy::Import }
}

/// Whether this is a function of Pullback's run-time support, which derivatives call. (Those for derivatives that are
/// differentiated are plain code.)
pub fn is_support(symbol: &str) -> bool {
    symbol.starts_with("__pullback_") && !symbol.starts_with("__pullback_nested_")
}

/// Whether this is what the wrapper of a derivative does besides calling it: it checks shadows and drops the tape.
/// Such functions of `pullback` have a [mark](BOOKKEEPING) in their names.
pub fn is_bookkeeping(symbol: &str) -> bool {
    is_mangled(symbol) && is_marked(&demangled(symbol))
}

/// Whether a path is that of a function of `pullback` that is marked, or of something inside of one. The types that a
/// function is instantiated with do not matter.
fn is_marked(path: &str) -> bool {
    let is_ours = match Home::of(path) {
        Some(Home::Impl { of_trait, .. }) if names_program(of_trait) => false,
        _ => path.trim_start_matches(['<', '&']).starts_with("pullback::"),
    };
    is_ours
        && path.match_indices(BOOKKEEPING).any(|(at, mark)| {
            let (before, after) = (&path[..at], &path[at + mark.len()..]);
            let closed = before.matches('>').count() - before.matches("->").count();
            let ends_a_name = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            ends_a_name && before.matches('<').count() == closed
        })
}

fn is_inactive(path: &str) -> bool {
    is_marked(path) || is_inactive_in_std(path)
}

fn is_inactive_in_std(path: &str) -> bool {
    match Home::of(path) {
        // It hands a place on, together with what writes there.
        Some(Home::Impl { of_trait, name, .. })
            if of_trait.starts_with("core::fmt::Write") && HANDS_ON.contains(&name) =>
        {
            false
        }
        // Whoever implements a formatting trait, for whatever type.
        Some(Home::Impl { of_trait, .. }) if of_trait.starts_with("core::fmt::") => true,
        _ if RUNS_CLOSURES.iter().any(|part| path.contains(part)) => false,
        // A trait of the program's, or one of std's with a type of the program's, is implemented by the program.
        Some(Home::Impl { of_trait, .. }) if names_program(of_trait) => false,
        Some(Home::Impl { for_type, of_trait, name }) if of_trait.starts_with("std::io::") => {
            is_below_any(for_type.trim_start_matches('&'), OUTSIDE) && TRANSFERS.contains(&name) && !moves(for_type)
        }
        Some(Home::Impl { for_type, .. }) => is_inactive_in_std(for_type.trim_start_matches('&')) && !may_carry(path),
        Some(Home::Type(for_type)) => {
            is_inactive_in_std(for_type) && (is_below_any(for_type, FOR_ALL_TYPES) || !may_carry(path))
        }
        Some(Home::Module(path)) => {
            // `core::slice::index::slice_index_fail` and its relations.
            let is_failure = path.starts_with("core::slice::index::") && path.ends_with("_fail");
            let is_outside = || is_below_any(path, OUTSIDE) && !may_carry(path);
            is_failure || !moves(path) && (is_below_any(path, FOR_ALL_TYPES) || is_outside())
        }
        None => false,
    }
}

fn moves(path: &str) -> bool {
    let is_generic = || path.starts_with("std::io::") && path.contains("::<");
    MOVES.iter().any(|entry| path.starts_with(entry)) || is_generic()
}

/// Whether something that a path names may carry a derivative, or run code that does: floats, functions, what is
/// behind a trait object, and all of the program's.
fn may_carry(path: &str) -> bool {
    let mut words = path.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '#'));
    names_program(path) || words.any(|word| matches!(word, "f16" | "f32" | "f64" | "f128" | "fn" | "dyn"))
}

fn is_below_any(path: &str, entries: &[&str]) -> bool {
    entries.iter().any(|entry| is_below(path, entry))
}

/// Whether a path is that of an entry, or below it.
fn is_below(path: &str, entry: &str) -> bool {
    match entry.strip_suffix("::") {
        Some(_) => path.starts_with(entry),
        None => path.strip_prefix(entry).is_some_and(|rest| rest.is_empty() || rest.starts_with(['<', ':', '>'])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formatting_and_panics_carry_no_derivative() {
        for path in [
            "core::fmt::write",
            "<core::fmt::Formatter>::pad",
            "<f64 as core::fmt::Display>::fmt",
            "<alloc::string::String as core::fmt::Write>::write_str",
            "<app::Point as core::fmt::Debug>::fmt",
            "core::panicking::panic_bounds_check",
            "core::slice::index::slice_end_index_len_fail",
            "alloc::raw_vec::handle_error",
            "std::io::stdio::_print",
            "std::time::Instant::now",
        ] {
            assert!(is_inactive(path), "{path}");
        }
    }

    #[test]
    fn what_moves_or_computes_is_differentiated() {
        for path in [
            "alloc::raw_vec::RawVecInner<A>::finish_grow",
            "<alloc::raw_vec::RawVecInner>::grow_amortized",
            "std::thread::spawn",
            "<alloc::string::String as core::fmt::Write>::write_fmt",
            "<&mut alloc::string::String as core::fmt::Write::write_fmt::SpecWriteFmt>::spec_write_fmt",
            "std::panicking::catch_unwind::do_call",
            "std::sys::sync::once::futex::Once::call",
            "app::loss",
            "core::slice::sort::stable::driftsort_main",
            "<std::io::cursor::Cursor<[f64; 2]>>::new",
            "std::io::default_write_fmt::<alloc::vec::Vec<u8>>",
            "<std::fs::File as std::io::Read>::read_to_end",
            "<std::io::stdio::Stdin>::read_line",
            "core::slice::index::range",
        ] {
            assert!(!is_inactive(path), "{path}");
        }
    }

    #[test]
    fn what_the_program_writes_is_differentiated_whatever_types_it_is_for() {
        for path in [
            "<std::time::Instant as app::Scaled>::scaled",
            "<&std::io::stdio::Stdout as app::Scaled>::scaled",
            "<core::fmt::Error as core::ops::arith::Mul<app::Local>>::mul",
            "app::apply::<<f64 as core::fmt::Debug>::fmt>",
            "app::apply::<core::fmt::Error>",
            "<app::Sum<core::fmt::Error>>::add",
            "<app::Marked<'>'> as app::Scaled>::scaled::<core::fmt::Error>",
        ] {
            assert!(!is_inactive(path), "{path}");
        }
        for path in [
            "<<core::fmt::Formatter>::pad::{closure#0} as core::ops::function::FnOnce<(&str,)>>::call_once",
            "<std::io::stdio::Stdout as std::io::Write>::write_all",
            "<app::Marked<'>'> as core::fmt::Debug>::fmt",
        ] {
            assert!(is_inactive(path), "{path}");
        }
    }

    #[test]
    fn a_name_that_the_program_gives_is_none_of_std() {
        assert_eq!(policy("std::time::scale"), Policy::Import);
        assert_eq!(policy("core::fmt::write"), Policy::Import);
        assert_eq!(policy("_RNvMNtCs5hGHJXt6PJO_3std4timeNtB2_7Instant3now"), Policy::Inactive);
        assert_eq!(policy("_ZN3std4time7Instant3now17h0123456789abcdefE"), Policy::Inactive);
    }

    #[test]
    fn the_allocator_is_known_under_any_mangling() {
        assert_eq!(policy("_RNvCs7CeidQFm3AF_7___rustc12___rust_alloc"), Policy::Declare);
        assert_eq!(policy("__rust_dealloc"), Policy::Declare);
        // Not the program's own.
        assert_eq!(policy("_RNvNtCsaqyhErTKQiF_3app1m12___rust_alloc"), Policy::Import);
        assert_eq!(policy("sin"), Policy::Import);
    }

    #[test]
    fn bookkeeping_is_known_by_its_mark() {
        for symbol in [
            // A method, an instance of a generic function, one of a generic method, and a closure in it.
            "_RNvMs3_NtCsaqyhErTKQiF_8pullback2rtNtB5_4Tape21give_back_bookkeeping",
            "_RINvNtCsaqyhErTKQiF_8pullback9___private16walk_bookkeepingRSdECs3tW4aqgaewU_12second_order",
            "_RINvNtCsaqyhErTKQiF_8pullback9___private16walk_bookkeepingRSdECs3tW4aqgaewU_12second_order.1495",
            "_RINvMs_NtNtCsaqyhErTKQiF_8pullback14differentiable9constantsNtB5_9Constants22take_parts_bookkeeping\
             NtCscVbeJws33pu_8tangents5NamedEB1B_",
            "_RNCINvMs_NtNtCsaqyhErTKQiF_8pullback14differentiable9constantsNtB7_9Constants26complete_parts_bookkeeping\
             INtNtCslNYArtu3iFV_5alloc3vec3VecdEE0Cs3tW4aqgaewU_12second_order",
            // The other mangling.
            "_ZN8pullback2rt4Tape21give_back_bookkeeping17h0123456789abcdefE",
            "_ZN8pullback9__private16walk_bookkeeping28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
        ] {
            let path = demangled(symbol);
            assert!(path.contains("pullback::"), "{path}");
            assert!(is_bookkeeping(symbol) && policy(symbol) == Policy::Inactive, "{path}");
        }
        // Whatever the types are called.
        assert!(is_inactive("pullback::__private::walk_bookkeeping::<app::with::Weights>"));
    }

    #[test]
    fn the_mark_is_one_of_functions_of_our_own() {
        for path in [
            "pullback::rt::saved::note",
            "app::close_bookkeeping",
            "<app::pullback::Books>::close_bookkeeping",
            "<pullback::Dual as app::Books>::close_bookkeeping",
            // It is differentiated, whatever it is given.
            "<core::iter::Map<_, <pullback::rt::Tape>::mark_bookkeeping::{closure#0}> as core::iter::Iterator>::next",
            "pullback::functional::shim::<f64, fn(f64) -> f64, app::close_bookkeeping::{closure#0}>",
            "<pullback::LayoutOf<app::close_bookkeeping::Book>>::name",
            "pullback::rules::undo_bookkeepings",
        ] {
            assert!(!is_marked(path), "{path}");
        }
    }
}
