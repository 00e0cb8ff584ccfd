//! The text form of a [`LinearFunction`]: the text of its function, with a line that begins with `|` for each linear
//! operation, after the instruction that it belongs to. A prime marks a tangent.
//!
//! ```text
//! linear v1, v2                        ; the parameters with a tangent; `linear v1 -> result` if what is returned has one
//! fn @f(v0: ptr, v1: f64, v2: f64, v3: ptr, v4: ptr) {
//! b0:
//!   v5 = fmul v1, v2
//!   | v5' = v2*v1' + v1*v2'
//!   store v3, v5
//!   | store f64 v5' -> v4
//!   return
//! }
//! ```
//!
//! | operation | spelling |
//! |---|---|
//! | sum | `v5' = v2*v1' + -v3' + 2*v4*v4' if v9`: a coefficient is 1, −1, a value, or a power of two and a value; it may have a support, `if` or `unless` |
//! | quotient | `v5' = quotient v1', v2' by v2`; `by _` where the dividend is 1 |
//! | change of precision, of type | `v5' = fpext v1'`, `v5' = bits v1'` |
//! | selection | `v5' = select v9, v1', _` |
//! | aggregates | `v5' = extract v1', 0`, `v5' = insert v1', v2', 0` |
//! | memory | `v5' = load v4`, `store f64 v5' -> v4`, `copy v4 <- v6, v7 floats 0:8:8:24`: offset, stride, width and last place of each lane; `beside numbers` where a number of the caller's may lie in the place of a float |
//! | shadow pointers that are put back | `restore v4 <- v8`, `uncover v4 <- v8` |
//! | words | `v5' = word v4 was v8`, `word v5' -> v4 as v7 was v8 direction 0`, `words (v1 v2 v3 v4)`, `words v4 <- v6, v7 lane 0:8:8:24` |
//! | calls | `v5' = call fn3(v1', v2')`, `give v1' v7`; `rule fn3 …`, which is not read back |
//!
//! `_` is what is not there. With several batch directions, what is there for each is a list: `{v4, v5}`.

use crate::analysis::points_to::lanes::Lane;
use crate::linearise::linear::{Beside, CopiedWord, Linear};
use crate::linearise::program::LinearFunction;
use pullback_ir::text::{function_text, value_text};
use pullback_ir::{CastOp, FuncId, Function, Inst, Module, Type, Value, parse_module};
use pullback_rules::{Coefficient, Factor, Support};
use std::fmt::Write;

/// The text of a function, with the names of `module`, and its linear operations.
pub fn print(module: &Module, func: &Function, linear: &LinearFunction) -> String {
    let printer = Printer { module, func };
    let params: Vec<String> = linear.params.iter().map(|v| printer.value(*v)).collect();
    let result = if linear.returns_active { "-> result" } else { "" };
    let heading = format!("linear {} {result}", params.join(", "));
    let mut text = heading.split_whitespace().collect::<Vec<_>>().join(" ") + "\n";
    let mut insts = func.blocks().flat_map(|block| func.block(block).insts.iter().map(Some).chain([None]));
    for line in function_text(module, func).lines() {
        let _ = writeln!(text, "{line}");
        // Instructions and terminators are the lines that are indented.
        if line.starts_with("  ")
            && let Some(Some(inst)) = insts.next()
        {
            for operation in linear.at(*inst) {
                let _ = writeln!(text, "  | {}", printer.operation(operation));
            }
        }
    }
    text
}

/// The text of one operation of a function.
pub fn operation(module: &Module, func: &Function, operation: &Linear) -> String {
    Printer { module, func }.operation(operation)
}

struct Printer<'a> {
    module: &'a Module,
    func: &'a Function,
}

impl Printer<'_> {
    fn value(&self, value: Value) -> String {
        value_text(self.module, self.func, value)
    }

    fn tangent(&self, value: Value) -> String {
        format!("{}'", self.value(value))
    }

    fn maybe(&self, value: Option<Value>) -> String {
        value.map_or_else(|| "_".to_owned(), |value| self.tangent(value))
    }

    fn tangents(&self, values: &[Value]) -> String {
        values.iter().map(|v| self.tangent(*v)).collect::<Vec<_>>().join(", ")
    }

    fn each(&self, values: &[Value]) -> String {
        match values {
            [only] => self.value(*only),
            all => format!("{{{}}}", all.iter().map(|v| self.value(*v)).collect::<Vec<_>>().join(", ")),
        }
    }

    fn term(&self, (value, Coefficient { factor, support }): &(Value, Coefficient)) -> String {
        let tangent = self.tangent(*value);
        let product = match factor {
            Factor::One => tangent,
            Factor::MinusOne => format!("-{tangent}"),
            Factor::Value(c) => format!("{}*{tangent}", self.value(*c)),
            Factor::Scaled(k, c) => format!("{k}*{}*{tangent}", self.value(*c)),
        };
        match support {
            None => product,
            Some(Support { cond, when: true }) => format!("{product} if {}", self.value(*cond)),
            Some(Support { cond, when: false }) => format!("{product} unless {}", self.value(*cond)),
        }
    }

    fn operation(&self, operation: &Linear) -> String {
        match operation {
            Linear::Sum(result, terms) => {
                let terms: Vec<String> = terms.iter().map(|term| self.term(term)).collect();
                format!("{} = {}", self.tangent(*result), terms.join(" + "))
            }
            Linear::Quotient { result, x, y, divisor } => {
                let by = divisor.map_or_else(|| "_".to_owned(), |divisor| self.value(divisor));
                format!("{} = quotient {}, {} by {by}", self.tangent(*result), self.maybe(*x), self.maybe(*y))
            }
            Linear::Cast(result, op, from) => {
                let word = if *op == CastOp::FpExt { "fpext" } else { "fptrunc" };
                format!("{} = {word} {}", self.tangent(*result), self.tangent(*from))
            }
            Linear::Bits(result, from) => format!("{} = bits {}", self.tangent(*result), self.tangent(*from)),
            Linear::Select(result, cond, a, b) => {
                let cond = self.value(*cond);
                format!("{} = select {cond}, {}, {}", self.tangent(*result), self.maybe(*a), self.maybe(*b))
            }
            Linear::Extract(result, from, i) => {
                format!("{} = extract {}, {i}", self.tangent(*result), self.tangent(*from))
            }
            Linear::Insert(result, into, value, i) => {
                format!("{} = insert {}, {}, {i}", self.tangent(*result), self.maybe(*into), self.maybe(*value))
            }
            Linear::Load(result, shadow, beside) => {
                format!("{} = load {}{}", self.tangent(*result), self.each(shadow), numbers(*beside))
            }
            Linear::Store { value, ty, shadow } => {
                format!("store {ty} {} -> {}", self.maybe(*value), self.each(shadow))
            }
            Linear::Copy { dst, src, len, floats, beside } => {
                let src = src.as_ref().map_or_else(|| "_".to_owned(), |src| self.each(src));
                let floats: Vec<String> = floats.iter().map(lane).collect();
                let (dst, len) = (self.each(dst), self.value(*len));
                format!("copy {dst} <- {src}, {len} floats {}{}", floats.join(" "), numbers(*beside))
            }
            Linear::Restore { shadow, old } => format!("restore {} <- {}", self.each(shadow), self.each(old)),
            Linear::Uncover { shadow, old } => format!("uncover {} <- {}", self.each(shadow), self.each(old)),
            Linear::WordLoad { result, shadow, words } => {
                format!("{} = word {} was {}", self.tangent(*result), self.each(shadow), self.each(words))
            }
            Linear::WordStore { value, direction, shadow, word, old } => format!(
                "word {} -> {} as {} was {} direction {direction}",
                self.maybe(*value),
                self.value(*shadow),
                self.value(*word),
                self.value(*old)
            ),
            Linear::WordCopy(words) => {
                let word = |w: &CopiedWord| [w.dst, w.src, w.word, w.old].map(|v| self.value(v)).join(" ");
                format!("words {}", words.iter().map(|w| format!("({})", word(w))).collect::<Vec<_>>().join(" "))
            }
            Linear::WordCopies { dst, src, len, lane: at } => {
                let src = src.map_or_else(|| "_".to_owned(), |src| self.value(src));
                format!("words {} <- {src}, {} lane {}", self.value(*dst), self.value(*len), lane(at))
            }
            Linear::Call { result, reverse, args } => {
                format!("{} = call fn{}({})", self.maybe(*result), reverse.index(), self.tangents(args))
            }
            Linear::Given(arg, given) => format!("give {} {}", self.tangent(*arg), self.each(given)),
            Linear::Rule(pullback) => {
                let values: Vec<String> = pullback.values().into_iter().map(|v| self.value(v)).collect();
                format!("rule fn{} `{}` ({})", pullback.function.index(), pullback.name, values.join(", "))
            }
        }
    }
}

fn numbers(beside: Beside) -> &'static str {
    if beside == Beside::Numbers { " beside numbers" } else { "" }
}

fn lane(Lane { offset, stride, width, last }: &Lane) -> String {
    format!("{offset}:{stride}:{width}:{last}")
}

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
    let all = func.blocks().flat_map(|block| func.block(block).insts.iter().map(|i| Some(*i)).chain([None]));
    let all: Vec<Option<Inst>> = all.collect();
    let (mut insts, mut last) = (all.into_iter(), None);
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
        if let pullback_ir::Terminator::Return(Some(value)) = func.block(block).term {
            linear.returned.insert(block, value);
        }
    }
    Ok(())
}

/// The values with a tangent: parameters, results of operations, and block parameters that are handed one.
fn tangents(func: &Function, linear: &LinearFunction) -> std::collections::HashSet<Value> {
    let mut active: std::collections::HashSet<Value> = linear.params.iter().copied().collect();
    active.extend(linear.all().filter_map(|(_, operation)| operation.result()));
    loop {
        let before = active.len();
        for target in func.blocks().flat_map(|block| func.block(block).term.targets()) {
            let handed_on = func.block(target.block).params.iter().zip(&target.args);
            let new: Vec<Value> = handed_on.filter(|(_, arg)| active.contains(arg)).map(|(param, _)| *param).collect();
            active.extend(new);
        }
        if active.len() == before {
            return active;
        }
    }
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
        let mut rest = text.split(';').next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let two = ["->", "<-"].into_iter().find(|two| rest.starts_with(two));
            let is_word = |c: char| c.is_alphanumeric() || "_.:'".contains(c);
            let length = match two {
                Some(two) => two.len(),
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

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("`{token}` is expected, not `{}`", self.peek())) }
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
        if self.eat("_") { Ok(None) } else { self.value().map(Some) }
    }

    /// One for each batch direction.
    fn each(&mut self) -> Result<Vec<Value>, String> {
        if !self.eat("{") {
            return Ok(vec![self.value()?]);
        }
        let mut all = vec![self.value()?];
        while self.eat(",") {
            all.push(self.value()?);
        }
        self.expect("}")?;
        Ok(all)
    }

    fn ty(&mut self) -> Result<Type, String> {
        if self.eat("{") {
            let mut fields = vec![self.ty()?];
            while self.eat(",") {
                fields.push(self.ty()?);
            }
            self.expect("}")?;
            return Ok(Type::structure(fields));
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
        self.expect("numbers")?;
        Ok(Beside::Numbers)
    }

    fn operation(&mut self) -> Result<Linear, String> {
        let operation = if self.tokens.get(1) == Some(&"=") {
            let result = self.maybe()?;
            self.expect("=")?;
            self.result(result)?
        } else {
            self.effect()?
        };
        if self.next < self.tokens.len() { Err(format!("`{}` is too much", self.peek())) } else { Ok(operation) }
    }

    /// What comes after the equals sign.
    fn result(&mut self, result: Option<Value>) -> Result<Linear, String> {
        if self.eat("call") {
            let name = self.take();
            let number = name.strip_prefix("fn").and_then(|n| n.parse().ok());
            let reverse = FuncId::from_index(number.ok_or_else(|| format!("a function is expected, not `{name}`"))?);
            let mut args = Vec::new();
            self.expect("(")?;
            while !self.eat(")") {
                args.push(self.value()?);
                self.eat(",");
            }
            return Ok(Linear::Call { result, reverse, args });
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
                let x = self.maybe()?;
                self.expect(",")?;
                let y = self.maybe()?;
                self.expect("by")?;
                Linear::Quotient { result, x, y, divisor: self.maybe()? }
            }
            "fpext" => Linear::Cast(result, CastOp::FpExt, self.value()?),
            "fptrunc" => Linear::Cast(result, CastOp::FpTrunc, self.value()?),
            "bits" => Linear::Bits(result, self.value()?),
            "select" => {
                let cond = self.value()?;
                self.expect(",")?;
                let a = self.maybe()?;
                self.expect(",")?;
                Linear::Select(result, cond, a, self.maybe()?)
            }
            "extract" => {
                let from = self.value()?;
                self.expect(",")?;
                Linear::Extract(result, from, self.number()?)
            }
            "insert" => {
                let into = self.maybe()?;
                self.expect(",")?;
                let value = self.maybe()?;
                self.expect(",")?;
                Linear::Insert(result, into, value, self.number()?)
            }
            "load" => Linear::Load(result, self.each()?, self.beside()?),
            _ => {
                let shadow = self.each()?;
                self.expect("was")?;
                Linear::WordLoad { result, shadow, words: self.each()? }
            }
        })
    }

    fn term(&mut self) -> Result<(Value, Coefficient), String> {
        let is_value = |token: &str| token.starts_with('v') || token.contains(['f', ':']);
        let scale = match self.tokens.get(self.next + 1) {
            Some(&"*") if !is_value(self.peek()) => {
                let scale = self.number::<f64>()?;
                self.expect("*")?;
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
                let ty = self.ty()?;
                let value = self.maybe()?;
                self.expect("->")?;
                Linear::Store { value, ty, shadow: self.each()? }
            }
            "copy" => {
                let dst = self.each()?;
                self.expect("<-")?;
                let src = if self.eat("_") { None } else { Some(self.each()?) };
                self.expect(",")?;
                let len = self.value()?;
                self.expect("floats")?;
                let mut floats = Vec::new();
                while !["beside", END].contains(&self.peek()) {
                    floats.push(self.lane()?);
                }
                Linear::Copy { dst, src, len, floats, beside: self.beside()? }
            }
            word @ ("restore" | "uncover") => {
                let shadow = self.each()?;
                self.expect("<-")?;
                let old = self.each()?;
                if word == "restore" { Linear::Restore { shadow, old } } else { Linear::Uncover { shadow, old } }
            }
            "word" => {
                let value = self.maybe()?;
                self.expect("->")?;
                let shadow = self.value()?;
                self.expect("as")?;
                let word = self.value()?;
                self.expect("was")?;
                let old = self.value()?;
                self.expect("direction")?;
                Linear::WordStore { value, direction: self.number()?, shadow, word, old }
            }
            "words" if self.peek() == "(" => {
                let mut words = Vec::new();
                while self.eat("(") {
                    let (dst, src) = (self.value()?, self.value()?);
                    words.push(CopiedWord { dst, src, word: self.value()?, old: self.value()? });
                    self.expect(")")?;
                }
                Linear::WordCopy(words)
            }
            "words" => {
                let dst = self.value()?;
                self.expect("<-")?;
                let src = self.maybe()?;
                self.expect(",")?;
                let len = self.value()?;
                self.expect("lane")?;
                Linear::WordCopies { dst, src, len, lane: self.lane()? }
            }
            "give" => Linear::Given(self.value()?, self.each()?),
            other => return Err(format!("`{other}` is no linear operation")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every operation but a rule, in the spelling that the printer has.
    const ALL: &str = "\
linear v1, v2 -> result
fn @f(v0: ptr, v1: f64, v2: f64, v3: ptr, v4: ptr, v5: i64, v6: i1) -> f64 {
b0:
  v7 = fmul v1, v2
  | v7' = v2*v1' + -v2' + 2*v1*v1' if v6 + v2' unless v6
  v8 = fdiv v7, v2
  | v8' = quotient v7', v2' by v2
  | v8' = quotient _, v2' by _
  | v8' = select v6, v7', _
  v9 = load f64 v3
  | v9' = load v4
  | v9' = load {v4, v3} beside numbers
  | v9' = word v4 was v5
  store v3, v9
  | store f64 v9' -> v4
  | store {f64, i64} _ -> {v3, v4}
  | word v9' -> v4 as v5 was 0:i64 direction 1
  | restore v4 <- v3
  | uncover v4 <- v5
  copy v3, v4, v5
  | copy v3 <- v4, v5 floats 0:8:8:24 4:0:4:4 beside numbers
  | copy v3 <- _, 16:i64 floats 0:8:8:8
  | words (v3 v4 v5 v5) (v4 v3 v5 v5)
  | words v3 <- v4, v5 lane 0:8:8:64
  | words v3 <- _, v5 lane 0:8:8:64
  v10 = fptrunc f32 v9
  | v10' = fptrunc v9'
  | v10' = fpext v10'
  | v10' = bits v10'
  | v10' = extract v9', 1
  | v10' = insert v9', _, 0
  | _ = call fn0()
  | v10' = call fn0(v9', v10')
  | give v9' v8
  | v10' = -1.5f64*v9' + 3.0f32*v10'
  return v9
}
";

    #[test]
    fn what_is_printed_is_read_back() {
        let (module, id, linear) = parse(ALL).unwrap();
        assert_eq!(print(&module, module.func(id), &linear), ALL);
        let (_, _, again) = parse(&print(&module, module.func(id), &linear)).unwrap();
        assert_eq!(again, linear);
    }

    #[test]
    fn mistakes_are_told_with_their_lines() {
        let wrong = |line: &str| {
            parse(&format!("linear v0\nfn @f(v0: f64) -> f64 {{\nb0:\n  v1 = fneg v0\n  | {line}\n  return v1\n}}\n"))
                .unwrap_err()
        };
        assert_eq!(wrong("v1' = nonsense"), "line 5: a value is expected, not `nonsense`");
        assert_eq!(wrong("v1' = -v9'"), "line 5: a value is expected, not `v9`");
        assert_eq!(wrong("v1' = -v0' v0'"), "line 5: `v0'` is too much");
        assert_eq!(wrong("v1' = select v0"), "line 5: `,` is expected, not `the end of the line`");
        assert_eq!(wrong("forget v0"), "line 5: `forget` is no linear operation");
    }
}
