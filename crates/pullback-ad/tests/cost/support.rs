//! Programs of text IR, their derivatives, and what a run of those costs.

use pullback_ad::{Activity, Argument, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request, differentiate};
use pullback_ir::cfg::Cfg;
use pullback_ir::dominators::Dominators;
use pullback_ir::interp::{Interp, Val};
use pullback_ir::loops::{LoopData, Loops};
use pullback_ir::{FuncId, Inst, Module, Op, Type, Value, parse_module, text, verify};

/// An argument: the primal gets a pointer to it.
#[derive(Clone, Debug)]
pub enum Arg {
    /// A float that takes part.
    Float(f64),
    /// A slice of floats that takes part: a pointer and a length.
    Floats(Vec<f64>),
    /// An integer.
    Number(i64),
}

impl Arg {
    pub fn float(value: f64) -> Arg {
        Arg::Float(value)
    }

    pub fn floats(values: &[f64]) -> Arg {
        Arg::Floats(values.to_vec())
    }

    fn values(&self) -> Vec<f64> {
        match self {
            Arg::Float(value) => vec![*value],
            Arg::Floats(values) => values.clone(),
            Arg::Number(_) => vec![],
        }
    }

    fn with(&self, values: Vec<f64>) -> Arg {
        match self {
            Arg::Float(_) => Arg::Float(values[0]),
            Arg::Floats(_) => Arg::Floats(values),
            Arg::Number(n) => Arg::Number(*n),
        }
    }
}

/// A program with its arguments.
pub struct Program {
    module: Module,
    primal: FuncId,
    derivative: FuncId,
    args: Vec<Arg>,
}

/// What a run of the derivative left behind.
pub struct Run {
    /// The derivative as text.
    pub text: String,
    /// The most bytes that were on the tape.
    pub tape: u64,
    /// The shadow of each argument.
    pub shadows: Vec<Vec<f64>>,
    /// How many instructions were executed.
    pub executed: u64,
}

impl Program {
    /// The function `@f` and its arguments, the places of results among them.
    pub fn new(text: &str, args: &[Arg]) -> Program {
        let mut module = parse_module(text).unwrap();
        verify::verify_module(&module).unwrap();
        let primal = module.find("f").unwrap();
        let derivative = differentiate(&mut module, primal, &request(args), "d").unwrap();
        verify::verify_module(&module).unwrap();
        Program { module, primal, derivative, args: args.to_vec() }
    }

    /// The same program with other arguments of the same kinds.
    pub fn with(mut self, args: &[Arg]) -> Program {
        self.args = args.to_vec();
        self
    }

    /// Run the derivative although it fails; what is then in memory as argument `of`.
    pub fn failing(&self, of: usize) -> Vec<f64> {
        self.left_behind(2 * of, of)
    }

    /// Run the derivative although it fails; what is then in the shadow of argument `of`, which was the same as the
    /// argument.
    pub fn failing_shadow(&self, of: usize) -> Vec<f64> {
        self.left_behind(2 * of + 1, of)
    }

    fn left_behind(&self, number: usize, of: usize) -> Vec<f64> {
        let mut interp = Interp::new(&self.module);
        let mut values = vec![Val::Ptr(interp.new_tape())];
        for arg in &self.args {
            values.push(Val::Ptr(lay(&mut interp, arg)));
            if !matches!(arg, Arg::Number(_)) {
                values.push(Val::Ptr(lay(&mut interp, arg)));
            }
        }
        interp.call(self.derivative, &values).unwrap_err();
        let at = values.iter().skip(1).filter_map(Val::as_ptr).nth(number).unwrap();
        read(&interp, at, &self.args[of])
    }

    /// Run with this cotangent of argument `result`.
    pub fn seeded(&self, result: usize, seed: &[f64]) -> Run {
        let mut interp = Interp::new(&self.module);
        let tape = interp.new_tape();
        let mut values = vec![Val::Ptr(tape)];
        let mut shadows = Vec::new();
        for (i, arg) in self.args.iter().enumerate() {
            values.push(Val::Ptr(lay(&mut interp, arg)));
            let cotangent = if i == result { seed.to_vec() } else { vec![0.0; arg.values().len()] };
            let shadow = lay(&mut interp, &arg.with(cotangent));
            if !matches!(arg, Arg::Number(_)) {
                values.push(Val::Ptr(shadow));
            }
            shadows.push(shadow);
        }
        interp.call(self.derivative, &values).unwrap_or_else(|e| panic!("{e}\n{}", self.text()));
        assert_eq!(interp.tape_bytes(tape), Some(0), "something is left on the tape");
        let shadows = shadows.iter().zip(&self.args).map(|(at, arg)| read(&interp, *at, arg)).collect();
        Run { text: self.text(), tape: interp.tape_high_water(tape).unwrap(), shadows, executed: interp.executed() }
    }

    /// Run with a cotangent of argument `result` that looks random, and compare the gradient with differences in one
    /// direction.
    pub fn check(&self, result: usize) -> Run {
        let seed: Vec<f64> = (0..self.args[result].values().len()).map(|k| (1.3 * k as f64).cos()).collect();
        let along = |by: f64| {
            let moved = self.args.iter().map(|arg| {
                let towards = |(k, v): (usize, f64)| v + by * (0.7 * k as f64 + 0.2).sin();
                arg.with(arg.values().into_iter().enumerate().map(towards).collect())
            });
            let values = self.value(&moved.collect::<Vec<_>>(), result);
            values.iter().zip(&seed).map(|(v, s)| v * s).sum::<f64>()
        };
        let step = 1e-5;
        let expected = (along(step) - along(-step)) / (2.0 * step);
        let run = self.seeded(result, &seed);
        let direction = |k: usize| (0.7 * k as f64 + 0.2).sin();
        let found: f64 = run.shadows.iter().flat_map(|s| s.iter().enumerate().map(|(k, v)| v * direction(k))).sum();
        assert!(
            (found - expected).abs() <= 1e-6 * (1.0 + expected.abs()),
            "derivative {found}, differences give {expected}\n{}",
            run.text
        );
        run
    }

    fn value(&self, args: &[Arg], result: usize) -> Vec<f64> {
        let mut interp = Interp::new(&self.module);
        let addresses: Vec<u64> = args.iter().map(|arg| lay(&mut interp, arg)).collect();
        let values: Vec<Val> = addresses.iter().map(|a| Val::Ptr(*a)).collect();
        interp.call(self.primal, &values).unwrap();
        read(&interp, addresses[result], &args[result])
    }

    /// The loads and stores of floats in memory, and how many of them are of a class of memory that LLVM is told.
    pub fn accesses(&self) -> [usize; 2] {
        let func = self.module.func(self.derivative);
        let all = self.touching(|ty| ty.is_float());
        [all.len(), all.iter().filter(|i| func.alias_class(**i).is_some()).count()]
    }

    /// The stores of integers in memory.
    pub fn integer_stores(&self) -> usize {
        let func = self.module.func(self.derivative);
        self.touching(Type::is_int).iter().filter(|i| matches!(func.inst(**i).op, Op::Store { .. })).count()
    }

    /// How many loops the derivative has, and in how many of them there is something to do with floats on the way back
    /// to the header that is not done if the loop is left.
    pub fn loops(&self) -> [usize; 2] {
        let func = self.module.func(self.derivative);
        let cfg = Cfg::new(func);
        let loops = Loops::new(func, &cfg, &Dominators::new(&cfg)).unwrap();
        let is_float = |inst: &Inst| func.inst(*inst).result.is_some_and(|v| func.ty(v).is_float());
        let way_back = |data: &LoopData| {
            let mut latches = data.latches.iter().filter(|b| data.exits.iter().all(|exit| exit.from != **b));
            latches.any(|b| func.block(*b).insts.iter().any(is_float))
        };
        [loops.iter().count(), loops.iter().filter(|(_, data)| way_back(data)).count()]
    }

    /// The loads and stores of values of some types in memory that is not an `alloca`.
    fn touching(&self, of: impl Fn(&Type) -> bool) -> Vec<Inst> {
        let func = self.module.func(self.derivative);
        let is_alloca = |v: Value| func.def_inst(v).is_some_and(|i| matches!(func.inst(i).op, Op::Alloca { .. }));
        let touches = |inst: &Inst| match func.inst(*inst).op {
            Op::Load { ptr, .. } => !is_alloca(ptr) && of(func.ty(func.inst(*inst).result.unwrap())),
            Op::Store { ptr, value, .. } => !is_alloca(ptr) && of(func.ty(value)),
            _ => false,
        };
        func.blocks().flat_map(|b| func.block(b).insts.clone()).filter(touches).collect()
    }

    fn text(&self) -> String {
        text::function_text(&self.module, self.module.func(self.derivative))
    }
}

/// Put an argument into memory; its address.
fn lay(interp: &mut Interp, arg: &Arg) -> u64 {
    match arg {
        Arg::Float(value) => interp.alloc_f64s(&[*value]).unwrap(),
        Arg::Number(n) => interp.alloc_bytes(&n.to_le_bytes()).unwrap(),
        Arg::Floats(values) => {
            let data = interp.alloc_f64s(values).unwrap();
            interp.alloc_bytes(&[data.to_le_bytes(), (values.len() as u64).to_le_bytes()].concat()).unwrap()
        }
    }
}

fn read(interp: &Interp, at: u64, arg: &Arg) -> Vec<f64> {
    match arg {
        Arg::Float(_) => interp.read_f64s(at, 1).unwrap(),
        Arg::Number(_) => vec![],
        Arg::Floats(values) => {
            let bytes = interp.memory().read(at, 8).unwrap();
            let data = u64::from_le_bytes(bytes.try_into().unwrap());
            interp.read_f64s(data, values.len()).unwrap()
        }
    }
}

fn request(args: &[Arg]) -> Request {
    let mut layouts = Layouts::default();
    let mut add = |name: &str, size: u64, fields: &[FieldKind]| {
        let fields = fields.iter().enumerate().map(|(i, kind)| Field { offset: 8 * i as u64, kind: *kind });
        layouts.add(Layout { name: name.to_owned(), size, fields: fields.collect() })
    };
    let float = add("f64", 8, &[FieldKind::F64]);
    let number = add("i64", 8, &[FieldKind::Int(8)]);
    let floats = add("&[f64]", 16, &[FieldKind::Pointer(Some(float)), FieldKind::Int(8)]);
    let argument = |(i, arg): (usize, &Arg)| {
        let (activity, layout): (Activity, LayoutId) = match arg {
            Arg::Float(_) => (Activity::Duplicated, float),
            Arg::Floats(_) => (Activity::Duplicated, floats),
            Arg::Number(_) => (Activity::Const, number),
        };
        Argument::new(format!("a{i}"), activity, layout)
    };
    Request::new(Mode::Reverse, args.iter().enumerate().map(argument).collect(), layouts)
}
