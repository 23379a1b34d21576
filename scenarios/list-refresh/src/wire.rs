//! The messages, in JSON.

use khost_guest::prelude::*;

/// To `lists`, and of the application to itself in `list-pages`: how far a refresh is.
#[derive(SerJson, DeJson)]
pub struct List {
    pub name: String,
    /// Its number among those that are refreshed at once.
    pub number: u32,
    /// Pages that are done.
    pub done: u32,
}

/// To `list-replies`.
#[derive(SerJson, DeJson)]
pub struct Refreshed {
    pub name: String,
    pub pages: u32,
}
