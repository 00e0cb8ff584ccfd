//! Calls of functions with rules of the user's.
//!
//! In forward mode the rule is called in the function's place. In reverse mode the forward sweep calls it for the value
//! and the pullback: a closure, of which the engine sees so many bytes. They are kept like any other values, a few
//! words for each call, in registers, in the arrays of counted loops, or on the tape; the reverse sweep puts them
//! together again and calls the pullback, which adds to the shadows. What the closure captures is what the tape holds.

use crate::analysis::activity::reached;
use crate::analysis::points_to::objects::ObjId;
use crate::custom::{Calls, CustomRule, ReverseRule, Role, RuleArgument, Storage};
use crate::error::{Error, Result};
use crate::linearise::augment::Augmenter;
use crate::linearise::linear::Linear;
use crate::request::{Field, FieldKind};
use pullback_ir::{BinOp, Builder, Callee, FloatPred, FuncId, Inst, InstData, Op, Type, Value};

/// Captures of more bytes than this stay in memory that belongs to the tape.
const MOST_BYTES: u64 = 128;

/// What is kept of memory of which the engine knows nothing.
#[derive(Clone, PartialEq, Debug)]
pub enum Kept {
    /// Its bytes as integers, each with its offset.
    Words(Storage, Vec<(u64, Value)>),
    /// It stays where it is.
    InPlace(Value),
}

impl Kept {
    /// The values that have to be there in the reverse sweep.
    pub fn values(&self) -> Vec<Value> {
        match self {
            Kept::Words(_, words) => words.iter().map(|(_, word)| *word).collect(),
            Kept::InPlace(memory) => vec![*memory],
        }
    }
}

/// A call of a function with a rule, in the reverse sweep.
#[derive(Clone, PartialEq, Debug)]
pub struct Pullback {
    /// What to call: `pullback(closure, view, a1', …, out')`.
    pub function: FuncId,
    /// What the pullback has captured.
    pub closure: Kept,
    /// For each direction of the batch, what it needs of the shadows.
    pub views: Vec<Kept>,
    /// For each direction, the shadows; `None` where the rule does not ask for one.
    pub shadows: Vec<Vec<Option<Value>>>,
    /// The objects that the closure may refer to, which have to stay as they are.
    pub borrowed: Vec<ObjId>,
    /// What is called in the forward sweep, for a closure that refers to none of them, where they do not stay as they
    /// are.
    pub owning: Option<FuncId>,
    /// With strong zeros, of a function of numbers: the types of its arguments and of its result, as `numbers` has
    /// them.
    pub strong: Option<Vec<Option<Type>>>,
    /// The function's name, for messages.
    pub name: String,
}

impl Pullback {
    /// The values that have to be there in the reverse sweep.
    pub fn values(&self) -> Vec<Value> {
        let kept = [&self.closure].into_iter().chain(&self.views).flat_map(Kept::values);
        kept.chain(self.shadows.iter().flatten().flatten().copied()).collect()
    }
}

/// The pieces in which so many bytes are kept: offset and type.
fn pieces(size: u64) -> Vec<(u64, Type)> {
    let mut all = Vec::new();
    let mut at = 0;
    for (width, bits) in [(8, 64), (4, 32), (2, 16), (1, 8)] {
        while at + width <= size {
            all.push((at, Type::Int(bits)));
            at += width;
        }
    }
    all
}

/// Of a rule for a function of numbers that returns a number, the type of each argument that has a shadow, and of the
/// result. Of such a function the engine sees what goes into a rule and what comes out, so that a zero can be kept.
fn numbers(rule: &CustomRule, has_shadow: impl Fn(usize) -> bool) -> Option<Vec<Option<Type>>> {
    let number = |(i, arg): (usize, &RuleArgument)| {
        let kind = match &rule.layouts.get(arg.layout).fields[..] {
            [Field { offset: 0, kind }] => *kind,
            _ => FieldKind::Int(0),
        };
        match kind {
            _ if !has_shadow(i) => Some(None),
            FieldKind::F32 => Some(Some(Type::F32)),
            FieldKind::F64 => Some(Some(Type::F64)),
            _ => None,
        }
    };
    rule.args.iter().enumerate().map(number).collect()
}

/// Whether the float at a place is zero.
pub(crate) fn holds_zero(b: &mut Builder, ty: &Type, place: Value) -> Value {
    let (float, zero) = (b.load(ty.clone(), place), b.func.zero(ty));
    b.fcmp(FloatPred::Oeq, float, zero)
}

impl Augmenter<'_, '_> {
    /// A call of a function with a rule.
    pub(crate) fn rule_call(&mut self, data: &InstData, rule: &CustomRule, args: &[Value]) -> Result<()> {
        let takes_part = |this: &Self, (place, role): (Value, Role)| {
            let object = this.session.facts.object(this.id, place);
            role != Role::Inert && object.is_some_and(|o| this.session.active.reaches_active(this.session.facts, o))
        };
        let places = || args.iter().copied().zip(rule.args.iter().map(|arg| arg.role));
        if !places().any(|place| matches!(place.1, Role::Result | Role::Written) && takes_part(self, place)) {
            return self.untouched(data);
        }
        let mut shadows: Vec<Option<Vec<Value>>> = Vec::new();
        for (place, role) in places() {
            shadows.push(match role {
                Role::Result => Some(self.result_shadow(rule, place)?),
                _ if takes_part(self, (place, role)) => Some(self.shadow(place)?),
                _ => None,
            });
        }
        let directions: Vec<Vec<Option<Value>>> = (0..self.width())
            .map(|direction| shadows.iter().map(|s| s.as_ref().map(|s| s[direction])).collect())
            .collect();
        let places: Vec<Value> = args.iter().map(|place| self.get(*place)).collect();
        match &rule.calls {
            Calls::Reverse(reverse) => self.keep_pullback(data, rule, reverse, args, &places, directions),
            Calls::Forward(tangent) => {
                for shadows in &directions {
                    let args = self.with_shadows(&places, shadows);
                    let zeros = self.strong_numbers(rule, shadows).map(|numbers| self.hold_zeros(&numbers, shadows));
                    self.call_rule(data, *tangent, args)?;
                    if let (Some((ty, Some(all_zero))), Some(Some(out))) = (zeros, shadows.last()) {
                        let mut b = self.builder();
                        let (found, zero) = (b.load(ty.clone(), *out), b.func.zero(&ty));
                        let kept = b.select(all_zero, zero, found);
                        b.store(*out, kept);
                    }
                }
                Ok(())
            }
        }
    }

    /// With strong zeros, what [`numbers`] says of a rule.
    fn strong_numbers(&self, rule: &CustomRule, shadows: &[Option<Value>]) -> Option<Vec<Option<Type>>> {
        let strong = self.session.request.strong_zero;
        strong.then(|| numbers(rule, |i| shadows[i].is_some())).flatten()
    }

    /// The type of the result of a function of numbers, and whether the tangents of all its arguments are zero.
    fn hold_zeros(&mut self, numbers: &[Option<Type>], shadows: &[Option<Value>]) -> (Type, Option<Value>) {
        let (result, args) = numbers.split_last().expect("a rule has a place for the result");
        let mut b = self.builder();
        let mut all: Option<Value> = None;
        for (ty, shadow) in args.iter().zip(shadows).filter_map(|(ty, shadow)| Some((ty.as_ref()?, (*shadow)?))) {
            let zero = holds_zero(&mut b, ty, shadow);
            all = Some(all.map_or(zero, |others| b.bin(BinOp::And, others, zero)));
        }
        (result.clone().expect("a result has a shadow"), all)
    }

    /// The shadow of the place of a result; one of our own where the result holds no floats.
    fn result_shadow(&mut self, rule: &CustomRule, place: Value) -> Result<Vec<Value>> {
        if self.has_shadow(place) {
            return self.shadow(place);
        }
        let result = rule.args.last().expect("a rule has a place for the result");
        let size = rule.layouts.get(result.layout).size.max(1);
        Ok(self.zero_shadows(size, 16))
    }

    /// Each place followed by its shadow, or by null.
    fn with_shadows(&mut self, places: &[Value], shadows: &[Option<Value>]) -> Vec<Value> {
        let null = self.func.zero(&Type::Ptr);
        places.iter().zip(shadows).flat_map(|(place, shadow)| [*place, shadow.unwrap_or(null)]).collect()
    }

    fn call_rule(&mut self, data: &InstData, function: FuncId, args: Vec<Value>) -> Result<Inst> {
        let cleanup = self.cleanup(data.op.cleanup())?;
        Ok(self.push(Op::Call(Callee::Direct(function), args, cleanup), None, data))
    }

    /// The forward sweep of a call with a rule: the value, and what the pullback needs.
    fn keep_pullback(
        &mut self,
        data: &InstData,
        rule: &CustomRule,
        reverse: &ReverseRule,
        old: &[Value],
        places: &[Value],
        directions: Vec<Vec<Option<Value>>>,
    ) -> Result<()> {
        if reverse.once {
            if directions.len() > 1 {
                return Err(called_more_than_once(data, rule, directions.len()));
            }
            self.session.noted.unrepeatable.set(true);
        }
        let tape = self.out.tape.expect("reverse mode has a tape");
        let memory = self.storage(reverse.closure);
        let args = [tape, memory].into_iter().chain(places.iter().copied()).collect();
        let inst = self.call_rule(data, reverse.augmented, args)?;
        let closure = self.keep(reverse.closure, memory);
        if let Some(written) = self.written_by(rule, old) {
            self.out.writes.insert(inst, written);
        }
        let mut views = Vec::new();
        for shadows in &directions {
            let memory = self.storage(reverse.view_storage);
            if let Some(view) = reverse.view {
                let mut args = vec![tape, memory];
                args.extend(self.with_shadows(places, shadows));
                let inst = self.call_rule(data, view, args)?;
                self.out.writes.insert(inst, Vec::new());
            }
            views.push(self.keep(reverse.view_storage, memory));
        }
        let mut borrowed = Vec::new();
        if reverse.borrows && reverse.drops {
            self.session.noted.owns_borrowing.set(true);
        }
        if reverse.borrows {
            let facts = self.session.facts;
            // A rule that is told whether memory stays as it is refers to what is read.
            let is_given = |role| match role {
                Role::Inert | Role::Read => true,
                Role::Written => reverse.owning.is_none(),
                Role::Result => false,
            };
            let given = old.iter().zip(&rule.args).filter(|(_, arg)| is_given(arg.role));
            for object in given.filter_map(|(place, _)| facts.object(self.id, *place)) {
                // The place itself is the rule's own.
                borrowed.extend(reached(facts, object).into_iter().skip(1));
            }
        }
        let strong = self.strong_numbers(rule, &directions[0]);
        let pullback = Pullback {
            function: reverse.pullback,
            strong,
            closure,
            views,
            shadows: directions,
            borrowed,
            owning: reverse.owning,
            name: rule.name.clone(),
        };
        self.linear(inst, Linear::Rule(Box::new(pullback)));
        Ok(())
    }

    /// The objects that a function with a rule writes to, if they are known: the place of its result, and what is
    /// behind the arguments that it may write.
    fn written_by(&self, rule: &CustomRule, places: &[Value]) -> Option<Vec<ObjId>> {
        let facts = self.session.facts;
        let mut written = Vec::new();
        for (place, arg) in places.iter().zip(&rule.args) {
            match arg.role {
                Role::Inert | Role::Read => {}
                // What the result owns is new.
                Role::Result => written.push(facts.object(self.id, *place)?),
                Role::Written => written.extend(reached(facts, facts.object(self.id, *place)?)),
            }
        }
        Some(written)
    }

    /// Memory for bytes of a rule's.
    fn storage(&mut self, storage: Storage) -> Value {
        match storage.size {
            0 => self.func.zero(&Type::Ptr),
            1..=MOST_BYTES => {
                self.prologue_value(Op::Alloca { size: storage.size, align: storage.align.max(8) }, Type::Ptr)
            }
            _ => {
                let (size, align) = (self.func.i64(storage.size as i64), self.func.i64(storage.align as i64));
                let tape = self.out.tape.expect("reverse mode has a tape");
                let alloc = self.session.runtime.shadow_alloc;
                self.builder().call(alloc, vec![tape, size, align], Type::Ptr)
            }
        }
    }

    /// Read what is to be kept of it.
    fn keep(&mut self, storage: Storage, memory: Value) -> Kept {
        if storage.size > MOST_BYTES {
            return Kept::InPlace(memory);
        }
        let mut words = Vec::new();
        for (at, ty) in pieces(storage.size) {
            let mut b = self.builder();
            let place = b.offset(memory, at as i64);
            let word = b.value(Op::Load { ptr: place, align: 1 }, ty);
            // The next call of a rule writes there: it cannot be read again.
            self.out.pinned.insert(word);
            words.push((at, word));
        }
        Kept::Words(storage, words)
    }
}

/// A pullback that can be called once, in a derivative with a width.
fn called_more_than_once(data: &InstData, rule: &CustomRule, width: usize) -> Error {
    Error::unsupported(format!(
        "the pullback of `{}` can be called once, and a derivative of width {width} calls it for each direction",
        rule.name
    ))
    .at(data.loc)
    .label("called here")
    .note("it is an `FnOnce` that owns memory")
    .help(
        "let the rule return an `impl Fn(…)` that can be called again: it lends what it owns and does not give it away",
    )
}
