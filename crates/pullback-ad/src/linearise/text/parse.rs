//! How the text of a linear program is read.

use crate::analysis::points_to::lanes::Lane;
use crate::analysis::points_to::objects::ObjId;
use crate::custom::Storage;
use crate::linearise::linear::{Beside, CopiedWord, Linear};
use crate::linearise::program::LinearFunction;
use crate::linearise::rule_call::{Kept, Pullback};
use pullback_ir::{CastOp, Copies, FuncId, Function, Inst, Module, Terminator, Type, Value, ValueDef, parse_module};
use pullback_rules::{Coefficient, Factor, Support};
use std::collections::HashSet;

/// The module of one function that a text says, and its linear operations.
///
/// # Errors
/// A sentence that says what is wrong with the text, and where.
pub fn parse(text: &str) -> Result<(Module, FuncId, LinearFunction), String> {
    let is_linear = |line: &&str| line.trim_start().starts_with('|');
    let (heading, text) = text.trim_start().split_once('\n').ok_or("there is one line only")?;
    let plain: Vec<&str> = text.lines().filter(|line| !is_linear(line)).collect();
    let mut module = parse_module(&plain.join("\n")).map_err(|error| error.to_string())?;
    let (id, _) = module.functions().find(|(_, f)| !f.is_declaration()).ok_or("there is no function")?;
    let mut linear = LinearFunction::default();
    let func = module.func_mut(id);
    read_heading(func, heading, &mut linear)?;
    let insts = func.blocks().flat_map(|block| func.block(block).insts.iter().map(|i| Some(*i)).chain([None]));
    let mut insts = insts.collect::<Vec<Option<Inst>>>().into_iter();
    let mut last = None;
    let mut inside = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        if let Some(operation) = trimmed.strip_prefix('|') {
            let inst = last.ok_or_else(|| format!("line {}: there is no instruction before it", number + 2))?;
            let operation = Reader::new(func, operation).operation();
            linear.push(inst, operation.map_err(|error| format!("line {}: {error}", number + 2))?);
        } else if trimmed.starts_with("fn ") {
            inside = true;
        } else if inside && line.starts_with("  ") && !trimmed.is_empty() && !trimmed.starts_with(';') {
            last = insts.next().flatten();
        }
    }
    linear.active = tangents(func, &linear);
    Ok((module, id, linear))
}

fn read_heading(func: &mut Function, heading: &str, linear: &mut LinearFunction) -> Result<(), String> {
    let rest = heading.trim().strip_prefix("linear").ok_or("the first line begins with `linear`")?;
    let (params, result) = rest.split_once("->").map_or((rest, false), |(params, _)| (params, true));
    for name in params.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        linear.params.push(Reader::new(func, name).value()?);
    }
    linear.returns_active = result;
    for block in func.blocks().collect::<Vec<_>>() {
        if let Terminator::Return(Some(value)) = func.block(block).term {
            linear.returned.insert(block, value);
        }
    }
    Ok(())
}

/// The values with a tangent: parameters, results of operations, and block parameters that are handed one.
fn tangents(func: &Function, linear: &LinearFunction) -> HashSet<Value> {
    let mut active: HashSet<Value> = linear.params.iter().copied().collect();
    active.extend(linear.all().filter_map(|(_, operation)| operation.result()));
    let is_param = |value: Value| matches!(func.value(value).def, ValueDef::Param(..));
    Copies::new(func, func.blocks()).close_forwards(&mut active, is_param);
    active
}

/// What comes after the last token.
const END: &str = "the end of the line";

/// Reads one line.
struct Reader<'f, 't> {
    func: &'f mut Function,
    tokens: Vec<&'t str>,
    next: usize,
}

impl<'f, 't> Reader<'f, 't> {
    fn new(func: &'f mut Function, text: &'t str) -> Self {
        let mut tokens = Vec::new();
        let mut rest = text.trim_start();
        while let Some(first) = rest.chars().next().filter(|first| *first != ';') {
            let two = ["->", "<-"].into_iter().find(|two| rest.starts_with(two));
            let is_word = |c: char| c.is_alphanumeric() || "_.:'".contains(c);
            let length = match two {
                Some(two) => two.len(),
                None if first == '`' => rest[1..].find('`').map_or(rest.len(), |end| end + 2),
                None if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
                None => first.len_utf8(),
            };
            tokens.push(&rest[..length]);
            rest = rest[length..].trim_start();
        }
        Reader { func, tokens, next: 0 }
    }

    fn peek(&self) -> &'t str {
        self.tokens.get(self.next).copied().unwrap_or(END)
    }

    fn take(&mut self) -> &'t str {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.peek() == token;
        self.next += usize::from(found);
        found
    }

    /// What comes after this token.
    fn after(&mut self, token: &str) -> Result<&mut Self, String> {
        if self.eat(token) { Ok(self) } else { Err(format!("`{token}` is expected, not `{}`", self.peek())) }
    }

    /// What is between commas up to this token.
    fn list<T>(&mut self, end: &str, read: impl Fn(&mut Self) -> Result<T, String>) -> Result<Vec<T>, String> {
        let mut all = Vec::new();
        while !self.eat(end) {
            if !all.is_empty() {
                self.after(",")?;
            }
            all.push(read(self)?);
        }
        Ok(all)
    }

    fn number<N: std::str::FromStr>(&mut self) -> Result<N, String> {
        let token = self.take();
        token.parse().map_err(|_| format!("a number is expected, not `{token}`"))
    }

    /// A value, or the tangent of one: the prime is left out.
    fn value(&mut self) -> Result<Value, String> {
        let sign = if self.eat("-") { "-" } else { "" };
        let token = self.take().trim_end_matches('\'');
        let unknown = || format!("a value is expected, not `{token}`");
        if let Some(number) = token.strip_prefix('v').filter(|_| sign.is_empty()) {
            let index: usize = number.parse().map_err(|_| unknown())?;
            return if index < self.func.value_bound() { Ok(Value::from_index(index)) } else { Err(unknown()) };
        }
        let float = |suffix: &str| token.strip_suffix(suffix).and_then(|t| format!("{sign}{t}").parse::<f64>().ok());
        match (token, token.split_once(':')) {
            ("null", _) => Ok(self.func.zero(&Type::Ptr)),
            ("true" | "false", _) => Ok(self.func.int(Type::Int(1), i128::from(token == "true"))),
            (_, Some((number, ty))) => {
                let bits = ty.strip_prefix('i').and_then(|bits| bits.parse().ok()).ok_or_else(unknown)?;
                let number = format!("{sign}{number}").parse().map_err(|_| unknown())?;
                Ok(self.func.int(Type::Int(bits), number))
            }
            _ => match (float("f64"), float("f32")) {
                (Some(number), _) => Ok(self.func.float(Type::F64, number)),
                (_, Some(number)) => Ok(self.func.float(Type::F32, number)),
                _ => Err(unknown()),
            },
        }
    }

    fn maybe(&mut self) -> Result<Option<Value>, String> {
        self.unless_missing(Self::value)
    }

    fn unless_missing<T>(&mut self, read: impl Fn(&mut Self) -> Result<T, String>) -> Result<Option<T>, String> {
        if self.eat("_") { Ok(None) } else { read(self).map(Some) }
    }

    fn function(&mut self) -> Result<FuncId, String> {
        let name = self.take();
        let number = name.strip_prefix("fn").and_then(|n| n.parse().ok());
        number.map(FuncId::from_index).ok_or_else(|| format!("a function is expected, not `{name}`"))
    }

    /// One for each batch direction.
    fn each(&mut self) -> Result<Vec<Value>, String> {
        if self.eat("{") { self.list("}", Self::value) } else { Ok(vec![self.value()?]) }
    }

    fn ty(&mut self) -> Result<Type, String> {
        if self.eat("{") {
            return Ok(Type::structure(self.list("}", Self::ty)?));
        }
        match self.take() {
            "f32" => Ok(Type::F32),
            "f64" => Ok(Type::F64),
            "ptr" => Ok(Type::Ptr),
            other => {
                let bits = other.strip_prefix('i').and_then(|bits| bits.parse().ok());
                bits.map(Type::Int).ok_or_else(|| format!("a type is expected, not `{other}`"))
            }
        }
    }

    fn lane(&mut self) -> Result<Lane, String> {
        let token = self.take();
        let parts: Vec<u64> = token.split(':').filter_map(|part| part.parse().ok()).collect();
        match parts[..] {
            [offset, stride, width, last] => Ok(Lane { offset, stride, width, last }),
            _ => Err(format!("a lane is expected, not `{token}`")),
        }
    }

    fn beside(&mut self) -> Result<Beside, String> {
        if !self.eat("beside") {
            return Ok(Beside::Floats);
        }
        self.after("numbers")?;
        Ok(Beside::Numbers)
    }

    fn operation(&mut self) -> Result<Linear, String> {
        let operation = if self.tokens.get(1) == Some(&"=") {
            let result = self.maybe()?;
            self.after("=")?.result(result)?
        } else {
            self.effect()?
        };
        if self.next < self.tokens.len() { Err(format!("`{}` is too much", self.peek())) } else { Ok(operation) }
    }

    /// What comes after the equals sign.
    fn result(&mut self, result: Option<Value>) -> Result<Linear, String> {
        if self.eat("call") {
            let reverse = self.function()?;
            return Ok(Linear::Call { result, reverse, args: self.after("(")?.list(")", Self::value)? });
        }
        let result = result.ok_or("a result is expected")?;
        let known = |word: &str| self.peek() == word;
        if !["quotient", "fpext", "fptrunc", "bits", "select", "extract", "insert", "load", "word"]
            .into_iter()
            .any(known)
        {
            let mut terms = vec![self.term()?];
            while self.eat("+") {
                terms.push(self.term()?);
            }
            return Ok(Linear::Sum(result, terms));
        }
        Ok(match self.take() {
            "quotient" => {
                let (x, y) = (self.maybe()?, self.after(",")?.maybe()?);
                Linear::Quotient { result, x, y, divisor: self.after("by")?.maybe()? }
            }
            "fpext" => Linear::Cast(result, CastOp::FpExt, self.value()?),
            "fptrunc" => Linear::Cast(result, CastOp::FpTrunc, self.value()?),
            "bits" => Linear::Bits(result, self.value()?),
            "select" => {
                let (cond, a) = (self.value()?, self.after(",")?.maybe()?);
                Linear::Select(result, cond, a, self.after(",")?.maybe()?)
            }
            "extract" => Linear::Extract(result, self.value()?, self.after(",")?.number()?),
            "insert" => {
                let (into, value) = (self.maybe()?, self.after(",")?.maybe()?);
                Linear::Insert(result, into, value, self.after(",")?.number()?)
            }
            "load" => Linear::Load(result, self.each()?, self.beside()?),
            _ => {
                let shadow = self.each()?;
                Linear::WordLoad { result, shadow, words: self.after("was")?.each()? }
            }
        })
    }

    fn term(&mut self) -> Result<(Value, Coefficient), String> {
        let is_value = |token: &str| token.starts_with('v') || token.contains(['f', ':']);
        let scale = match self.tokens.get(self.next + 1) {
            Some(&"*") if !is_value(self.peek()) => {
                let scale = self.number::<f64>()?;
                self.after("*")?;
                Some(scale)
            }
            _ => None,
        };
        let negative = self.tokens.get(self.next + 1).is_some_and(|next| next.ends_with('\'')) && self.eat("-");
        let first = self.value()?;
        let (value, factor) = match (self.eat("*"), scale) {
            (true, Some(scale)) => (self.value()?, Factor::Scaled(scale, first)),
            (true, None) => (self.value()?, Factor::Value(first)),
            (false, _) => (first, if negative { Factor::MinusOne } else { Factor::One }),
        };
        let support = match self.peek() {
            "if" | "unless" => {
                let when = self.take() == "if";
                Some(Support { cond: self.value()?, when })
            }
            _ => None,
        };
        Ok((value, Coefficient { factor, support }))
    }

    /// An operation without a result.
    fn effect(&mut self) -> Result<Linear, String> {
        Ok(match self.take() {
            "store" => {
                let (ty, value) = (self.ty()?, self.maybe()?);
                Linear::Store { value, ty, shadow: self.after("->")?.each()? }
            }
            "copy" => {
                let (dst, src) = (self.each()?, self.after("<-")?.unless_missing(Self::each)?);
                let len = self.after(",")?.value()?;
                self.after("floats")?;
                let mut floats = Vec::new();
                while !["beside", END].contains(&self.peek()) {
                    floats.push(self.lane()?);
                }
                Linear::Copy { dst, src, len, floats, beside: self.beside()? }
            }
            word @ ("restore" | "uncover") => {
                let (shadow, old) = (self.each()?, self.after("<-")?.each()?);
                if word == "restore" { Linear::Restore { shadow, old } } else { Linear::Uncover { shadow, old } }
            }
            "word" => {
                let (value, shadow) = (self.maybe()?, self.after("->")?.value()?);
                let (word, old) = (self.after("as")?.value()?, self.after("was")?.value()?);
                Linear::WordStore { value, direction: self.after("direction")?.number()?, shadow, word, old }
            }
            "words" if self.peek() == "(" => {
                let mut words = Vec::new();
                while self.eat("(") {
                    let (dst, src) = (self.value()?, self.value()?);
                    words.push(CopiedWord { dst, src, word: self.value()?, old: self.value()? });
                    self.after(")")?;
                }
                Linear::WordCopy(words)
            }
            "words" => {
                let (dst, src) = (self.value()?, self.after("<-")?.maybe()?);
                let len = self.after(",")?.value()?;
                Linear::WordCopies { dst, src, len, lane: self.after("lane")?.lane()? }
            }
            "give" => Linear::Given(self.value()?, self.each()?),
            "rule" => Linear::Rule(Box::new(self.pullback()?)),
            other => return Err(format!("`{other}` is no linear operation")),
        })
    }
    fn pullback(&mut self) -> Result<Pullback, String> {
        let (function, name) = (self.function()?, self.take());
        let bare = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        let name = bare.ok_or_else(|| format!("a name is expected, not `{name}`"))?.to_owned();
        let closure = self.kept()?;
        let views = self.after("views")?.after("{")?.list("}", Self::kept)?;
        let (mut shadows, mut borrowed) = (Vec::new(), Vec::new());
        self.after("shadows")?;
        while self.eat("(") {
            shadows.push(self.list(")", Self::maybe)?);
        }
        if self.eat("borrows") {
            while !["owning", "strong", END].contains(&self.peek()) {
                borrowed.push(ObjId::from_index(self.number()?));
            }
        }
        let owning = if self.eat("owning") { Some(self.function()?) } else { None };
        let ty = |this: &mut Self| this.unless_missing(Self::ty);
        let strong = if self.eat("strong") { Some(self.after("(")?.list(")", ty)?) } else { None };
        Ok(Pullback { function, closure, views, shadows, borrowed, owning, strong, name })
    }

    fn kept(&mut self) -> Result<Kept, String> {
        let Some((size, align)) = self.peek().split_once(':') else { return self.value().map(Kept::InPlace) };
        let number = |text: &str| text.parse().map_err(|_| format!("a number is expected, not `{text}`"));
        let storage = Storage { size: number(size)?, align: number(align)? };
        self.take();
        let word = |this: &mut Self| Ok((this.number()?, this.value()?));
        Ok(Kept::Words(storage, self.after("(")?.list(")", word)?))
    }
}
