//! What a person or a script reads of a run. `document` is the one result; everything that shows a run reads only it.

mod assemble;
mod check;
mod consume;
mod data;
mod document;
mod explain;
mod flow;
mod jobs;
mod lag;
mod limited_by;
mod numbers;
mod paused;
mod progress;
mod requests;
mod terminal;
mod topics;
mod window;

pub use assemble::{Facts, assemble};
pub use check::{check_failed_json, check_json, check_text};
pub use consume::{CommitsResult, ConsumeResult, FetchResult, GroupResult, PrefetchResult, ReaderResult, Records};
pub use document::*;
pub use lag::{LagPartition, LagResult};
pub use paused::PausedResult;
pub use progress::Display;
pub use requests::{ChannelResult, Expectations, Requests};
pub use terminal::text;
pub use topics::{Growth, TopicChangeResult, TopicResult};
