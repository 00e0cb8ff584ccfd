//! Functions that the primal calls, and the calls.

use super::body::{Array, Body, Elem};
use super::{Feature, Features, World};
use crate::rng::Rng;
use pullback_ir::{BlockCall, Constant, FuncId, Function, IntPred, Module, Op, Type, Value};

/// How many elements a helper's array has.
const CAP: u64 = 4;

/// What a helper takes and returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signature {
    /// `(f64, f64) -> f64`.
    Scalars,
    /// `(f64, f32) -> {f64, i64, f64}`.
    Several,
    /// `(ptr, f64, i64) -> f64`; writes to the array if the helper may.
    Array,
    /// `(ptr, ptr, f64)`: writes to the first array.
    Into,
    /// `(ptr, ptr, i64) -> ptr`: one of the two.
    Choose,
    /// `(ptr, ptr, f64) -> {ptr, i64, {ptr, f64}}`: both, and what does not depend on them.
    Both,
    /// `(f64, f64) -> ptr`: a new array on the heap.
    Make,
    /// `(i64, f64, ptr) -> f64`: calls itself, or its partner, with a smaller number.
    Recursive,
}

impl Signature {
    fn params(self) -> Vec<Type> {
        use Type::*;
        match self {
            Signature::Scalars | Signature::Make => vec![F64, F64],
            Signature::Several => vec![F64, F32],
            Signature::Array => vec![Ptr, F64, Type::I64],
            Signature::Into | Signature::Both => vec![Ptr, Ptr, F64],
            Signature::Choose => vec![Ptr, Ptr, Type::I64],
            Signature::Recursive => vec![Type::I64, F64, Ptr],
        }
    }

    fn ret(self) -> Option<Type> {
        match self {
            Signature::Scalars | Signature::Array | Signature::Recursive => Some(Type::F64),
            Signature::Several => Some(Type::structure([Type::F64, Type::I64, Type::F64])),
            Signature::Both => {
                let inner = Type::structure([Type::Ptr, Type::F64]);
                Some(Type::structure([Type::Ptr, Type::I64, inner]))
            }
            Signature::Into => None,
            Signature::Choose | Signature::Make => Some(Type::Ptr),
        }
    }
}

/// A function that may be called.
#[derive(Clone, Copy, Debug)]
pub struct Helper {
    /// The function.
    pub id: FuncId,
    /// What it takes and returns.
    pub signature: Signature,
    /// Whether it may write to its arrays.
    pub write: bool,
    /// Whether others may call it.
    pub callable: bool,
}

/// Whom a recursive function calls, and the smaller number it passes on.
#[derive(Clone, Copy, Debug)]
pub struct Recursion {
    callee: FuncId,
    less: Value,
    array: Value,
}

/// The helpers of a program. Each may call those before it.
pub fn helpers(module: &mut Module, world: &World, features: Features, rng: &mut Rng) -> Vec<Helper> {
    let mut helpers = Vec::new();
    if !features.has(Feature::Calls) {
        return helpers;
    }
    for i in 0..rng.between(1, 3) {
        let mut signatures = vec![Signature::Scalars, Signature::Array, Signature::Into];
        if features.has(Feature::Aggregates) && features.has(Feature::Single) {
            signatures.push(Signature::Several);
        }
        if features.has(Feature::Alias) {
            signatures.push(Signature::Choose);
        }
        if features.has(Feature::Aggregates) {
            signatures.push(Signature::Both);
        }
        if features.has(Feature::Heap) {
            signatures.push(Signature::Make);
        }
        if features.has(Feature::Recursion) {
            signatures.extend([Signature::Recursive; 2]);
        }
        let signature = *rng.pick(&signatures);
        let write = signature == Signature::Into || rng.chance(50);
        let declare = |module: &mut Module, name: String| {
            module.add_function(Function::new(name, signature.params(), signature.ret()))
        };
        let id = declare(module, format!("helper{i}"));
        let partner =
            (signature == Signature::Recursive && rng.chance(40)).then(|| declare(module, format!("partner{i}")));
        for (id, callee) in [(Some(id), partner.unwrap_or(id)), (partner, id)] {
            let Some(id) = id else { continue };
            let func = module.func(id).clone();
            let budget = rng.between(2, 8);
            let mut body = Body::new(func, signature.ret(), world, &helpers, features, rng, budget);
            fill(&mut body, signature, write, callee);
            *module.func_mut(id) = body.into_function();
        }
        helpers.push(Helper { id, signature, write, callable: true });
    }
    helpers
}

fn array(ptr: Value, write: bool) -> Array {
    Array { ptr, elem: Elem::F64, cap: CAP, len: None, write, object: None }
}

fn fill(body: &mut Body, signature: Signature, write: bool, callee: FuncId) {
    let params = body.func.param_values().to_vec();
    match signature {
        Signature::Scalars | Signature::Several => {
            body.env.floats.extend(&params);
            body.locals();
        }
        Signature::Array => {
            body.env.arrays.push(array(params[0], write));
            body.env.floats.push(params[1]);
            body.env.ints.push(params[2]);
            body.locals();
        }
        Signature::Into => {
            body.result = Some(array(params[0], true));
            body.env.arrays.push(array(params[0], true));
            body.env.arrays.push(array(params[1], false));
            body.env.floats.push(params[2]);
            body.locals();
        }
        Signature::Choose => {
            let zero = body.func.i64(0);
            let cond = body.b().icmp(IntPred::Eq, params[2], zero);
            let chosen = body.b().select(cond, params[0], params[1]);
            let exit = body.exit;
            body.b().jump(exit, vec![chosen]);
            return;
        }
        Signature::Both => {
            let squared = body.b().fmul(params[2], params[2]);
            let number = body.func.i64(CAP as i64);
            let ty = signature.ret().expect("it returns both");
            let mut inner = body.func.constant(ty.field(2).clone(), Constant::Undef);
            for (i, part) in [params[1], squared].into_iter().enumerate() {
                inner = body.b().value(Op::InsertValue(inner, part, i as u32), ty.field(2).clone());
            }
            let mut all = body.func.constant(ty.clone(), Constant::Undef);
            for (i, part) in [params[0], number, inner].into_iter().enumerate() {
                all = body.b().value(Op::InsertValue(all, part, i as u32), ty.clone());
            }
            let exit = body.exit;
            body.b().jump(exit, vec![all]);
            return;
        }
        Signature::Make => {
            body.env.floats.extend(&params);
            body.may_return = false;
            let ptr = body.allocate(8 * CAP);
            let made = array(ptr, true);
            body.initialise(&made);
            body.env.arrays.push(made);
            body.statements();
            let exit = body.exit;
            body.b().jump(exit, vec![ptr]);
            return;
        }
        Signature::Recursive => {
            body.env.floats.push(params[1]);
            body.env.ints.push(params[0]);
            body.env.arrays.push(array(params[2], write));
            body.locals();
            recurse(body, callee, params[0], params[2]);
        }
    }
    body.statements();
    body.finish();
}

/// The end of the recursion, and the call one step down.
fn recurse(body: &mut Body, callee: FuncId, n: Value, a: Value) {
    let zero = body.func.i64(0);
    let stop = body.b().icmp(IntPred::Sle, n, zero);
    let (base, on) = (body.func.add_block(), body.func.add_block());
    body.b().branch(stop, BlockCall::new(base, vec![]), BlockCall::new(on, vec![]));
    let here = body.env.clone();
    body.block = base;
    body.leave();
    body.block = on;
    body.env = here;
    let one = body.func.i64(1);
    let less = body.b().sub(n, one);
    body.recursion = Some(Recursion { callee, less, array: a });
    body.some_statements(2);
    body.step_down();
}

impl Body<'_> {
    /// The recursive call.
    pub fn step_down(&mut self) {
        let Some(Recursion { callee, less, array }) = self.recursion else { return };
        let x = self.expression(&Type::F64);
        let x = self.squash(x);
        let result = self.b().call(callee, vec![less, x, array], Type::F64);
        self.env.floats.push(result);
    }

    /// Call a helper.
    pub fn call(&mut self) -> bool {
        if self.helpers.is_empty() {
            return false;
        }
        let helper = *self.rng.pick(self.helpers);
        let fits = |write: bool| move |a: &Array| a.elem == Elem::F64 && a.cap >= CAP && (a.write || !write);
        let x = self.float(&Type::F64);
        match helper.signature {
            Signature::Scalars => {
                let y = self.float(&Type::F64);
                let result = self.b().call(helper.id, vec![x, y], Type::F64);
                self.env.floats.push(result);
            }
            Signature::Several => {
                let y = self.float(&Type::F32);
                let ty = helper.signature.ret().expect("it returns several values");
                let result = self.b().call(helper.id, vec![x, y], ty.clone());
                for (index, field) in [(0, Type::F64), (2, Type::F64)] {
                    let part = self.b().value(Op::ExtractValue(result, index), field);
                    self.env.floats.push(part);
                }
            }
            Signature::Array => {
                let Some(array) = self.array(fits(helper.write)) else { return false };
                let n = self.masked(3);
                let result = self.b().call(helper.id, vec![array.ptr, x, n], Type::F64);
                self.env.floats.push(result);
            }
            Signature::Into => {
                let Some(to) = self.array(fits(true)) else { return false };
                let Some(from) = self.array(fits(false)) else { return false };
                self.b().call_void(helper.id, vec![to.ptr, from.ptr, x]);
            }
            Signature::Choose => {
                let Some(a) = self.array(fits(false)) else { return false };
                let Some(b) = self.array(|b| b.elem == Elem::F64 && b.cap >= CAP && b.write == a.write) else {
                    return false;
                };
                let n = self.masked(1);
                let ptr = self.b().call(helper.id, vec![a.ptr, b.ptr, n], Type::Ptr);
                self.env.arrays.push(array(ptr, a.write));
            }
            Signature::Both => {
                let Some(a) = self.array(fits(false)) else { return false };
                let Some(b) = self.array(fits(false)) else { return false };
                let ty = helper.signature.ret().expect("it returns both");
                let all = self.b().call(helper.id, vec![a.ptr, b.ptr, x], ty.clone());
                let inner = self.b().value(Op::ExtractValue(all, 2), ty.field(2).clone());
                for (from, index, old) in [(all, 0, a), (inner, 0, b)] {
                    let ptr = self.b().value(Op::ExtractValue(from, index), Type::Ptr);
                    self.env.arrays.push(array(ptr, old.write));
                }
                let number = self.b().value(Op::ExtractValue(all, 1), Type::I64);
                self.env.ints.push(number);
                let float = self.b().value(Op::ExtractValue(inner, 1), Type::F64);
                self.env.floats.push(float);
            }
            Signature::Make => {
                let y = self.float(&Type::F64);
                let ptr = self.b().call(helper.id, vec![x, y], Type::Ptr);
                let outside = self.env.clone();
                self.env.arrays.push(array(ptr, true));
                self.heap.push((ptr, 8 * CAP));
                self.some_statements(4);
                let index = self.index(CAP);
                let kept = self.load_lane(&array(ptr, true), index, (0, Type::F64));
                self.heap.pop();
                self.deallocate(ptr, 8 * CAP);
                self.env = outside;
                self.env.floats.push(kept);
            }
            Signature::Recursive => {
                let Some(array) = self.array(fits(helper.write)) else { return false };
                let n = self.masked(3);
                let result = self.b().call(helper.id, vec![n, x, array.ptr], Type::F64);
                self.env.floats.push(result);
            }
        }
        true
    }
}
