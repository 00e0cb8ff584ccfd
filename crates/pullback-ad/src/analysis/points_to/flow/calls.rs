//! What a call says: arguments become parameters, results become values.

use super::Pass;
use crate::analysis::points_to::facts::may_carry;
use crate::analysis::points_to::seed::{Made, describe};
use crate::analysis::points_to::strided::Strided;
use crate::custom::{CustomRule, Role};
use pullback_ir::{Callee, FuncId, Type, Value};

impl Pass<'_> {
    /// A function with a rule: its arguments and its result are what the rule says.
    pub(super) fn rule_call(&mut self, rule: &CustomRule, args: &[Value]) {
        for (place, arg) in args.iter().zip(&rule.args) {
            let made = if arg.role == Role::Result { Made::Here } else { Made::Before };
            let Some((object, offsets)) = self.pointer(*place) else { continue };
            for at in offsets.iter() {
                describe(&mut self.facts.objects, &rule.layouts, (object, at), arg.layout, made);
            }
        }
    }

    pub(super) fn call(&mut self, callee: Callee, args: &[Value], result: Option<Value>) {
        match callee {
            Callee::Direct(callee) if let Some(rule) = self.request.rule(callee) => self.rule_call(rule, args),
            Callee::Direct(callee) if self.facts.functions.contains(&callee) => {
                self.join_arguments(args, callee);
                if let Some(result) = result {
                    self.join_returned(callee, result);
                }
            }
            _ => {
                let Some(result) = result else { return };
                match self.func.ty(result) {
                    Type::Ptr => self.foreign(result),
                    Type::Int(_) => self.set_offset(result, Strided::ANY),
                    _ => {}
                }
            }
        }
    }

    /// Arguments become the parameters of another function.
    pub(super) fn join_arguments(&mut self, args: &[Value], callee: FuncId) {
        for (arg, param) in args.iter().zip(self.module.func(callee).param_values()) {
            self.assign((callee, Some(*param)), *arg, &[]);
        }
    }

    /// Integers that are given to a clean-up carry what its parameters carry: an element that a sort holds in its hands
    /// is a pointer there too, and [`retype`](crate::prepare::retype) makes it one.
    pub(super) fn join_contents(&mut self, args: &[Value], callee: FuncId) {
        for (arg, param) in args.iter().zip(self.module.func(callee).param_values()) {
            if may_carry(self.func.ty(*arg)) && self.func.as_const(*arg).is_none() {
                let content = self.content(*arg);
                self.facts.set_content((callee, Some(*param)), content);
            }
        }
    }

    /// What another function returns becomes a value. Which number it returns is not followed.
    fn join_returned(&mut self, callee: FuncId, result: Value) {
        let (to, returned) = (self.slot(result), self.facts.slot((callee, None)).clone());
        for (i, field) in returned.fields {
            self.facts.set_field(to, i, field);
        }
        if let Some(object) = returned.object {
            self.facts.reach(to, object, returned.offset.expect("it is set with the object"));
        }
        if self.func.ty(result).is_int() {
            self.facts.set_offset(to, Strided::ANY);
        }
        if let Some(content) = returned.content {
            self.facts.set_content(to, content);
        }
    }
}
