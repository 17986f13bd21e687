//! Owners of rows in cell order: lists of numbers that are read in blocks.
//!
//! ```text
//! vector_docs   document of each vector
//! vector_ords   only where documents have several vectors: per document that has some, where its vectors start in the
//!               next list, and their number at the end
//!               vectors of the documents that have some, document after document, ascending in each
//! a list        blocks of 1024 numbers u32, the last one shorter, each followed by its CRC32C
//! ```

use std::ops::Range;

use super::error::VectorFormatError;

/// Numbers of a block.
const BLOCK_LEN: u32 = 1024;
const CRC_BYTES: usize = 4;

/// A list in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberList {
    /// Numbers.
    pub len: u32,
    /// Where the list starts in its stream.
    pub offset: u64,
}

impl NumberList {
    /// Bytes of the whole list in its stream.
    pub fn bytes(&self) -> Range<u64> {
        self.block_bytes(&(0..self.len.div_ceil(BLOCK_LEN)))
    }

    /// Runs of blocks that hold the numbers at `ixs`, ascending positions below the length.
    pub fn blocks_of(&self, ixs: impl IntoIterator<Item = u32>) -> Vec<Range<u32>> {
        let mut runs: Vec<Range<u32>> = Vec::new();
        for ix in ixs {
            let block = ix / BLOCK_LEN;
            match runs.last_mut() {
                Some(run) if block < run.end => {}
                Some(run) if block == run.end => run.end += 1,
                _ => runs.push(block..block + 1),
            }
        }
        runs
    }

    /// Bytes of a run of blocks in the stream.
    pub fn block_bytes(&self, blocks: &Range<u32>) -> Range<u64> {
        let at = |block: u32| {
            let numbers = (u64::from(block) * u64::from(BLOCK_LEN)).min(u64::from(self.len));
            self.offset + numbers * 4 + u64::from(block) * CRC_BYTES as u64
        };
        at(blocks.start)..at(blocks.end)
    }

    /// Position of the first number of a run of blocks.
    pub fn first_ix(blocks: &Range<u32>) -> u32 {
        blocks.start * BLOCK_LEN
    }

    /// Appends the numbers of a run of blocks whose bytes these are.
    ///
    /// # Errors
    /// If a checksum or the length is wrong.
    pub fn decode(&self, blocks: &Range<u32>, bytes: &[u8], out: &mut Vec<u32>) -> Result<(), VectorFormatError> {
        let range = self.block_bytes(blocks);
        if bytes.len() as u64 != range.end - range.start {
            return Err(VectorFormatError::Owners { offset: range.start });
        }
        for (ix, block) in bytes.chunks(BLOCK_LEN as usize * 4 + CRC_BYTES).enumerate() {
            let offset = range.start + (ix * (BLOCK_LEN as usize * 4 + CRC_BYTES)) as u64;
            let Some((numbers, &crc)) = block.split_last_chunk::<CRC_BYTES>() else {
                return Err(VectorFormatError::Owners { offset });
            };
            if crc32c::crc32c(numbers) != u32::from_le_bytes(crc) {
                return Err(VectorFormatError::Owners { offset });
            }
            out.extend(numbers.as_chunks::<4>().0.iter().map(|&number| u32::from_le_bytes(number)));
        }
        Ok(())
    }
}

/// Appends a list.
pub fn write_numbers(numbers: impl IntoIterator<Item = u32>, out: &mut Vec<u8>) {
    let mut block = Vec::with_capacity(BLOCK_LEN as usize * 4);
    let mut end = |block: &mut Vec<u8>| {
        if !block.is_empty() {
            out.extend_from_slice(block);
            out.extend_from_slice(&crc32c::crc32c(block).to_le_bytes());
            block.clear();
        }
    };
    for number in numbers {
        block.extend_from_slice(&number.to_le_bytes());
        if block.len() == BLOCK_LEN as usize * 4 {
            end(&mut block);
        }
    }
    end(&mut block);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_in_blocks() {
        for len in [0u32, 1, 1023, 1024, 1025, 5000] {
            let mut bytes = vec![7; 12];
            write_numbers((0..len).map(|ix| ix * 3), &mut bytes);
            let list = NumberList { len, offset: 12 };
            assert_eq!(list.bytes(), 12..bytes.len() as u64);
            let wanted: Vec<u32> = (0..len).step_by(700).collect();
            for blocks in list.blocks_of(wanted.iter().copied()) {
                let range = list.block_bytes(&blocks);
                let block = &bytes[range.start as usize..range.end as usize];
                let mut numbers = Vec::new();
                list.decode(&blocks, block, &mut numbers).unwrap();
                let first = NumberList::first_ix(&blocks);
                assert!(numbers.iter().enumerate().all(|(ix, &number)| number == (first + ix as u32) * 3));
                let mut damaged = block.to_vec();
                damaged[0] ^= 1;
                assert!(list.decode(&blocks, &damaged, &mut Vec::new()).is_err());
                assert!(list.decode(&blocks, &block[1..], &mut Vec::new()).is_err());
            }
        }
    }
}
