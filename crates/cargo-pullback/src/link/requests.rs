//! The requests of a module, read from the constants that the attributes leave in it.
//!
//! `docs/architecture.md` has the table of the structures; `pullback-abi` declares them. A request's arguments name
//! their layouts by functions, `fn() -> &'static Layout`; function and constant may lie in another module of the
//! program than the request, since `f64`'s layout is compiled with the `pullback` crate.

use super::path::demangled;
use super::program::{ModuleId, Program};
use crate::diagnostics::{CLOSURE, Place, is_users_own};
use anyhow::{Context, Result, bail};
use pullback_abi::markers::{DISOWNS, LATER, MARKER, RENEWS, SAVES, YIELDS};
use pullback_abi::{self as abi, Kind, Slice};
use pullback_ad::{Activity, Argument, CustomRules, Field, FieldKind, Layout, LayoutId, Layouts, Mode, Request};
use pullback_llvm::{CallSite, ConstData, Module};
use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::offset_of;
use std::rc::Rc;

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
    for call in [MARKER, LATER, SAVES, DISOWNS, RENEWS, YIELDS].into_iter().flat_map(|marker| module.calls_of(marker)) {
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

/// Where a structure of `pullback-abi` is read: some bytes of some module. Its fields are read by their offsets in it,
/// `offset_of!`.
pub struct Reader {
    /// The module.
    pub id: ModuleId,
    data: Rc<ConstData>,
    base: usize,
}

impl Reader {
    fn bytes<const N: usize>(&self, offset: usize) -> Result<[u8; N]> {
        let at = self.base + offset;
        let bytes = self.data.bytes.get(at..at + N).context("a constant is too short")?;
        Ok(bytes.try_into()?)
    }

    /// That the version at an offset is the one that this driver reads.
    pub fn check_version(&self, offset: usize) -> Result<()> {
        const VERSION: u32 = abi::VERSION;
        let version = self.u32(offset)?;
        if version != VERSION {
            bail!(
                "it has version {version}, and this driver reads version {VERSION}; use `cargo-pullback` and \
                 `pullback` of the same release"
            );
        }
        Ok(())
    }

    /// The number at an offset.
    pub fn u32(&self, offset: usize) -> Result<u32> {
        Ok(u32::from_le_bytes(self.bytes(offset)?))
    }

    /// The `usize` of the program at an offset.
    pub fn u64(&self, offset: usize) -> Result<u64> {
        Ok(u64::from_le_bytes(self.bytes(offset)?))
    }

    /// The symbol whose address lies at an offset, and how far behind it.
    fn address(&self, offset: usize) -> Option<(String, usize)> {
        let reloc = self.data.reloc_at(u64::try_from(self.base + offset).ok()?)?;
        Some((reloc.symbol.clone(), usize::try_from(reloc.addend).ok()?))
    }

    /// The function whose address lies at an offset.
    pub fn function(&self, offset: usize) -> Option<String> {
        self.address(offset).map(|(symbol, _)| symbol)
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
        let r = self.constant(id, constant)?;
        r.check_version(offset_of!(abi::Request, version))?;
        let flags = r.u32(offset_of!(abi::Request, flags))?;
        let place = Place {
            file: self.string(&r, offset_of!(abi::Request, file))?,
            line: r.u32(offset_of!(abi::Request, line))?,
            column: r.u32(offset_of!(abi::Request, column))?,
        };
        let mut args = self.arguments(&r, offset_of!(abi::Request, args))?;
        args.last_mut().context("it has no place for the result")?.is_result = true;
        let request = Request {
            mode: Mode::try_from(r.u32(offset_of!(abi::Request, mode))?)?,
            width: usize::try_from(r.u32(offset_of!(abi::Request, width))?)?,
            strong_zero: flags & abi::Request::STRONG_ZERO != 0,
            runtime_activity: flags & abi::Request::RUNTIME_ACTIVITY != 0,
            split: flags & abi::Request::SPLIT != 0,
            seeds: flags & abi::Request::SEEDS != 0,
            nested: false,
            name: self.string(&r, offset_of!(abi::Request, name))?,
            args,
            layouts: std::mem::take(&mut self.layouts),
            rules: CustomRules::default(),
        };
        Ok((request, place))
    }

    /// The arguments whose slice lies at an offset.
    pub fn arguments(&mut self, r: &Reader, offset: usize) -> Result<Vec<Argument>> {
        self.slice::<abi::Arg>(r, offset)?.iter().map(|arg| self.argument(arg)).collect()
    }

    fn argument(&mut self, r: &Reader) -> Result<Argument> {
        Ok(Argument {
            name: self.string(r, offset_of!(abi::Arg, name))?,
            activity: Activity::try_from(r.u32(offset_of!(abi::Arg, activity))?)?,
            by_value: r.u32(offset_of!(abi::Arg, flags))? & abi::Arg::BY_VALUE != 0,
            is_result: false,
            layout: self.layout_at(r, offset_of!(abi::Arg, layout))?.context("an argument has no layout")?,
        })
    }

    /// The layout that the function at an offset returns; `None` if there is no function.
    fn layout_at(&mut self, r: &Reader, offset: usize) -> Result<Option<LayoutId>> {
        let Some(function) = r.function(offset) else { return Ok(None) };
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
        let r = self.constant(home, &constant)?;
        let mut fields = Vec::new();
        for field in self.slice::<abi::Field>(&r, offset_of!(abi::Layout, fields))? {
            let field = self.field(&field)?;
            // Without bytes, it is for the wrapper only.
            if field.kind != FieldKind::Unknown(0) {
                fields.push(field);
            }
        }
        let data = Layout {
            name: self.string(&r, offset_of!(abi::Layout, name))?,
            size: r.u64(offset_of!(abi::Layout, size))?,
            fields,
        };
        self.layouts.set(layout, data);
        Ok(Some(layout))
    }

    fn field(&mut self, r: &Reader) -> Result<Field> {
        let count = r.u64(offset_of!(abi::Field, count))?;
        let kind = Kind::try_from(r.u32(offset_of!(abi::Field, kind))?)?;
        let flags = r.u32(offset_of!(abi::Field, flags))?;
        // Of a skipped field it is for the wrapper only.
        let layout = if kind == Kind::Unknown { None } else { self.layout_at(r, offset_of!(abi::Field, layout))? };
        let kind = match kind {
            Kind::F32 => FieldKind::F32,
            Kind::F64 => FieldKind::F64,
            Kind::Pointer if flags & abi::Field::SHARED != 0 => {
                FieldKind::Reference(layout.context("a reference has no layout")?)
            }
            Kind::Pointer if flags & abi::Field::AGAIN != 0 => {
                FieldKind::Again(layout.context("a second pointer has no layout")?)
            }
            Kind::Pointer => FieldKind::Pointer(layout),
            Kind::Inactive => FieldKind::Int(count),
            Kind::Nested => FieldKind::Nested(layout.context("a nested field has no layout")?, count),
            Kind::Opaque => FieldKind::Opaque(count),
            Kind::Payload => FieldKind::Payload(layout.context("a payload has no layout")?),
            Kind::Unknown => FieldKind::Unknown(count),
            Kind::Cell => FieldKind::Cell(count),
            Kind::Owners => FieldKind::Owners(count),
        };
        Ok(Field { offset: r.u64(offset_of!(abi::Field, offset))?, kind })
    }

    /// The string that lies at an offset, a `Str`.
    pub fn string(&mut self, r: &Reader, offset: usize) -> Result<String> {
        let length = usize::try_from(r.u64(offset + Slice::<u8>::LENGTH)?)?;
        if length == 0 {
            return Ok(String::new());
        }
        let text = self.pointed(r, offset + Slice::<u8>::POINTER)?;
        let bytes = text.data.bytes.get(text.base..text.base + length).context("a string is too short")?;
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }

    /// The values of the `Slice<T>` that lies at an offset.
    fn slice<T: 'static>(&mut self, r: &Reader, offset: usize) -> Result<Vec<Reader>> {
        let length = usize::try_from(r.u64(offset + Slice::<T>::LENGTH)?)?;
        if length == 0 {
            return Ok(Vec::new());
        }
        let Reader { id, data, base } = self.pointed(r, offset + Slice::<T>::POINTER)?;
        Ok((0..length).map(|i| Reader { id, data: data.clone(), base: base + i * size_of::<T>() }).collect())
    }

    /// What the pointer at an offset points to.
    fn pointed(&mut self, r: &Reader, offset: usize) -> Result<Reader> {
        let (symbol, base) = r.address(offset).context("a pointer does not point to a constant")?;
        Ok(Reader { base, ..self.constant(r.id, &symbol)? })
    }

    /// The constant `symbol`, as module `id` knows it.
    pub fn constant(&mut self, id: ModuleId, symbol: &str) -> Result<Reader> {
        let home = self.home(id, symbol)?;
        let data = self.program.module(home)?.constant_data(symbol)?;
        Ok(Reader { id: home, data: Rc::new(data), base: 0 })
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
