//! Aggregates with pointers are read and written field by field.
//!
//! rustc makes no code that reads or writes them as a whole, but a derivative does that keeps such a value for its
//! reverse sweep. The other passes look at what lies in memory word by word.
//!
//! ```text
//! store v0, v1          ; {ptr, i64}          v2 = extract v1, 0
//!                                             store v0, v2
//!                                             v3 = extract v1, 1
//!                                             v4 = ptradd v0, 8:i64
//!                                             store v4, v3
//! ```

use pullback_ir::{Builder, Constant, Function, Op, Type, Value};
use std::collections::HashMap;

/// Take the loads and stores of aggregates with pointers in a function apart.
pub fn unpack(func: &mut Function) {
    let mut replaced = HashMap::new();
    for block in func.blocks().collect::<Vec<_>>() {
        for inst in std::mem::take(&mut func.block_mut(block).insts) {
            let data = func.inst(inst).clone();
            let mut b = Builder::new(func, block).with(data.flags, data.loc);
            match (data.op, data.result) {
                (Op::Store { ptr, value, align }, _) if holds_pointer(b.func, value) => {
                    Place { ptr, align }.store(&mut b, value, 0);
                }
                (Op::Load { ptr, align }, Some(result)) if holds_pointer(b.func, result) => {
                    let ty = b.func.ty(result).clone();
                    replaced.insert(result, Place { ptr, align }.load(&mut b, &ty, 0));
                }
                _ => func.block_mut(block).insts.push(inst),
            }
        }
    }
    func.map_values(|value| replaced.get(&value).copied().unwrap_or(value));
}

fn holds_pointer(func: &Function, value: Value) -> bool {
    let ty = func.ty(value);
    matches!(ty, Type::Struct(_)) && ty.leaves().iter().any(|(_, leaf)| **leaf == Type::Ptr)
}

/// Where an aggregate is read or written.
struct Place {
    ptr: Value,
    align: u64,
}

impl Place {
    /// The address of what is so many bytes into the aggregate, and its alignment.
    fn inside(&self, b: &mut Builder, at: u64) -> (Value, u64) {
        let align = if at == 0 { self.align } else { self.align.min(1 << at.trailing_zeros()) };
        (b.offset(self.ptr, at as i64), align)
    }

    fn store(&self, b: &mut Builder, value: Value, at: u64) {
        let ty = b.func.ty(value).clone();
        let Type::Struct(fields) = &ty else {
            let (ptr, align) = self.inside(b, at);
            b.push(Op::Store { ptr, value, align }, None);
            return;
        };
        for (i, field) in fields.iter().enumerate() {
            let part = b.value(Op::ExtractValue(value, i as u32), field.clone());
            self.store(b, part, at + ty.field_offset(i));
        }
    }

    fn load(&self, b: &mut Builder, ty: &Type, at: u64) -> Value {
        let Type::Struct(fields) = ty else {
            let (ptr, align) = self.inside(b, at);
            return b.value(Op::Load { ptr, align }, ty.clone());
        };
        let mut all = b.func.constant(ty.clone(), Constant::Undef);
        for (i, field) in fields.iter().enumerate() {
            let part = self.load(b, field, at + ty.field_offset(i));
            all = b.value(Op::InsertValue(all, part, i as u32), ty.clone());
        }
        all
    }
}
