//! The one way to khost: every import of the contract, as the rest of the crate calls it.
//!
//! In a component they are the imports, and one that nothing calls is not imported. Natively they are the stand-in of
//! `testing`.

#[cfg(not(target_arch = "wasm32"))]
mod native;
#[cfg(target_arch = "wasm32")]
mod wasm;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::*;
#[cfg(target_arch = "wasm32")]
pub(crate) use wasm::*;
