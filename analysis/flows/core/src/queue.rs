//! A list that grows at its end and is used up from its front.

use crate::prefetch::fetch_lines;

/// All that it holds is one slice, which a ring would cut in two.
#[derive(Debug)]
pub struct Queue<T> {
    list: Vec<T>,
    /// How many at the front are gone.
    gone: usize,
}

impl<T> Default for Queue<T> {
    fn default() -> Queue<T> {
        Queue { list: Vec::new(), gone: 0 }
    }
}

impl<T> Queue<T> {
    #[inline(always)]
    pub fn all(&self) -> &[T] {
        &self.list[self.gone..]
    }

    #[inline(always)]
    pub fn all_mut(&mut self) -> &mut [T] {
        &mut self.list[self.gone..]
    }

    #[inline(always)]
    pub fn len(&self) -> usize {
        self.list.len() - self.gone
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fetches what is used up next.
    #[inline(always)]
    pub fn fetch_front(&self) {
        fetch_lines(self.list.as_ptr().wrapping_add(self.gone), 0..2);
    }

    /// Fetches where the next value goes.
    #[inline(always)]
    pub fn fetch_end(&self) {
        fetch_lines(self.list.as_ptr().wrapping_add(self.list.len()), 0..1);
    }

    #[inline(always)]
    pub fn push(&mut self, value: T) {
        if self.list.len() == self.list.capacity() {
            self.make_room();
        }
        self.list.push(value);
    }

    /// As much as is gone is used again, if that is worth the moving.
    #[cold]
    fn make_room(&mut self) {
        if self.gone > self.list.len() / 4 {
            self.list.drain(..self.gone);
            self.gone = 0;
        }
    }

    pub fn insert(&mut self, at: usize, value: T) {
        self.list.insert(self.gone + at, value);
    }

    /// Takes away so many from the front; there must be as many.
    #[inline(always)]
    pub fn forget(&mut self, count: usize) {
        self.gone += count;
        if self.gone == self.list.len() {
            self.list.clear();
            self.gone = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_takes_no_memory() {
        let mut queue = Queue::default();
        for value in 0..100_000 {
            queue.push(value);
            if queue.len() > 5 {
                queue.forget(1);
            }
        }
        assert_eq!(queue.all(), [99_995, 99_996, 99_997, 99_998, 99_999]);
        assert!(queue.list.capacity() <= 16);
        queue.insert(1, 7);
        queue.forget(6);
        assert!(queue.is_empty() && queue.all().is_empty());
    }
}
