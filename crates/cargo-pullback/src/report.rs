//! What the link driver has to say, on its way to the user.
//!
//! Rustc shows a linker's output only when the link fails, and then below a wall of arguments. So the link driver
//! writes its messages into a file, one JSON object a line, and the compiler wrapper shows them when rustc is through:
//! as diagnostics in rustc's JSON where cargo asked for that (cargo then counts and colours them like any other), else
//! as text.

use crate::env;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// A message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text for the user, as it is.
    Text(String),
    /// An error.
    Error(Rendered),
}

/// An error as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// The headline alone.
    pub headline: String,
    /// All of it, without colours.
    pub plain: String,
    /// All of it, with terminal colours.
    pub coloured: String,
    /// The place in the user's source: file, line, column, from 1.
    pub place: Option<(String, u32, u32)>,
}

/// Where the link driver puts its messages.
pub struct Sink {
    file: Option<File>,
}

impl Sink {
    /// The file the compiler wrapper waits for, else standard error.
    pub fn from_env() -> Self {
        let file = env::var(env::REPORT).and_then(|path| OpenOptions::new().append(true).open(path).ok());
        Sink { file }
    }

    /// Put a message.
    pub fn put(&mut self, message: &Message) {
        let done = match &mut self.file {
            Some(file) => writeln!(file, "{}", encode(message)),
            None => match message {
                Message::Text(text) => writeln!(io::stderr(), "{text}"),
                Message::Error(error) => writeln!(io::stderr(), "{}\n", error.plain),
            },
        };
        // A message that cannot be written has nowhere to go either.
        drop(done);
    }
}

/// The messages in a file the link driver has written.
pub fn read(path: &Path) -> Vec<Message> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| decode(&serde_json::from_str(line).ok()?)).collect()
}

/// How the wrapper's caller wants diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As text.
    Text,
    /// As rustc's JSON, with the text in it plain.
    Json,
    /// As rustc's JSON, with the text in it coloured.
    JsonColoured,
}

/// A message as it goes to standard error, with its line break.
pub fn show(message: &Message, format: Format) -> String {
    match (message, format) {
        (Message::Text(text), _) => format!("{text}\n"),
        (Message::Error(error), Format::Text) => format!("{}\n\n", error.plain),
        (Message::Error(error), Format::Json) => format!("{}\n", diagnostic(error, &error.plain)),
        (Message::Error(error), Format::JsonColoured) => format!("{}\n", diagnostic(error, &error.coloured)),
    }
}

/// An error in the form of rustc's `--error-format=json`.
fn diagnostic(error: &Rendered, text: &str) -> Value {
    let spans: Vec<Value> = error
        .place
        .iter()
        .map(|(file, line, column)| {
            json!({
                "file_name": file, "byte_start": 0, "byte_end": 0,
                "line_start": line, "line_end": line, "column_start": column, "column_end": column,
                "is_primary": true, "text": [], "label": null,
                "suggested_replacement": null, "suggestion_applicability": null, "expansion": null,
            })
        })
        .collect();
    json!({
        "$message_type": "diagnostic", "message": error.headline, "code": null, "level": "error",
        "spans": spans, "children": [], "rendered": format!("{text}\n\n"),
    })
}

fn encode(message: &Message) -> Value {
    match message {
        Message::Text(text) => json!({ "text": text }),
        Message::Error(error) => json!({
            "headline": error.headline, "plain": error.plain, "coloured": error.coloured,
            "place": error.place.as_ref().map(|(file, line, column)| json!([file, line, column])),
        }),
    }
}

fn decode(json: &Value) -> Option<Message> {
    if let Some(text) = json["text"].as_str() {
        return Some(Message::Text(text.to_owned()));
    }
    let string = |key: &str| json[key].as_str().map(str::to_owned);
    let place = &json["place"];
    let number = |i: usize| place[i].as_u64().and_then(|n| u32::try_from(n).ok());
    Some(Message::Error(Rendered {
        headline: string("headline")?,
        plain: string("plain")?,
        coloured: string("coloured")?,
        place: place[0].as_str().and_then(|file| Some((file.to_owned(), number(1)?, number(2)?))),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> Rendered {
        Rendered {
            headline: "cannot differentiate `f`: no".into(),
            plain: "error: cannot differentiate `f`: no\n  --> a.rs:1:2".into(),
            coloured: "\u{1b}[31merror\u{1b}[0m".into(),
            place: Some(("a.rs".into(), 1, 2)),
        }
    }

    #[test]
    fn there_and_back() {
        for message in [Message::Text("two\nlines".into()), Message::Error(error())] {
            let line = encode(&message).to_string();
            assert!(!line.contains('\n'));
            assert_eq!(decode(&serde_json::from_str(&line).unwrap()), Some(message));
        }
    }

    #[test]
    fn cargo_gets_a_diagnostic() {
        let json: Value = serde_json::from_str(&show(&Message::Error(error()), Format::Json)).unwrap();
        assert_eq!(json["level"], "error");
        assert_eq!(json["spans"][0]["line_start"], 1);
    }
}
