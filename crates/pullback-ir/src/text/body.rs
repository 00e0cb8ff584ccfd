//! Reading a function's body.
//!
//! Given the tokens after the opening brace and the names of the module, hands on the function with its blocks. Values
//! and blocks keep the numbers they have in the text. Constants have none there: they get the numbers that the text
//! leaves free. Types that the text leaves out are found once everything is read, because a block may use a value of a
//! block that stands below it.

mod resolve;

use super::lex::{ParseError, Pos, Token};
use super::names::{Word, flag_from_word};
use super::parse::{Cursor, Symbols};
use super::states_type;
use crate::entities::{Block, FuncId, GlobalId, Inst, OpaqueId, SourceLoc, Value};
use crate::function::{BlockData, Constant, Function, InstData, ValueDef};
use crate::inst::{BinOp, BlockCall, Callee, CastOp, Cleanup, Flags, FloatPred, IntPred, Op, OpaqueOp, Terminator};
use crate::math::MathFn;
use crate::types::Type;
use std::collections::{BTreeMap, HashMap};

/// Numbers above are surely a mistake, and tables of that size would be one, too.
const MAX_NUMBER: u32 = 1 << 24;
/// While a body is read, constant `k` is the value of this number plus `k`.
const CONSTANTS: u32 = 1 << 31;

/// Parameters of a block: number, place and type.
type Params = Vec<((u32, Pos), Type)>;

struct Def {
    pos: Pos,
    ty: Option<Type>,
    def: ValueDef,
}

struct BodyParser<'a> {
    c: &'a mut Cursor,
    symbols: &'a Symbols<'a>,
    defs: BTreeMap<u32, Def>,
    uses: Vec<(u32, Pos)>,
    constants: Vec<(Type, Constant)>,
    constant_ids: HashMap<(Type, Constant), u32>,
    insts: Vec<InstData>,
    blocks: BTreeMap<u32, BlockData>,
    order: Vec<Block>,
    targets: Vec<(u32, Pos)>,
}

/// Read up to the closing brace.
pub(super) fn parse_body(
    c: &mut Cursor,
    mut func: Function,
    params: Option<Vec<(u32, Pos)>>,
    symbols: &Symbols<'_>,
) -> Result<Function, ParseError> {
    let mut parser = BodyParser {
        c,
        symbols,
        defs: BTreeMap::new(),
        uses: Vec::new(),
        constants: Vec::new(),
        constant_ids: HashMap::new(),
        insts: Vec::new(),
        blocks: BTreeMap::new(),
        order: Vec::new(),
        targets: Vec::new(),
    };
    if parser.c.is(&Token::Punct('}')) {
        return parser.c.expected("a block: a function without blocks is a `declare`");
    }
    let entry_params: Vec<_> = params.unwrap_or_default().into_iter().zip(func.params.clone()).collect();
    while !parser.c.eat(&Token::Punct('}')) {
        let header = if parser.order.is_empty() { entry_params.as_slice() } else { &[] };
        parser.block(header)?;
    }
    parser.check_names()?;
    parser.infer_types()?;
    parser.finish(&mut func);
    Ok(func)
}

impl BodyParser<'_> {
    fn define(&mut self, number: u32, pos: Pos, ty: Option<Type>, def: ValueDef) -> Result<Value, ParseError> {
        if number > MAX_NUMBER {
            return pos.error(format!("v{number} is too large a number"));
        }
        if let Some(old) = self.defs.insert(number, Def { pos, ty, def }) {
            return pos.error(format!("v{number} is defined in line {} already", old.pos.line));
        }
        Ok(Value(number))
    }

    fn block(&mut self, header: &[((u32, Pos), Type)]) -> Result<(), ParseError> {
        let pos = self.c.pos();
        let block: Block = self.c.numbered("b", "a block such as `b0:`")?;
        if block.0 > MAX_NUMBER || self.blocks.contains_key(&block.0) {
            return pos.error(format!("{block} is there already, or too large a number"));
        }
        let mut named: Params = header.to_vec();
        if self.c.eat(&Token::Punct('(')) {
            if !header.is_empty() {
                return pos.error("the entry's parameters stand in the function's header already");
            }
            named = self.block_params()?;
        }
        self.c.punct(':')?;
        let mut params = Vec::new();
        for (i, ((number, pos), ty)) in named.into_iter().enumerate() {
            params.push(self.define(number, pos, Some(ty), ValueDef::Param(block, i))?);
        }
        self.order.push(block);
        let mut insts = Vec::new();
        let term = loop {
            match self.terminator()? {
                Some(term) => break term,
                None => insts.push(self.inst()?),
            }
        };
        let term_loc = self.loc()?;
        self.blocks.insert(block.0, BlockData { params, insts, term, term_loc });
        Ok(())
    }

    fn block_params(&mut self) -> Result<Params, ParseError> {
        let mut params = Vec::new();
        while !self.c.eat(&Token::Punct(')')) {
            if !params.is_empty() {
                self.c.punct(',')?;
            }
            let pos = self.c.pos();
            let value: Value = self.c.numbered("v", "a parameter such as `v3: f64`")?;
            self.c.punct(':')?;
            params.push(((value.0, pos), self.c.ty()?));
        }
        Ok(params)
    }

    fn loc(&mut self) -> Result<Option<SourceLoc>, ParseError> {
        if !self.c.eat(&Token::Punct('!')) {
            return Ok(None);
        }
        let pos = self.c.pos();
        let loc: SourceLoc = self.c.numbered("loc", "a location such as `!loc0`")?;
        match self.symbols.module.locations().nth(loc.index()) {
            Some(_) => Ok(Some(loc)),
            None => pos.error(format!("there is no {loc}")),
        }
    }

    fn inst(&mut self) -> Result<Inst, ParseError> {
        let inst = Inst::from_index(self.insts.len());
        let pos = self.c.pos();
        let result = self.c.eat_numbered("v");
        let mut ty = None;
        if result.is_some() {
            if self.c.eat(&Token::Punct(':')) {
                ty = Some(self.c.ty()?);
            }
            self.c.punct('=')?;
        }
        let word_pos = self.c.pos();
        let word = self.c.word("an instruction")?;
        let mut flags = Flags::NONE;
        while let Token::Word(w) = self.c.peek() {
            let Some(flag) = flag_from_word(w) else { break };
            flags = flags.union(flag);
            self.c.next();
        }
        let (op, stated) = self.op(&word, word_pos)?;
        if states_type(&op) {
            ty = ty.or(stated);
            if result.is_some() && ty.is_none() {
                return word_pos.error(format!("`{word}` states the type of its result: `{word} f64 …`"));
            }
        }
        let result = match result {
            Some(number) => Some(self.define(number, pos, ty, ValueDef::Inst(inst))?),
            None => None,
        };
        let loc = self.loc()?;
        self.insts.push(InstData { op, result, flags, loc });
        Ok(inst)
    }

    /// The operation of this word, and the type where it is stated.
    fn op(&mut self, word: &str, pos: Pos) -> Result<(Op, Option<Type>), ParseError> {
        if let Some(op) = BinOp::from_word(word) {
            let (a, b) = self.two()?;
            return Ok((Op::Bin(op, a, b), None));
        }
        if let Some(name) = word.strip_prefix("math.") {
            let Some(function) = MathFn::from_name(name) else {
                return pos.error(format!("there is no float function `{name}`"));
            };
            return Ok((Op::Math(function, self.operands()?), None));
        }
        if let Some(op) = CastOp::from_word(word) {
            let ty = self.stated_type()?;
            return Ok((Op::Cast(op, self.value()?), ty));
        }
        let mut stated = None;
        let op = match word {
            "fneg" => Op::FNeg(self.value()?),
            "freeze" => Op::Freeze(self.value()?),
            "icmp" => {
                let pred = self.predicate::<IntPred>()?;
                let (a, b) = self.two()?;
                Op::ICmp(pred, a, b)
            }
            "fcmp" => {
                let pred = self.predicate::<FloatPred>()?;
                let (a, b) = self.two()?;
                Op::FCmp(pred, a, b)
            }
            "select" => {
                let (c, a, b) = self.three()?;
                Op::Select(c, a, b)
            }
            "intrinsic" => {
                stated = self.stated_type()?;
                let name = self.c.text()?.into();
                Op::Intrinsic(name, self.arguments()?)
            }
            "alloca" => {
                let size = self.c.integer("a size")?;
                self.c.keyword("align")?;
                Op::Alloca { size, align: self.c.integer("an alignment")? }
            }
            "load" => {
                stated = self.stated_type()?;
                let ptr = self.value()?;
                let usual = stated.as_ref().map_or(1, Type::align);
                Op::Load { ptr, align: self.align()?.unwrap_or(usual) }
            }
            "store" => {
                let (ptr, value) = self.two()?;
                // Zero stands for "the type's own" until the type is known; no alignment is zero.
                Op::Store { ptr, value, align: self.align()?.unwrap_or(0) }
            }
            "ptradd" => {
                let (p, o) = self.two()?;
                Op::PtrAdd(p, o)
            }
            "copy" | "move" => {
                let (dst, src, len) = self.three()?;
                let mut align = (1, 1);
                if let Some(dst_align) = self.align()? {
                    self.c.punct(',')?;
                    align = (dst_align, self.c.integer("an alignment")?);
                }
                Op::Copy { dst, src, len, may_overlap: word == "move", align }
            }
            "fill" => {
                let (dst, byte, len) = self.three()?;
                Op::Fill { dst, byte, len, align: self.align()?.unwrap_or(1) }
            }
            "alloc" | "alloc_zeroed" => {
                let (size, align) = self.two()?;
                self.c.punct(',')?;
                Op::Alloc { size, align, zeroed: word == "alloc_zeroed", func: self.function()? }
            }
            "dealloc" => {
                let (ptr, size, align) = self.three()?;
                self.c.punct(',')?;
                Op::Dealloc { ptr, size, align, func: self.function()? }
            }
            "call" => {
                stated = self.stated_type()?;
                let direct = if self.c.eat_word("indirect") { None } else { self.try_function() };
                let callee = match direct {
                    Some(f) => Callee::Direct(f),
                    None => Callee::Indirect(self.value()?),
                };
                Op::Call(callee, self.arguments()?, self.cleanup()?)
            }
            "extract" => {
                let a = self.value()?;
                self.c.punct(',')?;
                Op::ExtractValue(a, self.c.integer("a field's number")?)
            }
            "insert" => {
                let (a, x) = self.two()?;
                self.c.punct(',')?;
                Op::InsertValue(a, x, self.c.integer("a field's number")?)
            }
            "opaque" => {
                stated = self.stated_type()?;
                let id = self.opaque_id()?;
                let name = self.c.text()?.into();
                let reads = self.c.eat_word("reads");
                let writes = self.c.eat_word("writes");
                let args = self.arguments()?;
                Op::Opaque(OpaqueOp { id, name, args, reads, writes, cleanup: self.cleanup()? })
            }
            _ => return pos.error(format!("there is no instruction `{word}`")),
        };
        Ok((op, stated))
    }

    /// A type, unless an operand starts here.
    fn stated_type(&mut self) -> Result<Option<Type>, ParseError> {
        if self.c.at_type() { self.c.ty().map(Some) } else { Ok(None) }
    }

    fn predicate<P: Word>(&mut self) -> Result<P, ParseError> {
        let pos = self.c.pos();
        let word = self.c.word("a comparison")?;
        P::from_word(&word).map_or_else(|| pos.error(format!("there is no comparison `{word}`")), Ok)
    }

    fn align(&mut self) -> Result<Option<u64>, ParseError> {
        if !self.c.eat_word("align") {
            return Ok(None);
        }
        let pos = self.c.pos();
        match self.c.integer("an alignment")? {
            0 => pos.error("no alignment is zero"),
            align => Ok(Some(align)),
        }
    }

    fn opaque_id(&mut self) -> Result<OpaqueId, ParseError> {
        self.c.punct('#')?;
        self.c.integer("a number").map(OpaqueId)
    }

    fn two(&mut self) -> Result<(Value, Value), ParseError> {
        let a = self.value()?;
        self.c.punct(',')?;
        Ok((a, self.value()?))
    }

    fn three(&mut self) -> Result<(Value, Value, Value), ParseError> {
        let (a, b) = self.two()?;
        self.c.punct(',')?;
        Ok((a, b, self.value()?))
    }

    fn operands(&mut self) -> Result<Vec<Value>, ParseError> {
        let mut all = vec![self.value()?];
        while self.c.eat(&Token::Punct(',')) {
            all.push(self.value()?);
        }
        Ok(all)
    }

    /// Operands in parentheses.
    fn arguments(&mut self) -> Result<Vec<Value>, ParseError> {
        self.c.punct('(')?;
        if self.c.eat(&Token::Punct(')')) {
            return Ok(Vec::new());
        }
        let all = self.operands()?;
        self.c.punct(')')?;
        Ok(all)
    }

    /// What is done if the call panics.
    fn cleanup(&mut self) -> Result<Option<Cleanup>, ParseError> {
        if !self.c.eat_word("cleanup") {
            return Ok(None);
        }
        Ok(Some(Cleanup { func: self.function()?, args: self.arguments()? }))
    }

    fn try_function(&mut self) -> Option<FuncId> {
        let module = self.symbols.module;
        let id = match self.c.peek() {
            Token::Symbol(name) => module.find(name)?,
            Token::Word(w) => {
                let id = FuncId(super::parse::numbered(w, "fn")?);
                module.functions().nth(id.index())?;
                id
            }
            _ => return None,
        };
        self.c.next();
        Some(id)
    }

    fn function(&mut self) -> Result<FuncId, ParseError> {
        self.try_function().map_or_else(|| self.c.expected("a function of this module"), Ok)
    }

    fn try_global(&mut self) -> Option<GlobalId> {
        let id = match self.c.peek() {
            Token::Symbol(name) => *self.symbols.globals.get(name)?,
            Token::Word(w) => {
                let id = GlobalId(super::parse::numbered(w, "g")?);
                self.symbols.module.globals().nth(id.index())?;
                id
            }
            _ => return None,
        };
        self.c.next();
        Some(id)
    }

    fn value(&mut self) -> Result<Value, ParseError> {
        let pos = self.c.pos();
        if let Some(number) = self.c.eat_numbered("v") {
            self.uses.push((number, pos));
            return Ok(Value(number.min(CONSTANTS - 1)));
        }
        let (mut ty, constant) = self.constant()?;
        if self.c.eat(&Token::Punct(':')) {
            ty = self.c.ty()?;
        }
        let constants = &mut self.constants;
        let id = *self.constant_ids.entry((ty.clone(), constant.clone())).or_insert_with(|| {
            constants.push((ty, constant));
            constants.len() as u32 - 1
        });
        Ok(Value(CONSTANTS + id))
    }

    fn constant(&mut self) -> Result<(Type, Constant), ParseError> {
        if let Some(id) = self.try_function() {
            return Ok((Type::Ptr, Constant::Func(id)));
        }
        if let Some(id) = self.try_global() {
            return Ok((Type::Ptr, Constant::Global(id)));
        }
        let pos = self.c.pos();
        match self.c.peek().clone() {
            Token::Number(number) => {
                self.c.next();
                self.number(&number, pos)
            }
            Token::Symbol(name) => pos.error(format!("there is no function or global @{name}")),
            Token::Word(word) => {
                let constant = match word.as_str() {
                    "true" | "false" => (Type::BOOL, Constant::Int(u128::from(word == "true"))),
                    "null" => (Type::Ptr, Constant::Null),
                    "undef" | "poison" | "zero" | "const" => return self.typed_constant(),
                    _ => return self.c.expected("a value"),
                };
                self.c.next();
                Ok(constant)
            }
            _ => self.c.expected("a value"),
        }
    }

    fn typed_constant(&mut self) -> Result<(Type, Constant), ParseError> {
        let word = self.c.word("a constant")?;
        let constant = match word.as_str() {
            "undef" => Constant::Undef,
            "poison" => Constant::Poison,
            "zero" => Constant::Zero,
            _ => {
                let id = self.opaque_id()?;
                Constant::Opaque(id, self.c.text()?.into())
            }
        };
        Ok((self.c.ty()?, constant))
    }

    fn number(&mut self, text: &str, pos: Pos) -> Result<(Type, Constant), ParseError> {
        let hex = text.strip_prefix("0x").and_then(|h| u128::from_str_radix(h, 16).ok());
        if hex.is_none() {
            if let Some(x) = text.strip_suffix("f64").and_then(|x| x.parse::<f64>().ok()) {
                return Ok((Type::F64, Constant::F64(x.to_bits())));
            }
            if let Some(x) = text.strip_suffix("f32").and_then(|x| x.parse::<f32>().ok()) {
                return Ok((Type::F32, Constant::F32(x.to_bits())));
            }
        }
        let plain = text.parse::<u128>().ok().or_else(|| text.parse::<i128>().ok().map(|n| n as u128));
        let Some(bits) = hex.or(plain) else {
            return pos.error(format!("`{text}` is no number: write `42:i64`, `1.5f64` or `0x7ff0000000000000:f64`"));
        };
        if !self.c.eat(&Token::Punct(':')) {
            return self.c.expected(&format!("a type: `{text}:i64`"));
        }
        let ty = self.c.ty()?;
        match (&ty, hex) {
            (Type::F64, Some(bits)) => Ok((ty, Constant::F64(bits as u64))),
            (Type::F32, Some(bits)) => Ok((ty, Constant::F32(bits as u32))),
            (Type::Int(width), _) => match fit(bits, *width, text.starts_with('-')) {
                Some(bits) => Ok((ty, Constant::Int(bits))),
                None => pos.error(format!("{text} does not fit {ty}")),
            },
            _ => Ok((ty, Constant::Int(bits))),
        }
    }

    /// The end of a block, if it is here.
    fn terminator(&mut self) -> Result<Option<Terminator>, ParseError> {
        let Token::Word(word) = self.c.peek().clone() else { return Ok(None) };
        let start = self.c.pos();
        if !matches!(word.as_str(), "jump" | "branch" | "switch" | "return" | "unreachable") {
            return if super::parse::numbered(&word, "b").is_some() {
                start.error("the block above has no end: `jump`, `branch`, `switch`, `return` or `unreachable`")
            } else {
                Ok(None)
            };
        }
        self.c.next();
        Ok(Some(match word.as_str() {
            "jump" => Terminator::Jump(self.target()?),
            "branch" => {
                let cond = self.value()?;
                self.c.punct(',')?;
                let then = self.target()?;
                self.c.punct(',')?;
                Terminator::Branch(cond, then, self.target()?)
            }
            "switch" => {
                let value = self.value()?;
                self.c.punct(',')?;
                let default = self.target()?;
                self.c.punct('{')?;
                let mut cases = Vec::new();
                while !self.c.eat(&Token::Punct('}')) {
                    if !cases.is_empty() {
                        self.c.punct(',')?;
                    }
                    let number = self.c.integer("a case such as `3 => b1`")?;
                    if !self.c.eat(&Token::FatArrow) {
                        return self.c.expected("`=>`");
                    }
                    cases.push((number, self.target()?));
                }
                Terminator::Switch(value, cases, default)
            }
            "return" => {
                let next = self.c.peek();
                let label = matches!(next, Token::Word(w) if super::parse::numbered(w, "b").is_some());
                let ends = label || matches!(next, Token::Punct('}' | '!'));
                Terminator::Return(if ends { None } else { Some(self.value()?) })
            }
            _ => Terminator::Unreachable,
        }))
    }

    fn target(&mut self) -> Result<BlockCall, ParseError> {
        let pos = self.c.pos();
        let block: Block = self.c.numbered("b", "a block")?;
        self.targets.push((block.0, pos));
        let args = if self.c.is(&Token::Punct('(')) { self.arguments()? } else { Vec::new() };
        Ok(BlockCall::new(block, args))
    }
}

/// The bits cut to `width`, if the number can be meant: from −2^(width−1) to 2^width − 1.
fn fit(bits: u128, width: u16, negative: bool) -> Option<u128> {
    let mask = u128::MAX >> (128 - width);
    let high = bits & !(mask >> 1);
    let fits = if negative { high == !(mask >> 1) } else { bits & !mask == 0 };
    fits.then_some(bits & mask)
}
