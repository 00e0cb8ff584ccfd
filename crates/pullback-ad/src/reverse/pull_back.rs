//! Pullbacks of the user's rules, in the reverse sweep: what was kept of a closure is put together again, and called.

use crate::custom::Storage;
use crate::linearise::rule_call::{Kept, Pullback, holds_zero};
use crate::reverse::Sweeps;
use pullback_ir::{Flags, Loop, Op, Type, Value};

impl Sweeps<'_, '_> {
    /// Call a pullback.
    pub(crate) fn pull_back(&mut self, pullback: &Pullback, level: Option<Loop>) {
        let closure = self.put_together(&pullback.closure, level);
        for (view, shadows) in pullback.views.iter().zip(&pullback.shadows) {
            let mut args = vec![closure, self.put_together(view, level)];
            for shadow in shadows {
                args.push(match shadow {
                    Some(shadow) => self.value(*shadow, level),
                    None => self.rev().zero(&Type::Ptr),
                });
            }
            let places = args[2..].to_vec();
            let before = pullback.strong.as_ref().map(|numbers| self.cotangents_before(numbers, &places));
            self.build().call_void(pullback.function, args);
            let Some((zero, cotangents)) = before else { continue };
            for (place, old) in cotangents {
                let mut b = self.build();
                let ty = b.func.ty(old).clone();
                let new = b.load(ty, place);
                let kept = b.select(zero, old, new);
                b.store(place, kept);
            }
        }
    }

    /// Whether the cotangent of a function's result is zero, and those of its arguments, with where they lie.
    fn cotangents_before(&mut self, numbers: &[Option<Type>], places: &[Value]) -> (Value, Vec<(Value, Value)>) {
        let mut all: Vec<(&Type, Value)> =
            numbers.iter().zip(places).filter_map(|(ty, place)| Some((ty.as_ref()?, *place))).collect();
        let (ty, out) = all.pop().expect("a result has a shadow");
        let mut b = self.build();
        let zero = holds_zero(&mut b, ty, out);
        (zero, all.into_iter().map(|(ty, place)| (place, b.load(ty.clone(), place))).collect())
    }

    /// Memory with what was kept.
    fn put_together(&mut self, kept: &Kept, level: Option<Loop>) -> Value {
        match kept {
            Kept::InPlace(memory) => self.value(*memory, level),
            Kept::Words(_, words) if words.is_empty() => self.rev().zero(&Type::Ptr),
            Kept::Words(Storage { size, align }, words) => {
                let op = Op::Alloca { size: *size, align: (*align).max(8) };
                let inst = self.rev().make_inst(op, Some(Type::Ptr), Flags::NONE, None);
                let memory = self.rev().result(inst);
                self.rev.prologue.push(inst);
                for (at, word) in words {
                    let word = self.value(*word, level);
                    let mut b = self.build();
                    let place = b.offset(memory, *at as i64);
                    b.push(Op::Store { ptr: place, value: word, align: 1 }, None);
                }
                memory
            }
        }
    }
}
