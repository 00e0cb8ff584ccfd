//! Joint reversal of calls: what it costs, and that it is right wherever it is done.
//!
//! A split derivative has no such calls, for it does not know the cotangent of its result ahead. So the two are
//! compared.

use pullback_ad::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request, derivative};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{FuncId, Module, parse_module, text, verify};
use std::fmt::Write;

/// `(&[f64], i64) -> f64`.
fn request(split: bool) -> Request {
    let mut layouts = Layouts::default();
    let mut add = |name: &str, size: u64, fields: &[FieldKind]| {
        let fields = fields.iter().enumerate().map(|(i, kind)| Field { offset: 8 * i as u64, kind: *kind });
        layouts.add(Layout { name: name.to_owned(), size, fields: fields.collect() })
    };
    let float = add("f64", 8, &[FieldKind::F64]);
    let number = add("i64", 8, &[FieldKind::Int(8)]);
    let floats = add("&[f64]", 16, &[FieldKind::Pointer(Some(float)), FieldKind::Int(8)]);
    let argument = |name: &str, activity, layout| Argument::new(name, activity, layout);
    Request {
        split,
        ..Request::new(
            Mode::Reverse,
            vec![
                argument("x", Activity::Duplicated, floats),
                argument("n", Activity::Const, number),
                Argument::result(Activity::Duplicated, float),
            ],
            layouts,
        )
    }
}

/// A derivative of `@f`.
struct Derivative {
    module: Module,
    forward: FuncId,
    later: Option<FuncId>,
}

/// What a run of it gave.
struct Run {
    value: f64,
    gradient: Vec<f64>,
    /// The most bytes that were on the tape.
    tape: u64,
    executed: u64,
}

impl Derivative {
    fn new(source: &str, split: bool) -> Self {
        let mut module = parse_module(source).unwrap_or_else(|e| panic!("{e}\n{source}"));
        verify::verify_module(&module).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        let primal = module.find("f").unwrap();
        let made = derivative(&mut module, primal, &request(split), "d").unwrap();
        verify::verify_module(&module).unwrap_or_else(|e| panic!("{e:?}\n{source}"));
        Derivative { module, forward: made.function, later: made.reverse_sweep }
    }

    /// Whether it has a function that reverses a call jointly, with a body.
    fn is_joint(&self) -> bool {
        self.module.functions().any(|(_, f)| f.name.ends_with(".joint") && !f.is_declaration())
    }

    fn text(&self) -> String {
        let ours = self.module.functions().filter(|(_, f)| !f.is_declaration());
        ours.map(|(_, func)| text::function_text(&self.module, func)).collect()
    }

    fn run(&self, x: &[f64], n: i64, seed: f64) -> Run {
        let mut interp = Interp::new(&self.module);
        let tape = interp.new_tape();
        let slice = |interp: &mut Interp, values: &[f64]| {
            let data = interp.alloc_f64s(values).unwrap();
            let bytes = [data.to_le_bytes(), (values.len() as u64).to_le_bytes()].concat();
            (data, interp.alloc_bytes(&bytes).unwrap())
        };
        let (_, primal) = slice(&mut interp, x);
        let (shadow, shadow_place) = slice(&mut interp, &vec![0.0; x.len()]);
        let n = interp.alloc_bytes(&n.to_le_bytes()).unwrap();
        let out = interp.alloc_f64s(&[0.0]).unwrap();
        let cotangent = interp.alloc_f64s(&[seed]).unwrap();
        let values = [tape, primal, shadow_place, n, out, cotangent].map(Val::Ptr);
        interp.call(self.forward, &values).unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        if let Some(later) = self.later {
            interp.call(later, &[Val::Ptr(tape)]).unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        }
        assert_eq!(interp.tape_bytes(tape), Some(0), "something is left on the tape\n{}", self.text());
        assert_eq!(interp.read_f64s(cotangent, 1).unwrap(), [0.0], "the cotangent of the result is still there");
        Run {
            value: interp.read_f64s(out, 1).unwrap()[0],
            gradient: interp.read_f64s(shadow, x.len()).unwrap(),
            tape: interp.tape_high_water(tape).unwrap(),
            executed: interp.executed(),
        }
    }
}

/// The entry: loads the arguments, calls `@g` and stores what it returns.
const ENTRY: &str = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  v5 = load f64 v3
  v6 = call @g(v4, v5, v3)
  v7 = fmul v6, 1.5f64
  store v2, v7
  return
}
";

/// `g(n, x, a) = Σ_i ±a[i]·g(n − 1, …)`, as in a determinant by minors.
const MINORS: &str = "
fn @g(v0: i64, v1: f64, v2: ptr) -> f64 {
b0:
  v3 = icmp sle v0, 0:i64
  branch v3, b4(1.0f64), b1
b1:
  v4 = sub v0, 1:i64
  jump b2(0:i64, 0.0f64)
b2(v5: i64, v6: f64):
  v7 = mul v5, 8:i64
  v8 = ptradd v2, v7
  v9 = load f64 v8
  v10 = call @g(v4, 0.0f64, v2)
  v11 = fmul v9, v10
  v12 = and v5, 1:i64
  v13 = icmp eq v12, 0:i64
  v14 = fneg v11
  v15 = select v13, v11, v14
  v16 = fadd v6, v15
  v17 = add nuw v5, 1:i64
  v18 = icmp eq v17, v0
  branch v18, b3(v16), b2(v17, v16)
b3(v19: f64):
  jump b4(v19)
b4(v20: f64):
  return v20
}
";

/// A recursion by minors keeps nothing, and takes less than three times the instructions of its primal; the pair of an
/// augmented primal and its reverse keeps something for each term.
#[test]
fn minors_keep_nothing() {
    let source = format!("{ENTRY}{MINORS}");
    let (once, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
    assert!(once.is_joint(), "{}", once.text());
    let x: Vec<f64> = (0..8).map(|k| (1.7 * f64::from(k)).sin() + 1.1).collect();
    let (a, b) = (once.run(&x, 5, 0.7), split.run(&x, 5, 0.7));
    compare(&a, &b, &once, &source);
    assert_eq!(a.tape, 0);
    assert!(b.tape > 16 * 5 * 4 * 3 * 2, "{}", b.tape);
    assert!(2 * a.executed < b.executed, "{} instructions jointly, {} in two sweeps", a.executed, b.executed);
}

/// A loop that sums up what such calls return is reversed jointly as well: nothing is kept for its iterations.
#[test]
fn a_loop_of_joint_calls_keeps_nothing() {
    let entry = "
fn @f(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v3 = load ptr v0
  v4 = load i64 v1
  jump b1(0:i64, 0.0f64)
b1(v5: i64, v6: f64):
  v7 = mul v5, 8:i64
  v8 = ptradd v3, v7
  v9 = load f64 v8
  v10 = math.sin v9
  v11 = call @g(v5, v10, v3)
  v12 = fmul v11, v10
  v13 = fadd v6, v12
  v14 = add nuw v5, 1:i64
  v15 = icmp eq v14, v4
  branch v15, b2, b1(v14, v13)
b2:
  v16 = fmul v13, 1.5f64
  store v2, v16
  return
}
";
    let minors = MINORS
        .replace("  jump b4(v19)", "  v21 = fmul v19, v1\n  jump b4(v21)")
        .replace("call @g(v4, 0.0f64, v2)", "call @g(v4, 0.5f64, v2)");
    let source = format!("{entry}{minors}");
    let (joint, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
    assert!(joint.is_joint(), "{}", joint.text());
    let x: Vec<f64> = (0..8).map(|k| (1.7 * f64::from(k)).sin() + 1.1).collect();
    let (a, b) = (joint.run(&x, 5, 0.7), split.run(&x, 5, 0.7));
    compare(&a, &b, &joint, &source);
    assert_eq!(a.tape, 0, "{}", joint.text());
    assert!(b.tape > 0);
}

/// What the loop is left with is not what a factor was in an iteration before: `(Σ a[i]·g(n − 1, …))·a[n − 1]`.
#[test]
fn a_factor_that_changes_in_the_loop_is_not_known() {
    let last = MINORS.replace("  jump b4(v19)", "  v21 = fmul v19, v9\n  jump b4(v21)");
    let source = format!("{ENTRY}{last}");
    let (once, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
    assert!(!once.is_joint(), "{}", once.text());
    let x: Vec<f64> = (0..8).map(|k| 1.1 + f64::from(k)).collect();
    compare(&once.run(&x, 4, 0.7), &split.run(&x, 4, 0.7), &once, &source);
}

/// Nor is one that is computed after the loop from what it was left with: `(Σ …)·(±1)`, by the number of the last
/// iteration.
#[test]
fn a_factor_that_is_made_from_what_changes_in_the_loop_is_not_known() {
    let last = MINORS.replace(
        "  jump b4(v19)",
        "  v21 = and v5, 1:i64\n  v22 = icmp eq v21, 0:i64\n  v23 = select v22, v19, 0.5f64\n  jump b4(v23)",
    );
    let source = format!("{ENTRY}{last}");
    let (once, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
    assert!(!once.is_joint(), "{}", once.text());
    let x: Vec<f64> = (0..8).map(|k| 1.1 + f64::from(k)).collect();
    compare(&once.run(&x, 5, 0.7), &split.run(&x, 5, 0.7), &once, &source);
}

/// Where the factor is only loaded after the call, the cotangent is not known in time.
#[test]
fn a_factor_that_comes_later_is_not_known() {
    let later = MINORS.replace("  v9 = load f64 v8\n", "").replace("v11 = fmul", "v9 = load f64 v8\n  v11 = fmul");
    let source = format!("{ENTRY}{later}");
    let (once, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
    assert!(!once.is_joint(), "{}", once.text());
    let x: Vec<f64> = (0..8).map(|k| 1.1 + f64::from(k)).collect();
    compare(&once.run(&x, 4, 0.7), &split.run(&x, 4, 0.7), &once, &source);
}

/// Memory that somebody writes has to wait for the reverse sweep: here the caller, after the call.
#[test]
fn memory_that_is_written_is_not_added_to_ahead() {
    let entry = ENTRY.replace("store v2, v7", "store v3, v7\n  store v2, v7");
    let source = format!("{entry}{MINORS}");
    let (once, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
    assert!(!once.is_joint(), "{}", once.text());
    let x: Vec<f64> = (0..8).map(|k| 1.1 + f64::from(k)).collect();
    compare(&once.run(&x, 3, 0.7), &split.run(&x, 3, 0.7), &once, &source);
}

/// Random programs: loops, branches, selections and recursive calls, in all of which something may or may not be known
/// ahead.
#[test]
fn random_programs() {
    let mut done = 0;
    let programs = programs();
    for seed in 0..programs {
        let source = Writer::program(seed);
        let (once, split) = (Derivative::new(&source, false), Derivative::new(&source, true));
        done += u64::from(once.is_joint());
        for n in [0, 1, 3] {
            let x: Vec<f64> = (0..8).map(|k| ((seed % 97) as f64 + 1.7 * k as f64).sin()).collect();
            compare(&once.run(&x, n, 0.7), &split.run(&x, n, 0.7), &once, &source);
        }
    }
    println!("{done} of {programs} programs have joint calls");
    assert!(done * 10 > programs, "only {done} of {programs} programs have joint calls");
}

/// How many; `ONE_GO_PROGRAMS` asks for more.
fn programs() -> u64 {
    std::env::var("ONE_GO_PROGRAMS").map_or(300, |n| n.parse().expect("a number"))
}

fn compare(a: &Run, b: &Run, once: &Derivative, source: &str) {
    let scale = b.gradient.iter().fold(1.0_f64, |m, g| m.max(g.abs()));
    let close = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-9 * scale;
    let same = close(a.value, b.value) && a.gradient.iter().zip(&b.gradient).all(|(a, b)| close(*a, *b));
    assert!(
        same,
        "jointly {} {:?}\nin two sweeps {} {:?}\n{source}\n{}",
        a.value,
        a.gradient,
        b.value,
        b.gradient,
        once.text()
    );
}

/// Writes random programs.
struct Writer {
    state: u64,
    text: String,
    values: usize,
    blocks: usize,
    floats: Vec<String>,
    ints: Vec<String>,
    /// How many statements may still be written.
    budget: usize,
    depth: usize,
    may_return: bool,
    callee: &'static str,
}

impl Writer {
    fn program(seed: u64) -> String {
        let mut source = if seed.is_multiple_of(2) { Writer::entry(seed) } else { ENTRY.to_owned() };
        let two = seed.is_multiple_of(3);
        let first = if two { "h" } else { "g" };
        source += &Writer::function(2 * seed + 1, "g", first);
        if two {
            source += &Writer::function(2 * seed + 2, "h", "g");
        }
        source
    }

    fn new(seed: u64, text: String, callee: &'static str) -> Self {
        let mut this = Writer {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            text,
            values: 3,
            blocks: 1,
            floats: vec!["v1".to_owned()],
            ints: vec!["v0".to_owned()],
            budget: 0,
            depth: 0,
            may_return: true,
            callee,
        };
        this.budget = this.below(6) + 3;
        this
    }

    /// An entry that does more than to call `@g`.
    fn entry(seed: u64) -> String {
        let start = "fn @f(v900: ptr, v901: ptr, v902: ptr) {\nb0:\n  v2 = load ptr v900\n  v0 = load i64 v901\n  \
                     v1 = load f64 v2\n";
        let mut this = Writer::new(seed + 77, start.to_owned(), "g");
        this.may_return = false;
        this.statements();
        this.call();
        this.statements();
        let result = this.result();
        writeln!(this.text, "  store v902, {result}\n  return\n}}").unwrap();
        this.text
    }

    /// `(n, x, a) -> f64`, which calls `callee` with a smaller `n`.
    fn function(seed: u64, name: &str, callee: &'static str) -> String {
        let start = format!("fn @{name}(v0: i64, v1: f64, v2: ptr) -> f64 {{\nb0:\n");
        let mut this = Writer::new(seed, start, callee);
        let stop = this.line("icmp sle v0, 0:i64");
        let (base, on) = (this.block(), this.block());
        writeln!(this.text, "  branch {stop}, b{base}, b{on}\nb{base}:").unwrap();
        let (factor, x) = (this.load(), "v1".to_owned());
        let value = if this.chance(50) { this.line(&format!("fmul {x}, {factor}")) } else { factor };
        writeln!(this.text, "  return {value}\nb{on}:").unwrap();
        this.statements();
        this.call();
        this.statements();
        let result = this.result();
        writeln!(this.text, "  return {result}\n}}").unwrap();
        this.text
    }

    fn result(&mut self) -> String {
        let result = self.expression();
        if self.chance(40) {
            return result;
        }
        let last = self.floats.last().unwrap().clone();
        self.line(&format!("fadd {last}, {result}"))
    }

    fn random(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state >> 11
    }

    fn below(&mut self, n: usize) -> usize {
        (self.random() % n as u64) as usize
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random() % 100 < percent
    }

    fn value(&mut self) -> String {
        self.values += 1;
        format!("v{}", self.values)
    }

    fn block(&mut self) -> usize {
        self.blocks += 1;
        self.blocks
    }

    fn line(&mut self, op: &str) -> String {
        let value = self.value();
        writeln!(self.text, "  {value} = {op}").unwrap();
        value
    }

    fn float(&mut self) -> String {
        if self.chance(10) {
            return "0.75f64".to_owned();
        }
        // Often one of the last.
        let from = if self.chance(60) { self.floats.len().saturating_sub(3) } else { 0 };
        let at = from + self.below(self.floats.len() - from);
        self.floats[at].clone()
    }

    fn int(&mut self) -> String {
        let at = self.below(self.ints.len());
        self.ints[at].clone()
    }

    fn load(&mut self) -> String {
        let index = self.int();
        let index = self.line(&format!("and {index}, 7:i64"));
        let offset = self.line(&format!("mul {index}, 8:i64"));
        let place = self.line(&format!("ptradd v2, {offset}"));
        self.line(&format!("load f64 {place}"))
    }

    fn condition(&mut self) -> String {
        if self.chance(40) {
            let x = self.float();
            return self.line(&format!("fcmp ogt {x}, 0.1f64"));
        }
        let n = self.int();
        let bit = self.line(&format!("and {n}, 1:i64"));
        self.line(&format!("icmp eq {bit}, 0:i64"))
    }

    fn expression(&mut self) -> String {
        let (a, b) = (self.float(), self.float());
        match self.below(9) {
            0 | 1 => self.line(&format!("fadd {a}, {b}")),
            2 => self.line(&format!("fsub {a}, {b}")),
            3..=5 => self.line(&format!("fmul {a}, {b}")),
            6 => {
                let square = self.line(&format!("fmul {b}, {b}"));
                let divisor = self.line(&format!("fadd {square}, 1.25f64"));
                self.line(&format!("fdiv {a}, {divisor}"))
            }
            7 => self.line(&format!("fneg {a}")),
            _ => {
                let condition = self.condition();
                self.line(&format!("select {condition}, {a}, {b}"))
            }
        }
    }

    fn call(&mut self) {
        let less = self.line("sub v0, 1:i64");
        let x = if self.chance(40) { "0.5f64".to_owned() } else { self.float() };
        // What is passed on must not grow without bound.
        let square = self.line(&format!("fmul {x}, {x}"));
        let divisor = self.line(&format!("fadd {square}, 1.0f64"));
        let x = if self.chance(50) { self.line(&format!("fdiv {x}, {divisor}")) } else { "0.25f64".to_owned() };
        let result = self.line(&format!("call @{}({less}, {x}, v2)", self.callee));
        self.floats.push(result);
    }

    fn statements(&mut self) {
        for _ in 0..self.below(3) + 1 {
            if self.budget == 0 {
                return;
            }
            self.budget -= 1;
            match self.below(12) {
                0 | 1 => {
                    let value = self.load();
                    self.floats.push(value);
                }
                2..=4 => {
                    let value = self.expression();
                    self.floats.push(value);
                }
                5 => {
                    let (a, b) = (self.int(), self.int());
                    let value = self.line(&format!("add {a}, {b}"));
                    self.ints.push(value);
                }
                6 if self.depth < 2 => self.call(),
                7..=8 if self.depth < 2 => self.branch(),
                _ if self.depth < 2 => self.a_loop(),
                _ => {}
            }
        }
    }

    fn branch(&mut self) {
        let condition = self.condition();
        let (then, other, join) = (self.block(), self.block(), self.block());
        writeln!(self.text, "  branch {condition}, b{then}, b{other}").unwrap();
        let (floats, ints) = (self.floats.len(), self.ints.len());
        self.depth += 1;
        for block in [then, other] {
            writeln!(self.text, "b{block}:").unwrap();
            self.statements();
            let (a, b) = (self.float(), self.float());
            if block == then && self.may_return && self.chance(15) {
                writeln!(self.text, "  return {a}").unwrap();
            } else {
                writeln!(self.text, "  jump b{join}({a}, {b})").unwrap();
            }
            self.floats.truncate(floats);
            self.ints.truncate(ints);
        }
        self.depth -= 1;
        let (a, b) = (self.value(), self.value());
        writeln!(self.text, "b{join}({a}: f64, {b}: f64):").unwrap();
        self.floats.extend([a, b]);
    }

    fn a_loop(&mut self) {
        let (header, exit) = (self.block(), self.block());
        let (i, acc, other) = (self.value(), self.value(), self.value());
        let (first, second) = (self.float(), self.float());
        writeln!(self.text, "  jump b{header}(0:i64, {first}, {second})").unwrap();
        writeln!(self.text, "b{header}({i}: i64, {acc}: f64, {other}: f64):").unwrap();
        let (mut floats, mut ints) = (self.floats.len(), self.ints.len());
        let (a, b) = (self.value(), self.value());
        // Left at its start, or at its end.
        let at_start = self.chance(30);
        if at_start {
            let body = self.block();
            let end = self.line(&format!("icmp eq {i}, 2:i64"));
            writeln!(self.text, "  branch {end}, b{exit}({acc}, {other}), b{body}\nb{body}:").unwrap();
        }
        self.floats.push(acc.clone());
        self.ints.push(i.clone());
        if at_start && self.chance(40) {
            (floats, ints) = (self.floats.len(), self.ints.len());
        }
        if self.chance(50) {
            self.floats.push(other.clone());
        }
        self.depth += 1;
        self.statements();
        self.depth -= 1;
        let term = self.expression();
        // Mostly a sum; else something whose cotangent changes from iteration to iteration.
        let next = match self.below(6) {
            0 => self.line(&format!("fmul {acc}, {term}")),
            1 => self.line(&format!("fsub {term}, {acc}")),
            _ => self.line(&format!("fadd {acc}, {term}")),
        };
        let then = match self.below(3) {
            0 => other,
            1 => acc,
            _ => self.float(),
        };
        let up = self.line(&format!("add nuw {i}, 1:i64"));
        if at_start {
            writeln!(self.text, "  jump b{header}({up}, {next}, {then})").unwrap();
        } else {
            let count = self.below(3) + 1;
            let end = self.line(&format!("icmp eq {up}, {count}:i64"));
            writeln!(self.text, "  branch {end}, b{exit}({next}, {then}), b{header}({up}, {next}, {then})").unwrap();
        }
        writeln!(self.text, "b{exit}({a}: f64, {b}: f64):").unwrap();
        // What was made in the loop may be used after it, as it was last.
        if at_start || self.chance(60) {
            self.floats.truncate(floats);
            self.ints.truncate(ints);
        }
        self.floats.push(a);
        if self.chance(50) {
            self.floats.push(b);
        }
    }
}
