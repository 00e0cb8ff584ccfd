// How arguments and results are made of numbers, and read: the same for floats and for dual numbers.

/// A type whose values are made of numbers.
pub trait Data: Sized {
    fn read(stream: &mut Stream) -> Self;
    fn write(&self, out: &mut Vec<Number>);
}

impl Data for () {
    fn read(_: &mut Stream) -> Self {}
    fn write(&self, _: &mut Vec<Number>) {}
}

impl Data for usize {
    fn read(stream: &mut Stream) -> Self {
        stream.integer()
    }
    fn write(&self, _: &mut Vec<Number>) {}
}

impl<T: Data, const N: usize> Data for [T; N] {
    fn read(stream: &mut Stream) -> Self {
        std::array::from_fn(|_| T::read(stream))
    }
    fn write(&self, out: &mut Vec<Number>) {
        self.iter().for_each(|item| item.write(out));
    }
}

impl<T: Data> Data for Vec<T> {
    fn read(stream: &mut Stream) -> Self {
        (0..4).map(|_| T::read(stream)).collect()
    }
    fn write(&self, out: &mut Vec<Number>) {
        self.iter().for_each(|item| item.write(out));
    }
}

impl<T: Data> Data for Box<T> {
    fn read(stream: &mut Stream) -> Self {
        Box::new(T::read(stream))
    }
    fn write(&self, out: &mut Vec<Number>) {
        (**self).write(out);
    }
}

impl<A: Data, B: Data> Data for (A, B) {
    fn read(stream: &mut Stream) -> Self {
        (A::read(stream), B::read(stream))
    }
    fn write(&self, out: &mut Vec<Number>) {
        self.0.write(out);
        self.1.write(out);
    }
}
