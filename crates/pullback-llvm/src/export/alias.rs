//! Alias classes as LLVM's alias scopes: an access is in the scope of its class, and aliases nothing in the others.

use crate::ffi::{InstRef, MetadataRef, ValueRef, llvm};
use crate::module::Module;
use pullback_ir::{AliasClass, Function};
use std::collections::HashMap;

/// The metadata of each class of a function: its own scope, and the others.
pub(super) struct Scopes {
    kinds: [u32; 2],
    of: HashMap<AliasClass, [ValueRef; 2]>,
}

impl Scopes {
    pub fn new(module: &Module, func: &Function) -> Self {
        let (api, context) = (module.api(), module.raw_context());
        let string = |text: &str| llvm!(api, LLVMMDStringInContext2(context, text.as_ptr().cast(), text.len()));
        let node =
            |mut parts: Vec<MetadataRef>| llvm!(api, LLVMMDNodeInContext2(context, parts.as_mut_ptr(), parts.len()));
        let kinds = ["alias.scope", "noalias"]
            .map(|name| llvm!(api, LLVMGetMDKindIDInContext(context, name.as_ptr().cast(), name.len() as u32)));
        let classes = func.alias_classes();
        // Scopes are told apart by their names, so these have to be the function's own.
        let domain = node(vec![string(&func.name)]);
        let scopes: Vec<MetadataRef> =
            classes.iter().map(|class| node(vec![string(&format!("{}.{}", func.name, class.0)), domain])).collect();
        let value = |parts| llvm!(api, LLVMMetadataAsValue(context, node(parts)));
        let others = |own: usize| scopes.iter().enumerate().filter(|(i, _)| *i != own).map(|(_, s)| *s).collect();
        let of = classes.iter().enumerate().map(|(i, class)| (*class, [value(vec![scopes[i]]), value(others(i))]));
        Scopes { kinds, of: of.collect() }
    }

    /// Say of a load or store which memory it touches.
    pub fn mark(&self, module: &Module, access: InstRef, class: AliasClass) {
        for (kind, value) in self.kinds.iter().zip(self.of[&class]) {
            llvm!(module.api(), LLVMSetMetadata(access, *kind, value));
        }
    }
}
