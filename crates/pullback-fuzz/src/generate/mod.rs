//! Random programs in the IR.
//!
//! A program is a function in the shape of the shims that `#[autodiff]` makes (every parameter is a pointer to an
//! argument, the last one to the place of the result), its helpers, a request, and memory for the arguments. It is
//! built from structured statements, so it terminates, stays inside its memory, frees what it allocates, and keeps its
//! floats in ranges where derivatives are tame. Each seed switches a random half of the [`Feature`]s on, so that every
//! pair of them meets without the rest, and a failing program is small to begin with.

mod arguments;
mod arith;
mod bits;
mod body;
mod calls;
mod control;
mod features;
mod memory;
mod sums;
mod variants;

pub use features::{Feature, Features};

use crate::image::Image;
use crate::rng::Rng;
use body::Body;
use pullback_ad::{Activity, Argument, Layouts, Mode, Request};
use pullback_ir::{FuncAttrs, FuncId, Function, Global, GlobalId, MemoryEffects, Module, Type};

/// A generated program with what it runs on.
#[derive(Clone, Debug)]
pub struct Program {
    /// The seed it was made from.
    pub seed: u64,
    /// The module.
    pub module: Module,
    /// The function to differentiate.
    pub primal: FuncId,
    /// What is asked, for forward mode and width 1; the checks change both.
    pub request: Request,
    /// The memory of the arguments.
    pub image: Image,
    /// What the program may contain.
    pub features: Features,
    /// How many derivatives it is of the program that was generated.
    pub depth: usize,
}

/// The program of this seed.
pub fn generate(seed: u64) -> Program {
    let mut rng = Rng::new(seed);
    let features = Features::random(&mut rng);
    generate_with(seed, features)
}

/// The program of this seed with these features.
pub fn generate_with(seed: u64, features: Features) -> Program {
    let mut rng = Rng::new(seed ^ 0x5eed);
    let mut module = Module::new();
    let world = World::new(&mut module, &mut rng);
    let mut helpers = calls::helpers(&mut module, &world, features, &mut rng);
    helpers.retain(|h| h.callable);

    let mut request =
        Request { name: format!("program_{seed}"), ..Request::new(Mode::Forward, Vec::new(), Layouts::default()) };
    let mut image = Image::default();
    let plans = arguments::plan(features, &mut rng);
    for (i, plan) in plans.iter().enumerate() {
        let layout = plan.layout(&mut request.layouts);
        let activity = if plan.active { Activity::Duplicated } else { Activity::Const };
        let last = i + 1 == plans.len();
        request.args.push(match last {
            true => Argument::result(activity, layout),
            false => Argument::new(format!("a{i}"), activity, layout),
        });
        let blob = plan.image(&mut image, &mut rng);
        image.args.push(blob);
    }

    let func = Function::new("primal", vec![Type::Ptr; plans.len()], None);
    let budget = rng.between(6, 45);
    let mut body = Body::new(func, None, &world, &helpers, features, &mut rng, budget);
    let params = body.func.param_values().to_vec();
    for (plan, param) in plans.iter().zip(params) {
        plan.open(&mut body, param);
    }
    body.result = body.env.arrays.last().cloned();
    body.locals();
    body.statements();
    body.finish();
    let func = body.into_function();
    let primal = module.add_function(func);
    Program { seed, module, primal, request, image, features, depth: 0 }
}

/// What the functions of a program share.
struct World {
    alloc: FuncId,
    dealloc: FuncId,
    panic: FuncId,
    table: GlobalId,
}

/// How many floats the constant table has.
const TABLE_LEN: u64 = 4;

impl World {
    fn new(module: &mut Module, rng: &mut Rng) -> Self {
        let alloc = Function::new("__rust_alloc", vec![Type::I64, Type::I64], Some(Type::Ptr));
        let dealloc = Function::new("__rust_dealloc", vec![Type::Ptr, Type::I64, Type::I64], None);
        let mut panic = Function::new("panic", vec![], None);
        panic.attrs = FuncAttrs { memory: MemoryEffects::Any, noreturn: true, inactive: true };
        let bytes = (0..TABLE_LEN).flat_map(|_| rng.float(-1.5, 1.5).to_le_bytes()).collect();
        let table =
            Global { name: "table".to_owned(), size: 8 * TABLE_LEN, align: 8, constant: true, bytes: Some(bytes) };
        World {
            alloc: module.add_function(alloc),
            dealloc: module.add_function(dealloc),
            panic: module.add_function(panic),
            table: module.add_global(table),
        }
    }
}
