//! Where the floats and pointers of a region of memory are, when the region is copied or filled as a whole.

use crate::analysis::points_to::objects::{Kinds, ObjId, Objects, Property};
use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::{Strided, gcd};

/// Places at `offset + k·stride` from the start of a region, below its length; only at `offset` if `stride` is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lane {
    /// First place.
    pub offset: u64,
    /// Distance, zero for a single place.
    pub stride: u64,
    /// Bytes at each place.
    pub width: u64,
    /// No place is beyond this one.
    pub last: u64,
}

/// The lanes of a region. Bytes in no lane were never seen as float or pointer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lanes {
    /// Floats: `f32` where the width is 4, `f64` where it is 8.
    pub floats: Vec<Lane>,
    /// Pointers.
    pub pointers: Vec<Lane>,
    /// Words that hold a float at one time and a pointer at another: payloads of enums.
    pub mixed: Vec<Lane>,
}

/// Why the lanes of a region are not known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unclear {
    /// The same bytes were seen as different kinds of data.
    Mixed,
    /// The start of the region is not known well enough to tell the fields apart.
    Unaligned,
}

/// The lanes of the `len` bytes (`None`: unknown) at one of `offsets` of `object`: they must be the same at each.
pub fn lanes(objects: &Objects, object: ObjId, offsets: &Offsets, len: Option<u64>) -> Result<Lanes, Unclear> {
    let mut found: Option<Lanes> = None;
    for offset in offsets.iter() {
        let lanes = lanes_at(objects, object, offset, len)?;
        if found.as_ref().is_some_and(|found| *found != lanes) {
            return Err(Unclear::Unaligned);
        }
        found = Some(lanes);
    }
    found.ok_or(Unclear::Unaligned)
}

fn lanes_at(objects: &Objects, object: ObjId, offset: Strided, len: Option<u64>) -> Result<Lanes, Unclear> {
    let mut found: Vec<(Lane, Kinds)> = Vec::new();
    for cell in objects.live_cells(object) {
        let kinds = objects.kinds(cell.content).without_int();
        if kinds == Kinds::NONE {
            continue;
        }
        if objects.some_marked(object, Property::PartlyInert, &cell.at.into(), cell.width) {
            return Err(Unclear::Mixed);
        }
        let distance = cell.at.minus(offset);
        let Some(inside) = distance.clipped(0, last_start(len, cell.width)) else {
            // Outside of the region, unless it reaches into it.
            if distance.m == 0 && distance.overlaps(cell.width, Strided::ZERO, len.unwrap_or(u64::MAX)) {
                return Err(Unclear::Unaligned);
            }
            continue;
        };
        let first = if inside.m == 0 { inside.k } else { inside.lo };
        let lane = Lane { offset: first as u64, stride: inside.m, width: cell.width, last: inside.hi as u64 };
        found.push((lane, kinds));
    }
    // A cell that is known more precisely than the region's start is spread over all places it may be at; that is right
    // only if every such place holds the same kind.
    for (lane, kinds) in &found {
        for (other, other_kinds) in &found {
            let (a, b) = (place(lane), place(other));
            if a.overlaps(lane.width, b, other.width) && (lane.width != other.width || kinds != other_kinds) {
                return Err(Unclear::Mixed);
            }
        }
    }
    let mut lanes = Lanes::default();
    for (lane, kinds) in merge(found) {
        if let Some(len) = len
            && lane.offset + lane.width > len
        {
            continue;
        }
        if kinds.contains(Kinds::F32.union(Kinds::F64)) {
            return Err(Unclear::Mixed);
        }
        if kinds.is_mixed() {
            lanes.mixed.push(lane);
        } else if kinds.has_float() {
            lanes.floats.push(lane);
        } else {
            lanes.pointers.push(lane);
        }
    }
    // A place that one cell says is a float on every stride, though the cell's own stride is wider, has to be covered
    // by cells of the same kind at every interval.
    for lane in lanes.floats.iter().chain(&lanes.pointers).chain(&lanes.mixed) {
        if lane.stride > 0 && lane.stride < lane.width {
            return Err(Unclear::Unaligned);
        }
        if (lane.stride > 0 || offset.m > 0) && !covered(objects, object, offset, lane) {
            return Err(Unclear::Unaligned);
        }
    }
    lanes.floats.sort_by_key(|l| (l.offset, l.stride));
    lanes.pointers.sort_by_key(|l| (l.offset, l.stride));
    Ok(lanes)
}

impl Lane {
    /// The lanes that take part where they lie in a region at `offsets` of `object`, and those that do not. A lane of
    /// which both may be so is cut into lanes of which each is one of the two; `None` if that cannot be done.
    pub fn apart(self, objects: &Objects, object: ObjId, offsets: &Offsets) -> Option<(Vec<Lane>, Vec<Lane>)> {
        let at = |lane: &Lane| offsets.plus(&place(lane).into());
        let touches = |lane: &Lane| objects.some_marked(object, Property::Inert, &at(lane), lane.width);
        let inside = |lane: &Lane| objects.all_marked(object, Property::Inert, &at(lane), lane.width);
        let mut pieces = vec![self];
        if touches(&self) && !inside(&self) {
            let period =
                objects.mark_periods(object, Property::Inert).find(|p| self.stride > 0 && p % self.stride == 0)?;
            let starts = (self.offset..=self.last).step_by(self.stride as usize).take((period / self.stride) as usize);
            pieces = starts.map(|offset| Lane { offset, stride: period, ..self }).collect();
        }
        let (inert, live): (Vec<Lane>, Vec<Lane>) = pieces.into_iter().partition(|lane| touches(lane));
        inert.iter().all(inside).then_some((live, inert))
    }
}

/// Whether a move of lanes of one kind, by one of these distances, may bring a place of one lane to where a place of
/// another was. The lanes must not be moved one after the other then.
pub fn meet(lanes: &[Lane], distances: &Offsets) -> bool {
    let pairs = lanes.iter().enumerate().flat_map(|(i, a)| lanes[i + 1..].iter().flat_map(move |b| [(a, b), (b, a)]));
    pairs.into_iter().any(|(a, b)| {
        let (from, to) = (Offsets::from(place(a)), Offsets::from(place(b)));
        from.plus(distances).overlaps(a.width, &to, b.width)
    })
}

/// Where the last `width` bytes of a region of `len` bytes start; without bound if `len` is not known.
pub(crate) fn last_start(len: Option<u64>, width: u64) -> i64 {
    let len = len.and_then(|len| i64::try_from(len).ok());
    len.map_or(i64::MAX, |len| len.saturating_sub_unsigned(width))
}

fn place(lane: &Lane) -> Strided {
    Strided::between(lane.offset as i64, lane.stride, lane.offset as i64, lane.last as i64)
}

/// Lanes that are part of others are dropped.
fn merge(found: Vec<(Lane, Kinds)>) -> Vec<(Lane, Kinds)> {
    let mut kept: Vec<(Lane, Kinds)> = Vec::new();
    for (lane, kinds) in found {
        if kept.iter().any(|(k, _)| k.width == lane.width && place(k).contains(place(&lane))) {
            continue;
        }
        kept.retain(|(k, _)| !(k.width == lane.width && place(&lane).contains(place(k))));
        kept.push((lane, kinds));
    }
    kept
}

/// Whether each place of a strided lane is a place of some cell of the same width, wherever in `offset` the region
/// starts.
fn covered(objects: &Objects, object: ObjId, offset: Strided, lane: &Lane) -> bool {
    let lane_at = offset.plus(place(lane));
    let cells: Vec<Strided> = objects
        .live_cells(object)
        .filter(|c| c.width == lane.width && objects.kinds(c.content).without_int() != Kinds::NONE)
        .map(|c| c.at)
        .collect();
    if cells.iter().any(|c| c.contains(lane_at)) {
        return true;
    }
    // Look at one period of all strides.
    let step = lane_at.m.max(1);
    let period = cells.iter().filter(|c| c.m > 0).fold(step, |p, c| p / gcd(p, c.m).max(1) * c.m);
    if period > 4096 || period / step > 512 {
        return false;
    }
    (0..period / step).all(|k| {
        let at = Strided::between(lane_at.k + (k * step) as i64, period, lane_at.lo, lane_at.hi);
        cells.iter().any(|c| c.m > 0 && c.contains(at))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::points_to::objects::Origins;

    fn object(cells: &[(Strided, u64, Kinds)]) -> (Objects, ObjId) {
        let mut objects = Objects::default();
        let id = objects.add(Origins::default());
        for (at, width, kinds) in cells {
            let content = objects.cell(id, *at, *width);
            objects.see(content, *kinds);
        }
        (objects, id)
    }

    #[test]
    fn array_of_floats() {
        let (objects, id) = object(&[(Strided::unbounded(0, 8), 8, Kinds::F64)]);
        let lanes = lanes(&objects, id, &Strided::unbounded(0, 8).into(), None).unwrap();
        assert_eq!(lanes.floats, [Lane { offset: 0, stride: 8, width: 8, last: i64::MAX as u64 }]);
    }

    #[test]
    fn fields_of_an_array_of_structs() {
        let (objects, id) =
            object(&[(Strided::unbounded(0, 24), 8, Kinds::F64), (Strided::unbounded(16, 24), 8, Kinds::PTR)]);
        let found = lanes(&objects, id, &Strided::unbounded(0, 24).into(), None).unwrap();
        assert_eq!(found.floats, [Lane { offset: 0, stride: 24, width: 8, last: i64::MAX as u64 }]);
        assert_eq!(found.pointers, [Lane { offset: 16, stride: 24, width: 8, last: i64::MAX as u64 }]);
        // Where the start is only known to a multiple of 8, float and pointer cannot be told apart.
        assert!(lanes(&objects, id, &Strided::unbounded(0, 8).into(), None).is_err());
    }

    #[test]
    fn a_region_of_known_length_holds_only_what_fits() {
        let (objects, id) =
            object(&[(Strided::unbounded(0, 16), 8, Kinds::F64), (Strided::unbounded(8, 16), 8, Kinds::PTR)]);
        let found = lanes(&objects, id, &Strided::unbounded(0, 16).into(), Some(16)).unwrap();
        assert_eq!(found.floats, [Lane { offset: 0, stride: 0, width: 8, last: 0 }]);
        assert_eq!(found.pointers, [Lane { offset: 8, stride: 0, width: 8, last: 8 }]);
        // A float at one of the places the region may start at is not a float at each.
        let (objects, id) = object(&[(Strided::exact(16), 8, Kinds::F64)]);
        assert_eq!(lanes(&objects, id, &Strided::unbounded(0, 8).into(), Some(8)), Err(Unclear::Unaligned));
    }

    #[test]
    fn lanes_meet_if_one_is_moved_to_where_another_was() {
        let lane = |offset| Lane { offset, stride: 12, width: 4, last: i64::MAX as u64 };
        let by = |m| Offsets::from(Strided::unbounded(0, m));
        assert!(!meet(&[lane(0), lane(4)], &by(12)));
        assert!(meet(&[lane(0), lane(4)], &by(4)));
        assert!(!meet(&[lane(0)], &by(4)));
        let single = |offset| Lane { offset, stride: 0, width: 4, last: offset };
        assert!(meet(&[single(0), single(20)], &Strided::exact(-20).into()));
        assert!(!meet(&[single(0), single(20)], &Strided::exact(12).into()));
    }

    #[test]
    fn payloads_of_enums_are_mixed() {
        let (objects, id) = object(&[(Strided::exact(8), 8, Kinds::F64.union(Kinds::PTR))]);
        let found = lanes(&objects, id, &Offsets::zero(), Some(16)).unwrap();
        assert_eq!(found.mixed, [Lane { offset: 8, stride: 0, width: 8, last: 8 }]);
        assert!(found.floats.is_empty() && found.pointers.is_empty());
        assert_eq!(lanes(&objects, id, &Offsets::zero(), Some(8)), Ok(Lanes::default()));
    }
}
