//! The messages, in JSON.

use khost_guest::prelude::*;

/// The types of events, in the order of the partitions that they choose.
pub const TYPES: [&str; 2] = ["ITEM_CHECKED_IN", "ITEM_CHECKED_OUT"];
pub const CHECKED_IN: usize = 0;
pub const CHECKED_OUT: usize = 1;

/// To `events`.
#[derive(SerJson, DeJson)]
pub struct Event {
    #[nserde(rename = "eventType")]
    pub kind: String,
    #[nserde(rename = "itemBarcode")]
    pub item: u64,
}
