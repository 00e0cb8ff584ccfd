//! Prepares a module for import: inlines, promotes memory to values, brings loops into their usual form.
//!
//! Given a working copy whose functions may come straight from the front end (opt-level 0) or from rustc's optimiser;
//! afterwards both look about the same. Each root holds the bodies of everything it calls, except what is recursive,
//! what does not return, the allocator's functions and what catches panics. Loops are in simplified, rotated, LCSSA
//! form, each function has one return, and there are no vectors beyond those that were there.

use crate::error::{Error, Result};
use crate::ffi::{BlockRef, ValueRef, llvm};
use crate::import::Allocator;
use crate::kinds::{FUNCTION_INDEX, opcode, value_kind};
use crate::module::Module;
use crate::symbols::Linkage;
use crate::target::TargetOptions;
use pullback_ir::MathFn;
use std::collections::{HashMap, HashSet};

/// What [`normalise`] is told besides the roots.
#[derive(Clone, Debug)]
pub struct NormaliseOptions {
    /// Functions that are never inlined, by linker symbol.
    pub keep: Vec<String>,
    /// The target, for the passes that ask for costs.
    pub target: TargetOptions,
    /// The float functions that may be computed ahead of a branch, for none of their partial derivatives is ever
    /// infinite or NaN.
    pub free: fn(MathFn) -> bool,
}

impl Default for NormaliseOptions {
    fn default() -> Self {
        NormaliseOptions { keep: Vec::new(), target: TargetOptions::default(), free: |_| false }
    }
}

/// Before inlining: values instead of stack slots. No `simplifycfg` yet: it would turn the branches of an
/// iterator's `next` into selects, before the caller's match on the result could be threaded through them.
const CLEAN: &str = "lower-expect,sroa,early-cse,adce";

/// Inlining from the leaves up, each function simplified before it goes into its callers.
const INLINE: &str = "cgscc(inline<only-mandatory>,\
    function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,jump-threading,adce))";

/// Inlining of what has loops, after all else: a call whose result is the same in every iteration (`x[i] / norm(x)`)
/// leaves the loop as long as it is a call. Once it is inlined, no pass of LLVM's would move its loop.
const INLINE_LOOPS: &str = "cgscc(\
    function(early-cse<memssa>,correlated-propagation,instcombine<no-verify-fixpoint>,jump-threading,\
        loop(loop-rotate),loop-mssa(licm<no-allowspeculation>)),\
    inline<only-mandatory>,\
    function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,jump-threading,adce),\
    function-attrs)";

/// A few passes, and whether they may execute an instruction ahead of a branch that the program has before it.
#[derive(Clone, Copy)]
enum Stage {
    Faithful(&'static str),
    Speculating(&'static str),
}

/// What rustc's own pipeline would have done to the roots, without vectorising. Of loops, only those with few
/// iterations and a known number of them are unrolled, wholly, as rustc does before the link: in
/// `particles[j].position[k]` the inner index is then a constant, and which field is meant is known.
///
/// Two things are for long functions, where each change of the dominator tree takes as long as the function is long:
/// loops are rotated without MemorySSA, and branches whose conditions have become constants, in unrolled loops, go all
/// at once (`sccp`), before `gvn` would take them one by one.
const SIMPLIFY: [Stage; 7] = [
    Stage::Faithful(
        "lower-constant-intrinsics,sroa<modify-cfg>,scalarizer<load-store>,early-cse<memssa>,\
        instcombine<no-verify-fixpoint>,jump-threading,\
        correlated-propagation,instcombine<no-verify-fixpoint>,jump-threading",
    ),
    Stage::Speculating("simplifycfg"),
    Stage::Faithful("instcombine<no-verify-fixpoint>,reassociate,memcpyopt,sroa<modify-cfg>"),
    Stage::Speculating("loop(loop-rotate),loop-mssa(licm<allowspeculation>,simple-loop-unswitch),simplifycfg"),
    Stage::Faithful(
        "instcombine<no-verify-fixpoint>,loop(indvars,loop-deletion,loop-unroll-full),scalarizer<load-store>,\
        sroa<modify-cfg>,sccp,gvn,sccp,bdce,instcombine<no-verify-fixpoint>,dse",
    ),
    Stage::Speculating("loop-mssa(licm<allowspeculation>),adce,simplifycfg"),
    Stage::Faithful("instcombine<no-verify-fixpoint>"),
];

/// The forms the importer and the engine rely on. What comes between the two is for the few functions that have loops
/// with two ways in.
const CANONICAL: [Stage; 2] =
    [Stage::Speculating("dce,adce,simplifycfg,mergereturn"), Stage::Faithful("loop-simplify,lcssa")];

/// Loops get one way in. The pass takes only blocks that end in a branch for ways in, so switches and calls that may
/// unwind get blocks of their own behind them.
const REDUCE: &str = "break-crit-edges,fix-irreducible";

/// Prepare the functions `roots` of a working copy for import. What they do not reach is deleted from the module.
pub fn normalise(module: &mut Module, roots: &[&str], options: &NormaliseOptions) -> Result<()> {
    module.retain_reachable(roots)?;
    module.define_vector_instructions()?;
    let root_values: HashSet<ValueRef> = roots.iter().filter_map(|r| module.function_named(r)).collect();
    // LLVM walks the call graph from what can be called from outside.
    for root in &root_values {
        module.set_raw_linkage(*root, Linkage::External);
    }
    let kept = module.mark_for_inlining(&root_values, options)?;
    module.erase_calls_of("llvm.lifetime.");
    module.erase_calls_of("llvm.experimental.noalias.scope.decl");
    let guarded = module.take_speculation_from_math(options.free);
    module.take_float_calls();
    module.split_vector_comparisons();
    module.replace_comparisons();
    {
        let machine = module.machine(&options.target)?;
        // What catches panics keeps its landing pads.
        for function in module.raw_functions() {
            if !module.is_declaration(function) && !kept.contains(&function) {
                module.run_on(Some(function), CLEAN, &machine)?;
            }
        }
        let late = module.inlined_with_loops();
        // By name: the inliner deletes functions that nobody calls any more.
        let names: Vec<String> = late.iter().map(|f| module.name_of(*f)).collect();
        late.iter().for_each(|f| module.set_inlining(*f, Inlining::Never));
        module.run_on(None, INLINE, &machine)?;
        let left = names.iter().filter_map(|name| module.function_named(name));
        left.for_each(|f| module.set_inlining(f, Inlining::Always));
        module.restore_constant_comparisons();
        module.run_on(None, INLINE_LOOPS, &machine)?;
    }
    module.retain_reachable(roots)?;
    module.widen_no_lanes();
    module.run_stages(&SIMPLIFY, options)?;
    module.erase_calls_of("llvm.assume");
    module.restore_order();
    module.run_stages(&CANONICAL[..1], options)?;
    {
        let machine = module.machine(&options.target)?;
        for function in module.raw_functions().into_iter().filter(|f| module.is_irreducible(*f)) {
            module.run_on(Some(function), REDUCE, &machine)?;
        }
    }
    module.run_stages(&CANONICAL[1..], options)?;
    module.retain_reachable(roots)?;
    module.restore_comparisons();
    module.give_float_calls_back();
    module.give_speculation_back(&guarded);
    Ok(())
}

/// Features that each processor of an architecture has. (`core::arch` names them on its functions.)
const EVERYWHERE: [&str; 8] = ["+cx8", "+fp-armv8", "+fxsr", "+mmx", "+neon", "+sse", "+sse2", "+x87"];

/// Whether a function goes into its callers.
#[derive(Clone, Copy)]
enum Inlining {
    Always,
    Never,
}

impl Module {
    /// Run stages on every function; where they speculate, not on what [`crate::speculation`] guards. Float functions
    /// of constants are computed, see [`crate::builtins`], and so are comparisons of constants.
    fn run_stages(&self, stages: &[Stage], options: &NormaliseOptions) -> Result<()> {
        let machine = self.machine(&options.target)?;
        let run = |passes: &str| self.run_on(None, &format!("function({passes})"), &machine);
        stages.iter().try_for_each(|stage| {
            self.give_constant_float_calls_back();
            self.restore_constant_comparisons();
            match stage {
                Stage::Faithful(passes) => run(passes),
                Stage::Speculating(passes) => self.with_guarded_operations(options.free, || run(passes)),
            }
        })
    }

    /// Mark what is to be inlined; returns the functions that catch panics, which no pass may touch.
    fn mark_for_inlining(&self, roots: &HashSet<ValueRef>, options: &NormaliseOptions) -> Result<HashSet<ValueRef>> {
        let recursive = self.recursive_functions();
        let features = roots.iter().map(|r| self.features(*r)).reduce(|a, b| &a & &b).unwrap_or_default();
        let mut catching = HashSet::new();
        for function in self.raw_functions() {
            if self.is_declaration(function) {
                continue;
            }
            let name = self.name_of(function);
            for attribute in ["optnone", "noinline", "alwaysinline", "optsize", "minsize"] {
                self.remove_attribute(function, attribute);
            }
            let catches = self.catches_panics(function);
            if catches {
                if roots.contains(&function) {
                    let reason = "it catches panics".to_owned();
                    return Err(Error::Import { function: crate::import::demangle(&name), reason });
                }
                catching.insert(function);
            }
            let stays = catches
                || roots.contains(&function)
                || recursive.contains(&function)
                || self.has_attribute(function, "noreturn")
                || self.has_attribute(function, "naked")
                || Allocator::of(&name).is_some()
                || options.keep.contains(&name)
                || !self.features(function).is_subset(&features);
            self.set_inlining(function, if stays { Inlining::Never } else { Inlining::Always });
            for inst in self.raw_body(function) {
                if let Some(kind) = self.attribute_kind("noinline")
                    && self.called(inst.value()).is_some()
                {
                    llvm!(self.api(), LLVMRemoveCallSiteEnumAttribute(inst, FUNCTION_INDEX, kind));
                }
            }
        }
        Ok(catching)
    }

    /// The target features a function was compiled with besides the usual ones.
    fn features(&self, function: ValueRef) -> HashSet<String> {
        let features = self.string_attribute(function, "target-features").unwrap_or_default();
        let is_added = |feature: &&str| feature.starts_with('+') && !EVERYWHERE.contains(feature);
        features.split(',').filter(is_added).map(str::to_owned).collect()
    }

    /// Whether a function stops a panic, as `catch_unwind` does: it has a landing pad for any exception.
    fn catches_panics(&self, function: ValueRef) -> bool {
        let api = self.api();
        self.raw_body(function).into_iter().any(|inst| {
            let inst = inst.value();
            llvm!(api, LLVMGetInstructionOpcode(inst)) == opcode::LANDING_PAD
                && (0..llvm!(api, LLVMGetNumClauses(inst)))
                    .any(|i| llvm!(api, LLVMGetValueKind(llvm!(api, LLVMGetClause(inst, i)))) == value_kind::NULL)
        })
    }

    fn set_inlining(&self, function: ValueRef, inlining: Inlining) {
        let (set, clear) = match inlining {
            Inlining::Always => ("alwaysinline", "noinline"),
            Inlining::Never => ("noinline", "alwaysinline"),
        };
        self.remove_attribute(function, clear);
        self.add_attribute(function, set);
    }

    /// The functions to be inlined that have a loop, or call one that has.
    fn inlined_with_loops(&self) -> Vec<ValueRef> {
        let calls = self.call_graph();
        let mut callers: HashMap<ValueRef, Vec<ValueRef>> = HashMap::new();
        for (caller, callees) in &calls {
            callees.iter().for_each(|callee| callers.entry(*callee).or_default().push(*caller));
        }
        let mut open: Vec<ValueRef> = calls.keys().copied().filter(|f| self.has_loop(*f)).collect();
        let mut found: HashSet<ValueRef> = open.iter().copied().collect();
        while let Some(function) = open.pop() {
            open.extend(callers.get(&function).into_iter().flatten().filter(|f| found.insert(**f)));
        }
        found.into_iter().filter(|f| self.has_attribute(*f, "alwaysinline")).collect()
    }

    /// Whether a block can be reached from itself: whether taking away blocks without predecessors leaves any.
    fn has_loop(&self, function: ValueRef) -> bool {
        let api = self.api();
        let blocks = self.raw_blocks(function);
        let successors = |block: BlockRef| {
            let term = llvm!(api, LLVMGetBasicBlockTerminator(block)).value();
            let count = llvm!(api, LLVMGetNumSuccessors(term));
            (0..count).map(|i| llvm!(api, LLVMGetSuccessor(term, i))).collect::<Vec<_>>()
        };
        let mut predecessors: HashMap<BlockRef, usize> = blocks.iter().map(|block| (*block, 0)).collect();
        for to in blocks.iter().flat_map(|block| successors(*block)) {
            *predecessors.entry(to).or_default() += 1;
        }
        let mut free: Vec<BlockRef> = blocks.iter().copied().filter(|block| predecessors[block] == 0).collect();
        let mut left = blocks.len();
        while let Some(block) = free.pop() {
            left -= 1;
            for to in successors(block) {
                let count = predecessors.entry(to).or_default();
                *count -= 1;
                if *count == 0 {
                    free.push(to);
                }
            }
        }
        left > 0
    }

    /// Whether a loop has two ways in: whether merging blocks into their only predecessors, and forgetting loops of
    /// single blocks, leaves more than one block.
    fn is_irreducible(&self, function: ValueRef) -> bool {
        let api = self.api();
        let blocks = self.raw_blocks(function);
        let number: HashMap<BlockRef, usize> = blocks.iter().enumerate().map(|(i, block)| (*block, i)).collect();
        let mut after: Vec<HashSet<usize>> = vec![HashSet::new(); blocks.len()];
        let mut before = after.clone();
        for (i, block) in blocks.iter().enumerate() {
            let term = llvm!(api, LLVMGetBasicBlockTerminator(*block)).value();
            for k in 0..llvm!(api, LLVMGetNumSuccessors(term)) {
                let to = number[&llvm!(api, LLVMGetSuccessor(term, k))];
                if to != i {
                    after[i].insert(to);
                    before[to].insert(i);
                }
            }
        }
        // Blocks that cannot be reached do not count.
        let mut reached = HashSet::from([0]);
        let mut open = vec![0];
        while let Some(block) = open.pop() {
            open.extend(after.get(block).into_iter().flatten().filter(|to| reached.insert(**to)));
        }
        before.iter_mut().for_each(|from| from.retain(|block| reached.contains(block)));
        let mut left = reached.len();
        let mut open: Vec<usize> = reached.into_iter().filter(|block| *block != 0).collect();
        while let Some(block) = open.pop() {
            let mut only = before[block].iter().copied();
            let (Some(into), None) = (only.next(), only.next()) else { continue };
            before[block].clear();
            left -= 1;
            after[into].remove(&block);
            for to in std::mem::take(&mut after[block]) {
                before[to].remove(&block);
                if to != into {
                    before[to].insert(into);
                    after[into].insert(to);
                }
                if to != 0 && before[to].len() == 1 {
                    open.push(to);
                }
            }
        }
        left > 1
    }

    /// For each function with a body, those with a body that it calls.
    fn call_graph(&self) -> HashMap<ValueRef, Vec<ValueRef>> {
        let mut calls: HashMap<ValueRef, Vec<ValueRef>> = HashMap::new();
        for function in self.raw_functions().into_iter().filter(|f| !self.is_declaration(*f)) {
            let mut callees: Vec<ValueRef> = self
                .raw_body(function)
                .into_iter()
                .filter_map(|inst| self.called(inst.value()))
                .filter(|f| !self.is_declaration(*f))
                .collect();
            callees.sort();
            callees.dedup();
            calls.insert(function, callees);
        }
        calls
    }

    /// The functions that call themselves, directly or through others: Tarjan's strongly connected components.
    fn recursive_functions(&self) -> HashSet<ValueRef> {
        let calls = self.call_graph();
        let mut search = Tarjan::new(&calls);
        for function in self.raw_functions() {
            search.visit(function);
        }
        search.recursive
    }

    /// Erase the calls of intrinsics whose names begin so; they compute nothing.
    fn erase_calls_of(&self, prefix: &str) {
        for function in self.raw_functions() {
            for inst in self.raw_body(function) {
                if self.called(inst.value()).is_some_and(|f| self.name_of(f).starts_with(prefix)) {
                    llvm!(self.api(), LLVMInstructionEraseFromParent(inst));
                }
            }
        }
    }
}

/// The search for cycles in the call graph, without recursion of its own.
struct Tarjan<'c> {
    calls: &'c HashMap<ValueRef, Vec<ValueRef>>,
    index: HashMap<ValueRef, usize>,
    low: HashMap<ValueRef, usize>,
    stack: Vec<ValueRef>,
    on_stack: HashSet<ValueRef>,
    recursive: HashSet<ValueRef>,
}

impl<'c> Tarjan<'c> {
    fn new(calls: &'c HashMap<ValueRef, Vec<ValueRef>>) -> Self {
        Tarjan {
            calls,
            index: HashMap::new(),
            low: HashMap::new(),
            stack: Vec::new(),
            on_stack: HashSet::new(),
            recursive: HashSet::new(),
        }
    }

    fn enter(&mut self, function: ValueRef) {
        let number = self.index.len();
        self.index.insert(function, number);
        self.low.insert(function, number);
        self.stack.push(function);
        self.on_stack.insert(function);
    }

    fn visit(&mut self, start: ValueRef) {
        if self.index.contains_key(&start) {
            return;
        }
        self.enter(start);
        let mut path = vec![(start, 0)];
        while let Some((function, next)) = path.last_mut() {
            let function = *function;
            if let Some(callee) = self.calls.get(&function).and_then(|c| c.get(*next)).copied() {
                *next += 1;
                if callee == function {
                    self.recursive.insert(function);
                }
                if !self.index.contains_key(&callee) {
                    self.enter(callee);
                    path.push((callee, 0));
                } else if self.on_stack.contains(&callee) {
                    self.low.insert(function, self.low[&function].min(self.index[&callee]));
                }
                continue;
            }
            path.pop();
            if let Some((caller, _)) = path.last() {
                self.low.insert(*caller, self.low[caller].min(self.low[&function]));
            }
            if self.low[&function] == self.index[&function] {
                let from = self.stack.iter().position(|f| *f == function).expect("it is on the stack");
                let component = self.stack.split_off(from);
                for member in &component {
                    self.on_stack.remove(member);
                }
                if component.len() > 1 {
                    self.recursive.extend(component);
                }
            }
        }
    }
}
