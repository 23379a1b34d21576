//! Topics of the manifest.

use crate::host;

/// A topic that the manifest names. Opened in `setup`, copied freely.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Topic(pub(crate) u32);

impl Topic {
    /// By its name in the manifest: `orders` for `[topics.orders]`.
    ///
    /// Ends the instance when the manifest has no such topic, or one for each of a list.
    pub fn open(name: &str) -> Self {
        Topic(host::open_topic(name, None))
    }

    /// One of a topic that the manifest repeats with `each`, e.g. a tenant's.
    ///
    /// Ends the instance when the manifest has no such topic.
    pub fn open_each(name: &str, each: &str) -> Self {
        Topic(host::open_topic(name, Some(each)))
    }

    /// Which of a repeated topic this is; `None` if it is not repeated.
    pub fn each(self) -> Option<String> {
        host::topic_each(self.0)
    }

    /// How many partitions it has.
    pub fn partition_count(self) -> u32 {
        host::partition_count(self.0)
    }
}
