//! What the path of a function says of who wrote it.

/// A symbol's path in the source, without hash.
pub fn demangled(symbol: &str) -> String {
    format!("{:#}", rustc_demangle::demangle(without_number(symbol)))
}

/// A symbol without the number that the linker of modules puts behind a name that is taken.
pub fn without_number(symbol: &str) -> &str {
    match symbol.rsplit_once('.') {
        Some((base, number)) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) => base,
        _ => symbol,
    }
}

/// Whether a symbol was made of a path, by the compiler. All others are names that somebody has given, and say nothing:
/// `#[export_name = "std::time::scale"]`.
pub fn is_mangled(symbol: &str) -> bool {
    ["_R", "_ZN"].iter().any(|prefix| symbol.starts_with(prefix)) && rustc_demangle::try_demangle(symbol).is_ok()
}

/// Whether a path names something that is neither the standard library's nor Pullback's.
pub fn names_program(path: &str) -> bool {
    let words = path.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    words
        .filter_map(|word| word.split_once("::"))
        .any(|(first, _)| !first.is_empty() && !matches!(first, "core" | "alloc" | "std" | "pullback" | "pullback_abi"))
}

/// Where a function is written. What it is instantiated with does not matter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Home<'a> {
    /// Below a module, with what follows: `core::fmt::write`.
    Module(&'a str),
    /// A type's own: `<core::fmt::Formatter>::pad`.
    Type(&'a str),
    /// In a trait, or where it is implemented for a type: `<app::Point as core::fmt::Debug>::fmt`.
    Impl { for_type: &'a str, of_trait: &'a str, name: &'a str },
}

impl<'a> Home<'a> {
    /// That of a path; nothing for what does not look like one.
    pub fn of(path: &'a str) -> Option<Self> {
        let Some(inside) = path.strip_prefix('<') else { return Some(Home::Module(path)) };
        let mut depth = 0_usize;
        let mut of_trait = None;
        let mut rest = inside;
        while let Some(c) = rest.chars().next() {
            let at = inside.len() - rest.len();
            let length = match c {
                '-' if rest.starts_with("->") => 2,
                '\'' => quoted(rest),
                '>' if depth == 0 => {
                    return Some(match of_trait {
                        None => Home::Type(&inside[..at]),
                        Some((end, start)) => {
                            let name = rest[1..].trim_start_matches("::");
                            let name = name.split("::").next().unwrap_or(name);
                            Home::Impl { for_type: &inside[..end], of_trait: &inside[start..at], name }
                        }
                    });
                }
                ' ' if depth == 0 && of_trait.is_none() && rest.starts_with(" as ") => {
                    of_trait = Some((at, at + " as ".len()));
                    " as ".len()
                }
                '<' | '(' | '[' | '{' => {
                    depth += 1;
                    1
                }
                '>' | ')' | ']' | '}' => {
                    depth = depth.checked_sub(1)?;
                    1
                }
                c => c.len_utf8(),
            };
            rest = &rest[length..];
        }
        None
    }
}

/// The length of a character in quotes, `'>'`, or of the first of a lifetime, `'_`.
fn quoted(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    let is_escape = letters.next().is_some_and(|(_, letter)| letter == '\\');
    let end = if is_escape { letters.skip(1).find(|(_, letter)| *letter == '\'') } else { letters.next() };
    end.filter(|(_, letter)| *letter == '\'').map_or(1, |(at, quote)| at + quote.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::Home::{self, Impl, Module, Type};
    use super::demangled;

    #[test]
    fn a_copy_has_the_path_of_its_function() {
        let symbol = "_RNvXs_CsaqyhErTKQiF_3appNtB4_3LogNtNtCslNYArtu3iFV_4core3fmt5Write9write_str";
        assert_eq!(demangled(symbol), "<app::Log as core::fmt::Write>::write_str");
        assert_eq!(demangled(&format!("{symbol}.5")), demangled(symbol));
    }

    #[test]
    fn the_home_of_a_function() {
        for (path, home) in [
            ("core::fmt::write", Module("core::fmt::write")),
            ("app::apply::<<f64 as core::fmt::Debug>::fmt>", Module("app::apply::<<f64 as core::fmt::Debug>::fmt>")),
            ("<core::fmt::Formatter>::pad", Type("core::fmt::Formatter")),
            ("<app::Sum<fn(f64) -> f64>>::add", Type("app::Sum<fn(f64) -> f64>")),
            ("<app::Sum<<f64 as app::A>::f>>::add", Type("app::Sum<<f64 as app::A>::f>")),
            ("<[f64; 3] as app::A<'_>>::f", Impl { for_type: "[f64; 3]", of_trait: "app::A<'_>", name: "f" }),
            ("<app::Of<'<'> as app::A>::f", Impl { for_type: "app::Of<'<'>", of_trait: "app::A", name: "f" }),
            ("<app::Of<'\\''> as app::A>::f", Impl { for_type: "app::Of<'\\''>", of_trait: "app::A", name: "f" }),
            (
                "<app::Of<'\\u{fe}'> as app::A>::f",
                Impl { for_type: "app::Of<'\\u{fe}'>", of_trait: "app::A", name: "f" },
            ),
            (
                "<for<'a> fn(&'a f64) as app::A>::f",
                Impl { for_type: "for<'a> fn(&'a f64)", of_trait: "app::A", name: "f" },
            ),
            (
                "<<app::P as core::fmt::Debug>::fmt::{closure#0} as core::ops::FnOnce<()>>::call_once",
                Impl {
                    for_type: "<app::P as core::fmt::Debug>::fmt::{closure#0}",
                    of_trait: "core::ops::FnOnce<()>",
                    name: "call_once",
                },
            ),
        ] {
            assert_eq!(Home::of(path), Some(home), "{path}");
        }
        assert_eq!(Home::of("<app::Broken"), None);
        assert_eq!(Home::of("<app::Broken)>"), None);
    }
}
