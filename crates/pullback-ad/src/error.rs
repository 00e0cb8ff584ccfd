//! Why a derivative cannot be made: errors as values, with the place in the source.

use pullback_ir::SourceLoc;
use std::fmt;

/// What kind of obstacle. Each has a page of its own in the tests of messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ErrorKind {
    /// A call to a function that has neither a body nor a rule, with active data.
    NoBody,
    /// Active data is stored in memory that belongs to a `Const` argument.
    ActiveInConst,
    /// An active float's bits are used as an integer that later becomes a float or reaches memory.
    BitTrick,
    /// Memory is copied whose content is not known to be float or not.
    UnknownType,
    /// An instruction the engine cannot differentiate, with active data.
    Unsupported,
    /// A pointer that may or may not have a shadow, depending on a run-time condition.
    RuntimeActivity,
    /// A call through a function pointer or trait object, with active data.
    IndirectCall,
    /// A fault of the engine itself.
    Internal,
}

/// Why a derivative cannot be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// What kind of obstacle.
    pub kind: ErrorKind,
    /// The headline, in the user's terms, without a full stop.
    pub message: String,
    /// Where, as near as is known.
    pub loc: Option<SourceLoc>,
    /// What to say at that place.
    pub label: String,
    /// Why it is so.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Vec<String>,
}

impl Error {
    /// An error of this kind with this headline.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Error { kind, message: message.into(), loc: None, label: String::new(), notes: Vec::new(), help: Vec::new() }
    }

    /// A fault of the engine.
    pub fn internal(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Internal, message)
    }

    /// It cannot be told what memory holds.
    pub fn unknown_type(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::UnknownType, message)
    }

    /// Something that is not supported.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error::new(ErrorKind::Unsupported, message)
    }

    /// At this place.
    pub fn at(mut self, loc: Option<SourceLoc>) -> Self {
        self.loc = self.loc.or(loc);
        self
    }

    /// Say this at the place.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Add a reason.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Add a way out.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help.push(help.into());
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A result of the engine.
pub type Result<T> = std::result::Result<T, Error>;
