//! The symbols of a module: what there is, its linkage, and edits that leave code alone.

use crate::error::Result;
use crate::ffi::{BlockRef, ComdatRef, ValueRef, llvm};
use crate::kinds::value_kind;
use crate::module::Module;
use std::collections::HashSet;

/// How a symbol meets those of the same name in other modules.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Linkage {
    /// Seen by other modules.
    External,
    /// A body for the optimiser only; the symbol is defined elsewhere.
    AvailableExternally,
    /// One of several equal definitions (`linkonce`, `weak`, `common`, with or without `_odr`).
    Mergeable,
    /// Known in this module only, with or without an entry in the symbol table.
    Internal,
    /// Anything else (`appending`, `extern_weak`).
    Other,
}

/// Whether a symbol is seen outside the linked binary.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs)]
pub enum Visibility {
    Default,
    Hidden,
    Protected,
}

/// A function or global variable of a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    /// The linker symbol.
    pub name: String,
    /// Whether it is only declared.
    pub is_declaration: bool,
    /// Its linkage.
    pub linkage: Linkage,
    /// Its visibility.
    pub visibility: Visibility,
    /// For a global: whether nothing ever writes to it. For a function: true.
    pub is_constant: bool,
    /// For a global: whether programs may tell it from others by its address, as a `static` and unlike a literal.
    pub has_identity: bool,
}

impl Linkage {
    fn from_raw(raw: i32) -> Linkage {
        match raw {
            0 => Linkage::External,
            1 => Linkage::AvailableExternally,
            2..=6 | 14 => Linkage::Mergeable,
            8 | 9 => Linkage::Internal,
            _ => Linkage::Other,
        }
    }

    fn to_raw(self) -> i32 {
        match self {
            Linkage::External => 0,
            Linkage::AvailableExternally => 1,
            Linkage::Mergeable => 6,
            Linkage::Internal => 8,
            Linkage::Other => panic!("a bug in Pullback: a symbol is given the linkage `other`"),
        }
    }
}

impl Module {
    /// All functions.
    pub fn functions(&self) -> Vec<Symbol> {
        self.raw_functions().into_iter().map(|f| self.describe(f, true)).collect()
    }

    /// All global variables.
    pub fn globals(&self) -> Vec<Symbol> {
        let constant = |g| llvm!(self.api(), LLVMIsGlobalConstant(g)) != 0;
        self.raw_globals().into_iter().map(|g| self.describe(g, constant(g))).collect()
    }

    /// The function or global of this name.
    pub fn find_symbol(&self, name: &str) -> Option<Symbol> {
        let value = self.symbol(name).ok()?;
        let is_function = self.function_named(name).is_some();
        Some(self.describe(value, is_function || llvm!(self.api(), LLVMIsGlobalConstant(value)) != 0))
    }

    fn describe(&self, value: ValueRef, is_constant: bool) -> Symbol {
        Symbol {
            name: self.name_of(value),
            is_declaration: self.is_declaration(value),
            linkage: Linkage::from_raw(llvm!(self.api(), LLVMGetLinkage(value))),
            visibility: match llvm!(self.api(), LLVMGetVisibility(value)) {
                1 => Visibility::Hidden,
                2 => Visibility::Protected,
                _ => Visibility::Default,
            },
            is_constant,
            has_identity: self.is_variable(value) && llvm!(self.api(), LLVMGetUnnamedAddress(value)) == 0,
        }
    }

    fn is_variable(&self, value: ValueRef) -> bool {
        llvm!(self.api(), LLVMGetValueKind(value)) == value_kind::GLOBAL
    }

    /// Whether the function `name` has the parameters and the result of the function `other_name` of `other`, a module of
    /// the same context.
    pub fn have_one_type(&self, name: &str, other: &Module, other_name: &str) -> Result<bool> {
        let (here, there) = (self.symbol(name)?, other.symbol(other_name)?);
        Ok(llvm!(self.api(), LLVMGlobalGetValueType(here)) == llvm!(self.api(), LLVMGlobalGetValueType(there)))
    }

    /// Change a symbol's linkage. A symbol that becomes internal or available externally leaves its comdat.
    pub fn set_linkage(&mut self, name: &str, linkage: Linkage) -> Result<()> {
        let value = self.symbol(name)?;
        self.set_raw_linkage(value, linkage);
        Ok(())
    }

    pub(crate) fn set_raw_linkage(&self, value: ValueRef, linkage: Linkage) {
        if matches!(linkage, Linkage::Internal | Linkage::AvailableExternally) {
            llvm!(self.api(), LLVMSetComdat(value, ComdatRef::NULL));
            llvm!(self.api(), LLVMSetVisibility(value, 0));
        }
        llvm!(self.api(), LLVMSetLinkage(value, linkage.to_raw()));
    }

    pub(crate) fn set_raw_visibility(&self, value: ValueRef, visibility: Visibility) {
        let raw = match visibility {
            Visibility::Default => 0,
            Visibility::Hidden => 1,
            Visibility::Protected => 2,
        };
        llvm!(self.api(), LLVMSetVisibility(value, raw));
    }

    /// Give a symbol another name.
    pub fn rename(&mut self, name: &str, new_name: &str) -> Result<()> {
        let value = self.symbol(name)?;
        llvm!(self.api(), LLVMSetValueName2(value, new_name.as_ptr().cast(), new_name.len()));
        Ok(())
    }

    /// Turn a definition into an external declaration.
    pub fn make_declaration(&mut self, name: &str) -> Result<()> {
        let value = self.symbol(name)?;
        if self.function_named(name).is_some() {
            self.delete_body(value);
        } else {
            llvm!(self.api(), LLVMSetInitializer(value, ValueRef::NULL));
        }
        llvm!(self.api(), LLVMSetComdat(value, ComdatRef::NULL));
        llvm!(self.api(), LLVMSetLinkage(value, Linkage::External.to_raw()));
        Ok(())
    }

    /// Make a global variable zeros, so that it refers to nothing.
    pub fn clear_global(&mut self, name: &str) -> Result<()> {
        let value = self.symbol(name)?;
        let zeros = llvm!(self.api(), LLVMConstNull(llvm!(self.api(), LLVMGlobalGetValueType(value))));
        llvm!(self.api(), LLVMSetInitializer(value, zeros));
        Ok(())
    }

    /// Every definition except `keep` becomes internal, so that unused ones can go. Variables that are available
    /// externally are defined elsewhere.
    pub fn internalize(&mut self, keep: &[&str]) {
        let keep: HashSet<&str> = keep.iter().copied().collect();
        for value in self.raw_functions().into_iter().chain(self.raw_globals()) {
            let name = self.name_of(value);
            let linkage = Linkage::from_raw(llvm!(self.api(), LLVMGetLinkage(value)));
            let is_elsewhere =
                self.is_declaration(value) || (self.is_variable(value) && linkage == Linkage::AvailableExternally);
            if !is_elsewhere && !name.starts_with("llvm.") && !keep.contains(name.as_str()) {
                self.set_raw_linkage(value, Linkage::Internal);
            }
        }
    }

    /// Internal symbols that other modules may have to share become external and hidden, with `suffix` on their
    /// names: globals that can be told from others always, functions and literals where `share` says so. Returns the
    /// new names.
    pub fn promote_internals(&mut self, suffix: &str, mut share: impl FnMut(&Symbol) -> bool) -> Vec<String> {
        let mut promoted = Vec::new();
        let constant = |g| llvm!(self.api(), LLVMIsGlobalConstant(g)) != 0;
        let globals = self.raw_globals().into_iter().map(|g| (g, constant(g)));
        let all: Vec<_> = globals.chain(self.raw_functions().into_iter().map(|f| (f, true))).collect();
        for (value, is_constant) in all {
            let symbol = self.describe(value, is_constant);
            if symbol.linkage != Linkage::Internal || symbol.is_declaration || symbol.name.starts_with("llvm.") {
                continue;
            }
            if symbol.is_constant && !symbol.has_identity && !share(&symbol) {
                continue;
            }
            let name = format!("{}{suffix}", symbol.name);
            llvm!(self.api(), LLVMSetValueName2(value, name.as_ptr().cast(), name.len()));
            self.set_raw_linkage(value, Linkage::External);
            self.set_raw_visibility(value, Visibility::Hidden);
            promoted.push(self.name_of(value));
        }
        promoted
    }

    /// Delete what the symbols in `roots` do not reach through code and initialisers, whatever its linkage.
    pub fn retain_reachable(&mut self, roots: &[&str]) -> Result<()> {
        let live = self.reachable(roots)?;
        let dead = |values: Vec<ValueRef>| values.into_iter().filter(|v| !live.contains(v)).collect::<Vec<_>>();
        let (functions, globals, aliases) =
            (dead(self.raw_functions()), dead(self.raw_globals()), dead(self.raw_aliases()));
        // First cut what refers to the dead, then delete them.
        for global in &globals {
            llvm!(self.api(), LLVMSetInitializer(*global, ValueRef::NULL));
        }
        for value in aliases.iter().chain(&functions).chain(&globals) {
            let poison = llvm!(self.api(), LLVMGetPoison(llvm!(self.api(), LLVMTypeOf(*value))));
            llvm!(self.api(), LLVMReplaceAllUsesWith(*value, poison));
        }
        for function in functions {
            llvm!(self.api(), LLVMDeleteFunction(function));
        }
        for value in aliases.into_iter().chain(globals) {
            llvm!(self.api(), LLVMDeleteGlobal(value));
        }
        Ok(())
    }

    /// A copy of what these symbols reach. What they do not reach is not copied to be deleted: while LLVM copies the
    /// module, the functions that are left out have no blocks.
    pub fn clone_reachable(&self, roots: &[&str]) -> Result<Module> {
        let live = self.reachable(roots)?;
        let dead = self.raw_functions().into_iter().filter(|f| !live.contains(f));
        let bodies: Vec<(ValueRef, Vec<BlockRef>)> = dead.map(|f| (f, self.raw_blocks(f))).collect();
        for block in bodies.iter().flat_map(|(_, blocks)| blocks) {
            llvm!(self.api(), LLVMRemoveBasicBlockFromParent(*block));
        }
        let mut copy = self.clone_module();
        for (function, block) in bodies.iter().flat_map(|(f, blocks)| blocks.iter().map(|block| (*f, *block))) {
            llvm!(self.api(), LLVMAppendExistingBasicBlock(function, block));
        }
        copy.retain_reachable(roots)?;
        Ok(copy)
    }

    /// What symbols reach through code and initialisers.
    fn reachable(&self, roots: &[&str]) -> Result<HashSet<ValueRef>> {
        let mut live: HashSet<ValueRef> = HashSet::new();
        let mut work = Vec::new();
        for root in roots {
            work.push(self.symbol(root)?);
        }
        while let Some(value) = work.pop() {
            if !live.insert(value) {
                continue;
            }
            match llvm!(self.api(), LLVMGetValueKind(value)) {
                value_kind::FUNCTION => {
                    for inst in self.raw_body(value) {
                        work.extend(self.raw_operands(inst.value()).into_iter().filter(|v| self.is_plain_constant(*v)));
                    }
                    if llvm!(self.api(), LLVMHasPersonalityFn(value)) != 0 {
                        work.extend(self.raw_operands(value));
                    }
                }
                _ => work.extend(self.raw_operands(value).into_iter().filter(|v| self.is_plain_constant(*v))),
            }
        }
        Ok(live)
    }

    pub(crate) fn delete_body(&self, function: ValueRef) {
        let blocks = self.raw_blocks(function);
        // Values may be used in blocks deleted later; uses go first.
        for inst in self.raw_body(function) {
            let inst = inst.value();
            let ty = llvm!(self.api(), LLVMTypeOf(inst));
            if llvm!(self.api(), LLVMGetTypeKind(ty)) != crate::kinds::type_kind::VOID
                && llvm!(self.api(), LLVMGetTypeKind(ty)) != crate::kinds::type_kind::TOKEN
            {
                let poison = llvm!(self.api(), LLVMGetPoison(ty));
                llvm!(self.api(), LLVMReplaceAllUsesWith(inst, poison));
            }
        }
        // Blocks may be named by terminators of others; those go first. Something has to stay behind them: the debug
        // records of an erased instruction go to the next one, and at the end of a block LLVM would keep them beyond
        // the block's life, by its address, and give them to whichever block is made there next.
        let builder = llvm!(self.api(), LLVMCreateBuilderInContext(self.raw_context()));
        for block in &blocks {
            if let Some(term) = llvm!(self.api(), LLVMGetBasicBlockTerminator(*block)).some() {
                llvm!(self.api(), LLVMPositionBuilderAtEnd(builder, *block));
                llvm!(self.api(), LLVMBuildUnreachable(builder));
                llvm!(self.api(), LLVMInstructionEraseFromParent(term));
            }
        }
        llvm!(self.api(), LLVMDisposeBuilder(builder));
        for block in blocks {
            llvm!(self.api(), LLVMDeleteBasicBlock(block));
        }
        if llvm!(self.api(), LLVMHasPersonalityFn(function)) != 0 {
            llvm!(self.api(), LLVMSetPersonalityFn(function, ValueRef::NULL));
        }
        // A declaration has no debug information of its own.
        llvm!(self.api(), LLVMGlobalClearMetadata(function));
    }

    pub(crate) fn raw_operands(&self, value: ValueRef) -> Vec<ValueRef> {
        let count = llvm!(self.api(), LLVMGetNumOperands(value));
        (0..count as u32).filter_map(|i| llvm!(self.api(), LLVMGetOperand(value, i)).some()).collect()
    }

    /// Whether this is a constant, a function or a global (and not metadata, a block or inline assembly).
    pub(crate) fn is_plain_constant(&self, value: ValueRef) -> bool {
        let kind = llvm!(self.api(), LLVMGetValueKind(value));
        llvm!(self.api(), LLVMIsConstant(value)) != 0 && kind != value_kind::BASIC_BLOCK
    }
}
