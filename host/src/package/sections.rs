//! Custom sections at the top level of a WebAssembly file: read, written, stripped.
//!
//! What is nested in it (a component's core modules) is copied as it is and never looked into.

use std::ops::Range;

use wasm_encoder::{CustomSection, Encode, SectionId};
use wasmparser::{BinaryReaderError, Chunk, Parser, Payload};

/// What is wrong with a file that begins like WebAssembly, and at which byte.
#[derive(Debug)]
pub(super) struct Malformed(pub(super) String);

impl From<BinaryReaderError> for Malformed {
    fn from(error: BinaryReaderError) -> Malformed {
        Malformed(error.to_string())
    }
}

/// The scenario's manifest, TOML in UTF-8.
pub(super) const MANIFEST: &str = "khost:manifest";
/// What the rest of its name names, a data set of the manifest, holds this file.
pub(super) const DATA_PREFIX: &str = "khost:data:";
/// Debug information; khost reads none.
pub(super) const DEBUG_PREFIX: &str = ".debug_";
/// Which world a core module was made for, and how it encodes its strings; a name of the component tools.
pub(super) const COMPONENT_TYPE_PREFIX: &str = "component-type";

/// The contents of all sections of that name.
pub(super) fn read<'a>(wasm: &'a [u8], name: &str) -> Result<Vec<&'a [u8]>, Malformed> {
    Ok(custom(wasm)?.into_iter().filter(|section| section.name == name).map(|section| section.data).collect())
}

/// Whether a section's name begins like this.
pub(super) fn any(wasm: &[u8], prefix: &str) -> Result<bool, Malformed> {
    Ok(custom(wasm)?.iter().any(|section| section.name.starts_with(prefix)))
}

/// The file with this section as the only one of its name, at the end.
pub(super) fn write(wasm: &[u8], name: &str, data: &[u8]) -> Result<Vec<u8>, Malformed> {
    let mut bytes = strip(wasm, |other| other == name)?;
    bytes.push(SectionId::Custom.into());
    CustomSection { name: name.into(), data: data.into() }.encode(&mut bytes);
    Ok(bytes)
}

/// The file without the sections that `unwanted` names.
pub(super) fn strip(wasm: &[u8], unwanted: impl Fn(&str) -> bool) -> Result<Vec<u8>, Malformed> {
    let mut kept = Vec::with_capacity(wasm.len());
    let mut from = 0;
    for section in custom(wasm)?.iter().filter(|section| unwanted(section.name)) {
        kept.extend_from_slice(&wasm[from..section.place.start]);
        from = section.place.end;
    }
    kept.extend_from_slice(&wasm[from..]);
    Ok(kept)
}

struct Section<'a> {
    name: &'a str,
    data: &'a [u8],
    /// With the header.
    place: Range<usize>,
}

/// Walks the whole file, so that one cut short is found out.
fn custom(wasm: &[u8]) -> Result<Vec<Section<'_>>, Malformed> {
    let mut parser = Parser::new(0);
    let mut sections = Vec::new();
    let mut at = 0;
    loop {
        let Chunk::Parsed { consumed, payload } = parser.parse(&wasm[at..], true)? else {
            unreachable!("a parser that was told that all is there asks for no more");
        };
        let place = at..at + consumed;
        at = place.end;
        match payload {
            Payload::CustomSection(section) => {
                sections.push(Section { name: section.name(), data: section.data(), place });
            }
            Payload::ModuleSection { unchecked_range, .. } | Payload::ComponentSection { unchecked_range, .. } => {
                at = unchecked_range.end;
                if at > wasm.len() {
                    return Err(Malformed(format!(
                        "a module in it ends at byte {at:#x}, the file at {:#x}",
                        wasm.len()
                    )));
                }
            }
            Payload::End(_) => return Ok(sections),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(text: &str) -> Vec<u8> {
        wat::parse_str(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_replaced() {
        let bare = component("(component (core module) (component))");
        let first = write(&bare, MANIFEST, b"first").unwrap();
        let second = write(&first, MANIFEST, b"second, and longer").unwrap();
        assert_eq!(read(&bare, MANIFEST).unwrap(), Vec::<&[u8]>::new());
        assert_eq!(read(&first, MANIFEST).unwrap(), [b"first"]);
        assert_eq!(read(&second, MANIFEST).unwrap(), [b"second, and longer"]);
        assert_eq!(strip(&second, |name| name == MANIFEST).unwrap(), bare);
    }

    #[test]
    fn what_is_nested_is_neither_read_nor_stripped() {
        let nested = component(r#"(component (core module (@custom "khost:manifest" "inner")))"#);
        assert_eq!(read(&nested, MANIFEST).unwrap(), Vec::<&[u8]>::new());
        assert_eq!(strip(&nested, |_| true).unwrap(), nested);
    }

    #[test]
    fn sections_between_others_are_stripped_alone() {
        let module =
            component(r#"(module (@custom ".debug_line" "x") (func) (@custom "mine" "y") (@custom ".debug_str" "z"))"#);
        let stripped = strip(&module, |name| name.starts_with(DEBUG_PREFIX)).unwrap();
        assert_eq!(stripped, component(r#"(module (func) (@custom "mine" "y"))"#));
        assert!(any(&module, DEBUG_PREFIX).unwrap() && !any(&stripped, DEBUG_PREFIX).unwrap());
    }

    #[test]
    fn a_file_cut_short_is_malformed_wherever_it_is_cut() {
        let whole = component(r#"(component (core module (func (export "f"))) (@custom "mine" "y"))"#);
        // Between two sections a cut can't be seen.
        let seen = (0..whole.len()).filter(|&end| custom(&whole[..end]).is_err()).count();
        assert!(seen >= whole.len() - 2, "{seen} of {}", whole.len());
    }
}
