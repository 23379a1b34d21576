//! The messages, in JSON.

use khost_guest::prelude::*;

pub const CHECK_IN: &str = "check-in";
pub const CHECK_OUT: &str = "check-out";

/// To `circulation`: what a user asks of the application.
#[derive(SerJson, DeJson)]
pub struct Circulation {
    /// [`CHECK_IN`] or [`CHECK_OUT`].
    pub action: String,
    #[nserde(rename = "itemBarcode")]
    pub item: String,
    /// Who borrows it; nobody brings it back.
    pub patron: Option<u64>,
}

/// To `circulation-replies`.
#[derive(SerJson, DeJson)]
pub struct Circulated {
    #[nserde(rename = "itemBarcode")]
    pub item: String,
}

/// To `circulation-events`: what the application tells its other modules.
#[derive(SerJson)]
pub struct Event {
    #[nserde(rename = "eventType")]
    pub kind: &'static str,
    #[nserde(rename = "itemBarcode")]
    pub item: String,
}

/// To `import`: some records of a job.
#[derive(SerJson, DeJson)]
pub struct Chunk {
    #[nserde(rename = "chunkId")]
    pub id: String,
    /// `create` or `update`.
    pub profile: String,
    pub records: u32,
    /// As large as the records are.
    pub content: String,
}

/// To `import-done` or `import-error`.
#[derive(SerJson, DeJson)]
pub struct ChunkDone {
    #[nserde(rename = "chunkId")]
    pub id: String,
    pub error: Option<String>,
}
