//! The words of the text format for operations, predicates and flags: one table each, read both ways.

use crate::inst::{BinOp, CastOp, Flags, FloatPred, IntPred};

/// A type whose values each have a word.
pub(super) trait Word: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, x)| *x == self).expect("every variant has a row").0
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(w, _)| *w == word).map(|(_, x)| *x)
    }
}

impl Word for BinOp {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("add", BinOp::Add),
        ("sub", BinOp::Sub),
        ("mul", BinOp::Mul),
        ("udiv", BinOp::UDiv),
        ("sdiv", BinOp::SDiv),
        ("urem", BinOp::URem),
        ("srem", BinOp::SRem),
        ("shl", BinOp::Shl),
        ("lshr", BinOp::LShr),
        ("ashr", BinOp::AShr),
        ("and", BinOp::And),
        ("or", BinOp::Or),
        ("xor", BinOp::Xor),
        ("fadd", BinOp::FAdd),
        ("fsub", BinOp::FSub),
        ("fmul", BinOp::FMul),
        ("fdiv", BinOp::FDiv),
        ("frem", BinOp::FRem),
    ];
}

impl Word for IntPred {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("eq", IntPred::Eq),
        ("ne", IntPred::Ne),
        ("ult", IntPred::Ult),
        ("ule", IntPred::Ule),
        ("ugt", IntPred::Ugt),
        ("uge", IntPred::Uge),
        ("slt", IntPred::Slt),
        ("sle", IntPred::Sle),
        ("sgt", IntPred::Sgt),
        ("sge", IntPred::Sge),
    ];
}

impl Word for FloatPred {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("false", FloatPred::False),
        ("oeq", FloatPred::Oeq),
        ("ogt", FloatPred::Ogt),
        ("oge", FloatPred::Oge),
        ("olt", FloatPred::Olt),
        ("ole", FloatPred::Ole),
        ("one", FloatPred::One),
        ("ord", FloatPred::Ord),
        ("uno", FloatPred::Uno),
        ("ueq", FloatPred::Ueq),
        ("ugt", FloatPred::Ugt),
        ("uge", FloatPred::Uge),
        ("ult", FloatPred::Ult),
        ("ule", FloatPred::Ule),
        ("une", FloatPred::Une),
        ("true", FloatPred::True),
    ];
}

impl Word for CastOp {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("trunc", CastOp::Trunc),
        ("zext", CastOp::ZExt),
        ("sext", CastOp::SExt),
        ("fptrunc", CastOp::FpTrunc),
        ("fpext", CastOp::FpExt),
        ("fptoui", CastOp::FpToUi),
        ("fptosi", CastOp::FpToSi),
        ("uitofp", CastOp::UiToFp),
        ("sitofp", CastOp::SiToFp),
        ("ptrtoint", CastOp::PtrToInt),
        ("inttoptr", CastOp::IntToPtr),
        ("bitcast", CastOp::Bitcast),
    ];
}

/// Single flags; `fast` is all of fast-math at once.
const FLAGS: &[(&str, u32)] = &[
    ("nsw", Flags::NSW.0),
    ("nuw", Flags::NUW.0),
    ("exact", Flags::EXACT.0),
    ("disjoint", Flags::DISJOINT.0),
    ("nneg", Flags::NNEG.0),
    ("inbounds", Flags::INBOUNDS.0),
    ("nobuiltin", Flags::NO_BUILTIN.0),
    ("address", Flags::ADDRESS.0),
    ("reassoc", 1 << Flags::FAST_MATH_SHIFT),
    ("nnan", 2 << Flags::FAST_MATH_SHIFT),
    ("ninf", 4 << Flags::FAST_MATH_SHIFT),
    ("nsz", 8 << Flags::FAST_MATH_SHIFT),
    ("arcp", 16 << Flags::FAST_MATH_SHIFT),
    ("contract", 32 << Flags::FAST_MATH_SHIFT),
    ("afn", 64 << Flags::FAST_MATH_SHIFT),
];

/// The words for these flags; what has no word is given as `flags.<number>`.
pub(super) fn flag_words(flags: Flags) -> Vec<String> {
    let mut rest = flags.0;
    let mut words = Vec::new();
    if flags.contains(Flags::FAST_MATH) {
        words.push("fast".to_string());
        rest &= !Flags::FAST_MATH.0;
    }
    for (word, bit) in FLAGS {
        if rest & bit != 0 {
            words.push((*word).to_string());
            rest &= !bit;
        }
    }
    if rest != 0 {
        words.push(format!("flags.{rest}"));
    }
    words
}

/// The flags of a word.
pub(super) fn flag_from_word(word: &str) -> Option<Flags> {
    if word == "fast" {
        return Some(Flags::FAST_MATH);
    }
    if let Some(number) = word.strip_prefix("flags.") {
        return number.parse().ok().map(Flags);
    }
    FLAGS.iter().find(|(w, _)| *w == word).map(|(_, bit)| Flags(*bit))
}
