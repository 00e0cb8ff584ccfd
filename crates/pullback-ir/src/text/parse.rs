//! Reading a module.
//!
//! Given text, hands on the module or the first error. All declarations are read before the first body, so that a body
//! may call a function that stands below it; bodies are read in [`body`](super::body).

use super::body::parse_body;
use super::lex::{ParseError, Pos, Token, lex};
use crate::entities::{Entity, FuncId, GlobalId, SourceLoc};
use crate::function::{FuncAttrs, Function, MemoryEffects};
use crate::module::{Global, Location, Module};
use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// Read a module in the text format.
pub fn parse_module(text: &str) -> Result<Module, ParseError> {
    let mut cursor = Cursor { tokens: lex(text)?, at: 0, nesting: 0 };
    let mut parser = ModuleParser::default();
    while !cursor.is(&Token::End) {
        parser.item(&mut cursor)?;
    }
    let ModuleParser { mut module, globals, bodies, .. } = parser;
    for Body { id, params, start } in bodies {
        cursor.at = start;
        let symbols = Symbols { module: &module, globals: &globals };
        let function = parse_body(&mut cursor, module.func(id).clone(), params, &symbols)?;
        *module.func_mut(id) = function;
    }
    Ok(module)
}

/// A body to read once all names are known.
struct Body {
    id: FuncId,
    /// The entry's parameters where the header names them: value number and place.
    params: Option<Vec<(u32, Pos)>>,
    /// The token after the opening brace.
    start: usize,
}

#[derive(Default)]
struct ModuleParser {
    module: Module,
    globals: HashMap<String, GlobalId>,
    bodies: Vec<Body>,
    locations: u32,
}

impl ModuleParser {
    fn item(&mut self, c: &mut Cursor) -> Result<(), ParseError> {
        let pos = c.pos();
        let word = c.word("`fn`, `declare`, `global` or a location")?;
        match word.as_str() {
            "global" => self.global(c),
            "declare" => self.function(c, pos, false),
            "fn" => self.function(c, pos, true),
            _ => match numbered(&word, "loc") {
                Some(number) => self.location(c, pos, number),
                None => pos.error(format!("`{word}` starts nothing: expected `fn`, `declare`, `global` or a location")),
            },
        }
    }

    fn location(&mut self, c: &mut Cursor, pos: Pos, number: u32) -> Result<(), ParseError> {
        if number != self.locations {
            return pos.error(format!("locations are numbered in order: the next is loc{}", self.locations));
        }
        c.punct('=')?;
        let file = c.text()?;
        c.punct(':')?;
        let line = c.integer("a line")?;
        c.punct(':')?;
        let column = c.integer("a column")?;
        let function = if c.eat_word("in") { c.text()? } else { String::new() };
        let inlined_at = if c.eat_word("at") { Some(self.known_location(c)?) } else { None };
        let loc = self.module.add_location(Location { file, line, column, function, inlined_at });
        if loc.index() != number as usize {
            return pos.error(format!("this location is {loc} already"));
        }
        self.locations += 1;
        Ok(())
    }

    fn known_location(&self, c: &mut Cursor) -> Result<SourceLoc, ParseError> {
        let pos = c.pos();
        c.numbered::<SourceLoc>("loc", "a location")
            .and_then(|l| if l.0 < self.locations { Ok(l) } else { pos.error(format!("there is no {l} above")) })
    }

    fn global(&mut self, c: &mut Cursor) -> Result<(), ParseError> {
        let name = c.symbol()?;
        let size = c.integer("a size")?;
        c.keyword("align")?;
        let align = c.integer("an alignment")?;
        let constant = c.eat_word("constant");
        let bytes = if c.eat(&Token::Punct('=')) {
            c.keyword("x")?;
            let pos = c.pos();
            let text = c.text()?;
            Some(hex_bytes(&text).map_or_else(|| pos.error("bytes are pairs of hexadecimal digits"), Ok)?)
        } else {
            None
        };
        let id = self.module.add_global(Global { name: name.clone(), size, align, constant, bytes });
        self.globals.entry(name).or_insert(id);
        Ok(())
    }

    fn function(&mut self, c: &mut Cursor, pos: Pos, has_body: bool) -> Result<(), ParseError> {
        let name = c.symbol()?;
        if self.module.find(&name).is_some() {
            return pos.error(format!("two functions are named @{name}"));
        }
        let (types, names) = header_params(c)?;
        let ret = if c.eat(&Token::Arrow) { Some(c.ty()?) } else { None };
        let mut function = Function::new(name, types, ret);
        function.attrs = attributes(c);
        let id = self.module.add_function(function);
        if has_body {
            c.punct('{')?;
            self.bodies.push(Body { id, params: names, start: c.at });
            c.skip_braces(pos)?;
        }
        Ok(())
    }
}

type HeaderParams = (Vec<Type>, Option<Vec<(u32, Pos)>>);

/// The parameters of a header: all of them named, or none.
fn header_params(c: &mut Cursor) -> Result<HeaderParams, ParseError> {
    let mut types = Vec::new();
    let mut names = Vec::new();
    let start = c.pos();
    c.punct('(')?;
    while !c.eat(&Token::Punct(')')) {
        if !types.is_empty() {
            c.punct(',')?;
        }
        let pos = c.pos();
        if let Some(number) = c.eat_numbered("v") {
            names.push((number, pos));
            c.punct(':')?;
        }
        types.push(c.ty()?);
    }
    match names.len() {
        0 if !types.is_empty() => Ok((types, None)),
        n if n == types.len() => Ok((types, Some(names))),
        _ => start.error("either all parameters have a name or none"),
    }
}

fn attributes(c: &mut Cursor) -> FuncAttrs {
    let mut attrs = FuncAttrs::default();
    loop {
        if c.eat_word("readnone") {
            attrs.memory = MemoryEffects::None;
        } else if c.eat_word("readonly") {
            attrs.memory = MemoryEffects::Read;
        } else if c.eat_word("noreturn") {
            attrs.noreturn = true;
        } else if c.eat_word("inactive") {
            attrs.inactive = true;
        } else {
            return attrs;
        }
    }
}

fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u32> = text.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let pairs = digits.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    Some(pairs.map(|p| (p[0] * 16 + p[1]) as u8).collect())
}

/// The names a body may use.
pub(super) struct Symbols<'a> {
    pub module: &'a Module,
    pub globals: &'a HashMap<String, GlobalId>,
}

/// The number in `v3`, `b0`, `loc7`.
pub(super) fn numbered(word: &str, prefix: &str) -> Option<u32> {
    let digits = word.strip_prefix(prefix)?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) { None } else { digits.parse().ok() }
}

/// A place among the tokens.
pub(super) struct Cursor {
    tokens: Vec<(Token, Pos)>,
    at: usize,
    /// How many struct types are open here.
    nesting: usize,
}

/// Struct types nest no deeper: reading them is recursive.
const MAX_NESTING: usize = 64;
/// No type is larger, so that sums of sizes do not overflow.
const MAX_SIZE: u64 = 1 << 40;

impl Cursor {
    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    pub(super) fn pos(&self) -> Pos {
        self.tokens[self.at].1
    }

    /// The token here; go on, but never past the end.
    pub(super) fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn is(&self, token: &Token) -> bool {
        self.peek() == token
    }

    pub(super) fn eat(&mut self, token: &Token) -> bool {
        let found = self.is(token);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if w == word);
        if found {
            self.next();
        }
        found
    }

    /// `v3` and the like: its number.
    pub(super) fn eat_numbered(&mut self, prefix: &str) -> Option<u32> {
        let Token::Word(word) = self.peek() else { return None };
        let number = numbered(word, prefix)?;
        self.next();
        Some(number)
    }

    pub(super) fn numbered<E: Entity>(&mut self, prefix: &str, what: &str) -> Result<E, ParseError> {
        match self.eat_numbered(prefix) {
            Some(number) => Ok(E::from_index(number as usize)),
            None => self.expected(what),
        }
    }

    pub(super) fn expected<T>(&self, what: &str) -> Result<T, ParseError> {
        self.pos().error(format!("expected {what}, found {}", self.peek()))
    }

    pub(super) fn punct(&mut self, c: char) -> Result<(), ParseError> {
        if self.eat(&Token::Punct(c)) { Ok(()) } else { self.expected(&format!("`{c}`")) }
    }

    pub(super) fn keyword(&mut self, word: &str) -> Result<(), ParseError> {
        if self.eat_word(word) { Ok(()) } else { self.expected(&format!("`{word}`")) }
    }

    pub(super) fn word(&mut self, what: &str) -> Result<String, ParseError> {
        match self.peek().clone() {
            Token::Word(w) => {
                self.next();
                Ok(w)
            }
            _ => self.expected(what),
        }
    }

    pub(super) fn symbol(&mut self) -> Result<String, ParseError> {
        match self.peek().clone() {
            Token::Symbol(s) => {
                self.next();
                Ok(s)
            }
            _ => self.expected("a name that starts with `@`"),
        }
    }

    pub(super) fn text(&mut self) -> Result<String, ParseError> {
        match self.peek().clone() {
            Token::Text(t) => {
                self.next();
                Ok(t)
            }
            _ => self.expected("a text in quotes"),
        }
    }

    pub(super) fn integer<N: std::str::FromStr>(&mut self, what: &str) -> Result<N, ParseError> {
        match self.peek() {
            Token::Number(n) => match n.parse() {
                Ok(number) => {
                    self.next();
                    Ok(number)
                }
                Err(_) => self.expected(what),
            },
            _ => self.expected(what),
        }
    }

    /// Whether a type starts here.
    pub(super) fn at_type(&self) -> bool {
        match self.peek() {
            Token::Word(w) => matches!(w.as_str(), "f32" | "f64" | "ptr" | "opaque") || numbered(w, "i").is_some(),
            Token::Punct('{') => true,
            _ => false,
        }
    }

    pub(super) fn ty(&mut self) -> Result<Type, ParseError> {
        if !self.at_type() {
            return self.expected("a type");
        }
        let pos = self.pos();
        match self.next() {
            Token::Word(w) => match w.as_str() {
                "f32" => Ok(Type::F32),
                "f64" => Ok(Type::F64),
                "ptr" => Ok(Type::Ptr),
                "opaque" => self.opaque_type(),
                _ => match numbered(&w, "i") {
                    Some(bits @ 1..=128) => Ok(Type::Int(bits as u16)),
                    _ => pos.error(format!("{w} is no type: integers have 1 to 128 bits")),
                },
            },
            _ => {
                if self.nesting == MAX_NESTING {
                    return pos.error(format!("struct types nest at most {MAX_NESTING} deep"));
                }
                self.nesting += 1;
                let mut fields = Vec::new();
                while !self.eat(&Token::Punct('}')) {
                    if !fields.is_empty() {
                        self.punct(',')?;
                    }
                    fields.push(self.ty()?);
                }
                self.nesting -= 1;
                Ok(Type::structure(fields))
            }
        }
    }

    fn opaque_type(&mut self) -> Result<Type, ParseError> {
        self.punct('(')?;
        let name: Arc<str> = self.text()?.into();
        self.punct(',')?;
        let pos = self.pos();
        let size: u64 = self.integer("a size")?;
        self.punct(',')?;
        let align: u64 = self.integer("an alignment")?;
        self.punct(')')?;
        if size > MAX_SIZE || align > MAX_SIZE || !align.is_power_of_two() {
            return pos.error("no type has this size and alignment");
        }
        Ok(Type::Opaque(name, size, align))
    }

    /// Go on behind the brace that closes the one just read.
    fn skip_braces(&mut self, start: Pos) -> Result<(), ParseError> {
        let mut depth = 1;
        while depth > 0 {
            match self.next() {
                Token::Punct('{') => depth += 1,
                Token::Punct('}') => depth -= 1,
                Token::End => return start.error("this function has no closing `}`"),
                _ => {}
            }
        }
        Ok(())
    }
}
