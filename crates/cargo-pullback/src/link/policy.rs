//! Which functions are differentiated with their bodies, which are left alone, and which carry no derivative by their
//! nature.
//!
//! The decision is by the demangled name: by [who wrote the function](Home), and by whether the types that it is for
//! may carry a derivative. A function is only called inactive here if nothing that comes out of it can depend on a
//! float's derivative: printing and formatting, panics, clocks, the environment. What runs a closure of the user's (a
//! thread, say) is never in the list, nor is what moves values that it is given: a derivative would be lost without a
//! word, and bytes and text may be a float's.
//!
//! Functions of the lists are called as they are, with what they are given. Those that [only read](only_reads) it may
//! be given anything. The others may be given what does not depend on the inputs, see `opaque.rs`.

use super::path::{Home, demangled, is_mangled, names_program};
use pullback_abi::markers::BOOKKEEPING;
use pullback_llvm::{Policy, is_known};

/// Paths whose functions carry no derivative, whatever types they are for: they make text of what they read, or do not
/// return. A path that ends in `::` stands for all that is below it.
const TEXT: &[&str] = &[
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
    "core::num::flt2dec::",
    "core::num::imp::flt2dec::",
];

/// Paths whose functions carry no derivative, whatever types they are for: they are what the run time does.
const RUN_TIME: &[&str] = &[
    "std::sys::pal::",
    "std::sys::random::",
    "std::sys::stdio::",
    "std::sys::sync::",
    "std::sys::thread_local::",
    "std::sys::time::",
    "std::thread::current::",
    "std::thread::id::",
];

/// Paths whose functions carry no derivative, unless they are generic, or for types that may: they talk to the world
/// outside. (A generic function hands on what it is given to one that is not.)
const OUTSIDE: &[&str] = &[
    "core::num::dec2flt::",
    "core::num::imp::dec2flt::",
    "std::alloc::",
    "std::env::",
    "std::fs::",
    "std::io::pipe::",
    "std::io::stdio::",
    "std::net::",
    "std::os::",
    "std::process::",
    "std::sys::env::",
    "std::sys::fs::",
    "std::sys::net::",
    "std::sys::process::",
    "std::thread::functions::sleep",
    "std::thread::functions::yield_now",
    "std::time::",
];

/// Paths of those whose functions keep what they read where the program can ask for it.
const KEEPS: &[&str] = &["std::env::", "std::process::", "std::sys::env::", "std::sys::process::"];

/// The methods of `std::io::Write` that give back counts and errors.
const WRITES: &[&str] = &["write", "write_all", "write_fmt", "write_vectored", "is_write_vectored", "flush"];

/// The same of the other traits of `std::io`. (Others move what they are for, or make grow what they are given.)
const READS: &[&str] = &[
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

/// Paths below those of the lists whose functions move or own values, or make them grow.
const MOVES: &[&str] = &[
    "core::fmt::builders::from_fn",
    "std::alloc::System",
    "std::io::stdio::Stdin",
    "std::panicking::set_hook",
    "std::panicking::take_hook",
    "std::panicking::update_hook",
];

/// Functions of C's library that read what they are given, and return a number that is compared: where LLVM compares
/// slices of numbers, arrays or text, it calls them itself.
const COMPARE: &[&str] = &["bcmp", "memcmp", "strcmp", "strncmp", "strlen", "strnlen"];

/// How many bytes a block of C's heap has.
const HEAP_SIZE: &str = "__pullback_heap_size";

/// What becomes of a function of the program.
pub fn policy(symbol: &str) -> Policy {
    if symbol.starts_with("llvm.") {
        return Policy::Import;
    }
    if symbol == HEAP_SIZE {
        return Policy::Inactive;
    }
    if is_support(symbol) {
        return Policy::Declare;
    }
    // Their bodies are not looked into: the importer knows what they do.
    if is_known(symbol) {
        return Policy::Declare;
    }
    let is_inactive = if is_mangled(symbol) { is_inactive(&demangled(symbol)) } else { COMPARE.contains(&symbol) };
    if is_inactive { Policy::Inactive } else { Policy::Import }
}

/// Whether a function without derivative of the standard library only reads what it is given, as far as it runs no code
/// of the program's: then it may be given anything.
pub fn only_reads(symbol: &str) -> bool {
    let path = demangled(symbol);
    let is_text = |path: &str| is_below_any(path, TEXT) || path.starts_with("std::io::stdio::");
    is_marked(&path)
        || COMPARE.contains(&symbol)
        || symbol == HEAP_SIZE
        || match Home::of(&path) {
            Some(Home::Impl { for_type, of_trait, .. }) => {
                is_text(referred(for_type))
                    || of_trait.starts_with("core::fmt::")
                    || of_trait == "std::io::Write" && is_outside(for_type)
            }
            Some(Home::Type(path) | Home::Module(path)) => is_text(path) || is_failure(path),
            None => false,
        }
}

/// Whether a function without derivative keeps what it reads where the program can ask for it.
pub fn keeps(symbol: &str) -> bool {
    let path = demangled(symbol);
    is_below_any(path.trim_start_matches(['<', '&']), KEEPS)
}

/// Whether values of this type stand for something in the world outside: a file, the console. What is written to them
/// is not in the program's memory.
pub fn is_outside(ty: &str) -> bool {
    let ty = referred(ty);
    is_below_any(ty, OUTSIDE) && !ty.contains('<') && !may_carry(ty)
}

/// Whether this is a function of Pullback's run-time support, which derivatives call. (Those for derivatives that are
/// differentiated are plain code.)
pub fn is_support(symbol: &str) -> bool {
    symbol.starts_with("__pullback_")
        && !["__pullback_nested_", "__pullback_c_"].iter().any(|differentiated| symbol.starts_with(differentiated))
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
        // What moves text to a place moves bytes, whoever calls it. (`core::fmt` itself does so unseen.)
        Some(Home::Impl { for_type, of_trait, .. }) if of_trait.starts_with("core::fmt::Write") => {
            is_below_any(referred(for_type), TEXT)
        }
        // Whoever implements a formatting trait, for whatever type.
        Some(Home::Impl { of_trait, .. }) if of_trait.starts_with("core::fmt::") => true,
        _ if RUNS_CLOSURES.iter().any(|part| path.contains(part)) => false,
        // A trait of the program's, or one of std's with a type of the program's, is implemented by the program.
        Some(Home::Impl { of_trait, .. }) if names_program(of_trait) => false,
        Some(Home::Impl { for_type, of_trait, name }) if of_trait.starts_with("std::io::") => {
            is_outside(for_type) && (WRITES.contains(&name) || READS.contains(&name)) && !moves(for_type)
        }
        Some(Home::Impl { for_type, .. }) => {
            // Also a closure in what formats.
            let is_text = is_below_any(for_type.trim_start_matches(['<', '&']), TEXT);
            is_inactive_in_std(referred(for_type)) && (is_text || !is_generic(path)) && !may_carry(path)
        }
        Some(Home::Type(for_type)) => {
            let for_all = is_below_any(for_type, TEXT) || is_below_any(for_type, RUN_TIME);
            is_inactive_in_std(for_type) && (for_all || !is_generic(path) && !may_carry(path))
        }
        Some(Home::Module(path)) => {
            let for_all = is_below_any(path, TEXT) || is_below_any(path, RUN_TIME);
            let is_outside = || is_below_any(path, OUTSIDE) && !is_generic(path) && !may_carry(path);
            is_failure(path) || !moves(path) && (for_all || is_outside())
        }
        None => false,
    }
}

/// The type that a reference refers to.
fn referred(mut ty: &str) -> &str {
    while let Some(rest) = ty.strip_prefix('&') {
        ty = rest.strip_prefix("mut ").unwrap_or(rest);
    }
    ty
}

/// `core::slice::index::slice_index_fail` and its relations.
fn is_failure(path: &str) -> bool {
    path.starts_with("core::slice::index::") && path.ends_with("_fail")
}

fn moves(path: &str) -> bool {
    MOVES.iter().any(|entry| path.starts_with(entry))
}

/// Whether the path of a function says that it is for types that its caller has chosen.
fn is_generic(path: &str) -> bool {
    let inner = match Home::of(path) {
        Some(Home::Module(path)) => path.contains('<'),
        Some(Home::Type(ty) | Home::Impl { for_type: ty, .. }) => ty.contains('<'),
        None => true,
    };
    inner || path.contains("::<")
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
            "<core::fmt::Formatter as core::fmt::Write>::write_str",
            "<app::Point as core::fmt::Debug>::fmt",
            "core::panicking::panic_bounds_check",
            "core::slice::index::slice_end_index_len_fail",
            "alloc::raw_vec::handle_error",
            "std::io::stdio::_print",
            "<std::io::error::Error as core::fmt::Display>::fmt",
            "<std::fs::File as std::io::Write>::write_all",
            "<&std::fs::File as std::io::Read>::read_exact",
            "std::fs::write::inner",
            "<std::time::Instant>::now",
            "<std::time::Instant as core::ops::arith::Sub>::sub",
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
            "<alloc::string::String as core::fmt::Write>::write_str",
            "<&mut app::Log as core::fmt::Write>::write_char",
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
            // Bytes and text may be a float's.
            "<std::io::buffered::bufreader::BufReader<&[u8]>>::new",
            "<std::io::buffered::bufreader::BufReader<&[u8]> as std::io::Read>::read_exact",
            "<std::io::Take<&[u8]> as std::io::Read>::read",
            "<std::io::util::Repeat as std::io::Read>::read_exact",
            "<std::io::IoSlice as core::ops::deref::Deref>::deref",
            "std::fs::write::<&str, alloc::vec::Vec<u8>>",
            "<std::path::Path>::new::<std::ffi::os_str::OsStr>",
            "alloc::str::join_generic_copy::<str, u8, &str>",
            // They own what they are given.
            "<std::io::error::Error>::_new",
            "<std::io::error::Error>::into_inner",
            "<std::io::error::repr_bitpacked::Repr as core::ops::drop::Drop>::drop",
            "core::fmt::builders::from_fn::<app::show::{closure#0}>",
            "std::panicking::set_hook",
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
        assert_eq!(policy("bcmp"), Policy::Inactive);
        assert!(only_reads("bcmp"));
        assert_eq!(policy("_RNvMNtCs5hGHJXt6PJO_3std4timeNtB2_7Instant3now"), Policy::Inactive);
        assert_eq!(policy("_ZN3std4time7Instant3now17h0123456789abcdefE"), Policy::Inactive);
    }

    #[test]
    fn what_may_be_given_anything() {
        let reads = |path: &str| only_reads(path);
        for path in [
            "core::fmt::write",
            "<app::Point as core::fmt::Debug>::fmt",
            "std::io::stdio::_print",
            "<std::fs::File as std::io::Write>::write_all",
            "<&mut std::io::stdio::StdoutLock as std::io::Write>::write_fmt",
            "core::slice::index::slice_end_index_len_fail",
        ] {
            assert!(reads(path), "{path}");
        }
        for path in [
            "<std::fs::File as std::io::Read>::read",
            "<&std::fs::File as std::io::Read>::read_exact",
            "std::fs::write::inner",
            "<std::sys::thread_local::native::lazy::Storage<f64, ()>>::get_or_init_slow",
            "<std::time::Instant>::elapsed",
            "<std::process::Command>::arg",
        ] {
            assert!(!reads(path), "{path}");
        }
        assert!(keeps("<std::process::Command>::arg") && !keeps("<std::fs::File as std::io::Read>::read"));
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
