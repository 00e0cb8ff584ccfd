//! Tables indexed by entities: a `Vec` whose index is a [`Block`](crate::Block), a [`Value`](crate::Value) and so on,
//! so that a number of one kind cannot be used where another is meant.

use crate::entities::Entity;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// One `V` for each entity of kind `K` below a bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table<K, V> {
    values: Vec<V>,
    key: PhantomData<K>,
}

impl<K: Entity, V: Clone> Table<K, V> {
    /// A table for the entities below `bound`, each with a copy of `value`.
    pub fn new(bound: usize, value: V) -> Self {
        Table { values: vec![value; bound], key: PhantomData }
    }
}

impl<K: Entity, V> Table<K, V> {
    /// The bound: how many entities have an entry.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no entity has an entry.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Every entity with its entry, in the order of their indices.
    pub fn iter(&self) -> impl Iterator<Item = (K, &V)> {
        self.values.iter().enumerate().map(|(i, v)| (K::from_index(i), v))
    }
}

impl<K: Entity, V> Index<K> for Table<K, V> {
    type Output = V;

    fn index(&self, key: K) -> &V {
        &self.values[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for Table<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.values[key.index()]
    }
}
