//! What a call says: arguments become parameters, results become values.

use super::{Pass, joined};
use crate::analysis::points_to::facts::may_carry;
use crate::analysis::points_to::seed::{Made, describe};
use crate::analysis::points_to::strided::Strided;
use crate::custom::{CustomRule, Role};
use pullback_ir::Value;
use pullback_ir::{Callee, FuncId, Type};

impl Pass<'_> {
    /// A function with a rule: its arguments and its result are what the rule says.
    pub(super) fn rule_call(&mut self, rule: &CustomRule, args: &[Value]) {
        for (place, arg) in args.iter().zip(&rule.args) {
            let made = if arg.role == Role::Result { Made::Here } else { Made::Before };
            let Some((object, offsets)) = self.pointer(*place) else { continue };
            for at in offsets.iter() {
                let mut path = vec![(arg.layout, object)];
                describe(&mut self.facts.objects, &rule.layouts, (object, at), arg.layout, made, &mut path);
            }
        }
    }

    pub(super) fn call(&mut self, callee: Callee, args: &[Value], result: Option<Value>) {
        if let Callee::Direct(callee) = callee
            && let Some(rule) = self.request.rule(callee)
        {
            return self.rule_call(rule, args);
        }
        if let Callee::Direct(callee) = callee
            && self.facts.functions.contains(&callee)
        {
            self.join_arguments(args, callee);
            if let Some(result) = result {
                for (i, (object, offset)) in self.facts.values[&callee].ret_fields.clone() {
                    self.set_field(result, i, object, offset);
                }
            }
            if let (Some(result), Some((object, offset))) = (result, self.facts.values[&callee].ret.clone())
                && *self.func.ty(result) == Type::Ptr
            {
                self.set_object(result, object);
                self.set_offset(result, offset);
            } else if let Some(result) = result
                && self.func.ty(result).is_int()
            {
                self.set_offset(result, Strided::ANY);
                if may_carry(self.func.ty(result))
                    && let Some(theirs) = self.facts.values[&callee].ret_content
                {
                    let ours = self.content(result);
                    self.facts.objects.unify_contents(ours, theirs);
                }
            }
            return;
        }
        if let Some(result) = result {
            match self.func.ty(result) {
                Type::Ptr => self.foreign(result),
                Type::Int(_) => self.set_offset(result, Strided::ANY),
                _ => {}
            }
        }
    }

    /// Arguments become the parameters of another function.
    pub(super) fn join_arguments(&mut self, args: &[Value], callee: FuncId) {
        let params: Vec<Value> = self.module.func(callee).param_values().to_vec();
        for (arg, param) in args.iter().zip(params) {
            self.join_across(*arg, callee, param);
        }
    }

    /// Integers that are given to a clean-up carry what its parameters carry: an element that a sort holds in its hands
    /// is a pointer there too, and [`retype`](crate::prepare::retype) makes it one.
    pub(super) fn join_contents(&mut self, args: &[Value], callee: FuncId) {
        let params: Vec<Value> = self.module.func(callee).param_values().to_vec();
        for (arg, param) in args.iter().zip(params) {
            if !may_carry(self.func.ty(*arg)) || self.func.as_const(*arg).is_some() {
                continue;
            }
            let ours = self.content(*arg);
            let theirs = self.facts.values.get_mut(&callee).expect("the clean-up is in the group");
            match theirs.content[param.index()] {
                Some(theirs) => self.facts.objects.unify_contents(ours, theirs),
                None => {
                    theirs.content[param.index()] = Some(ours);
                    self.changed = true;
                }
            }
        }
    }

    /// An argument becomes a parameter of another function.
    fn join_across(&mut self, arg: Value, callee: FuncId, param: Value) {
        let slot = param.index();
        let coarseness = self.facts.objects.coarseness;
        match self.func.ty(arg) {
            Type::Ptr => {
                let theirs = self.facts.values[&callee].object[slot];
                let object = match (self.pointer(arg), theirs) {
                    (Some((ours, offset)), theirs) => {
                        let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                        let joined =
                            table.offset[slot].as_ref().map_or(offset.clone(), |old| old.grown(&offset, coarseness));
                        if table.offset[slot].as_ref() != Some(&joined) {
                            table.offset[slot] = Some(joined);
                            self.changed = true;
                        }
                        if let Some(theirs) = theirs {
                            self.facts.objects.unify(theirs, ours);
                        }
                        Some(ours)
                    }
                    (None, theirs) => theirs,
                };
                let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                if table.object[slot].is_none() && object.is_some() {
                    table.object[slot] = object;
                    self.changed = true;
                }
            }
            ty @ Type::Struct(_) => {
                for i in 0..ty.leaves().len() as u32 {
                    let Some((object, offset)) = self.values().fields.get(&(arg, i)).cloned() else { continue };
                    let old = self.facts.values[&callee].fields.get(&(param, i)).cloned();
                    let new = joined(&mut self.facts.objects, old.clone(), object, offset);
                    if old.as_ref() != Some(&new) {
                        let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                        table.fields.insert((param, i), new);
                        self.changed = true;
                    }
                }
            }
            Type::Int(_) => {
                if self.is_moved(arg) {
                    let ours = self.content(arg);
                    match self.facts.values[&callee].content[slot] {
                        Some(theirs) => self.facts.objects.unify_contents(ours, theirs),
                        None => {
                            let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                            table.content[slot] = Some(ours);
                            self.changed = true;
                        }
                    }
                }
                let Some(interval) = self.interval(arg) else { return };
                let table = self.facts.values.get_mut(&callee).expect("the callee is in the group");
                let joined =
                    table.offset[slot].as_ref().map_or(interval.clone(), |old| old.grown(&interval, coarseness));
                if table.offset[slot].as_ref() != Some(&joined) {
                    table.offset[slot] = Some(joined);
                    self.changed = true;
                }
            }
            _ => {}
        }
    }
}
