//! Derivatives at singular points, run by the interpreter: every case of `rules/cases.rs`, in both modes, with and
//! without `strong_zero`, for `f64` and `f32`. The end-to-end test of the same name runs compiled ones.

use pullback_ad::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request, differentiate};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{FuncId, MathFn, Module, parse_module, verify};
use pullback_rules::cases::{self, COMPOSITIONS, Case, Zeros, agrees, cases};
use std::collections::HashMap;

/// One of the two float types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Float {
    Double,
    Single,
}

impl Float {
    fn name(self) -> &'static str {
        if self == Float::Double { "f64" } else { "f32" }
    }

    fn bytes(self) -> u64 {
        if self == Float::Double { 8 } else { 4 }
    }

    fn tolerance(self) -> f64 {
        if self == Float::Double { cases::DOUBLE } else { cases::SINGLE }
    }

    fn alloc(self, interp: &mut Interp, values: &[f64]) -> u64 {
        match self {
            Float::Double => interp.alloc_f64s(values),
            Float::Single => interp.alloc_f32s(&values.iter().map(|v| *v as f32).collect::<Vec<_>>()),
        }
        .unwrap()
    }

    fn read(self, interp: &Interp, place: u64, count: usize) -> Vec<f64> {
        match self {
            Float::Double => interp.read_f64s(place, count).unwrap(),
            Float::Single => interp.read_f32s(place, count).unwrap().into_iter().map(f64::from).collect(),
        }
    }
}

/// Of `@f(x: &[T; 3], n: i32) -> T`.
fn request(mode: Mode, zeros: Zeros, float: Float) -> Request {
    let mut layouts = Layouts::default();
    let kind = if float == Float::Double { FieldKind::F64 } else { FieldKind::F32 };
    let mut floats = |count: u64| {
        let fields = (0..count).map(|i| Field { offset: float.bytes() * i, kind });
        layouts.add(Layout { name: "floats".to_owned(), size: float.bytes() * count, fields: fields.collect() })
    };
    let (point, result) = (floats(3), floats(1));
    let fields = vec![Field { offset: 0, kind: FieldKind::Int(4) }];
    let number = layouts.add(Layout { name: "i32".to_owned(), size: 4, fields });
    let argument = |name: &str, activity, layout| Argument::new(name, activity, layout);
    Request {
        strong_zero: zeros == Zeros::Strong,
        ..Request::new(
            mode,
            vec![
                argument("x", Activity::Duplicated, point),
                argument("n", Activity::Const, number),
                Argument::result(Activity::Duplicated, result),
            ],
            layouts,
        )
    }
}

/// A derivative of a program whose result is `v10`, of the operands `v3`, `v4`, `v5` and the integer `v6`. `T` stands
/// for the type.
struct Derivative {
    module: Module,
    id: FuncId,
    mode: Mode,
    float: Float,
}

impl Derivative {
    fn new(body: &str, mode: Mode, zeros: Zeros, float: Float) -> Self {
        let text = format!(
            "
fn @f(v0: ptr, v1: ptr, v2: ptr) {{
b0:
  v3 = load T v0
  v7 = ptradd v0, {}:i64
  v4 = load T v7
  v8 = ptradd v0, {}:i64
  v5 = load T v8
  v6 = load i32 v1
  {body}
  store v2, v10
  return
}}",
            float.bytes(),
            2 * float.bytes()
        );
        let text = text.replace('T', float.name());
        let mut module = parse_module(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        verify::verify_module(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let primal = module.find("f").unwrap();
        let id = differentiate(&mut module, primal, &request(mode, zeros, float), "d").unwrap();
        verify::verify_module(&module).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        Derivative { module, id, mode, float }
    }

    /// The shadow of `x` (reverse mode) or of the result (forward mode), given that of the other.
    fn run(&self, at: &[f64], shadow: &[f64]) -> Vec<f64> {
        let mut interp = Interp::new(&self.module);
        let float = self.float;
        let operand = |i: usize| at.get(i).copied().unwrap_or(0.0);
        let x = float.alloc(&mut interp, &[operand(0), operand(1), operand(2)]);
        let n = interp.alloc_bytes(&(operand(1) as i32).to_le_bytes()).unwrap();
        let out = float.alloc(&mut interp, &[0.0]);
        let (dx, dout) = match self.mode {
            Mode::Forward => (shadow, &[0.0][..]),
            Mode::Reverse => (&[0.0; 3][..], shadow),
        };
        let (dx, dout) = (float.alloc(&mut interp, dx), float.alloc(&mut interp, dout));
        let mut args = vec![x, dx, n, out, dout];
        if self.mode == Mode::Reverse {
            args.insert(0, interp.new_tape());
        }
        let args: Vec<Val> = args.into_iter().map(Val::Ptr).collect();
        interp.call(self.id, &args).unwrap_or_else(|error| panic!("{error}"));
        match self.mode {
            Mode::Forward => float.read(&interp, dout, 1),
            Mode::Reverse => float.read(&interp, dx, 3),
        }
    }

    /// The tangent of the result, for the tangent `t` of operand `direction`, or of none.
    fn tangent(&self, at: &[f64], direction: Option<usize>, t: f64) -> f64 {
        let tangent: Vec<f64> = (0..3).map(|i| if direction == Some(i) { t } else { 0.0 }).collect();
        self.run(at, &tangent)[0]
    }
}

/// What a function of the cases is in the IR.
fn body(function: &str) -> String {
    match function {
        "add" | "sub" | "mul" | "div" | "rem" => format!("v10 = f{function} v3, v4"),
        "neg" => "v10 = fneg v3".to_owned(),
        "square" => "v10 = fmul v3, v3".to_owned(),
        "recip" => "v10 = fdiv 1.0T, v3".to_owned(),
        name => {
            let function = MathFn::from_name(name).unwrap_or_else(|| panic!("{name} is no function"));
            let operands = match (function.arity(), function.takes_int()) {
                (_, true) => "v3, v6",
                (1, _) => "v3",
                (2, _) => "v3, v4",
                _ => "v3, v4, v5",
            };
            format!("v10 = math.{function} {operands}")
        }
    }
}

const SETTINGS: [(Zeros, Float); 4] = [
    (Zeros::Ieee, Float::Double),
    (Zeros::Strong, Float::Double),
    (Zeros::Ieee, Float::Single),
    (Zeros::Strong, Float::Single),
];

#[test]
fn derivatives_are_as_the_cases_say() {
    let mut functions: HashMap<&str, Vec<Case>> = HashMap::new();
    for case in cases() {
        functions.entry(case.function).or_default().push(case);
    }
    for ((function, cases), (zeros, float)) in functions.iter().flat_map(|f| SETTINGS.map(|s| (f, s))) {
        let forward = Derivative::new(&body(function), Mode::Forward, zeros, float);
        let reverse = Derivative::new(&body(function), Mode::Reverse, zeros, float);
        for case in cases {
            let (at, partials) = match float {
                Float::Double => (case.at.iter().map(|x| x.double).collect(), case.doubles()),
                Float::Single => (case.at.iter().map(|x| f64::from(x.single)).collect::<Vec<_>>(), case.singles()),
            };
            let check = |what: &str, found: f64, expected: f64| {
                let context = format!("{function}{at:?}, {float:?}, {zeros:?}: {what}");
                assert!(agrees(found, expected, float.tolerance()), "{context} is {found:?}, expected {expected:?}");
            };
            for direction in (0..partials.len()).map(Some).chain([None]) {
                let found = forward.tangent(&at, direction, 1.0);
                check(&format!("forward {direction:?}"), found, case.forward(direction, zeros, &partials));
            }
            for seed in [1.0, 0.0] {
                let found = reverse.run(&at, &[seed]);
                for (i, partial) in partials.iter().enumerate() {
                    check(&format!("reverse {i}, seed {seed}"), found[i], case.reverse(seed, zeros, *partial));
                }
            }
        }
    }
}

/// The partials are zero because something else was chosen, or because the formula has a case for it: infinite tangents
/// and cotangents do not count.
#[test]
fn what_is_not_taken_is_not_multiplied() {
    let inf = f64::INFINITY;
    for (function, at, operand) in [
        ("minnum", [1.0, 2.0], 1),
        ("maxnum", [1.0, 2.0], 0),
        ("minimumnum", [1.0, 2.0], 1),
        ("maximumnum", [1.0, 2.0], 0),
        ("minimum", [1.0, 2.0], 1),
        ("maximum", [1.0, 2.0], 0),
        ("fabs", [0.0, 0.0], 0),
        ("copysign", [0.0, 1.0], 0),
        ("fdim", [1.0, 2.0], 0),
        ("fdim", [1.0, 2.0], 1),
        ("pow", [2.0, 0.0], 0),
        ("pow", [0.0, 2.0], 1),
        ("powi", [2.0, 0.0], 0),
    ] {
        for (zeros, float) in SETTINGS {
            let forward = Derivative::new(&body(function), Mode::Forward, zeros, float);
            let reverse = Derivative::new(&body(function), Mode::Reverse, zeros, float);
            for shadow in [inf, -inf, f64::NAN] {
                assert_eq!(
                    forward.tangent(&at, Some(operand), shadow),
                    0.0,
                    "{function}: forward, {shadow}, {zeros:?}"
                );
                assert_eq!(reverse.run(&at, &[shadow])[operand], 0.0, "{function}: reverse, {shadow}, {zeros:?}");
            }
        }
    }
}

/// What a composition is in the IR.
fn composed(name: &str) -> &'static str {
    match name {
        "min(1, 1/x)" => "v9 = fdiv 1.0T, v3\n v10 = math.minnum 1.0T, v9",
        "max(1, 1/x)" => "v9 = fdiv 1.0T, v3\n v10 = math.maxnum 1.0T, v9",
        "max(sqrt(x), 1)" => "v9 = math.sqrt v3\n v10 = math.maxnum v9, 1.0T",
        "min(sqrt(x), 1)" => "v9 = math.sqrt v3\n v10 = math.minnum v9, 1.0T",
        "clamp(1/x, 0, 1)" => {
            "v9 = fdiv 1.0T, v3
             v11 = fcmp olt v9, 0.0T
             v12 = select v11, 0.0T, v9
             v13 = fcmp ogt v12, 1.0T
             v10 = select v13, 1.0T, v12"
        }
        "clamp(sqrt(x), 1, 2)" => {
            "v9 = math.sqrt v3
             v11 = fcmp olt v9, 1.0T
             v12 = select v11, 1.0T, v9
             v13 = fcmp ogt v12, 2.0T
             v10 = select v13, 2.0T, v12"
        }
        "clamp(x, 0, 1)" => {
            "v11 = fcmp olt v3, 0.0T
             v12 = select v11, 0.0T, v3
             v13 = fcmp ogt v12, 1.0T
             v10 = select v13, 1.0T, v12"
        }
        "abs(sqrt(x))" => "v9 = math.sqrt v3\n v10 = math.fabs v9",
        "if x > 0 { sqrt(x) } else { 0 }" => "v9 = math.sqrt v3\n v11 = fcmp ogt v3, 0.0T\n v10 = select v11, v9, 0.0T",
        "sqrt(x²)" => "v9 = fmul v3, v3\n v10 = math.sqrt v9",
        "1/sqrt(x − x)" => "v9 = fsub v3, v3\n v11 = math.sqrt v9\n v10 = fdiv 1.0T, v11",
        "1/(1/x)" => "v9 = fdiv 1.0T, v3\n v10 = fdiv 1.0T, v9",
        "pow(x, 0.5)" => "v10 = math.pow v3, 0.5T",
        "max(x, 1)" => "v10 = math.maxnum v3, 1.0T",
        "max(1, x)" => "v10 = math.maxnum 1.0T, v3",
        "min(x, 1)" => "v10 = math.minnum v3, 1.0T",
        "max(x, x)" => "v10 = math.maxnum v3, v3",
        other => panic!("{other} has no program"),
    }
}

#[test]
fn compositions_are_as_the_cases_say() {
    for (composition, (zeros, float)) in COMPOSITIONS.iter().flat_map(|c| SETTINGS.map(|s| (c, s))) {
        let derivative = |mode| Derivative::new(composed(composition.name), mode, zeros, float);
        let forward = derivative(Mode::Forward).tangent(&[composition.at], Some(0), 1.0);
        let reverse = derivative(Mode::Reverse).run(&[composition.at], &[1.0])[0];
        let setting = usize::from(zeros == Zeros::Strong);
        let context = format!("{}, {zeros:?}, {float:?}", composition.name);
        assert!(agrees(forward, composition.forward[setting], 0.0), "{context}: forward mode gives {forward}");
        assert!(agrees(reverse, composition.reverse[setting], 0.0), "{context}: reverse mode gives {reverse}");
    }
}
