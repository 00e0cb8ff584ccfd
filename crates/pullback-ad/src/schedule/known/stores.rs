//! Stores whose cotangents are known from the start: those that are the last thing that is done with their places.
//!
//! What lies in the shadow of a place when the derivative begins is the cotangent of what the place holds in the end.
//! If no transpose touches the shadow before that of the store, it is the cotangent of the value that is stored, all
//! the way up to there.

use crate::linearise::augment::Augmented;
use crate::linearise::linear::Linear;
use crate::session::Session;
use pullback_ir::cfg::Cfg;
use pullback_ir::{Block, FuncId, Inst, Value};

/// Tells of the stores of a whole derivative whether their cotangents are known from the start.
pub struct Stores<'a> {
    session: &'a Session<'a>,
    /// Whether cotangents that the caller gave are known only when the primal is through.
    pub late: bool,
}

impl<'a> Stores<'a> {
    /// For the linear program of a derivative.
    pub fn new(session: &'a Session<'a>, aug: &Augmented) -> Self {
        let late = session.writes.settles || aug.linear.all().any(|(_, linear)| linear.reads_words());
        Stores { session, late }
    }

    /// Whether the cotangent of what a float store in this block stores is in the shadow of its place all the time.
    pub fn is_known(&self, aug: &Augmented, cfg: &Cfg, block: Block, inst: Inst) -> bool {
        let [store @ Linear::Store { value: Some(_), ty, .. }] = aug.linear.at(inst) else { return false };
        ty.is_float() && (self.is_result(aug, store) || !self.late && is_last(aug, cfg, block, inst, store))
    }

    /// Whether a store is all that the program ever does with the place of its result.
    fn is_result(&self, aug: &Augmented, store: &Linear) -> bool {
        let (request, facts) = (self.session.request, self.session.facts);
        let Linear::Store { shadow, .. } = store else { return false };
        let params = aug.func.param_values();
        let object = shadow.iter().all(|place| params.contains(place)).then(|| aug.places.get(&shadow[0])).flatten();
        let Some((object, _)) = object else { return false };
        let of = &facts.objects.origins(*object).args;
        if of.is_empty() || !of.iter().all(|arg| request.is_result(*arg)) {
            return false;
        }
        let is_place = |id: FuncId, v: &Value| facts.object(id, *v) == Some(*object);
        let mut uses = 0;
        for id in &facts.functions {
            let func = self.session.module.func(*id);
            for data in func.blocks().map(|block| func.block(block)) {
                let handed_on = data.term.targets().into_iter().flat_map(|target| &target.args);
                let ends = handed_on.copied().chain(data.term.operand()).filter(|v| is_place(*id, v)).count();
                let touches = |inst: &&Inst| func.inst(**inst).op.operands().iter().any(|v| is_place(*id, v));
                uses += 2 * ends + data.insts.iter().filter(touches).count();
            }
        }
        uses == 1
    }
}

/// Whether no transpose of what comes after a store in this block touches its place. (In a loop it comes after itself.)
fn is_last(aug: &Augmented, cfg: &Cfg, block: Block, inst: Inst, store: &Linear) -> bool {
    let Linear::Store { shadow, ty, .. } = store else { return false };
    let Some((object, at)) = aug.place(shadow[0]).filter(|(_, at)| at.exact().is_some()) else { return false };
    let touches = |linear: &Linear| {
        let (others, width) = match linear {
            Linear::Load(result, shadow, _) => (shadow, aug.func.ty(*result).size()),
            Linear::Store { shadow, ty, .. } => (shadow, ty.size()),
            Linear::Copy { dst, src, .. } => {
                let mut all = dst.iter().chain(src.iter().flatten());
                return all.any(|place| aug.place(*place).is_none_or(|(other, _)| other == object));
            }
            other => return other.shares().is_none() && !matches!(other, Linear::Extract(..) | Linear::Insert(..)),
        };
        others.iter().any(|other| match aug.place(*other) {
            Some((other, _)) if other != object => false,
            Some((_, other_at)) => at.overlaps(ty.size(), &other_at, width),
            None => true,
        })
    };
    let mut rest = aug.func.block(block).insts.iter().skip_while(|other| **other != inst).skip(1);
    let after = cfg.reachable_from(block);
    if after.contains(&block) {
        return false;
    }
    let mut later = after.iter().flat_map(|b| aug.linear.of_block(&aug.func, *b)).map(|(_, linear)| linear);
    !rest.any(|inst| aug.linear.at(*inst).iter().any(touches)) && !later.any(touches)
}
