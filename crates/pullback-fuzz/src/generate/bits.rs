//! Statements that move floats as integers.

use super::body::{Array, Body, Elem};
use pullback_ir::{BinOp, CastOp, Flags, Op, Type, Value};

impl Body<'_> {
    /// A float moved or kept as an integer of its width: a copy, a swap, a round trip.
    pub fn bit_copy(&mut self) -> bool {
        let Some(array) = self.array(|a| a.write) else { return false };
        let lanes: Vec<_> = array.elem.lanes().iter().filter(|(_, ty)| ty.is_float()).collect();
        let (offset, ty) = (*self.rng.pick(&lanes)).clone();
        let int = Type::Int(ty.size() as u16 * 8);
        let (i, j) = (self.index(array.cap), self.index(array.cap));
        let (p, q) = (self.address(&array, i, offset), self.address(&array, j, offset));
        let x = self.b().load(int.clone(), p);
        match self.rng.below(3) {
            0 => self.b().store(q, x),
            1 => {
                let y = self.b().load(int, q);
                self.b().store(q, x);
                self.b().store(p, y);
            }
            _ => {
                let x = self.b().cast(CastOp::Bitcast, x, ty);
                self.env.floats.push(x);
            }
        }
        true
    }

    /// Two `f32` in one `i64`: copied whole, taken apart, put together.
    pub fn pair(&mut self) -> bool {
        let Some(array) = self.array(|a| a.write && a.elem == Elem::F32 && a.cap > 1) else { return false };
        let p = self.pair_address(&array);
        match self.rng.below(3) {
            0 => {
                let q = self.pair_address(&array);
                let both = self.load_pair(p);
                self.b().push(Op::Store { ptr: q, value: both, align: 4 }, None);
            }
            1 => {
                let both = self.load_pair(p);
                let low = self.b().cast(CastOp::Trunc, both, Type::I32);
                let width = self.func.i64(32);
                let high = self.b().bin(BinOp::LShr, both, width);
                let high = self.b().cast(CastOp::Trunc, high, Type::I32);
                for half in [low, high] {
                    let float = self.b().cast(CastOp::Bitcast, half, Type::F32);
                    self.env.floats.push(float);
                }
            }
            _ => {
                let halves = [(); 2].map(|()| {
                    let float = self.expression(&Type::F32);
                    let float = self.squash(float);
                    let bits = self.b().cast(CastOp::Bitcast, float, Type::I32);
                    self.b().cast(CastOp::ZExt, bits, Type::I64)
                });
                let width = self.func.i64(32);
                let high = self.b().bin(BinOp::Shl, halves[1], width);
                let mut b = self.b();
                b.flags = Flags::DISJOINT;
                let both = b.bin(BinOp::Or, halves[0], high);
                self.b().push(Op::Store { ptr: p, value: both, align: 4 }, None);
            }
        }
        true
    }

    fn pair_address(&mut self, array: &Array) -> Value {
        let index = self.index(array.cap - 1);
        self.address(array, index, 0)
    }

    fn load_pair(&mut self, ptr: Value) -> Value {
        self.b().value(Op::Load { ptr, align: 4 }, Type::I64)
    }
}
