//! Linear programs by themselves: random ones, run forwards by an interpreter of their own, and transposed and run
//! backwards.
//!
//! Nothing here is the derivative of anything. Operations and coefficients are drawn at random, and the law that must
//! hold is the one that transposing means: ⟨ȳ, J ẋ⟩ = ⟨Jᵀ ȳ, ẋ⟩.

use pullback_ad::linearise::linear::Linear;
use pullback_ad::linearise::program::LinearFunction;
use pullback_ad::linearise::{text, verify::verify};
use pullback_ad::reverse::transposed;
use pullback_ad::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request, linearise};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{BinOp, Block, BlockCall, Constant, Function, IntPred, MathFn, Op, Terminator, Value, ValueDef};
use pullback_rules::{Coefficient, Factor};
use std::collections::HashMap;
use std::fmt::Write;

/// Numbers as good as random: xorshift.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn float(&mut self) -> f64 {
        self.below(4001) as f64 / 1000.0 - 2.0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// Writes a random linear program: `v1` and `v2` have tangents, `v3` is shadow memory of four floats, `v4` a trip
/// count, `v5` the primal's memory.
struct Writer {
    rng: Rng,
    text: String,
    values: usize,
    blocks: usize,
    /// Values with a tangent, and conditions, that are there.
    active: Vec<usize>,
    conditions: Vec<usize>,
    /// Numbers of iterations of the loops around.
    counters: Vec<usize>,
}

impl Writer {
    fn program(seed: u64) -> String {
        let mut writer = Writer {
            rng: Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            text:
                "linear v1, v2 -> result\nfn @f(v0: ptr, v1: f64, v2: f64, v3: ptr, v4: i64, v5: ptr) -> f64 {\nb0:\n"
                    .to_owned(),
            values: 6,
            blocks: 1,
            active: vec![1, 2],
            conditions: vec![],
            counters: vec![],
        };
        writer.statements(0);
        let sum = writer.sum();
        let _ = writeln!(writer.text, "  return v{sum}\n}}");
        writer.text
    }

    fn value(&mut self) -> usize {
        self.values += 1;
        self.values - 1
    }

    fn block(&mut self) -> usize {
        self.blocks += 1;
        self.blocks - 1
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "  {line}");
    }

    /// A new value, bounded, whose tangent is a random combination of others.
    fn sum(&mut self) -> usize {
        let (a, b) = (self.rng.of(&self.active), self.rng.of(&self.active));
        let (product, result) = (self.value(), self.value());
        self.line(&format!("v{product} = fmul v{a}, v{b}"));
        self.line(&format!("v{result} = math.sin v{product}"));
        let terms: Vec<String> = (0..1 + self.rng.below(3)).map(|_| self.term(product)).collect();
        let operation = match self.rng.below(8) {
            0 if !self.conditions.is_empty() => {
                let condition = self.rng.of(&self.conditions);
                format!("select v{condition}, v{a}', {}", if a == b { "_".to_owned() } else { format!("v{b}'") })
            }
            1 => format!("quotient v{a}', v{b}' by 1.5f64"),
            2 => format!("quotient _, v{b}' by _"),
            _ => terms.join(" + "),
        };
        self.line(&format!("| v{result}' = {operation}"));
        self.active.push(result);
        result
    }

    fn term(&mut self, coefficient: usize) -> String {
        let value = self.rng.of(&self.active);
        let product = match self.rng.below(5) {
            0 => format!("v{value}'"),
            1 => format!("-v{value}'"),
            2 => format!("2*v{coefficient}*v{value}'"),
            3 => format!("-0.75f64*v{value}'"),
            _ => format!("v{coefficient}*v{value}'"),
        };
        match self.rng.below(6) {
            0 if !self.conditions.is_empty() => format!("{product} if v{}", self.rng.of(&self.conditions)),
            1 if !self.conditions.is_empty() => format!("{product} unless v{}", self.rng.of(&self.conditions)),
            _ => product,
        }
    }

    /// The addresses of one of the four floats, in the primal's memory and in the shadow.
    fn place(&mut self) -> (usize, usize) {
        let offset = if self.counters.is_empty() || self.rng.below(2) == 0 {
            format!("{}:i64", 8 * self.rng.below(4))
        } else {
            let (index, offset, counter) = (self.value(), self.value(), self.rng.of(&self.counters));
            self.line(&format!("v{index} = and v{counter}, 3:i64"));
            self.line(&format!("v{offset} = mul v{index}, 8:i64"));
            format!("v{offset}")
        };
        let (primal, shadow) = (self.value(), self.value());
        self.line(&format!("v{primal} = ptradd v5, {offset}"));
        self.line(&format!("v{shadow} = ptradd v3, {offset}"));
        (primal, shadow)
    }

    fn statements(&mut self, depth: usize) {
        for _ in 0..2 + self.rng.below(4) {
            match self.rng.below(10) {
                0 => {
                    let (primal, shadow) = self.place();
                    let result = self.value();
                    self.line(&format!("v{result} = load f64 v{primal}"));
                    self.line(&format!("| v{result}' = load v{shadow}"));
                    self.active.push(result);
                }
                1 | 2 => {
                    let ((primal, shadow), value) = (self.place(), self.rng.of(&self.active));
                    self.line(&format!("store v{primal}, v{value}"));
                    let stored = if self.rng.below(5) == 0 { "_".to_owned() } else { format!("v{value}'") };
                    self.line(&format!("| store f64 {stored} -> v{shadow}"));
                }
                3 => {
                    let half = self.value();
                    let shadow = self.value();
                    self.line(&format!("v{half} = ptradd v5, 8:i64"));
                    self.line(&format!("v{shadow} = ptradd v3, 8:i64"));
                    let source = if self.rng.below(4) == 0 { "_" } else { "v3" };
                    self.line(&format!("move v{half}, v5, 24:i64"));
                    self.line(&format!("| copy v{shadow} <- {source}, 24:i64 floats 0:8:8:16"));
                }
                4 => {
                    let (condition, a) = (self.value(), self.rng.of(&self.active));
                    self.line(&format!("v{condition} = fcmp olt v{a}, 0.25f64"));
                    self.conditions.push(condition);
                }
                5 if depth < 3 && !self.conditions.is_empty() => self.branch(depth),
                6 if depth < 3 => self.loop_(depth),
                _ => {
                    self.sum();
                }
            }
        }
    }

    /// Both arms, each with statements of its own; one value of each is handed on.
    fn branch(&mut self, depth: usize) {
        let condition = self.rng.of(&self.conditions);
        let (then, other, join) = (self.block(), self.block(), self.block());
        self.line(&format!("branch v{condition}, b{then}, b{other}"));
        for arm in [then, other] {
            let _ = writeln!(self.text, "b{arm}:");
            let there = (self.active.len(), self.conditions.len());
            self.statements(depth + 1);
            let value = self.rng.of(&self.active);
            self.active.truncate(there.0);
            self.conditions.truncate(there.1);
            self.line(&format!("jump b{join}(v{value})"));
        }
        let joined = self.value();
        let _ = writeln!(self.text, "b{join}(v{joined}: f64):");
        self.active.push(joined);
    }

    /// A counted loop that carries two values round.
    fn loop_(&mut self, depth: usize) {
        let (header, exit) = (self.block(), self.block());
        let (i, next, again) = (self.value(), self.value(), self.value());
        let (a, b) = (self.value(), self.value());
        let (first, second) = (self.rng.of(&self.active), self.rng.of(&self.active));
        self.line(&format!("jump b{header}(0:i64, v{first}, v{second})"));
        let _ = writeln!(self.text, "b{header}(v{i}: i64, v{a}: f64, v{b}: f64):");
        let there = (self.active.len(), self.conditions.len());
        self.active.extend([a, b]);
        self.counters.push(i);
        self.statements(depth + 1);
        self.counters.pop();
        let (x, y, out) = (self.rng.of(&self.active), self.rng.of(&self.active), self.rng.of(&self.active));
        self.active.truncate(there.0);
        self.conditions.truncate(there.1);
        self.line(&format!("v{next} = add nuw v{i}, 1:i64"));
        self.line(&format!("v{again} = icmp ult v{next}, v4"));
        self.line(&format!("branch v{again}, b{header}(v{next}, v{x}, v{y}), b{exit}(v{out})"));
        let left = self.value();
        let _ = writeln!(self.text, "b{exit}(v{left}: f64):");
        self.active.push(left);
    }
}

/// A value of the primal.
#[derive(Clone, Copy)]
enum Plain {
    Float(f64),
    Int(i64),
    Bool(bool),
    /// Which memory, and how many bytes behind its start.
    Place(usize, i64),
}

impl Plain {
    fn float(self) -> f64 {
        let Plain::Float(x) = self else { panic!("a float") };
        x
    }

    fn int(self) -> i64 {
        let Plain::Int(n) = self else { panic!("an integer") };
        n
    }

    fn is(self) -> bool {
        let Plain::Bool(is) = self else { panic!("a condition") };
        is
    }

    fn place(self) -> (usize, usize) {
        let Plain::Place(memory, bytes) = self else { panic!("an address") };
        (memory, bytes as usize / 8)
    }
}

/// Runs a linear program forwards, beside its primal.
struct Forwards<'a> {
    func: &'a Function,
    linear: &'a LinearFunction,
    plain: HashMap<Value, Plain>,
    tangents: HashMap<Value, f64>,
    /// The primal's and the shadow.
    memory: [[f64; 4]; 2],
}

impl Forwards<'_> {
    fn get(&self, value: Value) -> Plain {
        match &self.func.value(value).def {
            ValueDef::Const(Constant::F64(bits)) => Plain::Float(f64::from_bits(*bits)),
            ValueDef::Const(Constant::Int(n)) => Plain::Int(*n as i64),
            _ => self.plain[&value],
        }
    }

    fn tangent(&self, value: Value) -> f64 {
        self.tangents.get(&value).copied().unwrap_or(0.0)
    }

    /// The tangent of what is returned.
    fn run(&mut self) -> f64 {
        let mut block = self.func.entry();
        loop {
            for inst in &self.func.block(block).insts {
                let data = self.func.inst(*inst);
                if let Some(made) = self.instruction(&data.op) {
                    self.plain.insert(data.result.expect("it makes a value"), made);
                }
                for operation in self.linear.at(*inst) {
                    self.operation(operation);
                }
            }
            let target = match &self.func.block(block).term {
                Terminator::Return(value) => return self.tangent(value.expect("a float is returned")),
                Terminator::Jump(target) => target,
                Terminator::Branch(condition, then, other) => {
                    if self.get(*condition).is() {
                        then
                    } else {
                        other
                    }
                }
                other => panic!("no program has {other:?}"),
            };
            block = self.enter(target);
        }
    }

    fn enter(&mut self, target: &BlockCall) -> Block {
        let given: Vec<(Plain, f64)> = target.args.iter().map(|arg| (self.get(*arg), self.tangent(*arg))).collect();
        for (param, (plain, tangent)) in self.func.block(target.block).params.iter().zip(given) {
            self.plain.insert(*param, plain);
            self.tangents.insert(*param, tangent);
        }
        target.block
    }

    fn instruction(&mut self, op: &Op) -> Option<Plain> {
        Some(match op {
            Op::Bin(BinOp::FMul, a, b) => Plain::Float(self.get(*a).float() * self.get(*b).float()),
            Op::Bin(BinOp::Add, a, b) => Plain::Int(self.get(*a).int() + self.get(*b).int()),
            Op::Bin(BinOp::And, a, b) => Plain::Int(self.get(*a).int() & self.get(*b).int()),
            Op::Bin(BinOp::Mul, a, b) => Plain::Int(self.get(*a).int() * self.get(*b).int()),
            Op::Math(MathFn::Sin, args) => Plain::Float(self.get(args[0]).float().sin()),
            Op::FCmp(_, a, b) => Plain::Bool(self.get(*a).float() < self.get(*b).float()),
            Op::ICmp(IntPred::Ult, a, b) => Plain::Bool(self.get(*a).int() < self.get(*b).int()),
            Op::PtrAdd(base, offset) => {
                let Plain::Place(memory, bytes) = self.get(*base) else { panic!("an address") };
                Plain::Place(memory, bytes + self.get(*offset).int())
            }
            Op::Load { ptr, .. } => {
                let (memory, at) = self.get(*ptr).place();
                Plain::Float(self.memory[memory][at])
            }
            Op::Store { ptr, value, .. } => {
                let (memory, at) = self.get(*ptr).place();
                self.memory[memory][at] = self.get(*value).float();
                return None;
            }
            Op::Copy { dst, src, len, .. } => {
                let ((memory, to), (_, from)) = (self.get(*dst).place(), self.get(*src).place());
                let count = self.get(*len).int() as usize / 8;
                self.memory[memory].copy_within(from..from + count, to);
                return None;
            }
            other => panic!("no program has {other:?}"),
        })
    }

    fn operation(&mut self, operation: &Linear) {
        let tangent = match operation {
            Linear::Sum(_, terms) => terms.iter().map(|(value, c)| self.coefficient(*c) * self.tangent(*value)).sum(),
            Linear::Quotient { result, x, y, divisor } => {
                let r = self.get(*result).float();
                let top = x.map_or(0.0, |x| self.tangent(x)) - r * y.map_or(0.0, |y| self.tangent(y));
                divisor.map_or(top * r, |divisor| top / self.get(divisor).float())
            }
            Linear::Select(_, condition, a, b) => {
                let taken = if self.get(*condition).is() { a } else { b };
                taken.map_or(0.0, |value| self.tangent(value))
            }
            Linear::Load(_, shadow, _) => {
                let (memory, at) = self.get(shadow[0]).place();
                self.memory[memory][at]
            }
            Linear::Store { value, shadow, .. } => {
                let (memory, at) = self.get(shadow[0]).place();
                self.memory[memory][at] = value.map_or(0.0, |value| self.tangent(value));
                return;
            }
            Linear::Copy { dst, src, len, .. } => {
                let ((memory, to), count) = (self.get(dst[0]).place(), self.get(*len).int() as usize / 8);
                match src {
                    Some(src) => {
                        let (_, from) = self.get(src[0]).place();
                        self.memory[memory].copy_within(from..from + count, to);
                    }
                    None => self.memory[memory][to..to + count].fill(0.0),
                }
                return;
            }
            other => panic!("no program has {other:?}"),
        };
        self.tangents.insert(operation.result().expect("it computes a tangent"), tangent);
    }

    fn coefficient(&self, Coefficient { factor, support }: Coefficient) -> f64 {
        if support.is_some_and(|support| self.get(support.cond).is() != support.when) {
            return 0.0;
        }
        match factor {
            Factor::One => 1.0,
            Factor::MinusOne => -1.0,
            Factor::Value(c) => self.get(c).float(),
            Factor::Scaled(k, c) => k * self.get(c).float(),
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Both sides of the law, for one program, and how large they are.
fn both_sides(program: &str, rng: &mut Rng) -> [f64; 3] {
    let (mut module, id, linear) = text::parse(program).unwrap();
    verify(&module, module.func(id), &linear, 1).unwrap_or_else(|error| panic!("{error}\n{program}"));
    let x = [rng.float(), rng.float()];
    let (start, trips) = ([rng.float(), rng.float(), rng.float(), rng.float()], 1 + rng.below(4) as i64);
    let (tangents, seeds) = ([(); 6].map(|()| rng.float()), [(); 5].map(|()| rng.float()));

    let func = module.func(id).clone();
    let mut params = func.param_values().iter().copied();
    let given = [
        Plain::Int(0),
        Plain::Float(x[0]),
        Plain::Float(x[1]),
        Plain::Place(1, 0),
        Plain::Int(trips),
        Plain::Place(0, 0),
    ];
    let plain = given.iter().map(|plain| (params.next().expect("six parameters"), *plain)).collect();
    let moving = linear.params.iter().copied().zip(tangents).collect();
    let shadow = [tangents[2], tangents[3], tangents[4], tangents[5]];
    let mut forwards = Forwards { func: &func, linear: &linear, plain, tangents: moving, memory: [start, shadow] };
    let result = forwards.run();
    let left = seeds[0] * result + dot(&seeds[1..], &forwards.memory[1]);
    let size = seeds[0].abs() * result.abs() + forwards.memory[1].iter().map(|x| x.abs()).sum::<f64>();

    let (mut forward, backward) = transposed(&mut module, func.clone(), linear.clone(), 1).unwrap();
    forward.name = "f.fwd".to_owned();
    let (forward, backward) = (module.add_function(forward), module.add_function(backward));
    pullback_ir::verify_module(&module).unwrap_or_else(|error| panic!("{error:?}\n{module}"));
    let mut interp = Interp::new(&module);
    let (primal, shadow) = (interp.alloc_f64s(&start).unwrap(), interp.alloc_f64s(&seeds[1..]).unwrap());
    let tape = Val::Ptr(interp.new_tape());
    let args =
        [tape.clone(), Val::F64(x[0]), Val::F64(x[1]), Val::Ptr(shadow), Val::Int(trips as u128, 64), Val::Ptr(primal)];
    interp.call(forward, &args).unwrap();
    let found = interp.call(backward, &[tape, Val::F64(seeds[0])]).unwrap();
    let Some(Val::Struct(cotangents)) = found else { panic!("the cotangents of two parameters, not {found:?}") };
    let cotangents: Vec<f64> =
        cotangents.iter().map(|c| if let Val::F64(c) = c { *c } else { panic!("a float") }).collect();
    let after = interp.read_f64s(shadow, 4).unwrap();
    [left, dot(&cotangents, &tangents[..2]) + dot(&after, &tangents[2..]), size]
}

#[test]
fn a_transposed_program_obeys_the_dot_product_law() {
    let mut loops = 0;
    for seed in 1..=3000 {
        let program = Writer::program(seed);
        let [left, right, size] = both_sides(&program, &mut Rng(seed | 1 << 40));
        if !size.is_finite() || size > 1e12 {
            continue;
        }
        loops += usize::from(program.contains("icmp"));
        assert!(
            (left - right).abs() <= 1e-9 * (1.0 + size),
            "seed {seed}: {left} forwards, {right} backwards\n{program}"
        );
    }
    assert!(loops > 500, "only {loops} programs have loops");
}

/// Text in, text out: what a linear program becomes.
#[test]
fn a_product_and_a_store_are_transposed() {
    let program = "\
linear v1, v2 -> result
fn @f(v0: ptr, v1: f64, v2: f64, v3: ptr, v4: ptr) -> f64 {
b0:
  v5 = fmul v1, v2
  | v5' = v2*v1' + v1*v2'
  store v3, v5
  | store f64 v5' -> v4
  return v5
}
";
    let (mut module, id, linear) = text::parse(program).unwrap();
    let func = module.func(id).clone();
    let (_, backward) = transposed(&mut module, func, linear, 1).unwrap();
    // v14, v26 and v31 hold the cotangents of v5, v1 and v2.
    let expected = "\
fn @f.rev(v0: ptr, v1: f64) -> {f64, f64} {
b0:
  v2 = alloca 8 align 8
  v3 = alloca 8 align 8
  v4 = alloca 8 align 8
  v14 = alloca 8 align 8
  store v14, -0.0f64
  v26 = alloca 8 align 8
  store v26, -0.0f64
  v31 = alloca 8 align 8
  store v31, -0.0f64
  v6: ptr = call fn4(v0, 24:i64)
  v7 = load f64 v6
  store v2, v7
  v9 = ptradd v6, 8:i64
  v10 = load f64 v9
  store v3, v10
  v12 = ptradd v6, 16:i64
  v13 = load ptr v12
  store v4, v13
  jump b1
b1:
  v16 = load f64 v14
  v17 = fadd reassoc v16, v1
  store v14, v17
  v18 = load ptr v4
  v19 = load f64 v18
  store v18, 0.0f64
  v21 = load f64 v14
  v22 = fadd reassoc v21, v19
  store v14, v22
  v23 = load f64 v14
  store v14, -0.0f64
  v24 = load f64 v3
  v25 = fmul v23, v24
  v27 = load f64 v26
  v28 = fadd reassoc v27, v25
  store v26, v28
  v29 = load f64 v2
  v30 = fmul v23, v29
  v32 = load f64 v31
  v33 = fadd reassoc v32, v30
  store v31, v33
  v34 = load f64 v26
  store v26, -0.0f64
  v35 = load f64 v31
  store v31, -0.0f64
  v37 = insert undef {f64, f64}, v34, 0
  v38 = insert v37, v35, 1
  return v38
}
";
    assert_eq!(backward.to_string(), expected);
}

/// Text in, text out: what a program becomes. It is the one that `docs/architecture.md` follows.
#[test]
fn a_loop_with_a_product_is_linearised() {
    let power = "\
fn @power(v0: ptr, v1: ptr, v2: ptr) {
b0:
  v7 = load f64 v0
  v8 = load i32 v1
  v10 = icmp eq v8, 0:i32
  branch v10, b4(1.0f64), b1
b1:
  jump b2(1.0f64, 0:i32)
b2(v3: f64, v4: i32):
  v13 = add nuw v4, 1:i32
  v14 = fmul v7, v3
  v15 = fadd v14, 1.0f64
  v16 = icmp eq v13, v8
  branch v16, b3(v15), b2(v15, v13)
b3(v5: f64):
  jump b4(v5)
b4(v6: f64):
  store v2, v6
  return
}
";
    let mut module = pullback_ir::parse_module(power).unwrap();
    let mut layouts = Layouts::default();
    let mut layout = |name: &str, size, kind| {
        layouts.add(Layout { name: name.to_owned(), size, fields: vec![Field { offset: 0, kind }] })
    };
    let (float, number) = (layout("f64", 8, FieldKind::F64), layout("u32", 4, FieldKind::Int(4)));
    let argument = |name, activity, layout| Argument::new(name, activity, layout);
    let args = vec![
        argument("x", Activity::Duplicated, float),
        argument("n", Activity::Const, number),
        Argument::result(Activity::Duplicated, float),
    ];
    let primal = module.find("power").unwrap();
    let request = Request::new(Mode::Reverse, args, layouts);
    let (func, linear) = linearise(&mut module, primal, &request, "d").unwrap();
    let expected = "\
linear
fn @d(v0: ptr, v1: ptr, v2: ptr, v3: ptr, v4: ptr, v5: ptr) {
b0:
  v10 = load f64 v1
  | v10' = load v2
  v11 = load i32 v3
  v13 = icmp eq v11, 0:i32
  branch v13, b4(1.0f64), b1
b1:
  jump b2(1.0f64, 0:i32)
b2(v6: f64, v7: i32):
  v16 = add nuw v7, 1:i32
  v17 = fmul v10, v6
  | v17' = v6*v10' + v10*v6'
  v18 = fadd v17, 1.0f64
  | v18' = v17'
  v19 = icmp eq v16, v11
  branch v19, b3(v18), b2(v18, v16)
b3(v8: f64):
  jump b4(v8)
b4(v9: f64):
  store v4, v9
  | store f64 v9' -> v5
  return
}
";
    assert_eq!(text::print(&module, &func, &linear), expected);
}
