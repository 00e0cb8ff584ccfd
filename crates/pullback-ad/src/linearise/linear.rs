//! The linear operations on tangents.
//!
//! Linearising an instruction gives an operation that is linear in the tangents of its operands; its coefficients are
//! ordinary values of the augmented primal. Forward mode runs these operations beside the primal
//! (`forward`); reverse mode runs their transposes backwards (`reverse`). Each derivative rule is
//! thus written once.
//!
//! What is chosen is not multiplied: the tangent of a minimum is that of the operand that was taken (`Select`), and
//! where a rule says that a partial is zero, so is the product, whatever the tangent is
//! ([`Support`](pullback_rules::Support)). With the request's `strong_zero` a tangent or cotangent that is zero stays
//! zero, whatever it is multiplied with.
//!
//! | linear operation | transposed |
//! |---|---|
//! | `ṙ = Σ cᵢ·ẋᵢ` | `x̄ᵢ += cᵢ·r̄` |
//! | `ṙ = load p'` | `p' += r̄` |
//! | `store ẇ → p'` | `w̄ += load p'; store 0 → p'` |
//! | `copy src' → dst'` | `src' += dst'; dst' = 0` |
//! | a user's rule | its pullback |
//! | `store w → p'`, a word | `if w is a float { w̄ += load p' }; store what was there → p'` |

use crate::analysis::points_to::lanes::Lane;
use crate::analysis::points_to::objects::{Cell, Kinds, ObjId, Objects};
use crate::analysis::points_to::offsets::Offsets;
use crate::linearise::rule_call::Pullback;
use pullback_ir::{CastOp, FuncId, Type, Value};
use pullback_rules::Coefficient;

/// A linear operation; values are those of the augmented primal. `None` stands for an operand whose tangent is zero.
/// Shadow pointers come in a list, one for each direction of the batch.
#[derive(Clone, PartialEq, Debug)]
pub enum Linear {
    /// `ṙ = Σ cᵢ·ẋᵢ`.
    Sum(Value, Vec<(Value, Coefficient)>),
    /// `r = x / y`: `ṙ = (ẋ − r·ẏ) / y`.
    Quotient {
        /// `r`.
        result: Value,
        /// `x`, if active.
        x: Option<Value>,
        /// `y`, if active.
        y: Option<Value>,
        /// `y` itself; none if `x` is the number 1, for then `r` is by what to multiply instead.
        divisor: Option<Value>,
    },
    /// A change of precision.
    Cast(Value, CastOp, Value),
    /// `ṙ = cond ? ȧ : ḃ`.
    Select(Value, Value, Option<Value>, Option<Value>),
    /// `ṙ = load p'`.
    Load(Value, Vec<Value>, Beside),
    /// `store ẇ → p'`, of a float or aggregate type.
    Store {
        /// The stored value, if active.
        value: Option<Value>,
        /// Its type.
        ty: Type,
        /// Where.
        shadow: Vec<Value>,
    },
    /// The float lanes of a copied region. `src` is `None` if the source is constant.
    Copy {
        /// Target.
        dst: Vec<Value>,
        /// Source.
        src: Option<Vec<Value>>,
        /// Bytes.
        len: Value,
        /// Where the floats are.
        floats: Vec<Lane>,
        /// What may lie in the source.
        beside: Beside,
    },
    /// A shadow pointer was stored over another one in memory the caller sees; the reverse sweep puts it back.
    Restore {
        /// Where.
        shadow: Vec<Value>,
        /// What was there.
        old: Vec<Value>,
    },
    /// An `f32` is stored over a part of what may be a pointer; the reverse sweep puts its shadow back, if there was
    /// one.
    Uncover {
        /// Where the pointer's shadow was.
        shadow: Vec<Value>,
        /// What was there, zero if it was no pointer.
        old: Vec<Value>,
    },
    /// The same bits as another type: a word that is a float, or a float that becomes a word.
    Bits(Value, Value),
    /// A word is read; its shadow is zero unless it is a pointer.
    WordLoad {
        /// The word.
        result: Value,
        /// Where its shadows lie.
        shadow: Vec<Value>,
        /// The shadows.
        words: Vec<Value>,
    },
    /// A value is stored where floats lie at one time and pointers at another. The shadow there was `old`, and became
    /// `word`.
    WordStore {
        /// The stored value, if it is an active float or a word that may be one.
        value: Option<Value>,
        /// Which direction of the batch this is.
        direction: usize,
        /// Where.
        shadow: Value,
        /// The new shadow, zero for a float.
        word: Value,
        /// What was there.
        old: Value,
    },
    /// Such words are copied, as if all were read before any is written.
    WordCopy(Vec<CopiedWord>),
    /// Many such words are copied, or overwritten where `src` is `None`: what their shadows were is on the tape.
    WordCopies {
        /// Target.
        dst: Value,
        /// Source.
        src: Option<Value>,
        /// Bytes.
        len: Value,
        /// Where the words are.
        lane: Lane,
    },
    /// A call whose reverse is a function of its own. `args` are the active float arguments.
    Call {
        /// The active result.
        result: Option<Value>,
        /// The reverse function.
        reverse: FuncId,
        /// The active float arguments, in the order in which the reverse function returns their cotangents.
        args: Vec<Value>,
    },
    /// The cotangents that a call with joint reversal gave back for an active argument, by batch direction; the forward
    /// sweep has them already.
    Given(Value, Vec<Value>),
    /// A call of a function with a rule of the user's (reverse mode).
    Rule(Box<Pullback>),
    /// `ṙ = ȧ.i`.
    Extract(Value, Value, u32),
    /// `ṙ = ȧ` with field `i` replaced.
    Insert(Value, Option<Value>, Option<Value>, u32),
}

/// What may lie where a cotangent is added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Beside {
    /// A float.
    Floats,
    /// A float, or a number of the caller's, which has no cotangent: its bits stay as they are. Adding zero is not
    /// enough, for that changes the bits of −0 and of some that are not a number.
    Numbers,
}

impl Beside {
    /// What may lie in the shadow of an object: of so many bytes at these offsets, or anywhere.
    pub fn of(objects: &Objects, object: ObjId, at: &Offsets, width: Option<u64>) -> Beside {
        let number = |cell: &Cell| {
            let kinds = objects.kinds(cell.content);
            kinds.has_float() && kinds.contains(Kinds::INT) && width.is_none_or(|width| cell.meets(at, width))
        };
        let callers = !objects.origins(object).args.is_empty();
        if callers && objects.cells(object).iter().any(number) { Beside::Numbers } else { Beside::Floats }
    }
}

/// A word that is copied where floats lie at one time and pointers at another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CopiedWord {
    /// Target.
    pub dst: Value,
    /// Source.
    pub src: Value,
    /// The shadow that was copied, zero unless it is a pointer.
    pub word: Value,
    /// What was in the target.
    pub old: Value,
}

impl Linear {
    /// The value whose tangent the operation computes.
    pub fn result(&self) -> Option<Value> {
        match self {
            Linear::Call { result, .. } => *result,
            other => other.taken(),
        }
    }

    /// The value whose cotangent the transpose takes, and does nothing else; `None` if it takes one from memory, or
    /// calls.
    pub fn taken(&self) -> Option<Value> {
        match self {
            Linear::Sum(result, _)
            | Linear::Quotient { result, .. }
            | Linear::Cast(result, ..)
            | Linear::Select(result, ..)
            | Linear::Load(result, ..)
            | Linear::Bits(result, _)
            | Linear::WordLoad { result, .. }
            | Linear::Extract(result, ..)
            | Linear::Insert(result, ..) => Some(*result),
            _ => None,
        }
    }

    /// The values whose tangents the operation uses: the transpose gives cotangents to them.
    pub fn operands(&self) -> Vec<Value> {
        match self {
            Linear::Sum(_, terms) => terms.iter().map(|(value, _)| *value).collect(),
            Linear::Quotient { x, y, .. } => x.iter().chain(y).copied().collect(),
            Linear::Cast(_, _, from) | Linear::Bits(_, from) | Linear::Extract(_, from, _) => vec![*from],
            Linear::Select(_, _, a, b) | Linear::Insert(_, a, b, _) => a.iter().chain(b).copied().collect(),
            Linear::Store { value, .. } | Linear::WordStore { value, .. } => value.iter().copied().collect(),
            Linear::Call { args, .. } => args.clone(),
            Linear::Given(arg, _) => vec![*arg],
            Linear::Load(..)
            | Linear::WordLoad { .. }
            | Linear::Copy { .. }
            | Linear::Restore { .. }
            | Linear::Uncover { .. }
            | Linear::WordCopy(_)
            | Linear::Rule(_)
            | Linear::WordCopies { .. } => vec![],
        }
    }

    /// The values of the primal that the operation and its transpose use: coefficients, conditions, shadow addresses,
    /// lengths.
    pub fn primals(&self) -> Vec<Value> {
        match self {
            Linear::Sum(_, terms) => terms.iter().flat_map(|(_, c)| c.values()).collect(),
            Linear::Quotient { result, y, divisor, .. } => divisor.iter().copied().chain(y.map(|_| *result)).collect(),
            Linear::Select(_, cond, ..) => vec![*cond],
            Linear::Load(_, shadow, _) | Linear::Store { shadow, .. } => shadow.clone(),
            Linear::Copy { dst, src, len, .. } => {
                let mut all = dst.clone();
                all.extend(src.iter().flatten());
                all.push(*len);
                all
            }
            Linear::WordLoad { shadow, words, .. } => shadow.iter().chain(words).copied().collect(),
            Linear::WordStore { shadow, word, old, .. } => vec![*shadow, *word, *old],
            Linear::WordCopy(words) => words.iter().flat_map(|w| [w.dst, w.src, w.word, w.old]).collect(),
            Linear::WordCopies { dst, src, len, .. } => [*dst, *len].into_iter().chain(*src).collect(),
            Linear::Rule(pullback) => pullback.values(),
            Linear::Given(_, given) => given.clone(),
            Linear::Restore { shadow, old } | Linear::Uncover { shadow, old } => {
                shadow.iter().chain(old).copied().collect()
            }
            Linear::Cast(..) | Linear::Bits(..) | Linear::Call { .. } | Linear::Extract(..) | Linear::Insert(..) => {
                vec![]
            }
        }
    }

    /// Whether the forward sweep reads shadows that may hold cotangents.
    pub fn reads_words(&self) -> bool {
        matches!(self, Linear::WordLoad { .. }) || self.changes_shadow_pointers()
    }

    /// Whether the transpose does no more to memory than to add to it.
    pub fn only_adds(&self) -> bool {
        let takes = matches!(self, Linear::Load(..) | Linear::Given(..) | Linear::Extract(..) | Linear::Insert(..));
        takes || self.shares().is_some()
    }

    /// Whether the transpose puts back shadow pointers: it can be done once.
    pub fn changes_shadow_pointers(&self) -> bool {
        matches!(
            self,
            Linear::Restore { .. }
                | Linear::Uncover { .. }
                | Linear::WordStore { .. }
                | Linear::WordCopy(_)
                | Linear::WordCopies { .. }
        )
    }
}
