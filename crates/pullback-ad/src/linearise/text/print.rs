//! How a linear program is written down.

use crate::analysis::points_to::lanes::Lane;
use crate::custom::Storage;
use crate::linearise::linear::{Beside, CopiedWord, Linear};
use crate::linearise::program::LinearFunction;
use crate::linearise::rule_call::{Kept, Pullback};
use pullback_ir::text::{function_text, value_text};
use pullback_ir::{CastOp, Function, Module, Type, Value};
use pullback_rules::{Coefficient, Factor, Support};
use std::fmt::Write;

/// The text of a function, with the names of `module`, and its linear operations.
pub fn print(module: &Module, func: &Function, linear: &LinearFunction) -> String {
    let printer = Printer { module, func };
    let result = if linear.returns_active { "-> result" } else { "" };
    let heading = format!("linear {} {result}", list(&linear.params, |v| printer.value(*v)));
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

    fn each(&self, values: &[Value]) -> String {
        match values {
            [only] => self.value(*only),
            all => format!("{{{}}}", list(all, |v| self.value(*v))),
        }
    }

    fn kept(&self, kept: &Kept) -> String {
        match kept {
            Kept::InPlace(memory) => self.value(*memory),
            Kept::Words(Storage { size, align }, words) => {
                format!("{size}:{align}({})", list(words, |(at, word)| format!("{at} {}", self.value(*word))))
            }
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
        let computed = self.computed(operation);
        match (operation.result(), operation) {
            (None, Linear::Call { .. }) => format!("_ = {computed}"),
            (Some(result), _) => format!("{} = {computed}", self.tangent(result)),
            (None, _) => computed,
        }
    }

    /// What comes after the equals sign, if there is one.
    fn computed(&self, operation: &Linear) -> String {
        match operation {
            Linear::Sum(_, terms) => terms.iter().map(|term| self.term(term)).collect::<Vec<_>>().join(" + "),
            Linear::Quotient { x, y, divisor, .. } => {
                let by = divisor.map_or_else(|| "_".to_owned(), |divisor| self.value(divisor));
                format!("quotient {}, {} by {by}", self.maybe(*x), self.maybe(*y))
            }
            Linear::Cast(_, CastOp::FpExt, from) => format!("fpext {}", self.tangent(*from)),
            Linear::Cast(_, _, from) => format!("fptrunc {}", self.tangent(*from)),
            Linear::Bits(_, from) => format!("bits {}", self.tangent(*from)),
            Linear::Select(_, cond, a, b) => {
                format!("select {}, {}, {}", self.value(*cond), self.maybe(*a), self.maybe(*b))
            }
            Linear::Extract(_, from, i) => format!("extract {}, {i}", self.tangent(*from)),
            Linear::Insert(_, into, value, i) => format!("insert {}, {}, {i}", self.maybe(*into), self.maybe(*value)),
            Linear::Load(_, shadow, beside) => format!("load {}{}", self.each(shadow), numbers(*beside)),
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
            Linear::WordLoad { shadow, words, .. } => format!("word {} was {}", self.each(shadow), self.each(words)),
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
            Linear::Call { reverse, args, .. } => {
                format!("call fn{}({})", reverse.index(), list(args, |v| self.tangent(*v)))
            }
            Linear::Given(arg, given) => format!("give {} {}", self.tangent(*arg), self.each(given)),
            Linear::Rule(pullback) => {
                let Pullback { function, closure, views, shadows, borrowed, owning, strong, name } = &**pullback;
                let views = list(views, |view| self.kept(view));
                let shadow = |v: &Option<Value>| v.map_or_else(|| "_".to_owned(), |v| self.value(v));
                let shadows: Vec<String> = shadows.iter().map(|all| format!(" ({})", list(all, shadow))).collect();
                let (function, closure, shadows) = (function.index(), self.kept(closure), shadows.concat());
                let mut text = format!("rule fn{function} `{name}` {closure} views {{{views}}} shadows{shadows}");
                if !borrowed.is_empty() {
                    let _ = write!(text, " borrows");
                    borrowed.iter().for_each(|object| text += &format!(" {}", object.index()));
                }
                if let Some(owning) = owning {
                    let _ = write!(text, " owning fn{}", owning.index());
                }
                if let Some(strong) = strong {
                    let ty = |ty: &Option<Type>| ty.as_ref().map_or_else(|| "_".to_owned(), Type::to_string);
                    let _ = write!(text, " strong ({})", list(strong, ty));
                }
                text
            }
        }
    }
}

fn list<T>(all: &[T], text: impl Fn(&T) -> String) -> String {
    all.iter().map(text).collect::<Vec<_>>().join(", ")
}

fn numbers(beside: Beside) -> &'static str {
    if beside == Beside::Numbers { " beside numbers" } else { "" }
}

fn lane(Lane { offset, stride, width, last }: &Lane) -> String {
    format!("{offset}:{stride}:{width}:{last}")
}
