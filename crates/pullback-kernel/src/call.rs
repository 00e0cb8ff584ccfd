//! A call from Rust: arguments whose types the compiler has checked meet, and the function runs.

use crate::abi::Function;
use crate::argument::Argument;
use crate::element::Param;
use crate::error::{Error, Result, ShapeError};
use crate::operand::{Operand, Place};
use crate::run::{Options, run};
use crate::shape::{Batched, Rule, Shape, broadcast, broadcast_strides};
use crate::tensor::Tensor;
use crate::value::Value;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// A function, and what is read off its description once.
#[derive(Debug)]
pub struct Described {
    function: Function,
    params: OnceLock<Box<[Param]>>,
}

impl Described {
    /// A function with this description.
    pub const fn new(function: Function) -> Self {
        Described { function, params: OnceLock::new() }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.function.name.as_str()
    }

    /// Its parameters, and its result as the last of them.
    pub fn params(&self) -> &[Param] {
        self.params.get_or_init(|| self.function.parameters.as_slice().iter().map(Param::from).collect())
    }
}

/// How a function is called. A configured function is a value: what is changed about it is a copy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Config {
    rule: Rule,
    options: Options,
    /// Parameters whose axes were said.
    axes: Vec<(String, Vec<usize>)>,
}

impl Config {
    /// As a function is called of which nothing was said.
    pub const DEFAULT: Config =
        Config { rule: Rule::Broadcast, options: Options { threads: None, tile: None }, axes: Vec::new() };

    /// Whether shapes have to be equal, or of single values.
    pub fn set_strict(&mut self, strict: bool) {
        self.rule = if strict { Rule::Strict } else { Rule::Broadcast };
    }

    /// On how many threads it runs at most.
    pub fn set_threads(&mut self, threads: usize) {
        self.options.threads = Some(threads);
    }

    /// How many elements a tile has.
    pub fn set_tile(&mut self, tile: usize) {
        self.options.tile = Some(tile);
    }

    /// To which axes of the call those of an argument belong.
    pub fn set_axes(&mut self, parameter: &str, axes: &[usize]) {
        self.axes.retain(|(name, _)| name != parameter);
        self.axes.push((parameter.to_owned(), axes.to_vec()));
    }
}

/// A call whose arguments go together.
#[derive(Debug)]
pub struct Call<'a> {
    described: &'static Described,
    config: &'a Config,
    arguments: SmallVec<[Argument<'a>; 6]>,
    shape: Shape,
}

impl<'a> Call<'a> {
    /// A call with these arguments, in the order of the parameters.
    ///
    /// # Safety
    /// Each argument is one of values of the type of its parameter, and may be written if the parameter is.
    pub unsafe fn new(
        described: &'static Described,
        config: &'a Config,
        arguments: impl IntoIterator<Item = Argument<'a>>,
    ) -> Result<Self> {
        let arguments: SmallVec<[Argument<'a>; 6]> = arguments.into_iter().collect();
        let params = described.params();
        for (name, _) in &config.axes {
            let mut names = params[..arguments.len()].iter().map(|param| param.name);
            if !names.any(|known| known == name) {
                let parameters = params[..arguments.len()].iter().map(|param| param.name).collect();
                return Err(Error::Unknown { function: described.name().to_owned(), name: name.clone(), parameters });
            }
        }
        let batched: SmallVec<[Batched<'_>; 6]> =
            params.iter().zip(&arguments).map(|(param, argument)| batched(config, param, &argument.shape)).collect();
        let shape = broadcast(&batched, config.rule)?;
        for ((param, argument), batched) in params.iter().zip(&arguments).zip(&batched) {
            if param.passing.is_written() {
                is_whole(batched, &argument.strides, &shape)?;
            }
        }
        drop(batched);
        Ok(Call { described, config, arguments, shape })
    }

    /// The shape of the call.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Call a function that returns nothing.
    pub fn run(self) -> Result<()> {
        self.run_with(None)
    }

    /// Call a function that returns a `T` for each element, and write these to an array.
    ///
    /// # Safety
    /// `T` is what the function returns, and the array may be written.
    pub unsafe fn run_into(self, result: Argument<'a>) -> Result<()> {
        let param = self.described.params().last().expect("a function that returns has a parameter for that");
        let batched = Batched { parameter: param.name, shape: &result.shape, axes: None };
        // (An array that is given for the result says nothing about the shape of the call.)
        if result.shape[..] != self.shape[..] {
            return Err(written(&batched, &self.shape));
        }
        self.run_with(Some(result))
    }

    /// Call a function that returns a `T` for each element.
    ///
    /// # Safety
    /// `T` is what the function returns.
    pub unsafe fn run_to_tensor<T: Value>(self) -> Result<Tensor<T>> {
        let mut result = Tensor::<T>::zeros(self.shape.clone());
        let shape = self.shape.clone();
        // SAFETY: asked of the caller; a new array.
        let place =
            unsafe { Argument::new(result.as_mut_slice().as_mut_ptr(), shape, self.shape.strides(size_of::<T>())) };
        self.run_with(Some(place))?;
        Ok(result)
    }

    fn run_with(mut self, result: Option<Argument<'a>>) -> Result<()> {
        self.arguments.extend(result);
        let mut operands: SmallVec<[Operand<'_>; 6]> = SmallVec::new();
        for (param, argument) in self.described.params().iter().zip(&self.arguments) {
            let batched = batched(self.config, param, &argument.shape);
            let strides = broadcast_strides(&batched, &argument.strides, &self.shape);
            let places = param.element.leaves.iter().map(|leaf| Place {
                first: argument.first.wrapping_add(leaf.offset),
                stored: leaf.dtype.into(),
                strides: strides.clone(),
                inner: leaf.shape.strides(leaf.dtype.size()),
            });
            // SAFETY: as the caller of `new` has promised: values of the type, as it lies in memory.
            operands.push(unsafe { Operand::new(param, places, &self.shape)? });
        }
        // SAFETY: the function's own parameters, in a call of this shape.
        unsafe { run(self.described.function.call, &mut operands, &self.shape, self.config.options) }
    }
}

fn batched<'a>(config: &'a Config, param: &Param, shape: &'a Shape) -> Batched<'a> {
    let axes = config.axes.iter().find(|(name, _)| name == param.name).map(|(_, axes)| &axes[..]);
    Batched { parameter: param.name, shape, axes }
}

/// Fails unless what is written has an element for each of the call.
fn is_whole(batched: &Batched<'_>, strides: &[isize], shape: &Shape) -> Result<()> {
    let strides = broadcast_strides(batched, strides, shape);
    let is_repeated = strides.iter().zip(&shape[..]).any(|(stride, length)| *stride == 0 && *length > 1);
    if is_repeated { Err(written(batched, shape)) } else { Ok(()) }
}

fn written(batched: &Batched<'_>, shape: &Shape) -> Error {
    let (parameter, shape, batch) = (batched.parameter.to_owned(), batched.shape.clone(), shape.clone());
    ShapeError::Written { parameter, shape, batch }.into()
}
