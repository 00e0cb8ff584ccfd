//! A rule: the functions it has in the program, and what the engine is told of it.

use super::super::program::{ModuleId, Program};
use super::super::requests::{Decoder, Reader};
use super::{Entry, described};
use anyhow::{Context, Result};
use pullback_abi::markers::RULE_MARKER;
use pullback_abi::{self as abi, Kept, RuleKind};
use pullback_ad::{Activity, Argument, Calls, CustomRule, Layouts, ReverseRule, Role, RuleArgument, Storage};
use pullback_ir::{FuncId, Function, Type};
use std::mem::offset_of;

/// A rule, as its functions are called in the program.
pub struct Rule {
    pub kind: RuleKind,
    name: String,
    borrows: bool,
    once: bool,
    drops: bool,
    args: Vec<Argument>,
    layouts: Layouts,
    pub stand_in: String,
    augmented: Option<String>,
    owning: Option<String>,
    view: Option<String>,
    pullback: Option<String>,
    tangent: Option<String>,
    closure: Storage,
    view_storage: Storage,
    pub module: ModuleId,
}

impl Rule {
    /// What the program calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The functions that derivatives call.
    pub fn functions(&self) -> impl Iterator<Item = &String> {
        [&self.augmented, &self.owning, &self.view, &self.pullback, &self.tangent].into_iter().flatten()
    }
}

/// The rule that a wrapper calls.
pub fn read(program: &mut Program, entry: &Entry) -> Result<Rule> {
    let wrapper = entry.wrapper.as_ref().context("it has no wrapper")?;
    let home = Decoder::new(program).home(entry.module, wrapper)?;
    let calls = program.module(home)?.calls_of(RULE_MARKER);
    let call = calls.into_iter().find(|call| call.caller == *wrapper).context("its wrapper calls no rule")?;
    let mut decoder = Decoder::new(program);
    let r = decoder.constant(home, described(&call)?)?;
    r.check_version(offset_of!(abi::Rule, version))?;
    let flags = r.u32(offset_of!(abi::Rule, flags))?;
    Ok(Rule {
        kind: entry.kind,
        name: decoder.string(&r, offset_of!(abi::Rule, name))?,
        borrows: flags & abi::Rule::BORROWS != 0,
        once: flags & abi::Rule::ONCE != 0,
        drops: flags & abi::Rule::DROPS != 0,
        args: decoder.arguments(&r, offset_of!(abi::Rule, args))?,
        layouts: decoder.into_layouts(),
        stand_in: r.function(offset_of!(abi::Rule, primal)).context("it has no stand-in")?,
        augmented: r.function(offset_of!(abi::Rule, augmented)),
        owning: r.function(offset_of!(abi::Rule, owning)),
        view: r.function(offset_of!(abi::Rule, view)),
        pullback: r.function(offset_of!(abi::Rule, pullback)),
        tangent: r.function(offset_of!(abi::Rule, tangent)),
        closure: storage(&r, offset_of!(abi::Rule, closure))?,
        view_storage: storage(&r, offset_of!(abi::Rule, viewed))?,
        module: r.id,
    })
}

/// The `Kept` that lies at an offset.
fn storage(r: &Reader, offset: usize) -> Result<Storage> {
    Ok(Storage { size: r.u64(offset + offset_of!(Kept, size))?, align: r.u64(offset + offset_of!(Kept, align))? })
}

/// A rule as the engine knows it.
pub fn custom(ir: &mut pullback_ir::Module, rule: &Rule) -> Option<CustomRule> {
    let count = rule.args.len();
    let mut declare = |name: &String, params: usize| -> FuncId {
        ir.declare(name, || Function::new(name, vec![Type::Ptr; params], None))
    };
    let calls = match rule.kind {
        RuleKind::Forward => Calls::Forward(declare(rule.tangent.as_ref()?, 2 * count)),
        _ => Calls::Reverse(ReverseRule {
            augmented: declare(rule.augmented.as_ref()?, 2 + count),
            owning: rule.owning.as_ref().map(|owning| declare(owning, 2 + count)),
            view: rule.view.as_ref().map(|view| declare(view, 2 + 2 * count)),
            pullback: declare(rule.pullback.as_ref()?, 2 + count),
            closure: rule.closure,
            view_storage: rule.view_storage,
            borrows: rule.borrows,
            once: rule.once,
            drops: rule.drops,
        }),
    };
    let argument = |(i, arg): (usize, &Argument)| {
        let role = match arg.activity {
            _ if i + 1 == count => Role::Result,
            Activity::Const => Role::Inert,
            Activity::Duplicated => Role::Read,
            Activity::DuplicatedNoNeed => Role::Written,
        };
        RuleArgument { name: arg.name.clone(), role, layout: arg.layout }
    };
    let args = rule.args.iter().enumerate().map(argument).collect();
    Some(CustomRule { name: rule.name.clone(), args, layouts: rule.layouts.clone(), calls })
}
