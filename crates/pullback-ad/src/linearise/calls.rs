//! Calls in the augmented primal of functions that take part: the augmented primals of the callees are called.

use crate::error::Result;
use crate::linearise::augment::Augmenter;
use crate::linearise::linear::Linear;
use pullback_ir::{FuncId, InstData, Op, Value};

impl Augmenter<'_, '_> {
    /// A call of a function that takes part.
    pub(crate) fn call(&mut self, data: &InstData, callee: FuncId, args: &[Value]) -> Result<()> {
        let variant = self.session.variant(callee);
        let mut new_args: Vec<Value> = self.out.tape.into_iter().collect();
        new_args.extend(self.with_shadow_values(callee, args)?);
        let active_args = self.session.active_params(callee).into_iter().map(|i| self.get(args[i])).collect();
        let cleanup = self.cleanup(data.op.cleanup())?;
        let doubled = self.session.returns_shadow_values(callee);
        let ty = self.session.module.func(variant.forward).ret.clone();
        let callee_op = Op::Call(pullback_ir::Callee::Direct(variant.forward), new_args, cleanup);
        let inst = self.push(callee_op, ty.clone(), data);
        let mut active_result = None;
        if let (Some(old_result), Some(all)) = (data.result, self.func.inst(inst).result) {
            let old_ty = self.old.ty(old_result).clone();
            let mut parts = vec![all];
            if doubled {
                let width = self.width();
                let mut b = self.builder();
                parts = (0..=width).map(|i| b.value(Op::ExtractValue(all, i as u32), old_ty.clone())).collect();
            }
            let result = parts[0];
            self.bind(old_result, result);
            active_result = self.is_active(old_result).then_some(result);
            if doubled {
                self.set_shadow_values(old_result, result, parts.split_off(1));
            }
        }
        if let Some(reverse) = variant.reverse {
            self.linear(inst, Linear::Call { result: active_result, reverse, args: active_args });
        }
        Ok(())
    }
}
