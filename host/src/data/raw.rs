//! Messages between delimiters, gone through once: where those begin that are not empty.

use memchr::memmem;

use super::Index;
use super::error::Problem;
use super::input::Input;

/// Without a delimiter, LF and CR LF are one.
pub(super) fn index(input: &mut Input<'_>, delimiter: Option<&[u8]>) -> Result<Index, Problem> {
    if input.fill()?.is_empty() {
        return Err(Problem::Empty);
    }
    let finder = memmem::Finder::new(delimiter.unwrap_or(b"\n"));
    let length = finder.needle().len();
    // what of a message a search has to see again: the begin of a delimiter, or the CR before one
    let kept = (length - 1).max(1);
    let mut index = Index::default();
    let mut message = 0;
    let mut window = Vec::new();
    loop {
        let base = input.at - window.len() as u64;
        let next = input.fill()?;
        let read = next.len();
        window.extend_from_slice(next);
        input.pass(read);
        let mut from = 0;
        while let Some(at) = finder.find(&window[from..]).filter(|_| read > 0).map(|at| from + at) {
            let end = base + at as u64;
            let is_cr = delimiter.is_none() && end == message + 1 && window[at - 1] == b'\r';
            index.add(message, end == message || is_cr);
            from = at + length;
            message = base + from as u64;
        }
        if read == 0 {
            break;
        }
        let rest = from.max(window.len().saturating_sub(kept));
        window.drain(..rest);
    }
    if input.at > message {
        index.add(message, false);
    }
    if !index.starts.is_empty() {
        index.starts.push(input.at);
    }
    Ok(index)
}

impl Index {
    fn add(&mut self, start: u64, is_empty: bool) {
        if is_empty {
            self.skipped += 1;
        } else {
            self.starts.push(start);
        }
    }
}
