//! Memory that is fetched before it is used, so that nothing waits for it. All `unsafe` of the
//! engine is here.

use std::ops::Range;

/// Bytes of a line of the processor's cache.
const LINE: usize = 64;

/// Asks for these lines of what begins at `place`, which may be any address. Nothing waits for
/// them, as it would for what is read.
#[inline(always)]
pub fn fetch_lines<T>(place: *const T, lines: Range<usize>) {
    for line in lines {
        fetch_line(place.cast::<u8>().wrapping_add(line * LINE));
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[allow(unsafe_code)]
fn fetch_line(place: *const u8) {
    use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
    // SAFETY: PREFETCHT0 is part of SSE, which all of x86-64 has. It is a hint: it changes nothing
    // but caches, and causes no fault at any address (AMD64 Architecture Programmer's Manual,
    // volume 3, PREFETCHlevel).
    unsafe { _mm_prefetch::<_MM_HINT_T0>(place.cast()) }
}

/// Other processors have no such instruction that all our compilers know.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn fetch_line(_: *const u8) {}
