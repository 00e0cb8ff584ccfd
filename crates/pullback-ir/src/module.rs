//! Modules: functions, globals and source locations.

use crate::entities::{FuncId, GlobalId, SourceLoc};
use crate::function::Function;
use std::collections::HashMap;

/// A global of the program.
#[derive(Clone, PartialEq, Debug)]
pub struct Global {
    /// The linker symbol.
    pub name: String,
    /// Size in bytes, where known.
    pub size: u64,
    /// Alignment in bytes.
    pub align: u64,
    /// Whether nothing ever writes to it.
    pub constant: bool,
    /// The initial bytes where they are plain data, for the interpreter.
    pub bytes: Option<Vec<u8>>,
}

/// A place in the source, and the call it was inlined into.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Location {
    /// The file as the compiler names it.
    pub file: String,
    /// Line, from 1; 0 is unknown.
    pub line: u32,
    /// Column, from 1; 0 is unknown.
    pub column: u32,
    /// The function the place is in, demangled, where known.
    pub function: String,
    /// The call that was inlined here.
    pub inlined_at: Option<SourceLoc>,
}

/// A module.
#[derive(Clone, Debug, Default)]
pub struct Module {
    functions: Vec<Function>,
    globals: Vec<Global>,
    locations: Vec<Location>,
    by_name: HashMap<String, FuncId>,
    location_ids: HashMap<Location, SourceLoc>,
}

impl Module {
    /// An empty module.
    pub fn new() -> Self {
        Self::default()
    }

    /// Add a function; its name must be new.
    pub fn add_function(&mut self, function: Function) -> FuncId {
        let id = FuncId::from_index(self.functions.len());
        let old = self.by_name.insert(function.name.clone(), id);
        assert!(old.is_none(), "two functions are named {}", function.name);
        self.functions.push(function);
        id
    }

    /// Take away the functions that were added since there were `count`. The others must not refer to them.
    pub fn truncate_functions(&mut self, count: usize) {
        for function in self.functions.drain(count.min(self.functions.len())..) {
            self.by_name.remove(&function.name);
        }
    }

    /// The function of this name, declared now if it is new.
    pub fn declare(&mut self, name: &str, make: impl FnOnce() -> Function) -> FuncId {
        match self.by_name.get(name) {
            Some(id) => *id,
            None => self.add_function(make()),
        }
    }

    /// The function of this name.
    pub fn find(&self, name: &str) -> Option<FuncId> {
        self.by_name.get(name).copied()
    }

    /// A function.
    pub fn func(&self, id: FuncId) -> &Function {
        &self.functions[id.index()]
    }

    /// A function, to change.
    pub fn func_mut(&mut self, id: FuncId) -> &mut Function {
        &mut self.functions[id.index()]
    }

    /// All functions.
    pub fn functions(&self) -> impl Iterator<Item = (FuncId, &Function)> {
        self.functions.iter().enumerate().map(|(i, f)| (FuncId::from_index(i), f))
    }

    /// Add a global.
    pub fn add_global(&mut self, global: Global) -> GlobalId {
        self.globals.push(global);
        GlobalId::from_index(self.globals.len() - 1)
    }

    /// A global.
    pub fn global(&self, id: GlobalId) -> &Global {
        &self.globals[id.index()]
    }

    /// All globals.
    pub fn globals(&self) -> impl Iterator<Item = (GlobalId, &Global)> {
        self.globals.iter().enumerate().map(|(i, g)| (GlobalId::from_index(i), g))
    }

    /// The entity of this location.
    pub fn add_location(&mut self, location: Location) -> SourceLoc {
        if let Some(id) = self.location_ids.get(&location) {
            return *id;
        }
        let id = SourceLoc::from_index(self.locations.len());
        self.locations.push(location.clone());
        self.location_ids.insert(location, id);
        id
    }

    /// All locations.
    pub fn locations(&self) -> impl Iterator<Item = (SourceLoc, &Location)> {
        self.locations.iter().enumerate().map(|(i, l)| (SourceLoc::from_index(i), l))
    }

    /// A location.
    pub fn location(&self, loc: SourceLoc) -> &Location {
        &self.locations[loc.index()]
    }
}
