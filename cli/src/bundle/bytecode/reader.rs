//! Little-endian numbers out of bytes, without a way to read past the end.

use super::{Doubt, Result};

/// A place in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    place: usize,
}

impl<'a> Reader<'a> {
    /// Begins at `place`, which can be past the end: then reading fails.
    pub(super) fn at(bytes: &'a [u8], place: usize) -> Self {
        Self { bytes, place }
    }

    /// Goes on to the next multiple of `alignment` bytes.
    pub(super) fn align(&mut self, alignment: usize) -> &mut Self {
        self.place = self.place.saturating_add(alignment - 1) / alignment * alignment;
        self
    }

    /// The next `count` bytes.
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let end = self.place.saturating_add(count);
        let taken =
            self.bytes.get(self.place..end).ok_or_else(|| Doubt::new("the file is cut, or has another layout than is known here"))?;
        self.place = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let taken = self.take(N)?;
        Ok(std::array::from_fn(|index| taken.get(index).copied().unwrap_or_default()))
    }

    /// One byte.
    pub(super) fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes.
    pub(super) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    pub(super) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Four bytes, as a size.
    pub(super) fn size(&mut self) -> Result<usize> {
        self.u32().map(|size| size as usize)
    }

    /// Eight bytes.
    pub(super) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// `count` bits of a number, from bit `start` on.
pub(super) fn bits(number: u32, start: u32, count: u32) -> u32 {
    number >> start & ((1 << count) - 1)
}
