//! Tests of the run-time functions, called as generated code calls them.

use super::chunk::{ALIGN, FIRST_CHUNK, HUGE_PAGE, MOST_SPARE, SPARE};
use super::saved::__pullback_save_shadows;
use super::*;
use std::mem::MaybeUninit;

/// A small generator of numbers, so that the tests need nothing else.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

#[test]
fn an_unused_tape_allocates_nothing() {
    let tape = Tape::new();
    assert!(tape.chunks.is_empty() && tape.chunks.capacity() == 0 && tape.owned.capacity() == 0);
}

#[test]
fn what_is_pushed_is_popped_in_reverse() {
    let mut random = Random(0x9e3779b97f4a7c15);
    // Miri is a thousand times slower.
    let (tapes, steps) = if cfg!(miri) { (2, 100) } else { (20, 4000) };
    for _ in 0..tapes {
        let mut tape = Tape::new();
        let mut mirror: Vec<(usize, u8)> = Vec::new();
        for step in 0..steps {
            if random.below(100) < 53 || mirror.is_empty() {
                let bytes = match random.below(40) {
                    0 => random.below(200_000),
                    1 => 0,
                    _ => random.below(400),
                } as usize;
                // SAFETY: the tape is ours, and `bytes` bytes may be written.
                unsafe {
                    let place = __pullback_tape_push(&mut tape, bytes as i64);
                    assert_eq!(place.addr() % ALIGN, 0);
                    place.write_bytes(step as u8, bytes);
                }
                mirror.push((bytes, step as u8));
            } else {
                let (bytes, value) = mirror.pop().unwrap();
                // SAFETY: the sizes match the pushes; popped bytes are readable until the next push.
                let popped = unsafe {
                    let place = __pullback_tape_pop(&mut tape, bytes as i64);
                    if bytes == 0 { &[][..] } else { std::slice::from_raw_parts(place, bytes) }
                };
                assert!(popped.iter().all(|&byte| byte == value));
            }
        }
    }
}

#[test]
fn popped_bytes_stay_readable_across_chunks() {
    let mut tape = Tape::new();
    let bytes = 48 * 1024;
    // SAFETY: the tape is ours; pushes and pops match.
    unsafe {
        for value in 0..8u8 {
            __pullback_tape_push(&mut tape, bytes).write_bytes(value, bytes as usize);
        }
        let popped: Vec<*mut u8> = (0..8).map(|_| __pullback_tape_pop(&mut tape, bytes)).collect();
        let values: Vec<u8> = popped.iter().map(|place| place.add(bytes as usize - 1).read()).collect();
        assert_eq!(values, [7, 6, 5, 4, 3, 2, 1, 0]);
    }
}

#[test]
fn a_boundary_crossed_again_and_again_allocates_once() {
    let mut tape = Tape::new();
    tape.push(FIRST_CHUNK);
    tape.push(64);
    let chunks = tape.chunks.len();
    for _ in 0..1000 {
        tape.pop(64);
        tape.pop(FIRST_CHUNK);
        tape.push(FIRST_CHUNK);
        tape.push(64);
    }
    assert_eq!((chunks, tape.chunks.len()), (2, 2));
}

#[test]
#[should_panic(expected = "does not match the tape's last push")]
fn a_pop_too_many_is_our_bug_and_says_so() {
    let mut tape = Tape::new();
    tape.push(16);
    tape.pop_from_previous_chunk(32);
}

#[test]
fn the_tape_owns_shadows_and_deferred_memory() {
    let mut tape = Tape::new();
    // SAFETY: the tape is ours; the box's memory is given up to it.
    unsafe {
        let shadow = __pullback_shadow_alloc(&mut tape, 24, 8);
        assert_eq!(std::slice::from_raw_parts(shadow, 24), [0; 24]);
        assert_eq!(__pullback_shadow_alloc(&mut tape, 0, 8).addr(), 8);
        let boxed = Box::into_raw(Box::new(1.0f64));
        __pullback_defer_dealloc(&mut tape, boxed.cast(), 8, 8);
        __pullback_defer_dealloc(&mut tape, without_provenance_mut(8), 0, 8);
        let of_c: *mut f64 = super::heap::__pullback_c_calloc(2, 8).cast();
        __pullback_defer_dealloc(&mut tape, of_c.cast(), 0, 0);
        assert_eq!((*boxed, *of_c), (1.0, 0.0));
    }
    assert_eq!(tape.owned.len(), 3);
}

#[test]
fn values_are_dropped_with_the_tape_the_youngest_first() {
    struct Noted<'a>(&'a std::cell::RefCell<Vec<u32>>, u32);
    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.0.borrow_mut().push(self.1);
        }
    }
    let dropped = std::cell::RefCell::new(Vec::new());
    let mut tape = Tape::new();
    let places = [1, 2, 3].map(|number| tape.own(Noted(&dropped, number)));
    // SAFETY: the tape is still there.
    assert_eq!(places.map(|place| unsafe { (*place).1 }), [1, 2, 3]);
    assert!(dropped.borrow().is_empty());
    drop(tape);
    assert_eq!(*dropped.borrow(), [3, 2, 1]);
}

/// The meaning of an adjoint copy, with a copy of everything.
fn adjoint_copy_by_definition(memory: &[f64], dst: usize, src: usize, count: usize) -> Vec<f64> {
    let mut result = memory.to_vec();
    result[dst..dst + count].fill(0.0);
    for k in 0..count {
        result[src + k] += memory[dst + k];
    }
    result
}

#[test]
fn adjoint_copy_is_right_for_every_overlap() {
    let memory: Vec<f64> = (1..=12).map(|k| (k * k) as f64).collect();
    for (dst, src) in (0..7).flat_map(|dst| (0..7).map(move |src| (dst, src))) {
        let mut shadow = memory.clone();
        let base = shadow.as_mut_ptr();
        // SAFETY: both regions lie in `shadow`.
        unsafe { __pullback_adjoint_copy(base.add(dst).cast(), base.add(src).cast(), 40, 8, 0, 8) };
        // A lane that is overwritten after it was read as a source keeps only what came through the copy.
        let expected = adjoint_copy_by_definition(&memory, dst, src, 5);
        assert_eq!(shadow, expected, "dst {dst}, src {src}");
    }
}

#[test]
fn copy_lanes_is_right_for_every_overlap() {
    let memory: Vec<f32> = (1..=12).map(|k| k as f32).collect();
    for (dst, src) in (0..7).flat_map(|dst| (0..7).map(move |src| (dst, src))) {
        let (mut shadow, mut expected) = (memory.clone(), memory.clone());
        expected.copy_within(src..src + 5, dst);
        let base = shadow.as_mut_ptr();
        // SAFETY: both regions lie in `shadow`.
        unsafe { __pullback_copy_lanes(base.add(dst).cast(), base.add(src).cast(), 20, 4, 0, 4) };
        assert_eq!(shadow, expected, "dst {dst}, src {src}");
    }
}

/// What a copy of words and its reverse do, with a copy of everything: afterwards the shadows are what they were, and
/// the cotangents of the target have gone to the source where it held a float.
#[test]
fn words_come_back_for_every_overlap() {
    // Zero where the word is a float, a pointer elsewhere.
    let words: [u64; 12] = [0, 4096, 0, 0, 8192, 0, 12288, 0, 0, 16384, 0, 20480];
    for (dst, src) in (0..7).flat_map(|dst| (0..7).map(move |src| (dst, src))) {
        let (mut tape, mut shadow) = (Tape::new(), words);
        let base = shadow.as_mut_ptr();
        // SAFETY: both regions lie in `shadow`.
        unsafe { words::__pullback_copy_words(&mut tape, base.add(dst).cast(), base.add(src).cast(), 40, 8, 0, 8) };
        let mut copied = words;
        copied.copy_within(src..src + 5, dst);
        assert_eq!(shadow, copied, "dst {dst}, src {src}");
        // The reverse sweep has left cotangents where floats are.
        for (k, word) in shadow.iter_mut().enumerate().filter(|(_, word)| **word == 0) {
            *word = ((k * k + 1) as f64).to_bits();
        }
        let after = shadow;
        let base = shadow.as_mut_ptr();
        // SAFETY: as before.
        unsafe { words::__pullback_uncopy_words(&mut tape, base.add(dst).cast(), base.add(src).cast(), 40, 8, 0, 8) };
        let mut expected = after;
        expected[dst..dst + 5].copy_from_slice(&words[dst..dst + 5]);
        for k in (0..5).filter(|k| words[src + k] == 0) {
            expected[src + k] = (f64::from_bits(expected[src + k]) + f64::from_bits(after[dst + k])).to_bits();
        }
        assert_eq!(shadow, expected, "dst {dst}, src {src}");
    }
}

#[test]
fn words_without_a_source_become_zero_and_come_back() {
    let (mut tape, mut shadow) = (Tape::new(), [4096_u32, 1, 0, 2, 8192, 3]);
    // SAFETY: the words lie in the array.
    unsafe { words::__pullback_copy_words(&mut tape, shadow.as_mut_ptr().cast(), std::ptr::null(), 24, 8, 0, 4) };
    assert_eq!(shadow, [0, 1, 0, 2, 0, 3]);
    shadow[2] = 1.5_f32.to_bits();
    // SAFETY: the words lie in the array.
    unsafe { words::__pullback_uncopy_words(&mut tape, shadow.as_mut_ptr().cast(), null_mut(), 24, 8, 0, 4) };
    assert_eq!(shadow, [4096, 1, 0, 2, 8192, 3]);
}

#[test]
fn only_the_lanes_are_touched() {
    // Records of { u64, f32, u32 }: a lane of 4 bytes at 8, each 16 bytes.
    #[repr(C)]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Record(u64, f32, u32);
    let mut dst = [Record(7, 2.0, 9), Record(8, 3.0, 10)];
    let mut src = [Record(1, 10.0, 2), Record(3, 20.0, 4)];
    // SAFETY: the lanes lie in both arrays.
    unsafe { __pullback_adjoint_copy(dst.as_mut_ptr().cast(), src.as_mut_ptr().cast(), 32, 16, 8, 4) };
    assert_eq!(dst, [Record(7, 0.0, 9), Record(8, 0.0, 10)]);
    assert_eq!(src, [Record(1, 12.0, 2), Record(3, 23.0, 4)]);
    // SAFETY: the lanes lie in the array.
    unsafe { __pullback_zero_lanes(src.as_mut_ptr().cast(), 32, 16, 8, 4) };
    assert_eq!(src, [Record(1, 0.0, 2), Record(3, 0.0, 4)]);
}

/// A string is copied like floats where it lies in another variant: five bytes hold no `f64`.
#[test]
fn a_lane_that_is_cut_off_is_left_alone() {
    let mut dst = [1u8; 13];
    let mut src = [2u8; 13];
    // SAFETY: the one lane lies in both arrays.
    unsafe { __pullback_adjoint_copy(dst.as_mut_ptr(), src.as_mut_ptr(), 13, 8, 0, 8) };
    assert_eq!(dst, [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    assert_eq!(src[8..], [2; 5]);
    // SAFETY: there is no lane.
    unsafe { __pullback_zero_lanes(src.as_mut_ptr().wrapping_add(8), 5, 8, 0, 8) };
    assert_eq!(src[8..], [2; 5]);
}

/// In an enum of another variant there may be nothing at all: that is moved, and looked at only where there is a
/// cotangent. (Miri sees whether it is.)
#[test]
fn a_lane_that_is_uninitialised_is_moved() {
    let (mut dst, mut src) = ([1.0, 2.0, 0.0], [MaybeUninit::new(3.0), MaybeUninit::new(4.0), MaybeUninit::uninit()]);
    // SAFETY: the lanes lie in both arrays, and there is a float in each that has a cotangent.
    unsafe { __pullback_adjoint_copy(dst.as_mut_ptr().cast(), src.as_mut_ptr().cast(), 24, 8, 0, 8) };
    let mut copied = [MaybeUninit::<f64>::uninit(); 3];
    // SAFETY: the lanes lie in both arrays.
    unsafe { __pullback_copy_lanes(copied.as_mut_ptr().cast(), src.as_ptr().cast(), 24, 8, 0, 8) };
    // SAFETY: the first two were.
    let [first, second] = [copied[0], copied[1]].map(|value| unsafe { value.assume_init() });
    assert_eq!((dst, first, second), ([0.0; 3], 4.0, 6.0));
}

/// Words that are pointers lead somewhere when they have been moved, and moved back. (Miri sees whether they do.)
#[test]
fn words_that_are_pointers_are_moved_as_such() {
    let (mut tape, mut values) = (Tape::new(), [1.0, 2.0]);
    let [first, second] = &mut values;
    let mut words: [*mut f64; 2] = [first, second];
    let base = words.as_mut_ptr();
    // SAFETY: the words lie in the array, and so do what they lead to.
    unsafe {
        words::__pullback_copy_words(&mut tape, base.add(1).cast(), base.cast(), 8, 8, 0, 8);
        *base.add(1).read() += 10.0;
        words::__pullback_uncopy_words(&mut tape, base.add(1).cast(), base.cast(), 8, 8, 0, 8);
        *base.add(1).read() += 20.0;
    }
    assert_eq!(values, [11.0, 22.0]);
}

/// What a function without derivative has made has no shadow.
#[test]
fn cotangents_of_what_has_no_shadow_are_dropped() {
    let mut dst = [1.0, 2.0];
    // SAFETY: the lanes lie in the array; a source that is null is not touched.
    unsafe { __pullback_adjoint_copy(dst.as_mut_ptr().cast(), std::ptr::null_mut(), 16, 8, 0, 8) };
    assert_eq!(dst, [0.0, 0.0]);
}

/// The addresses of the chunks that this thread keeps.
fn spare() -> Vec<usize> {
    SPARE.with_borrow(|spare| spare.iter().map(|chunk| chunk.start.addr()).collect())
}

#[test]
fn the_next_tape_gets_the_chunks_of_the_last() {
    // On a thread of its own, which keeps nothing yet.
    let run = || {
        let push = |bytes: usize| {
            let mut tape = Tape::new();
            // SAFETY: the tape is ours.
            unsafe { __pullback_tape_push(&mut tape, 16) };
            let place = unsafe { __pullback_tape_push(&mut tape, bytes as i64) };
            (tape, place.addr())
        };
        let (tape, first) = push(1_000_000);
        assert!(spare().is_empty());
        drop(tape);
        assert_eq!(spare().len(), 2);
        let (tape, again) = push(900_000);
        assert_eq!(again, first);
        assert!(spare().is_empty());
        // A tape within a tape has its own.
        let (inner, other) = push(1_000_000);
        assert_ne!(other, first);
        drop(inner);
        drop(tape);
        assert_eq!(spare().len(), 4);
        drop(push(MOST_SPARE + 1));
        assert_eq!(spare().len(), 4, "too large to be kept");
        release_spare();
        assert!(spare().is_empty());
    };
    std::thread::spawn(run).join().unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no end of memory that a program could be told of")]
fn more_bytes_than_there_are_do_not_fit() {
    assert_eq!(__pullback_fits(1 << 20), 1);
    for bytes in [i64::MAX / 2, 1 << 60, i64::MAX - 100] {
        assert_eq!(__pullback_fits(bytes), 0, "{bytes}");
    }
}

/// Linux tells what was asked for: `hg` is among the flags of the mapping.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(miri, ignore = "Miri's memory has no pages")]
fn large_chunks_ask_for_huge_pages() {
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        return;
    }
    let chunk = Chunk::new(4 * HUGE_PAGE).expect("there is memory");
    assert_eq!(chunk.start.addr() % HUGE_PAGE, 0);
    let mappings = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut here = false;
    for line in mappings.lines() {
        let range = line.split(' ').next().and_then(|range| range.split_once('-'));
        let number = |text: &str| usize::from_str_radix(text, 16).ok();
        if let Some((start, end)) = range.and_then(|(start, end)| Some((number(start)?, number(end)?))) {
            here = (start..end).contains(&chunk.start.addr());
        } else if let Some(flags) = line.strip_prefix("VmFlags:").filter(|_| here) {
            assert!(flags.split(' ').any(|flag| flag == "hg"), "{flags}");
            return;
        }
    }
    panic!("the chunk is in no mapping");
}

/// What a derivative has saved of the caller's shadows is put back when the tape is dropped, and not if it was
/// forgotten before.
#[test]
fn saved_shadows_are_put_back() {
    let (x, y) = (vec![vec![1.0_f64], vec![2.0, 3.0]], [4.0_f32]);
    for (keep, expected) in
        [(1, (vec![vec![5.0], vec![6.0, 7.0]], [8.0_f32])), (0, (vec![vec![0.5; 1], vec![0.5; 2]], [0.5]))]
    {
        let (mut dx, mut dy) = (vec![vec![5.0], vec![6.0, 7.0]], [8.0_f32]);
        let mut tape = Tape::new();
        let (mut first, mut second) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let (dx_place, dy_place) = (&raw mut dx, &raw mut dy);
        // SAFETY: the shadows fit, and stay where they are; nobody else uses them while the tape is there.
        unsafe {
            note_bookkeeping(&mut tape, &mut first, &x, dx_place.cast());
            note_bookkeeping(&mut tape, &mut second, &y, dy_place.cast());
            __pullback_save_shadows(&mut tape, 1);
            (&mut *dx_place).iter_mut().flatten().for_each(|v| *v = 0.5);
            (*dy_place)[0] = 0.5;
            if keep == 0 {
                __pullback_save_shadows(&mut tape, 0);
            }
        }
        drop(tape);
        assert_eq!((dx, dy), expected);
    }
}

/// So is what lies beside pointers: the lengths of vectors.
#[test]
fn lengths_are_put_back_with_pointers() {
    let x = vec![vec![1.0_f64], vec![2.0, 3.0], vec![]];
    let mut dx = vec![vec![5.0], vec![6.0, 7.0], vec![]];
    let mut tape = Tape::new();
    let mut note = MaybeUninit::uninit();
    let place = &raw mut dx;
    // SAFETY: the shadow fits, and stays where it is; nobody else uses it while the tape is there.
    unsafe {
        note_bookkeeping(&mut tape, &mut note, &x, place.cast());
        __pullback_save_shadows(&mut tape, 1);
        (&mut *place).rotate_left(1);
    }
    drop(tape);
    assert_eq!(dx, [vec![5.0], vec![6.0, 7.0], vec![]]);
}

/// Other owners of a shared value may write its cells meanwhile, wherever in it they are. What lies beside them is put
/// back.
#[test]
fn what_other_owners_write_stays() {
    use std::cell::Cell;
    use std::rc::Rc;
    type Value = (Vec<Cell<f64>>, Cell<usize>, Option<Cell<u32>>);
    let value = |of: f64, n| (vec![Cell::new(of); n], Cell::new(7), Some(Cell::new(7)));
    let x: Rc<Box<[Value; 2]>> = Rc::new(Box::new([value(1.0, 1), value(2.0, 2)]));
    let mut dx: Rc<Box<[Value; 2]>> = Rc::new(Box::new([value(3.0, 1), value(4.0, 2)]));
    let mut tape = Tape::new();
    let mut note = MaybeUninit::uninit();
    let place = &raw mut dx;
    // SAFETY: the shadow fits, and stays where it is.
    unsafe {
        note_bookkeeping(&mut tape, &mut note, &x, place.cast());
        __pullback_save_shadows(&mut tape, 1);
        let values = Rc::get_mut(&mut *place).unwrap();
        let [first, second] = &mut **values;
        std::mem::swap(&mut first.0, &mut second.0);
        let other = (*place).clone();
        other[0].1.set(8);
        other[1].2.as_ref().unwrap().set(9);
        other[0].0[0].set(0.5);
    }
    drop(tape);
    let expected = [value(3.0, 1), value(4.0, 2)];
    expected[0].1.set(8);
    expected[1].2.as_ref().unwrap().set(9);
    assert_eq!(**dx, expected);
}

/// In a batch one shared value has several shadows.
#[test]
fn all_shadows_of_a_shared_value_are_put_back() {
    use std::cell::Cell;
    use std::rc::Rc;
    let x = [Rc::new(Cell::new(1.0))];
    let x = [x[0].clone(), x[0].clone()];
    let shadow = |value: f64| Rc::new(Cell::new(value));
    let (first, second) = (shadow(5.0), shadow(6.0));
    let (mut a, mut b) = ([first.clone(), first.clone()], [second.clone(), second.clone()]);
    let mut tape = Tape::new();
    let mut notes = [MaybeUninit::uninit(), MaybeUninit::uninit()];
    let (a_place, b_place) = (&raw mut a, &raw mut b);
    let [a_note, b_note] = &mut notes;
    // SAFETY: the shadows fit, and stay where they are; nobody else uses them while the tape is there.
    unsafe {
        note_bookkeeping(&mut tape, a_note, &x, a_place.cast());
        note_bookkeeping(&mut tape, b_note, &x, b_place.cast());
        __pullback_save_shadows(&mut tape, 1);
    }
    first.set(0.5);
    second.set(0.5);
    drop(tape);
    assert_eq!((first.get(), second.get()), (5.0, 6.0));
}
