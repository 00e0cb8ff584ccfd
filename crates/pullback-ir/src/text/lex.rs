//! Text into tokens, each with its place.

use std::fmt;

/// Why a text is not a module, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct ParseError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

/// A place in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pos {
    pub line: usize,
    pub column: usize,
}

impl Pos {
    pub(super) fn error<T>(self, message: impl Into<String>) -> Result<T, ParseError> {
        Err(ParseError { line: self.line, column: self.column, message: message.into() })
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    /// A word: `load`, `v3`, `f64`, `math.sin`.
    Word(String),
    /// `@name`, without the `@`.
    Symbol(String),
    /// `"text"`, unescaped.
    Text(String),
    /// A number as written, with its suffix: `-1.5f64`, `0x7f`, `42`.
    Number(String),
    /// One of `( ) { } , : = # !`.
    Punct(char),
    /// `->`.
    Arrow,
    /// `=>`.
    FatArrow,
    /// The end of the text.
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(w) => write!(f, "`{w}`"),
            Token::Symbol(s) => write!(f, "`@{s}`"),
            Token::Text(t) => write!(f, "{t:?}"),
            Token::Number(n) => write!(f, "`{n}`"),
            Token::Punct(c) => write!(f, "`{c}`"),
            Token::Arrow => f.write_str("`->`"),
            Token::FatArrow => f.write_str("`=>`"),
            Token::End => f.write_str("the end of the text"),
        }
    }
}

pub(super) fn lex(text: &str) -> Result<Vec<(Token, Pos)>, ParseError> {
    let mut lexer = Lexer { chars: text.chars().collect(), at: 0, pos: Pos { line: 1, column: 1 } };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let pos = lexer.pos;
        let token = lexer.token()?;
        let done = token == Token::End;
        tokens.push((token, pos));
        if done {
            return Ok(tokens);
        }
    }
}

struct Lexer {
    chars: Vec<char>,
    at: usize,
    pos: Pos,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek(0)?;
        self.at += 1;
        if c == '\n' {
            self.pos = Pos { line: self.pos.line + 1, column: 1 };
        } else {
            self.pos.column += 1;
        }
        Some(c)
    }

    fn take_while(&mut self, keep: impl Fn(&str, char) -> bool) -> String {
        let mut taken = String::new();
        while let Some(c) = self.peek(0).filter(|c| keep(&taken, *c)) {
            taken.push(c);
            self.next();
        }
        taken
    }

    fn skip_blanks(&mut self) {
        while let Some(c) = self.peek(0) {
            if c == ';' {
                self.take_while(|_, c| c != '\n');
            } else if c.is_whitespace() {
                self.next();
            } else {
                break;
            }
        }
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        let pos = self.pos;
        let Some(c) = self.peek(0) else { return Ok(Token::End) };
        match c {
            '@' => {
                self.next();
                if self.peek(0) == Some('"') {
                    return self.text().map(Token::Symbol);
                }
                let name = self.take_while(|_, c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$'));
                if name.is_empty() { pos.error("a name must follow `@`") } else { Ok(Token::Symbol(name)) }
            }
            '"' => self.text().map(Token::Text),
            '-' if self.peek(1) == Some('>') => {
                self.next();
                self.next();
                Ok(Token::Arrow)
            }
            '=' if self.peek(1) == Some('>') => {
                self.next();
                self.next();
                Ok(Token::FatArrow)
            }
            '-' | '0'..='9' => Ok(Token::Number(self.number())),
            '(' | ')' | '{' | '}' | ',' | ':' | '=' | '#' | '!' => {
                self.next();
                Ok(Token::Punct(c))
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                Ok(Token::Word(self.take_while(|_, c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))))
            }
            other => pos.error(format!("{other:?} has no meaning here")),
        }
    }

    fn number(&mut self) -> String {
        // A sign is part of a number at its start and after the exponent's `e`.
        self.take_while(|taken, c| {
            let sign = taken.is_empty() || (taken.ends_with(['e', 'E']) && !taken.starts_with("0x"));
            c.is_ascii_alphanumeric() || c == '.' || (sign && matches!(c, '-' | '+'))
        })
    }

    fn text(&mut self) -> Result<String, ParseError> {
        let start = self.pos;
        self.next();
        let mut text = String::new();
        loop {
            let pos = self.pos;
            match self.next() {
                None => return start.error("this text has no closing quote"),
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape(pos)?),
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, pos: Pos) -> Result<char, ParseError> {
        match self.next() {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('0') => Ok('\0'),
            Some(c @ ('\\' | '"' | '\'')) => Ok(c),
            Some('u') if self.peek(0) == Some('{') => {
                self.next();
                let digits = self.take_while(|_, c| c.is_ascii_hexdigit());
                let code = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                match (self.next(), code) {
                    (Some('}'), Some(c)) => Ok(c),
                    _ => pos.error("this is not the number of a character"),
                }
            }
            _ => pos.error("unknown escape"),
        }
    }
}
