//! Where a data set's bytes are: in memory, or in a file that is read in place.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Files up to this size are kept in memory: one copy, whatever the number of workers.
const MOST_IN_MEMORY: u64 = 64 << 20;
const STREAM_BYTES: usize = 256 << 10;

/// What a data set is opened from.
#[derive(Debug)]
pub enum Content {
    /// Bytes, and what messages call them.
    Bytes {
        /// All of them.
        bytes: Vec<u8>,
        /// Where they come from.
        place: String,
    },
    /// A file.
    File(PathBuf),
}

impl Content {
    /// What messages call it.
    pub fn place(&self) -> String {
        match self {
            Content::Bytes { place, .. } => place.clone(),
            Content::File(path) => path.display().to_string(),
        }
    }
}

#[derive(Debug)]
pub(super) enum Source {
    Memory(Vec<u8>),
    File(File),
}

impl Source {
    pub(super) fn open(content: Content) -> io::Result<Source> {
        let path = match content {
            Content::Bytes { bytes, .. } => return Ok(Source::Memory(bytes)),
            Content::File(path) => path,
        };
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        // a pipe can be read only once
        if metadata.is_file() && metadata.len() > MOST_IN_MEMORY {
            return Ok(Source::File(file));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        bytes.shrink_to_fit();
        Ok(Source::Memory(bytes))
    }

    /// All of it, from the start.
    pub(super) fn stream(&self) -> io::Result<Box<dyn BufRead + '_>> {
        Ok(match self {
            Source::Memory(bytes) => Box::new(Cursor::new(bytes)),
            Source::File(file) => {
                let mut file = file;
                file.rewind()?;
                Box::new(BufReader::with_capacity(STREAM_BYTES, file))
            }
        })
    }

    /// A part of it: where it lies, or in `buffer`.
    pub(super) fn read<'a>(&'a self, part: Range<u64>, buffer: &'a mut Vec<u8>) -> io::Result<&'a [u8]> {
        match self {
            Source::Memory(bytes) => Ok(&bytes[part.start as usize..part.end as usize]),
            Source::File(file) => {
                buffer.resize((part.end - part.start) as usize, 0);
                file.read_exact_at(buffer, part.start)?;
                Ok(buffer)
            }
        }
    }
}
