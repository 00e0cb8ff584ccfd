//! Prepares a module for import: inlines, promotes memory to values, brings loops into their usual form.
//!
//! Given a working copy whose functions may come straight from the front end (opt-level 0) or from rustc's optimiser;
//! afterwards both look about the same. Each root holds the bodies of everything it calls, except what is recursive,
//! what does not return, the allocator's functions, what catches panics, and what would be too large (`inlining.rs`). Loops are in simplified, rotated, LCSSA
//! form, each function has one return, and there are no vectors beyond those that were there.

use crate::error::Result;
use crate::ffi::{BlockRef, ValueRef, llvm};
use crate::inlining::Inlining;
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
    /// How many instructions a function may have once all is inlined that it calls.
    pub limit: u64,
}

/// The usual [limit](NormaliseOptions::limit): LLVM takes about ten seconds for so many.
const LIMIT: u64 = 400_000;

impl Default for NormaliseOptions {
    fn default() -> Self {
        NormaliseOptions { keep: Vec::new(), target: TargetOptions::default(), free: |_| false, limit: LIMIT }
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

/// How often inlining starts again because it is known of more functions that they are called. A function that is found
/// in a table, and looks into tables itself, could be found without end.
const ROUNDS: usize = 4;

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
    }
    module.bound_inlining(&root_values, options.limit);
    for round in 1..=ROUNDS {
        module.inline(options)?;
        if module.bound_inlining(&root_values, options.limit) && round < ROUNDS {
            continue;
        }
        module.retain_reachable(roots)?;
        module.widen_no_lanes();
        module.run_stages(&SIMPLIFY, options)?;
        // In an unrolled loop over a table of functions, it is known by now which are called.
        if !module.bound_inlining(&root_values, options.limit) {
            break;
        }
    }
    module.unbound_inlining(&root_values);
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

impl Module {
    /// Inline what is marked for it.
    fn inline(&self, options: &NormaliseOptions) -> Result<()> {
        let machine = self.machine(&options.target)?;
        let late = self.inlined_with_loops();
        // By name: the inliner deletes functions that nobody calls any more.
        let names: Vec<String> = late.iter().map(|f| self.name_of(*f)).collect();
        late.iter().for_each(|f| self.set_inlining(*f, Inlining::Never));
        self.run_on(None, INLINE, &machine)?;
        let left = names.iter().filter_map(|name| self.function_named(name));
        left.for_each(|f| self.set_inlining(f, Inlining::Always));
        self.restore_constant_comparisons();
        self.run_on(None, INLINE_LOOPS, &machine)
    }

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
