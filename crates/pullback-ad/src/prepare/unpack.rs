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

use pullback_ir::{Constant, Function, Inst, InstData, Op, Type, Value};

/// Take the loads and stores of aggregates with pointers in a function apart.
pub fn unpack(func: &mut Function) {
    for block in func.blocks().collect::<Vec<_>>() {
        let holds_pointer = |func: &Function, value: Value| {
            let ty = func.ty(value);
            matches!(ty, Type::Struct(_)) && ty.leaves().iter().any(|(_, leaf)| **leaf == Type::Ptr)
        };
        let insts = func.block(block).insts.clone();
        let mut all = Vec::new();
        for inst in insts {
            let data = func.inst(inst).clone();
            match (&data.op, data.result) {
                (Op::Store { ptr, value, align }, _) if holds_pointer(func, *value) => {
                    let mut unpack = Unpack { func, like: &data, all: &mut all, ptr: *ptr, align: *align };
                    unpack.store(*value, 0);
                }
                (Op::Load { ptr, align }, Some(result)) if holds_pointer(func, result) => {
                    let ty = func.ty(result).clone();
                    let mut unpack = Unpack { func, like: &data, all: &mut all, ptr: *ptr, align: *align };
                    let value = unpack.load(&ty, 0);
                    func.replace_uses(result, value);
                }
                _ => all.push(inst),
            }
        }
        func.block_mut(block).insts = all;
    }
}

/// One load or store that is taken apart.
struct Unpack<'a> {
    func: &'a mut Function,
    like: &'a InstData,
    all: &'a mut Vec<Inst>,
    ptr: Value,
    align: u64,
}

impl Unpack<'_> {
    fn push(&mut self, op: Op, ty: Option<Type>) -> Inst {
        let inst = self.func.make_inst(op, ty, self.like.flags, self.like.loc);
        self.all.push(inst);
        inst
    }

    fn value(&mut self, op: Op, ty: Type) -> Value {
        let inst = self.push(op, Some(ty));
        self.func.result(inst)
    }

    /// The address of what is so many bytes into the aggregate, and its alignment.
    fn place(&mut self, at: u64) -> (Value, u64) {
        if at == 0 {
            return (self.ptr, self.align);
        }
        let offset = self.func.i64(at as i64);
        (self.value(Op::PtrAdd(self.ptr, offset), Type::Ptr), self.align.min(1 << at.trailing_zeros()))
    }

    fn store(&mut self, value: Value, at: u64) {
        let ty = self.func.ty(value).clone();
        let Type::Struct(fields) = &ty else {
            let (ptr, align) = self.place(at);
            self.push(Op::Store { ptr, value, align }, None);
            return;
        };
        for (i, field) in fields.iter().enumerate() {
            let part = self.value(Op::ExtractValue(value, i as u32), field.clone());
            self.store(part, at + ty.field_offset(i));
        }
    }

    fn load(&mut self, ty: &Type, at: u64) -> Value {
        let Type::Struct(fields) = ty else {
            let (ptr, align) = self.place(at);
            return self.value(Op::Load { ptr, align }, ty.clone());
        };
        let mut all = self.func.constant(ty.clone(), Constant::Undef);
        for (i, field) in fields.iter().enumerate() {
            let part = self.load(field, at + ty.field_offset(i));
            all = self.value(Op::InsertValue(all, part, i as u32), ty.clone());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::unpack;
    use crate::testing::rewritten;

    #[test]
    fn pointers_in_aggregates_are_moved_one_by_one() {
        let text = "fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load {f64, f64} v0
  store v1, v2
  v3 = load {i64, {ptr, i64}} v0
  store v1, v3 align 4
  return
}
";
        let expected = "fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load {f64, f64} v0
  store v1, v2
  v5 = load i64 v0
  v6 = insert undef {i64, {ptr, i64}}, v5, 0
  v9 = ptradd v0, 8:i64
  v10 = load ptr v9
  v11 = insert undef {ptr, i64}, v10, 0
  v13 = ptradd v0, 16:i64
  v14 = load i64 v13
  v15 = insert v11, v14, 1
  v16 = insert v6, v15, 1
  v17 = extract v16, 0
  store v1, v17 align 4
  v18 = extract v16, 1
  v19 = extract v18, 0
  v20 = ptradd v1, 8:i64
  store v20, v19 align 4
  v21 = extract v18, 1
  v22 = ptradd v1, 16:i64
  store v22, v21 align 4
  return
}
";
        assert_eq!(rewritten(text, unpack), expected);
    }
}
