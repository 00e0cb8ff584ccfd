//! Plain code in the place of the run-time functions that a derivative calls besides its tape: what
//! `pullback::rt::nested` is to the driver. Each call gets a function of its own, as if it were inlined.

use crate::shrink::reachable;
use pullback_ir::{
    Block, BlockCall, Builder, Callee, CastOp, FuncId, Function, Inst, IntPred, Module, Op, Type, Value,
};

/// Replace the calls of such functions in a derivative and all it calls; the name of one for which there is no plain
/// code.
pub fn replace(module: &mut Module, derivative: FuncId) -> Result<(), String> {
    for id in reachable(module, derivative) {
        let func = module.func(id);
        let insts: Vec<Inst> = func.blocks().flat_map(|b| func.block(b).insts.clone()).collect();
        for inst in insts {
            let Op::Call(Callee::Direct(callee), args, None) = module.func(id).inst(inst).op.clone() else { continue };
            let function = module.func(callee).name.clone();
            let number = |i: usize| {
                module.func(id).as_int(args[i]).expect("alignments, strides, offsets and widths are constants")
            };
            let lanes =
                |i: usize| Lanes { stride: number(i) as i64, offset: number(i + 1) as i64, width: number(i + 2) };
            let mut code = match function.as_str() {
                "__pullback_shadow_alloc" => {
                    let align = number(2) as i64;
                    shadow_alloc(module, align)
                }
                "__pullback_adjoint_copy" => adjoint_copy(lanes(3)),
                "__pullback_zero_lanes" => zero_lanes(lanes(2)),
                "__pullback_copy_lanes" => copy_lanes(lanes(3)),
                "__pullback_copy_words" | "__pullback_uncopy_words" => return Err(function),
                _ => continue,
            };
            let count = module.functions().count();
            code.name = format!("{function}.{count}");
            let new = Callee::Direct(module.add_function(code));
            module.func_mut(id).inst_mut(inst).op = Op::Call(new, args, None);
        }
    }
    Ok(())
}

/// Floats of `width` bytes at `offset + k·stride`.
#[derive(Clone, Copy)]
struct Lanes {
    stride: i64,
    offset: i64,
    width: i128,
}

/// Which lane comes first.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Up,
    Down,
}

impl Lanes {
    fn ty(self) -> Type {
        if self.width == 8 { Type::F64 } else { Type::F32 }
    }

    /// Lanes need not be aligned.
    fn load(self, b: &mut Builder, ptr: Value) -> Value {
        b.value(Op::Load { ptr, align: 1 }, self.ty())
    }

    fn store(self, b: &mut Builder, ptr: Value, value: Value) {
        b.push(Op::Store { ptr, value, align: 1 }, None);
    }

    /// A loop over the lanes below `len`, at the end of a block; the block after it. `body` is given the offset of a
    /// lane.
    fn each(
        self,
        func: &mut Function,
        before: Block,
        len: Value,
        order: Order,
        body: impl Fn(&mut Builder, Value),
    ) -> Block {
        let [count_block, head, done] = [(); 3].map(|()| func.add_block());
        let k = func.add_param(head, Type::I64);
        let [zero, one, stride, offset] = [0, 1, self.stride, self.offset].map(|n| func.i64(n));
        let mut b = Builder::new(func, before);
        let some = b.icmp(IntPred::Sgt, len, offset);
        b.branch(some, BlockCall::new(count_block, vec![]), BlockCall::new(done, vec![]));

        b.at(count_block);
        // A single lane has a stride beyond any length, and LLVM finds that there is no loop.
        if self.stride > i64::MAX / 4 {
            body(&mut b, offset);
            b.jump(done, vec![]);
            func.retain_blocks(|block| block != head);
            return done;
        }
        let rest = b.sub(len, offset);
        let rest = b.sub(rest, one);
        let last = b.bin(pullback_ir::BinOp::UDiv, rest, stride);
        let first = if order == Order::Up { zero } else { last };
        b.jump(head, vec![first]);

        b.at(head);
        let steps = b.mul(k, stride);
        let at = b.add(offset, steps);
        body(&mut b, at);
        let (next, end) = match order {
            Order::Up => (b.add(k, one), b.icmp(IntPred::Eq, k, last)),
            Order::Down => (b.sub(k, one), b.icmp(IntPred::Eq, k, zero)),
        };
        b.branch(end, BlockCall::new(done, vec![]), BlockCall::new(head, vec![next]));
        done
    }
}

/// A function with its parameters and an entry block.
pub fn function(name: &str, params: Vec<Type>, ret: Option<Type>) -> (Function, Vec<Value>, Block) {
    let mut func = Function::new(name, params.clone(), ret);
    let entry = func.add_block();
    let values = params.into_iter().map(|ty| func.add_param(entry, ty)).collect();
    (func, values, entry)
}

/// A function of pointers first and then integers.
fn plain(pointers: usize, integers: usize, ret: Option<Type>) -> (Function, Vec<Value>, Block) {
    let mut params = vec![Type::Ptr; pointers];
    params.resize(pointers + integers, Type::I64);
    function("support", params, ret)
}

/// `(tape, size, align)`: zeroed memory that is given back with the tape.
fn shadow_alloc(module: &mut Module, align: i64) -> Function {
    let (p, i) = (Type::Ptr, Type::I64);
    let name = "__pullback_defer_dealloc";
    let defer = module.declare(name, || Function::new(name, vec![p.clone(), p.clone(), i.clone(), i.clone()], None));
    let name = "__rust_alloc";
    let alloc = module.declare(name, || Function::new(name, vec![i.clone(), i.clone()], Some(p.clone())));
    let (mut func, params, entry) = plain(1, 2, Some(Type::Ptr));
    let (tape, size, align) = (params[0], params[1], func.i64(align));
    let [nothing, something] = [(); 2].map(|()| func.add_block());
    let zero = func.i64(0);
    let mut b = Builder::new(&mut func, entry);
    let is_empty = b.icmp(IntPred::Eq, size, zero);
    b.branch(is_empty, BlockCall::new(nothing, vec![]), BlockCall::new(something, vec![]));
    b.at(nothing);
    let dangling = b.cast(CastOp::IntToPtr, align, Type::Ptr);
    b.ret(Some(dangling));
    b.at(something);
    let memory = b.value(Op::Alloc { size, align, zeroed: true, func: alloc }, Type::Ptr);
    b.call_void(defer, vec![tape, memory, size, align]);
    b.ret(Some(memory));
    func
}

/// `(dst, len, …)`: the lanes become zero.
fn zero_lanes(lanes: Lanes) -> Function {
    let (mut func, params, entry) = plain(1, 4, None);
    let end = lanes.each(&mut func, entry, params[1], Order::Up, |b, at| {
        let (place, zero) = (b.ptr_add(params[0], at), b.func.float(lanes.ty(), 0.0));
        lanes.store(b, place, zero);
    });
    Builder::new(&mut func, end).ret(None);
    func
}

/// `(dst, src, len, …)`: upwards where `up` says so of `dst` and `src`, else downwards.
fn moved(lanes: Lanes, up: IntPred, body: impl Fn(&mut Builder, Value, Value)) -> Function {
    let (mut func, params, entry) = plain(2, 4, None);
    let [upwards, downwards] = [(); 2].map(|()| func.add_block());
    let mut b = Builder::new(&mut func, entry);
    let is_up = b.icmp(up, params[0], params[1]);
    b.branch(is_up, BlockCall::new(upwards, vec![]), BlockCall::new(downwards, vec![]));
    for (block, order) in [(upwards, Order::Up), (downwards, Order::Down)] {
        let end = lanes.each(&mut func, block, params[2], order, |b, at| {
            let (dst, src) = (b.ptr_add(params[0], at), b.ptr_add(params[1], at));
            body(b, dst, src);
        });
        Builder::new(&mut func, end).ret(None);
    }
    func
}

/// What lies at `dst` is taken out and added to `src`, zero or not: the derivative of a zero need not be one.
fn adjoint_copy(lanes: Lanes) -> Function {
    moved(lanes, IntPred::Uge, |b, dst, src| {
        let cotangent = lanes.load(b, dst);
        let zero = b.func.float(lanes.ty(), 0.0);
        lanes.store(b, dst, zero);
        let old = lanes.load(b, src);
        let sum = b.fadd(old, cotangent);
        lanes.store(b, src, sum);
    })
}

fn copy_lanes(lanes: Lanes) -> Function {
    moved(lanes, IntPred::Ule, |b, dst, src| {
        let value = lanes.load(b, src);
        lanes.store(b, dst, value);
    })
}
