//! A file as it is gone through once: where in it one is, in bytes and in lines.

use std::io::{self, BufRead};

const MARK: &[u8] = b"\xef\xbb\xbf";

/// A stream that counts.
pub(super) struct Input<'a> {
    stream: Box<dyn BufRead + 'a>,
    /// Bytes that are behind.
    pub(super) at: u64,
    /// The line that the next byte is in, from 1. LF, CR and CR LF end one.
    pub(super) line: u64,
    after_cr: bool,
}

impl<'a> Input<'a> {
    pub(super) fn new(stream: Box<dyn BufRead + 'a>) -> Self {
        Input { stream, at: 0, line: 1, after_cr: false }
    }

    /// What comes next; nothing at the end.
    pub(super) fn fill(&mut self) -> io::Result<&[u8]> {
        self.stream.fill_buf()
    }

    /// Leaves the next bytes behind.
    pub(super) fn consume(&mut self, count: usize) -> io::Result<()> {
        for byte in &self.stream.fill_buf()?[..count] {
            self.line += u64::from(*byte == b'\r' || (*byte == b'\n' && !self.after_cr));
            self.after_cr = *byte == b'\r';
        }
        self.pass(count);
        Ok(())
    }

    /// The same, where nobody asks for the line.
    pub(super) fn pass(&mut self, count: usize) {
        self.stream.consume(count);
        self.at += count as u64;
    }

    /// Leaves a byte order mark behind.
    pub(super) fn skip_mark(&mut self) -> io::Result<()> {
        if self.fill()?.starts_with(MARK) {
            self.pass(MARK.len());
        }
        Ok(())
    }

    /// Reads to the end of the line, which is left out; false at the end of the file.
    pub(super) fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let length = self.stream.read_until(b'\n', line)?;
        self.at += length as u64;
        self.line += 1;
        Ok(length > 0)
    }
}
