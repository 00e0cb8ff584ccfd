//! Pullbacks that refer to memory of the arguments, which has to be as it was when they run.

use crate::analysis::writes::Inactive;
use crate::error::{Error, ErrorKind, Result};
use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use crate::linearise::rule_call::Pullback;
use crate::schedule::recomputable::Recomputable;
use crate::session::{Form, Session};
use pullback_ir::cfg::Cfg;
use pullback_ir::{Callee, FuncId, Inst, Op};

/// A pullback that refers to an argument's memory needs it as it was. Where something may be written there in between,
/// the rule is called for one that refers to nothing; if there is none, this fails.
pub(crate) fn check_borrows(session: &Session, aug: &mut Augmented, cfg: &Cfg, form: Form) -> Result<()> {
    for (inst, owning) in overwritten(session, aug, cfg, form)? {
        let Op::Call(callee, ..) = &mut aug.func.inst_mut(inst).op else { unreachable!("a rule is called") };
        *callee = Callee::Direct(owning);
    }
    Ok(())
}

/// The calls of rules that are given memory which may be overwritten, and what is to be called in their place.
fn overwritten(session: &Session, aug: &Augmented, cfg: &Cfg, form: Form) -> Result<Vec<(Inst, FuncId)>> {
    let pullbacks = aug.linear.all().filter_map(|(inst, linear)| match linear {
        Linear::Rule(pullback) if !pullback.borrowed.is_empty() => Some((inst, pullback)),
        _ => None,
    });
    let pullbacks: Vec<(Inst, &Pullback)> = pullbacks.map(|(inst, pullback)| (inst, &**pullback)).collect();
    if pullbacks.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let written = session.writers().written(Inactive::OnlyRead);
    let recomputable = Recomputable::new(aug, cfg, form);
    for (inst, pullback) in pullbacks {
        if pullback.borrowed.iter().all(|o| !written.contains(o) || recomputable.stays(inst, *o)) {
            continue;
        }
        if let Some(owning) = pullback.owning {
            found.push((inst, owning));
            continue;
        }
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!("the pullback of `{}` refers to an argument that may be overwritten before it runs", pullback.name),
        )
        .at(aug.func.inst(inst).loc)
        .label("called here, and what it is given may be written afterwards")
        .help("let the closure own what it needs (`x.to_vec()`), and say so in the rule: `impl FnOnce(…) + 'static`"));
    }
    Ok(found)
}
