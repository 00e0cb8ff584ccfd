//! The requests of a module, read from the constants that the attributes leave in it.
//!
//! `docs/architecture.md` has the table of the structures; `pullback::abi` declares them. A request's arguments name
//! their layouts by functions, `fn() -> &'static Layout`; function and constant may lie in another module of the
//! program than the request, since `f64`'s layout is compiled with the `pullback` crate.

use super::inputs::{DISOWNS, LATER, MARKER, SAVES};
use super::policy::demangled;
use super::program::{ModuleId, Program};
use crate::diagnostics::{CLOSURE, Place, is_users_own};
use anyhow::{Context, Result, bail};
use pullback_ad::{Activity, Argument, CustomRules, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request};
use pullback_llvm::{CallSite, ConstData, Module};
use std::collections::{HashMap, HashSet, VecDeque};

/// The version of the structures this driver reads.
const VERSION: u32 = 2;

/// A request, as it stands in a module.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The marker calls it was read from; more than one if the same is asked for several times, or more is asked about
    /// it.
    pub calls: Vec<CallSite>,
    /// The shim whose derivative is asked for.
    pub shim: String,
    /// What is asked of the engine.
    pub request: Request,
    /// Where in the source it is asked for; of a closure, where it begins.
    pub place: Place,
}

/// The requests of `module`, which is `id` of the program. Equal ones are one.
pub fn requests(program: &mut Program, id: ModuleId, module: &Module) -> Result<Vec<Asked>> {
    let mut all: Vec<Asked> = Vec::new();
    for call in [MARKER, LATER, SAVES, DISOWNS].into_iter().flat_map(|marker| module.calls_of(marker)) {
        let asked = decode(program, id, call)?;
        match all.iter_mut().find(|a| a.shim == asked.shim && a.request == asked.request) {
            Some(same) => same.calls.extend(asked.calls),
            None => all.push(asked),
        }
    }
    Ok(all)
}

fn decode(program: &mut Program, id: ModuleId, call: CallSite) -> Result<Asked> {
    let [Some(shim), Some(constant)] = &call.arguments[..] else {
        bail!("a request in `{}` is not a constant", demangled(&call.caller));
    };
    let (shim, constant) = (shim.clone(), constant.clone());
    let mut decoder = Decoder::new(program);
    let (request, mut place) = decoder
        .request(id, &constant)
        .with_context(|| format!("could not read a request in `{}`", demangled(&call.caller)))?;
    if request.name == CLOSURE {
        place = decoder.users_function(id, &shim)?.unwrap_or(place);
    }
    Ok(Asked { calls: vec![call], shim, request, place })
}

/// Reads constants of the program.
pub struct Decoder<'p> {
    program: &'p mut Program,
    layouts: Layouts,
    known: HashMap<(ModuleId, String), LayoutId>,
}

/// Where constants are read: some bytes of some module.
pub struct Reader {
    /// The module.
    pub id: ModuleId,
    data: ConstData,
    base: u64,
}

impl Reader {
    fn bytes<const N: usize>(&self, offset: u64) -> Result<[u8; N]> {
        let at = usize::try_from(self.base + offset)?;
        let bytes = self.data.bytes.get(at..at + N).context("a constant is too short")?;
        Ok(bytes.try_into()?)
    }

    /// The number at an offset.
    pub fn u32(&self, offset: u64) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(offset)?))
    }

    /// The number at an offset.
    pub fn u64(&self, offset: u64) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes(offset)?))
    }

    /// The symbol whose address lies at an offset, and how far behind it.
    pub fn address(&self, offset: u64) -> Option<(String, u64)> {
        let reloc = self.data.reloc_at(self.base + offset)?;
        Some((reloc.symbol.clone(), u64::try_from(reloc.addend).ok()?))
    }
}

impl<'p> Decoder<'p> {
    /// A reader of the program's constants.
    pub fn new(program: &'p mut Program) -> Self {
        Decoder { program, layouts: Layouts::default(), known: HashMap::new() }
    }

    /// The layouts that were read.
    pub fn into_layouts(self) -> Layouts {
        self.layouts
    }

    fn request(&mut self, id: ModuleId, constant: &str) -> Result<(Request, Place)> {
        let r = self.constant(id, constant, 0)?;
        let version = r.u32(0)?;
        if version != VERSION {
            bail!(
                "it has version {version}, and this driver reads version {VERSION}; use `cargo-pullback` and `pullback` of the same release"
            );
        }
        let mode = match r.u32(4)? {
            0 => Mode::Forward,
            1 => Mode::Reverse,
            other => bail!("it has the mode {other}"),
        };
        let flags = r.u32(12)?;
        let place = Place { file: self.string(&r, 32)?, line: r.u32(48)?, column: r.u32(52)? };
        let name = self.string(&r, 16)?;
        let mut args = Vec::new();
        for i in 0..r.u64(64)? {
            let arg = self.pointed(&r, 56, i * 32)?;
            args.push(self.argument(&arg)?);
        }
        let request = Request {
            mode,
            width: usize::try_from(r.u32(8)?)?,
            strong_zero: flags & 1 != 0,
            runtime_activity: flags & 2 != 0,
            split: flags & 4 != 0,
            nested: false,
            name,
            args,
            layouts: std::mem::take(&mut self.layouts),
            rules: CustomRules::default(),
        };
        Ok((request, place))
    }

    /// An `Arg`.
    pub fn argument(&mut self, r: &Reader) -> Result<Argument> {
        let activity = match r.u32(16)? {
            0 => Activity::Const,
            1 => Activity::Duplicated,
            2 => Activity::DuplicatedNoNeed,
            other => bail!("an argument has the activity {other}"),
        };
        let layout = self.layout_at(r, 24)?.context("an argument has no layout")?;
        Ok(Argument { name: self.string(r, 0)?, activity, by_value: r.u32(20)? & 1 != 0, layout })
    }

    /// The layout that the function at an offset returns; `None` if there is no function.
    fn layout_at(&mut self, r: &Reader, offset: u64) -> Result<Option<LayoutId>> {
        let Some((function, _)) = r.address(offset) else { return Ok(None) };
        let home = self.home(r.id, &function)?;
        if let Some(known) = self.known.get(&(home, function.clone())) {
            return Ok(Some(*known));
        }
        let layout = self.layouts.add(Layout::default());
        self.known.insert((home, function.clone()), layout);
        let module = self.program.module(home)?;
        let constant = module
            .returned_constant(&function)
            .with_context(|| format!("the layout `{}` is not a constant", demangled(&function)))?;
        let r = self.constant(home, &constant, 0)?;
        let mut fields = Vec::new();
        for i in 0..r.u64(24)? {
            let field = self.pointed(&r, 16, i * 32)?;
            let field = self.field(&field)?;
            // Without bytes, it is for the wrapper only.
            if field.kind != FieldKind::Unknown(0) {
                fields.push(field);
            }
        }
        let data = Layout { name: self.string(&r, 32)?, size: r.u64(0)?, fields };
        self.layouts.set(layout, data);
        Ok(Some(layout))
    }

    fn field(&mut self, r: &Reader) -> Result<Field> {
        let count = r.u64(16)?;
        let layout = self.layout_at(r, 24)?;
        let kind = match r.u32(8)? {
            1 => FieldKind::F32,
            2 => FieldKind::F64,
            3 => FieldKind::Pointer(layout),
            4 => FieldKind::Int(count),
            5 => FieldKind::Nested(layout.context("a nested field has no layout")?, count),
            6 => FieldKind::Opaque(count),
            7 => FieldKind::Payload(layout.context("a payload has no layout")?),
            8 => FieldKind::Unknown(count),
            9 => FieldKind::Cell(count),
            10 => FieldKind::Owners(count),
            other => bail!("a field is of kind {other}"),
        };
        Ok(Field { offset: r.u64(0)?, kind })
    }

    /// The string whose pointer and length lie at an offset.
    pub fn string(&mut self, r: &Reader, offset: u64) -> Result<String> {
        let length = r.u64(offset + 8)?;
        if length == 0 {
            return Ok(String::new());
        }
        let text = self.pointed(r, offset, 0)?;
        let start = usize::try_from(text.base)?;
        let bytes = text.data.bytes.get(start..start + usize::try_from(length)?).context("a string is too short")?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The constant to which the pointer at an offset points, from so many bytes behind it on.
    pub fn pointed(&mut self, r: &Reader, offset: u64, behind: u64) -> Result<Reader> {
        let (symbol, addend) = r.address(offset).context("a pointer does not point to a constant")?;
        self.constant(r.id, &symbol, addend + behind)
    }

    /// The constant `symbol`, as module `id` knows it, from byte `base` on.
    pub fn constant(&mut self, id: ModuleId, symbol: &str, base: u64) -> Result<Reader> {
        let home = self.home(id, symbol)?;
        Ok(Reader { id: home, data: self.program.module(home)?.constant_data(symbol)?, base })
    }

    /// Where the function of the user's begins that a shim of module `id` calls, by way of others that are not the
    /// user's.
    fn users_function(&mut self, id: ModuleId, shim: &str) -> Result<Option<Place>> {
        let mut seen = HashSet::from([(id, shim.to_owned())]);
        let mut work = VecDeque::from([(id, shim.to_owned())]);
        while let Some((id, function)) = work.pop_front() {
            let module = self.program.module(id)?;
            if let Some((file, line)) = module.function_place(&function)
                && line > 0
                && is_users_own(&file, &demangled(&function))
            {
                return Ok(Some(Place { file, line, column: 0 }));
            }
            for callee in module.references(&function)? {
                // What is not in a module of the program's calls nothing of the user's.
                let Ok(home @ (ModuleId::Line(..) | ModuleId::Copy(_))) = self.home(id, &callee) else { continue };
                let next = (home, callee);
                if seen.insert(next.clone()) {
                    work.push_back(next);
                }
            }
        }
        Ok(None)
    }

    /// The module that defines what module `id` calls `symbol`.
    pub fn home(&mut self, id: ModuleId, symbol: &str) -> Result<ModuleId> {
        if self.program.module(id)?.find_symbol(symbol).is_some_and(|s| !s.is_declaration) {
            return Ok(id);
        }
        self.program.find(symbol)?.with_context(|| format!("nothing defines `{}`", demangled(symbol)))
    }
}
