//! The engine's errors as the user meets them: in the form of rustc's, at a line of the user's own source.
//!
//! ```text
//! error: cannot differentiate `loss`: `mystery` has no body and no rule
//!  --> src/main.rs:12:5
//!    |
//! 12 |     mystery(x)
//!    |     ^^^^^^^^^^ called with a value that depends on `x`
//!    |
//!    = help: ...
//! ```
//!
//! The engine gives the innermost place of an obstacle; that is often in std or in a dependency, inlined into the
//! user's function. The line that is shown is the nearest one of the chain of calls that the user can edit; the rest of
//! the chain follows in notes.

use crate::report::Rendered;
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use pullback_ad::{ErrorKind, Mode};
use pullback_ir::{Location, Module, SourceLoc};
use std::path::{Path, PathBuf};

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file as the compiler names it.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 is unknown.
    pub column: u32,
}

/// What requests call a function that is passed to another one (`grad`, `jvp`). They cannot know its name.
pub const CLOSURE: &str = "a closure";

/// What to say of the place of a request about `function`. The place of a closure is where it begins.
pub fn asked_for(function: &str) -> &'static str {
    if function == CLOSURE { "its derivative is asked for" } else { "the derivative is asked for here" }
}

/// The error `error` of the derivative of `function`, whose attribute or call stands at `asked`.
///
/// Places in the error are those of `module`. `one_sided` are functions with a rule that is not for this mode.
pub fn render(
    error: &pullback_ad::Error,
    function: &str,
    module: &Module,
    asked: &Place,
    one_sided: &[OneSided],
) -> Rendered {
    let chain = error.loc.map(|loc| chain(module, loc)).unwrap_or_default();
    let editable = chain.iter().position(|frame| frame.line != 0 && is_users(frame) && !is_attribute(frame));
    let ruled = |frame: &Location| one_sided.iter().find(|rule| rule.is_in(frame));
    if let Some(rule) = chain.iter().find_map(ruled) {
        return rule.missing(error, function, editable.map(|at| &chain[at]), asked);
    }
    let not_yet = not_yet(error, &chain[..editable.unwrap_or(chain.len())]);
    let message = not_yet.map_or(error.message.as_str(), |known| known.headline);
    let headline = format!("cannot differentiate `{function}`: {message}");

    let mut notes = Vec::new();
    let (place, label) = match editable {
        Some(at) => {
            let frame = &chain[at];
            let inner: Vec<Location> = chain[..at].iter().filter(|frame| !is_attribute(frame)).cloned().collect();
            notes.extend(inwards(&inner));
            notes.extend(called_from(&chain[at..], function));
            let place = Place { file: frame.file.clone(), line: frame.line, column: frame.column };
            notes.extend(which(function, asked).filter(|_| (&place.file, place.line) != (&asked.file, asked.line)));
            (place, error.label.clone())
        }
        None => {
            // What an attribute has written is no way that anyone would follow.
            if !chain.iter().any(is_attribute) {
                notes.extend(inwards(&chain));
            }
            (asked.clone(), asked_for(function).to_owned())
        }
    };
    match not_yet {
        Some(known) => {
            if error.message != known.headline {
                notes.push(format!("the obstacle in it: {}", error.message));
            }
            let rule = rule_for(error, &chain[..editable.unwrap_or(0)]).filter(|_| known.path == LIBM);
            let help: Vec<String> = [known.help.to_owned()].into_iter().chain(rule).collect();
            show(&headline, Some((&place, known.label)), &notes, &help)
        }
        None => {
            notes.extend(error.notes.iter().cloned());
            let rule = rule_for(error, &chain[..editable.unwrap_or(0)]);
            let help: Vec<String> = error.help.iter().cloned().chain(rule).collect();
            show(&headline, Some((&place, &label)), &notes, &help)
        }
    }
}

/// A function that has a rule for one mode, and is differentiated in the other.
pub struct OneSided {
    /// Its path.
    pub function: String,
    /// The path of what stands in for it in derivatives.
    pub stand_in: String,
    /// The rule's name.
    pub rule: String,
    /// The mode that it is for.
    pub mode: Mode,
}

impl OneSided {
    /// Whether a place is in the function.
    fn is_in(&self, frame: &Location) -> bool {
        [&self.function, &self.stand_in].iter().any(|path| short(path) == short(&frame.function))
    }

    /// What is said of an obstacle in the function's body: only that it has no rule for this mode.
    fn missing(&self, error: &pullback_ad::Error, function: &str, at: Option<&Location>, asked: &Place) -> Rendered {
        let name = self.function.rsplit("::").next().unwrap_or(&self.function);
        let wants = match self.mode {
            Mode::Forward => "rrule",
            Mode::Reverse => "frule",
        };
        let mode = self.mode.word();
        let headline = format!("cannot differentiate `{function}`: `{name}` has a rule for {mode} mode only");
        let (place, label) = match at {
            Some(at) => (Place { file: at.file.clone(), line: at.line, column: at.column }, error.label.as_str()),
            None => (asked.clone(), asked_for(function)),
        };
        let mut notes: Vec<String> = which(function, asked).filter(|_| at.is_some()).into_iter().collect();
        notes.push(format!("the rule it has is `{}`", self.rule));
        notes.push("in the other mode its body is differentiated, which cannot be done".to_owned());
        let help = format!("write a rule for this mode, too: `#[{wants}(for = {name})]`");
        show(&headline, Some((&place, label)), &notes, &[help])
    }
}

/// The rule that lets a derivative go around a function of another crate, which works on bits, say, or is not written in
/// Rust. `inner` is the way from the user's line to the obstacle, innermost first.
fn rule_for(error: &pullback_ad::Error, inner: &[Location]) -> Option<String> {
    let inside = matches!(error.kind, ErrorKind::BitTrick | ErrorKind::Unsupported | ErrorKind::UnknownType);
    let called = inner.last().filter(|called| inside && is_fetched(&called.file))?;
    let function = short(&called.function);
    let is_path = |path: &str| path.split("::").all(|part| part.chars().all(|c| c.is_alphanumeric() || c == '_'));
    // Modules between the crate and the function, or the trait, are seldom public.
    let without_modules =
        |path: &str| Some((path.split("::").next()?.to_owned(), path.rsplit("::").next()?.to_owned()));
    let (target, name, float) = match function.strip_prefix('<').and_then(|rest| rest.rsplit_once(">::")) {
        Some((of_trait, name)) => {
            let (float, of_trait) = of_trait.split_once(" as ")?;
            let float = Some(float).filter(|float| ["f32", "f64"].contains(float) && is_path(of_trait))?;
            let (krate, of_trait) = without_modules(of_trait)?;
            (format!("<{float} as {krate}::{of_trait}>::{name}"), name.to_owned(), float)
        }
        None => {
            let (krate, name) = without_modules(&function).filter(|_| is_path(&function))?;
            (format!("{krate}::{name}"), name, "f64")
        }
    };
    Some(format!(
        "`{name}` may have a rule, by the path by which you call it, and with an argument for each of its own: \
         `pullback::scalar_rule!({target}(x: {float}) => r; d/dx = …)`"
    ))
}

/// A part of the standard library, or of a library that is below many others, that cannot be differentiated yet, and
/// what to say when an obstacle lies in it: the obstacle itself (a bit trick in a hash table, say) would tell a user
/// nothing.
struct NotYet {
    /// The beginning of the path of a function in it, or of its type's.
    path: &'static str,
    headline: &'static str,
    label: &'static str,
    help: &'static str,
}

/// The crate's path.
const LIBM: &str = "libm::";

/// The first entry that fits counts.
const NOT_YET: &[NotYet] = &[
    NotYet {
        path: "hashbrown::",
        headline: "`HashMap` and `HashSet` with data that depends on the inputs are not supported yet",
        label: "data that depends on the inputs goes into or through a hash table here",
        help: "keep the values in a `Vec`, and only their indices in the map",
    },
    NotYet {
        path: "alloc::collections::btree::",
        headline: "`BTreeMap` and `BTreeSet` with data that depends on the inputs are not supported yet",
        label: "data that depends on the inputs goes into or through the tree here",
        help: "keep the values in a `Vec`, and only their indices in the map",
    },
    NotYet {
        path: "std::thread::local::",
        headline: "a `thread_local!` with data that depends on the inputs is not supported yet",
        label: "data that depends on the inputs goes into or through the variable here",
        help: "give the function what it needs as an argument, also what it is to change",
    },
    NotYet {
        path: "std::thread::",
        headline: "threads are not supported yet",
        label: "data that depends on the inputs goes to another thread here",
        help: "do it in one thread, or differentiate what one thread does and call that derivative in each thread",
    },
    NotYet {
        path: "__rust_try",
        headline: "`catch_unwind` is not supported yet",
        label: "data that depends on the inputs goes through here",
        help: "catch the panic outside of the function: a panic in it goes through its derivative to the caller",
    },
    NotYet {
        path: "matrixmultiply::",
        headline: "a product of matrices by `matrixmultiply`, whose kernels cannot be differentiated",
        label: "data that depends on the inputs goes through here",
        help: "Pullback has rules for it: depend on `pullback` with `features = [\"matrixmultiply\"]`",
    },
    NotYet {
        path: LIBM,
        headline: "a function of the crate `libm`, which works on the bits of floats",
        label: "data that depends on the inputs goes through here",
        help: "Pullback has rules for nearly all of them: depend on `pullback` with `features = [\"libm\"]`",
    },
    NotYet {
        path: "half::",
        headline: "an `f16` or a `bf16` with data that depends on the inputs, which is a number of 16 bits",
        label: "data that depends on the inputs goes through here",
        help: "keep such data in an `f32`, and have numbers of 16 bits for constants; or give a rule to the function of \
               yours that rounds (`scalar_rule!(rounded(x: f32) => r; d/dx = 1.0)`)",
    },
    // Locks and the counter of an `Arc` are made of atomics; the frames in between are not always known.
    NotYet {
        path: "core::sync::atomic::",
        headline: "atomics, locks and `Arc` around data that depends on the inputs are not supported yet",
        label: "an atomic operation on memory that holds such data",
        help: "use plain memory, a `Cell` or an `Rc`; take a lock outside of the function, and give it what the lock \
               protects",
    },
];

/// What stands in the way is a part of the standard library that the frames `inner` lie in.
fn not_yet(error: &pullback_ad::Error, inner: &[Location]) -> Option<&'static NotYet> {
    let within = |path: &str| inner.iter().any(|frame| frame.function.trim_start_matches('<').starts_with(path));
    NOT_YET.iter().find(|known| within(known.path) || error.message.contains(&format!("`{}`", known.path)))
}

/// An error in the form of rustc's.
pub fn show(headline: &str, at: Option<(&Place, &str)>, notes: &[String], help: &[String]) -> Rendered {
    let source = at.and_then(|(place, _)| source(place));
    let mut elements: Vec<Element<'_>> = Vec::new();
    if let Some((place, label)) = at {
        let path = shown_path(&place.file);
        match &source {
            Some(text) => {
                let span = underlined(text, place);
                let label = (!label.is_empty()).then_some(label);
                let annotation = AnnotationKind::Primary.span(span).label(label);
                elements.push(Snippet::source(text.as_str()).path(path).annotation(annotation).into());
            }
            None => elements
                .push(Origin::path(path).line(place.line as usize).char_column(place.column.max(1) as usize).into()),
        }
    }
    elements.extend(notes.iter().map(|note| Element::from(Level::NOTE.message(note))));
    elements.extend(help.iter().map(|help| Element::from(Level::HELP.message(help))));
    let report = [Level::ERROR.primary_title(headline).elements(elements)];
    Rendered {
        headline: headline.to_owned(),
        plain: Renderer::plain().render(&report),
        coloured: Renderer::styled().render(&report),
        place: at.map(|(place, _)| (shown_path(&place.file), place.line, place.column.max(1))),
    }
}

/// Which of the program's closures is meant: a line that several of them call says it of none.
fn which(function: &str, asked: &Place) -> Option<String> {
    (function == CLOSURE).then(|| format!("the closure is at {}:{}", shown_path(&asked.file), asked.line))
}

/// How the user's frame `frames[0]` was reached from `function`: the user's own calls in between, nearest first.
fn called_from(frames: &[Location], function: &str) -> Vec<String> {
    let is_function = |frame: &Location| frame.function.rsplit("::").next() == Some(function);
    let Some(end) = frames.iter().position(is_function) else { return Vec::new() };
    let mut shown = &frames[0];
    let mut notes = Vec::new();
    for frame in frames[..=end].iter().skip(1).filter(|frame| is_users(frame) && !is_attribute(frame)) {
        if (&frame.file, frame.line) != (&shown.file, shown.line) {
            notes.push(format!("called from {}", describe(frame)));
            shown = frame;
        }
    }
    notes
}

/// The way from the user's line to the obstacle, through the functions of others but Pullback's. `frames` are innermost
/// first.
fn inwards(frames: &[Location]) -> Option<String> {
    /// So many steps at each end are shown of a long way.
    const ENDS: usize = 3;
    let others = frames.iter().rev().filter(|frame| !is_ours(&frame.function));
    let mut steps: Vec<String> = others.map(describe).collect();
    if steps.len() > 2 * ENDS + 1 {
        let omitted = steps.len() - 2 * ENDS;
        steps.splice(ENDS..steps.len() - ENDS, [format!("... {omitted} more ...")]);
    }
    (!steps.is_empty()).then(|| format!("the way from this line to the obstacle:\n{}", steps.join("\n")))
}

/// A place and the calls it was inlined into, innermost first.
fn chain(module: &Module, loc: SourceLoc) -> Vec<Location> {
    let mut all = Vec::new();
    let mut next = Some(loc);
    while let Some(loc) = next {
        let location = module.location(loc);
        all.push(location.clone());
        next = location.inlined_at;
    }
    all
}

/// Whether the user can edit this place: it is not in the standard library, in a dependency that cargo has fetched, or
/// in Pullback itself.
fn is_users(location: &Location) -> bool {
    is_users_own(&location.file, &location.function)
}

/// The same of a function in a file.
pub fn is_users_own(file: &str, function: &str) -> bool {
    let path = file.replace('\\', "/");
    let std = ["/lib/rustlib/src/", "/rust/deps/"];
    !path.is_empty()
        && !path.starts_with("/rustc/")
        && !path.starts_with("library/")
        && !std.iter().any(|part| path.contains(part))
        && !is_fetched(file)
        && !is_ours(function)
}

/// Whether a file is of a dependency that cargo has fetched.
fn is_fetched(file: &str) -> bool {
    let file = file.replace('\\', "/");
    ["/registry/src/", "/git/checkouts/"].iter().any(|part| file.contains(part))
}

/// Whether a function is Pullback's.
fn is_ours(function: &str) -> bool {
    let is_ours = |path: &str| ["pullback::", "pullback_abi::"].iter().any(|ours| path.starts_with(ours));
    // A method of ours, for a type of std's or one of the language's.
    let is_for_std = |ty: &str| {
        !ty.contains("::")
            || ["core::", "alloc::", "std::"].iter().any(|std| ty.trim_start_matches('&').starts_with(std))
    };
    is_ours(function.trim_start_matches('<'))
        || function
            .strip_prefix('<')
            .and_then(|rest| rest.split_once(" as "))
            .is_some_and(|(ty, of_trait)| is_ours(of_trait) && is_for_std(ty))
}

/// Whether the code at this place was written by an attribute that stands there: one of ours, or a derive.
fn is_attribute(location: &Location) -> bool {
    let place = Place { file: location.file.clone(), line: location.line, column: location.column };
    let line = is_users(location).then(|| source(&place)).flatten();
    let line = line.as_deref().and_then(|text| text.lines().nth(place.line as usize - 1)).unwrap_or_default();
    let ours = ["autodiff", "rrule", "frule", "derive"].iter().any(|name| line.contains(name));
    line.trim_start().starts_with("#[") && ours || line.trim_start().starts_with("scalar_rule!")
}

/// A frame in words.
fn describe(location: &Location) -> String {
    let place = format!("{}:{}", shown_path(&location.file), location.line);
    let function = short(&location.function);
    match without_closures(&function) {
        ("", _) => place,
        (function, false) => format!("`{function}`, {place}"),
        (function, true) => format!("a closure in `{function}`, {place}"),
    }
}

/// A function's path without generic arguments, and with a method's type in the place of the module of its `impl`:
/// `core::slice::<impl [T]>::sort_by` is `[T]::sort_by`, and `alloc::vec::Vec<T,A>::push` is `alloc::vec::Vec::push`.
fn short(function: &str) -> String {
    let mut out = String::new();
    let mut rest = function;
    while let Some(open) = rest.find('<') {
        let (before, from) = rest.split_at(open);
        let inner = &from[1..inside(from)];
        let after = from.get(inner.len() + 2..).unwrap_or_default();
        let is_generic = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        out.push_str(before);
        if let Some(ty) = inner.strip_prefix("impl ") {
            out = short(ty);
        } else if !is_generic && inner.contains(" as ") {
            out.push_str(&format!("<{}>", short(inner)));
        } else if !is_generic {
            out.push_str(&short(inner));
        }
        rest = after;
    }
    out.push_str(rest);
    // `Vec::<T>::push` has left two colons too many.
    out.replace("::::", "::")
}

/// Where the `<` at the beginning of `text` is closed.
fn inside(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut last = ' ';
    for (i, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i;
        }
        last = c;
    }
    text.len()
}

/// The function that a closure stands in, and whether there is a closure: `f::{{closure}}` and `f::{closure#0}` stand
/// in `f`.
fn without_closures(function: &str) -> (&str, bool) {
    match function.rsplit_once("::") {
        Some((outer, last)) if last.starts_with('{') && last.contains("closure") => (without_closures(outer).0, true),
        _ => (function, false),
    }
}

/// A path without what only this machine has: the directory of the build, the place of the standard library's source or
/// of cargo's downloads.
fn shown_path(file: &str) -> String {
    // `/rust/deps` is where the standard library's own dependencies lay when it was built.
    for mark in ["/lib/rustlib/src/rust/", "/rust/deps/", "/registry/src/"] {
        if let Some((_, rest)) = file.split_once(mark) {
            // Below `registry/src` the first directory names the registry.
            return if mark == "/registry/src/" { rest.split_once('/').map_or(rest, |(_, r)| r) } else { rest }
                .to_owned();
        }
    }
    if let Some(rest) = file.strip_prefix("/rustc/") {
        return rest.split_once('/').map_or(rest, |(_hash, path)| path).to_owned();
    }
    let here = std::env::current_dir().unwrap_or_default();
    Path::new(file).strip_prefix(&here).map_or_else(|_| file.to_owned(), |rest| rest.display().to_string())
}

/// The text of a place's file, if it is there and has that line.
fn source(place: &Place) -> Option<String> {
    let text = std::fs::read_to_string(PathBuf::from(&place.file)).ok()?;
    (place.line >= 1 && text.lines().count() >= place.line as usize).then_some(text)
}

/// The bytes of `text` to underline: from the place to the end of the expression that begins there, as far as one line
/// shows.
fn underlined(text: &str, place: &Place) -> std::ops::Range<usize> {
    let line_start: usize = text.split_inclusive('\n').take(place.line as usize - 1).map(str::len).sum();
    let line = text[line_start..].lines().next().unwrap_or_default();
    // Columns count bytes. One that is not known, or not in this line, stands for the whole line.
    let column =
        (place.column as usize).checked_sub(1).filter(|column| line.is_char_boundary(*column) && *column < line.len());
    let Some(column) = column else {
        let indent = line.len() - line.trim_start().len();
        return line_start + indent..line_start + line.trim_end().len().max(indent);
    };
    let start = line_start + column;
    start..start + expression_len(&line[column..])
}

/// How long the expression at the beginning of `text` is: a path with its fields, up to its first call, without
/// operators. The place of a method's call is that of the method's name, so that what follows the call in a chain is
/// not part of it.
fn expression_len(text: &str) -> usize {
    let mut depth = 0_usize;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => {
                depth -= 1;
                if depth == 0 && c == ')' && text[i + 1..].starts_with(['.', '?']) {
                    return i + 1;
                }
            }
            '#' if i == 0 => {}
            _ if depth > 0 => {}
            c if c.is_alphanumeric() || matches!(c, '_' | '.' | ':' | '!') => {}
            _ => return i.max(c.len_utf8()),
        }
    }
    text.trim_end().len().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pullback_ad::Error;

    fn location(file: &str, line: u32, column: u32, function: &str, inlined_at: Option<SourceLoc>) -> Location {
        Location { file: file.into(), line, column, function: function.into(), inlined_at }
    }

    #[test]
    fn the_nearest_line_the_user_can_edit_is_shown() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("main.rs");
        std::fs::write(&file, "fn loss(x: f64) -> f64 {\n    mystery(x, [1]) * 2.0\n}\n").unwrap();
        let file = file.to_str().unwrap();
        let mut module = Module::new();
        let shim = module.add_location(location(file, 1, 1, "app::shim", None));
        let caller = module.add_location(location(file, 1, 1, "app::loss", Some(shim)));
        let user = module.add_location(location(file, 2, 5, "app::helper", Some(caller)));
        let std = module.add_location(location("/rustc/abc/library/core/src/a.rs", 7, 1, "core::a", Some(user)));
        let error = Error::new(ErrorKind::NoBody, "`mystery` has no body and no rule")
            .at(Some(std))
            .label("called with active data")
            .note("a note")
            .help("a way out");
        let asked = Place { file: file.into(), line: 1, column: 1 };
        let rendered = render(&error, "loss", &module, &asked, &[]);
        let expected = "\
error: cannot differentiate `loss`: `mystery` has no body and no rule
 --> FILE:2:5
  |
2 |     mystery(x, [1]) * 2.0
  |     ^^^^^^^^^^^^^^^ called with active data
  |
  = note: the way from this line to the obstacle:
          `core::a`, library/core/src/a.rs:7
  = note: called from `app::loss`, FILE:1
  = note: a note
  = help: a way out";
        assert_eq!(rendered.plain.replace(file, "FILE"), expected);
        assert_eq!(rendered.place, Some((file.to_owned(), 2, 5)));
        assert!(rendered.coloured.contains('\u{1b}'));
    }

    #[test]
    fn without_a_line_of_the_users_the_request_is_shown() {
        let mut module = Module::new();
        let std = module.add_location(location("/rustc/abc/library/core/src/a.rs", 7, 1, "core::a", None));
        let error = Error::new(ErrorKind::Unsupported, "no").at(Some(std));
        let asked = Place { file: "src/gone.rs".into(), line: 3, column: 1 };
        let expected = "\
error: cannot differentiate `f`: no
--> src/gone.rs:3:1
 = note: the way from this line to the obstacle:
         `core::a`, library/core/src/a.rs:7";
        assert_eq!(render(&error, "f", &module, &asked, &[]).plain, expected);
    }

    #[test]
    fn a_rule_is_proposed_for_a_function_of_another_crate() {
        let mut module = Module::new();
        let user = module.add_location(location("src/gone.rs", 2, 5, "app::f", None));
        let exp = "/home/a/.cargo/registry/src/index-1/fast-0.2.1/src/exp.rs";
        let called = module.add_location(location(exp, 9, 1, "fast::math::exp", Some(user)));
        let std =
            module.add_location(location("/rustc/abc/library/core/src/f64.rs", 7, 1, "f64::from_bits", Some(called)));
        let error = Error::new(ErrorKind::BitTrick, "bits").at(Some(std)).help("write it with floats");
        let rendered = render(&error, "f", &module, &Place { file: "src/gone.rs".into(), line: 1, column: 1 }, &[]);
        let expected = "\
error: cannot differentiate `f`: bits
--> src/gone.rs:2:5
 = note: the way from this line to the obstacle:
         `fast::math::exp`, fast-0.2.1/src/exp.rs:9
         `f64::from_bits`, library/core/src/f64.rs:7
 = help: write it with floats
 = help: `exp` may have a rule, by the path by which you call it, and with an argument for each of its own: \
         `pullback::scalar_rule!(fast::exp(x: f64) => r; d/dx = …)`";
        assert_eq!(rendered.plain, expected);
    }

    #[test]
    fn a_rule_is_proposed_for_a_method_of_a_trait_of_another_crate() {
        let ext = "/home/a/.cargo/registry/src/index-1/fast-0.2.1/src/ext.rs";
        let inner = [location(ext, 9, 1, "<f32 as fast::ext::Ext>::exp", None)];
        for kind in [ErrorKind::BitTrick, ErrorKind::Unsupported] {
            let proposed = rule_for(&Error::new(kind, "bits"), &inner).unwrap();
            assert!(proposed.contains("`pullback::scalar_rule!(<f32 as fast::Ext>::exp(x: f32) => r; d/dx = …)`"));
        }
        assert_eq!(rule_for(&Error::new(ErrorKind::RuntimeActivity, "which"), &inner), None);
        let of_type = [location(ext, 9, 1, "<fast::F32 as fast::ext::Ext>::exp", None)];
        assert_eq!(rule_for(&Error::new(ErrorKind::BitTrick, "bits"), &of_type), None);
    }

    #[test]
    fn methods_of_ours_for_types_of_std_are_no_code_of_the_users() {
        let is_users = |function: &str| is_users_own("/checkouts/ad/src/differentiable.rs", function);
        assert!(!is_users("<[f64] as pullback::differentiable::ToZero>::to_zero"));
        assert!(!is_users("<alloc::vec::Vec<f64> as pullback::differentiable::ToZero>::to_zero"));
        assert!(!is_users("pullback::functional::grad"));
        assert!(is_users("<app::Model as pullback::differentiable::MakeZero>::zero_like"));
        assert!(is_users("<app::Model as app::Layer>::apply"));
    }

    #[test]
    fn machine_paths_are_not_shown() {
        assert_eq!(shown_path("/home/a/.cargo/registry/src/index-1/rand-0.9/src/lib.rs"), "rand-0.9/src/lib.rs");
        assert_eq!(shown_path("/sys/lib/rustlib/src/rust/library/core/src/a.rs"), "library/core/src/a.rs");
        assert_eq!(shown_path("/rust/deps/hashbrown-0.16.1/src/map.rs"), "hashbrown-0.16.1/src/map.rs");
        assert_eq!(shown_path("src/main.rs"), "src/main.rs");
    }

    #[test]
    fn a_closure_is_named_after_its_function() {
        let described = |function: &str| describe(&location("src/main.rs", 3, 1, function, None));
        assert_eq!(described("app::f"), "`app::f`, src/main.rs:3");
        assert_eq!(described("app::f::{{closure}}"), "a closure in `app::f`, src/main.rs:3");
        assert_eq!(described("app::f::{closure#0}::{closure#1}"), "a closure in `app::f`, src/main.rs:3");
        assert_eq!(described(""), "src/main.rs:3");
    }

    #[test]
    fn paths_are_short() {
        for (function, expected) in [
            ("app::f", "app::f"),
            ("core::slice::<impl [T]>::sort_by", "[T]::sort_by"),
            ("<core::sync::atomic::AtomicU64>::swap", "core::sync::atomic::AtomicU64::swap"),
            ("alloc::vec::Vec<T,A>::push", "alloc::vec::Vec::push"),
            ("a::Handle<b::Node<K,V>,c>::insert<F>", "a::Handle::insert"),
            ("<a::Box<F,A> as core::ops::Fn<Args>>::call", "<a::Box as core::ops::Fn>::call"),
            ("a::map<fn(T) -> R>", "a::map"),
            ("h::entry::<impl h::Map<K,V>>::entry", "h::Map::entry"),
            ("broken<", "broken"),
        ] {
            assert_eq!(short(function), expected);
        }
    }

    #[test]
    fn parts_of_std_that_are_not_supported_have_their_own_words() {
        let mut module = Module::new();
        let user = module.add_location(location("src/gone.rs", 2, 5, "app::f", None));
        let map =
            module.add_location(location("/rust/deps/h/src/map.rs", 1, 1, "hashbrown::map::Map<K>::get", Some(user)));
        let error = Error::new(ErrorKind::BitTrick, "a bit trick").at(Some(map)).note("why").help("floats");
        let rendered = render(&error, "f", &module, &Place { file: "src/gone.rs".into(), line: 1, column: 1 }, &[]);
        let expected = "\
error: cannot differentiate `f`: `HashMap` and `HashSet` with data that depends on the inputs are not supported yet
--> src/gone.rs:2:5
 = note: the way from this line to the obstacle:
         `hashbrown::map::Map::get`, h/src/map.rs:1
 = note: the obstacle in it: a bit trick
 = help: keep the values in a `Vec`, and only their indices in the map";
        assert_eq!(rendered.plain, expected);
    }

    #[test]
    fn an_expression_ends_where_an_operator_begins() {
        for (text, expected) in [
            ("a.b(c, d)[0] + 1", "a.b(c, d)[0]"),
            ("x*x", "x"),
            ("lock().unwrap() + 1", "lock()"),
            ("f(x)?.y", "f(x)"),
            ("a.b.c + 1", "a.b.c"),
            ("vec![1, 2]; x", "vec![1, 2]"),
            ("-x", "-"),
            ("#[autodiff(df, Reverse, Active)] fn f()", "#[autodiff(df, Reverse, Active)]"),
            ("f(", "f("),
            ("é", "é"),
        ] {
            assert_eq!(&text[..expression_len(text)], expected);
        }
    }
}
