//! A core module made a component.
//!
//! Compilers without a component linker leave a core module, most with a section that names their world. A module
//! without one is taken to be made for ours, with UTF-8 strings. About a millisecond; a component stays as it is.

use std::path::Path;

use wasmparser::Parser;
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

use super::Error;
use super::sections::{self, COMPONENT_TYPE_PREFIX, DEBUG_PREFIX, Malformed};

const WORLD: &str = include_str!("../../../wit/scenario.wit");

/// The component of a file that was read from `path`.
pub(super) fn component(file: Vec<u8>, path: &Path) -> Result<Vec<u8>, Error> {
    let damaged = |problem: Malformed| Error::Damaged { path: path.into(), reason: problem.0 };
    // A component is walked as well, so that one cut short is found out here.
    let has_world = sections::any(&file, COMPONENT_TYPE_PREFIX).map_err(damaged)?;
    if Parser::is_component(&file) {
        return Ok(file);
    }
    let module = sections::strip(&file, |name| name.starts_with(DEBUG_PREFIX)).map_err(damaged)?;
    encode(module, has_world).map_err(|error| Error::Pack { path: path.into(), reason: innermost(&*error) })
}

type ToolError = Box<dyn std::error::Error + Send + Sync>;

fn encode(mut module: Vec<u8>, has_world: bool) -> Result<Vec<u8>, ToolError> {
    if !has_world {
        embed_world(&mut module, StringEncoding::UTF8)?;
    }
    Ok(ComponentEncoder::default().module(&module)?.validate(true).encode()?)
}

fn embed_world(module: &mut Vec<u8>, encoding: StringEncoding) -> Result<(), ToolError> {
    let mut wit = Resolve::default();
    let package = wit.push_str("scenario.wit", WORLD)?;
    let world = wit.select_world(&[package], Some("scenario"))?;
    Ok(embed_component_metadata(module, &wit, world, encoding)?)
}

/// The cause that says what the module lacks or has too much; those around it name the tools' own steps.
fn innermost(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.last().expect("the error itself is the first").to_string()
}

#[cfg(test)]
mod tests {
    use super::super::fixtures::{MODULE, module};
    use super::*;

    fn pack(file: Vec<u8>) -> Result<Vec<u8>, Error> {
        component(file, Path::new("x.wasm"))
    }

    fn message(error: Error) -> String {
        assert!(matches!(error, Error::Pack { .. }), "{error}");
        error.to_string()
    }

    #[test]
    fn a_core_module_becomes_a_component_that_stays_as_it_is() {
        let packed = pack(module()).unwrap();
        assert!(Parser::is_component(&packed));
        assert_eq!(pack(packed.clone()).unwrap(), packed);
        wasmparser::Validator::new().validate_all(&packed).unwrap();
    }

    #[test]
    fn a_world_of_its_own_is_kept() {
        // This scenario has no strings, so that any encoding fits.
        let mut module = module();
        embed_world(&mut module, StringEncoding::UTF16).unwrap();
        let printed = String::from_utf8_lossy(&pack(module).unwrap()).into_owned();
        assert!(!printed.contains(COMPONENT_TYPE_PREFIX));
    }

    #[test]
    fn names_of_functions_stay_and_debug_information_goes() {
        let text = MODULE.replace("(memory", r#"(func $named_function) (@custom ".debug_line" "x") (memory"#);
        let packed = pack(wat::parse_str(text).unwrap()).unwrap();
        let has = |text: &str| packed.windows(text.len()).any(|window| window == text.as_bytes());
        assert!(has("named_function") && !has(".debug_line"));
    }

    #[test]
    fn a_module_that_exports_nothing_is_refused() {
        let error = message(pack(wat::parse_str("(module)").unwrap()).unwrap_err());
        assert!(error.contains("khost:scenario/flow"), "{error}");
    }

    #[test]
    fn an_import_beyond_the_contract_is_refused_by_name() {
        let wasi =
            r#"(import "wasi_snapshot_preview1" "fd_write" (func (param i32 i32 i32 i32) (result i32))) (memory"#;
        let error = message(pack(wat::parse_str(MODULE.replace("(memory", wasi)).unwrap()).unwrap_err());
        assert!(error.contains("wasi_snapshot_preview1"), "{error}");
    }

    #[test]
    fn a_module_cut_short_is_damaged() {
        let mut cut = module();
        cut.truncate(cut.len() - 3);
        assert!(matches!(pack(cut), Err(Error::Damaged { .. })));
    }
}
