//! All the bitcode of a program: the modules on the link line and the standard library's, parsed when asked for.

use super::inputs::{Input, Member};
use super::policy::{is_support, policy};
use super::std_bodies::StdBodies;
use anyhow::{Context as _, Result};
use object::read::archive::ArchiveFile;
use pullback_abi::markers::{LATER, MARKER};
use pullback_llvm::{Context, Linkage, Module, Policy};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

/// A module of the program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ModuleId {
    /// Member `.1` of input `.0`.
    Line(usize, usize),
    /// A module of the standard library.
    Std(usize),
    /// A working copy.
    Copy(usize),
}

/// All the bitcode of a program.
pub struct Program {
    /// What its modules belong to.
    pub context: Context,
    /// The files on the link line.
    pub inputs: Vec<Input>,
    std: StdBodies,
    /// Which module of an archive defines a symbol, by the archives' own tables.
    archived: HashMap<String, ModuleId>,
    parsed: HashMap<ModuleId, Rc<Module>>,
    sources: HashMap<ModuleId, Rc<Module>>,
    /// What of them was asked for so far.
    asked: HashMap<ModuleId, Asked>,
    found: HashMap<String, Option<ModuleId>>,
    /// The variables of [`Program::promoted`] modules, and their functions that ask for derivatives.
    owners: HashMap<String, ModuleId>,
}

/// What of a module was asked for so far.
#[derive(Default)]
struct Asked {
    names: BTreeSet<String>,
    /// All that these reach.
    module: Option<Module>,
}

impl Program {
    /// The program of these inputs and this standard library.
    pub fn new(context: Context, inputs: Vec<Input>, std: StdBodies) -> Self {
        let archived = archive_index(&inputs);
        Program {
            context,
            inputs,
            std,
            archived,
            parsed: HashMap::new(),
            sources: HashMap::new(),
            asked: HashMap::new(),
            found: HashMap::new(),
            owners: HashMap::new(),
        }
    }

    /// The bitcode on the link line.
    pub fn bitcode(&self) -> Vec<(ModuleId, &Member)> {
        let mut all = Vec::new();
        for (i, input) in self.inputs.iter().enumerate() {
            let members = input.members.iter().enumerate().filter(|(_, member)| member.is_bitcode());
            all.extend(members.map(|(k, member)| (ModuleId::Line(i, k), member)));
        }
        all
    }

    /// A module as it is on the link line.
    pub fn module(&mut self, id: ModuleId) -> Result<Rc<Module>> {
        if let Some(module) = self.parsed.get(&id) {
            return Ok(module.clone());
        }
        let module = Rc::new(self.parse(id)?);
        self.parsed.insert(id, module.clone());
        Ok(module)
    }

    /// A module as it is on the link line, to be changed.
    fn parse(&mut self, id: ModuleId) -> Result<Module> {
        let (name, bytes) = match id {
            ModuleId::Line(input, member) => {
                let member = &self.inputs[input].members[member];
                (member.name.clone(), member.bytes())
            }
            ModuleId::Std(module) => (
                "the standard library".to_owned(),
                self.std.bitcode(module).context("the standard library has changed")?,
            ),
            ModuleId::Copy(_) => anyhow::bail!("a working copy is gone"),
        };
        Ok(Module::parse_bitcode(&self.context, &name, bytes)?)
    }

    /// Let constants be read from a working copy as from any module.
    pub fn adopt(&mut self, module: Module) -> ModuleId {
        let id = ModuleId::Copy(self.parsed.len());
        self.parsed.insert(id, Rc::new(module));
        id
    }

    /// The module that defines this symbol.
    pub fn find(&mut self, symbol: &str) -> Result<Option<ModuleId>> {
        if let Some(found) = self.found.get(symbol) {
            return Ok(*found);
        }
        let found = self.search(symbol)?;
        self.found.insert(symbol.to_owned(), found);
        Ok(found)
    }

    fn search(&mut self, symbol: &str) -> Result<Option<ModuleId>> {
        Ok(match self.find_own(symbol)? {
            Some(id) => Some(id),
            None => self.std.find(symbol).map(ModuleId::Std),
        })
    }

    /// The module that defines this symbol, if it is not one of the standard library's.
    pub fn find_own(&mut self, symbol: &str) -> Result<Option<ModuleId>> {
        if let Some(id) = self.archived.get(symbol) {
            return Ok(Some(*id));
        }
        // Objects have no table; those that mention the name are asked.
        for i in 0..self.inputs.len() {
            if self.inputs[i].is_archive || !self.inputs[i].members.iter().any(|m| m.is_bitcode() && m.mentions(symbol))
            {
                continue;
            }
            let id = ModuleId::Line(i, 0);
            if self.module(id)?.find_symbol(symbol).is_some_and(|s| !s.is_declaration && s.linkage != Linkage::Internal)
            {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// A copy of a module of the line in which the variables that only it knows, and its functions that ask for
    /// derivatives, have names by which others can refer to them. What refers to one of them asks for the module to be
    /// replaced by such a copy; see [`Program::owner`].
    pub fn promoted(&mut self, id: ModuleId) -> Result<Module> {
        let module = match id {
            // Of a large module one copy is enough: the standard library's are only taken apart.
            ModuleId::Std(_) => self.parse(id)?,
            _ => self.module(id)?.clone_module(),
        };
        Ok(self.promote(id, module))
    }

    /// What these functions reach in a [`promoted`](Program::promoted) copy. They keep their names.
    pub fn promoted_part(&mut self, id: ModuleId, names: &[&str]) -> Result<Module> {
        let part = self.module(id)?.clone_reachable(names)?;
        Ok(self.promote(id, part))
    }

    fn promote(&mut self, id: ModuleId, mut module: Module) -> Module {
        if let ModuleId::Line(input, member) = id {
            let tag = tag(&self.inputs[input].members[member].name);
            let calls = [MARKER, LATER].into_iter().flat_map(|marker| module.calls_of(marker));
            let asking: HashSet<String> = calls.map(|call| call.caller).collect();
            for name in module.promote_internals(&format!(".{tag}"), |symbol| asking.contains(&symbol.name)) {
                self.owners.insert(name, id);
            }
        }
        module
    }

    /// What these functions reach in a [`promoted`](Program::promoted) copy, to take derivatives of.
    pub fn working_copy(&mut self, id: ModuleId, names: &[&str]) -> Result<Module> {
        Ok(as_computed(id, self.promoted_part(id, names)?))
    }

    /// The module that has to be replaced by its [`promoted`](Program::promoted) copy if this variable is referred to.
    pub fn owner(&self, variable: &str) -> Option<ModuleId> {
        self.owners.get(variable).copied()
    }

    /// A module from which bodies may be taken: functions that are not to be looked into, and those whose bodies only
    /// work in their own module, are declarations in it.
    pub fn source(&mut self, id: ModuleId) -> Result<Rc<Module>> {
        if let Some(module) = self.sources.get(&id) {
            return Ok(module.clone());
        }
        let mut module = as_computed(id, self.promoted(id)?);
        let is_closed = |name: &str| policy(name) != Policy::Import && !is_support(name);
        let closed: Vec<String> = module
            .functions()
            .into_iter()
            .filter(|f| !f.is_declaration && f.linkage != Linkage::Internal && is_closed(&f.name))
            .map(|f| f.name)
            .collect();
        for name in closed.iter().chain(&tied(&module)) {
            module.make_declaration(name)?;
        }
        let module = Rc::new(module);
        self.sources.insert(id, module.clone());
        Ok(module)
    }

    /// A copy of what these definitions reach in the [source](Self::source) of a module. Bodies are asked for again and
    /// again, for each working copy, and a module of the standard library is large: so all that was asked for so far
    /// is kept, and the copy is made of that.
    pub fn part(&mut self, id: ModuleId, names: &[&str]) -> Result<Module> {
        let is_defined = |module: &Module, name: &str| module.find_symbol(name).is_some_and(|s| !s.is_declaration);
        let mut asked = self.asked.remove(&id).unwrap_or_default();
        let module = match asked.module.take().filter(|module| names.iter().all(|name| is_defined(module, name))) {
            Some(module) => module,
            None => {
                asked.names.extend(names.iter().map(|name| (*name).to_owned()));
                self.source(id)?.clone_reachable(&asked.names.iter().map(String::as_str).collect::<Vec<_>>())?
            }
        };
        let part = module.clone_reachable(names);
        self.asked.insert(id, Asked { module: Some(module), ..asked });
        Ok(part?)
    }
}

/// A copy of a module to take derivatives of: where the module is not optimised, the run-time library computes its float
/// functions, and so it does in derivatives.
fn as_computed(id: ModuleId, mut copy: Module) -> Module {
    if matches!(id, ModuleId::Line(..)) && !copy.says_optimised() {
        copy.keep_float_calls();
    }
    copy
}

/// A few letters that tell a module from the others of the link, the same in every build.
pub fn tag(name: &str) -> String {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    format!("{:08x}", hasher.finish() as u32)
}

/// The functions with external names that read or write an internal variable of their module, or do so through its
/// internal functions: a copy of such a body elsewhere would work on a variable of its own.
fn tied(module: &Module) -> Vec<String> {
    let variables: Vec<String> = module.globals().into_iter().filter(|g| !g.is_constant).map(|g| g.name).collect();
    let functions = module.functions();
    let external: HashSet<&str> =
        functions.iter().filter(|f| f.linkage != Linkage::Internal).map(|f| f.name.as_str()).collect();
    let internal = |name: &&str| module.find_symbol(name).is_some_and(|s| s.linkage == Linkage::Internal);
    let own: Vec<&str> = variables.iter().map(String::as_str).filter(internal).collect();
    let variables: HashSet<&str> = variables.iter().map(String::as_str).collect();
    let tied = module.referrers(&own, |name| external.contains(name) || variables.contains(name));
    tied.into_iter().filter(|name| external.contains(name.as_str())).collect()
}

/// The symbols of the archives' bitcode members, from the tables that rustc writes for the linker.
fn archive_index(inputs: &[Input]) -> HashMap<String, ModuleId> {
    let mut index = HashMap::new();
    for (i, input) in inputs.iter().enumerate().filter(|(_, input)| input.is_archive) {
        let by_offset: HashMap<usize, usize> = input
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.is_bitcode())
            .map(|(k, member)| (member.start(), k))
            .collect();
        let Some(first) = input.members.first() else { continue };
        let file = first.file();
        let Ok(archive) = ArchiveFile::parse(file) else { continue };
        for symbol in archive.symbols().ok().flatten().into_iter().flatten().flatten() {
            let Ok(member) = archive.member(symbol.offset()) else { continue };
            let Some(k) = usize::try_from(member.file_range().0).ok().and_then(|at| by_offset.get(&at)) else {
                continue;
            };
            let name = String::from_utf8_lossy(symbol.name()).into_owned();
            index.entry(name).or_insert(ModuleId::Line(i, *k));
        }
    }
    index
}
