//! Reproducible randomness: the same seed gives the same sequence.

/// xorshift64*, good enough to mix events and simple enough to read.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of this seed.
    pub fn new(seed: u64) -> Self {
        // Mixed (splitmix64), so that neighboring seeds are unrelated, and never zero, where the generator would be stuck.
        let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        // The upper bits are the better ones.
        (self.bits() >> 16) % limit
    }

    /// An index in a list of this length, which is not 0.
    pub fn place(&mut self, length: usize) -> usize {
        usize::try_from(self.below(u64::try_from(length).unwrap())).unwrap()
    }

    /// One of these values.
    pub fn one_of<'v, T>(&mut self, values: &'v [T]) -> &'v T {
        &values[self.place(values.len())]
    }

    /// True in `percent` of cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Shuffles a list.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.place(last + 1));
        }
    }
}
