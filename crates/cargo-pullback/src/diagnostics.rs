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
//! The engine gives the innermost place of an obstacle; that is often in std or in a dependency, inlined into the user's
//! function. The line that is shown is the nearest one of the chain of calls that the user can edit; the rest of the chain
//! follows in notes.

use crate::report::Rendered;
use annotate_snippets::{AnnotationKind, Element, Level, Origin, Renderer, Snippet};
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

/// The error `error` of the derivative of `function`, whose attribute or call stands at `asked`.
///
/// Places in the error are those of `module`.
pub fn render(error: &pullback_ad::Error, function: &str, module: &Module, asked: &Place) -> Rendered {
    let headline = format!("cannot differentiate `{function}`: {}", error.message);
    let chain = error.loc.map(|loc| chain(module, loc)).unwrap_or_default();
    let editable = chain.iter().position(|frame| frame.line != 0 && is_users(frame));

    let mut notes = Vec::new();
    let (place, label) = match editable {
        Some(at) => {
            let frame = &chain[at];
            notes.extend(called_from(&chain[at..], function));
            notes.extend(inwards(&chain[..at]));
            (Place { file: frame.file.clone(), line: frame.line, column: frame.column }, error.label.clone())
        }
        None => {
            notes.extend(inwards(&chain));
            (asked.clone(), "the derivative is asked for here".to_owned())
        }
    };
    notes.extend(error.notes.iter().cloned());
    show(&headline, Some((&place, &label)), &notes, &error.help)
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

/// How the user's frame `frames[0]` was reached from `function`: the user's own calls in between, nearest first.
fn called_from(frames: &[Location], function: &str) -> Vec<String> {
    let is_function = |frame: &Location| frame.function.rsplit("::").next() == Some(function);
    let Some(end) = frames.iter().position(is_function) else { return Vec::new() };
    let mut shown = &frames[0];
    let mut notes = Vec::new();
    for frame in frames[..=end].iter().skip(1).filter(|frame| is_users(frame)) {
        if (&frame.file, frame.line) != (&shown.file, shown.line) {
            notes.push(format!("called from {}", describe(frame)));
            shown = frame;
        }
    }
    notes
}

/// The way from the user's line to the obstacle, through the functions of others. `frames` are innermost first.
fn inwards(frames: &[Location]) -> Option<String> {
    /// So many steps at each end are shown of a long way.
    const ENDS: usize = 3;
    let mut steps: Vec<String> = frames.iter().rev().map(describe).collect();
    if steps.len() > 2 * ENDS + 1 {
        let omitted = steps.len() - 2 * ENDS;
        steps.splice(ENDS..steps.len() - ENDS, [format!("... {omitted} more ...")]);
    }
    (!steps.is_empty()).then(|| format!("the way from there to the obstacle:\n{}", steps.join("\n")))
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

/// Whether the user can edit this place: it is not in the standard library, in a dependency that cargo has fetched, or in
/// Pullback itself.
fn is_users(location: &Location) -> bool {
    let file = location.file.replace('\\', "/");
    let fetched = ["/registry/src/", "/git/checkouts/", "/lib/rustlib/src/"];
    !file.is_empty()
        && !file.starts_with("/rustc/")
        && !file.starts_with("library/")
        && !fetched.iter().any(|part| file.contains(part))
        && !location.function.starts_with("pullback::")
        && !location.function.starts_with("<pullback::")
}

/// A frame in words.
fn describe(location: &Location) -> String {
    let place = format!("{}:{}", shown_path(&location.file), location.line);
    if location.function.is_empty() { place } else { format!("`{}`, {place}", location.function) }
}

/// A path without what only this machine has: the directory of the build, the place of the standard library's source or of
/// cargo's downloads.
fn shown_path(file: &str) -> String {
    for mark in ["/lib/rustlib/src/rust/", "/registry/src/"] {
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

/// The bytes of `text` to underline: from the place to the end of the expression that begins there, as far as one line shows.
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

/// How long the expression at the beginning of `text` is: a path, its calls and fields, without operators.
fn expression_len(text: &str) -> usize {
    let mut depth = 0_usize;
    for (i, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' if depth > 0 => depth -= 1,
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
    use pullback_ad::{Error, ErrorKind};

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
        let rendered = render(&error, "loss", &module, &asked);
        let expected = "\
error: cannot differentiate `loss`: `mystery` has no body and no rule
 --> FILE:2:5
  |
2 |     mystery(x, [1]) * 2.0
  |     ^^^^^^^^^^^^^^^ called with active data
  |
  = note: called from `app::loss`, FILE:1
  = note: the way from there to the obstacle:
          `core::a`, library/core/src/a.rs:7
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
 = note: the way from there to the obstacle:
         `core::a`, library/core/src/a.rs:7";
        assert_eq!(render(&error, "f", &module, &asked).plain, expected);
    }

    #[test]
    fn machine_paths_are_not_shown() {
        assert_eq!(shown_path("/home/a/.cargo/registry/src/index-1/rand-0.9/src/lib.rs"), "rand-0.9/src/lib.rs");
        assert_eq!(shown_path("/sys/lib/rustlib/src/rust/library/core/src/a.rs"), "library/core/src/a.rs");
        assert_eq!(shown_path("src/main.rs"), "src/main.rs");
    }

    #[test]
    fn an_expression_ends_where_an_operator_begins() {
        for (text, expected) in [
            ("a.b(c, d)[0] + 1", "a.b(c, d)[0]"),
            ("x*x", "x"),
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
