//! What is remembered of ids, without end and in bounded room: the latest stay.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// An id, hashed with the run's two keys: no id that the application chooses can make two of them one.
pub(super) type Key = u128;

/// By keys, which are hashes already.
pub(super) type ByKey<T> = HashMap<Key, T, BuildHasherDefault<AsItIs>>;

/// Takes half of a key for its hash.
#[derive(Debug, Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

/// The latest keys, and something of each.
#[derive(Debug)]
pub(super) struct Latest<T> {
    most: usize,
    known: ByKey<(u64, T)>,
    order: VecDeque<(Key, u64)>,
    next: u64,
}

impl<T> Latest<T> {
    /// So many at most.
    pub(super) fn new(most: usize) -> Self {
        Latest { most, known: ByKey::default(), order: VecDeque::new(), next: 0 }
    }

    /// Remembers it, and answers what is forgotten for it.
    pub(super) fn put(&mut self, key: Key, value: T) -> Option<T> {
        self.next += 1;
        self.known.insert(key, (self.next, value));
        self.order.push_back((key, self.next));
        if self.order.len() > self.most { self.forget_oldest() } else { None }
    }

    /// Forgets the one that was put first, unless that was taken, or put again.
    pub(super) fn forget_oldest(&mut self) -> Option<T> {
        let (key, number) = self.order.pop_front()?;
        if self.known.get(&key).is_some_and(|(at, _)| *at == number) {
            return self.known.remove(&key).map(|(_, value)| value);
        }
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.known.get_mut(&key).map(|(_, value)| value)
    }

    pub(super) fn take(&mut self, key: Key) -> Option<T> {
        self.known.remove(&key).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_stay_and_room_is_bounded() {
        let mut latest = Latest::new(3);
        let forgotten: Vec<_> = (0..5_u128).filter_map(|key| latest.put(key, key * 10)).collect();
        assert_eq!(forgotten, [0, 10]);
        assert_eq!((latest.get_mut(1).copied(), latest.get_mut(4).copied()), (None, Some(40)));
        assert_eq!(latest.take(2), Some(20));
        // one that was taken and put again is as new as its last time
        latest.put(2, 21);
        assert_eq!(latest.put(5, 50), Some(30));
        assert_eq!(latest.take(2), Some(21));
        (10..10_000).for_each(|key| {
            latest.put(key, 0);
        });
        assert!(latest.known.len() <= 3 && latest.order.len() <= 3);
    }
}
