//! What calls of the augmented primal do when they panic.
//!
//! A [`Cleanup`] is a function of the primal that drops what the caller holds. In reverse mode it is called as it is:
//! shadows belong to the tape, and so does what was freed before the panic; what the clean-up frees goes at once, for
//! no reverse sweep will come. In forward mode it is replaced by its forward derivative, which is given the shadows too
//! and frees them beside their primals ([`OnPanic::Free`]).

use crate::analysis::scope::OnPanic;
use crate::error::Result;
use crate::linearise::augment::Augmenter;
use pullback_ir::{Cleanup, FuncId, Value};

impl Augmenter<'_, '_> {
    /// What the new call does if it panics, where the old one does `old`.
    pub(crate) fn cleanup(&mut self, old: Option<&Cleanup>) -> Result<Option<Cleanup>> {
        let Some(Cleanup { func, args }) = old else { return Ok(None) };
        let looked_at = self.session.facts.on_panic == OnPanic::Free && self.session.facts.functions.contains(func);
        let mirrored = looked_at && self.session.takes_part(*func);
        if mirrored {
            let (func, args) = (self.session.variant(*func).forward, self.with_shadow_values(*func, args)?);
            return Ok(Some(Cleanup { func, args }));
        }
        // The parameters of a clean-up that was looked at may have got other types than they have in the original.
        let func = if looked_at { *func } else { self.original(*func) };
        Ok(Some(Cleanup { func, args: args.iter().map(|v| self.get(*v)).collect() }))
    }

    /// The function of the program that a working copy stands for.
    pub(crate) fn original(&self, func: FuncId) -> FuncId {
        self.session.originals.get(&func).copied().unwrap_or(func)
    }

    /// The arguments of a callee that takes part, each followed by its shadow values.
    pub(crate) fn with_shadow_values(&mut self, callee: FuncId, args: &[Value]) -> Result<Vec<Value>> {
        let params = self.session.module.func(callee).param_values().to_vec();
        let mut all = Vec::new();
        for (arg, param) in args.iter().zip(params) {
            all.push(self.get(*arg));
            if self.session.has_shadow_values(callee, param) {
                all.extend(self.shadow_values(*arg)?);
            }
        }
        Ok(all)
    }
}
