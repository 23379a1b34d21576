//! librdkafka's list of partitions with offsets.

use std::ffi::{CStr, CString};

use rdkafka_sys::bindings as rd;

/// A list of our own.
pub(in crate::kafka) struct List(*mut rd::rd_kafka_topic_partition_list_t);

impl List {
    /// An empty one with room for so many.
    pub(in crate::kafka) fn new(room: usize) -> Self {
        // SAFETY: it has no preconditions.
        List(unsafe { rd::rd_kafka_topic_partition_list_new(room as i32) })
    }

    /// A copy.
    ///
    /// # Safety
    /// `list` is null, which stands for an empty one, or live.
    pub(in crate::kafka) unsafe fn copy(list: *const rd::rd_kafka_topic_partition_list_t) -> Self {
        if list.is_null() {
            return List::new(0);
        }
        // SAFETY: as the caller says.
        List(unsafe { rd::rd_kafka_topic_partition_list_copy(list) })
    }

    pub(in crate::kafka) fn add(&mut self, topic: &CString, partition: i32, offset: i64) {
        // SAFETY: the list is live, the name NUL-terminated and copied; what is answered is the new element.
        unsafe { (*rd::rd_kafka_topic_partition_list_add(self.0, topic.as_ptr(), partition)).offset = offset };
    }

    pub(in crate::kafka) fn set_offset(&mut self, at: usize, offset: i64) {
        self.elements()[at].offset = offset;
    }

    pub(in crate::kafka) fn raw(&self) -> *mut rd::rd_kafka_topic_partition_list_t {
        self.0
    }

    pub(in crate::kafka) fn iter(&self) -> impl Iterator<Item = &rd::rd_kafka_topic_partition_t> {
        // SAFETY: the list is live, and has so many elements.
        unsafe { elements(self.0) }.iter()
    }

    /// Names and numbers.
    pub(in crate::kafka) fn names(&self) -> impl Iterator<Item = (&CStr, i32)> {
        // SAFETY: names of a live list are NUL-terminated.
        self.iter().map(|one| (unsafe { CStr::from_ptr(one.topic) }, one.partition))
    }

    fn elements(&mut self) -> &mut [rd::rd_kafka_topic_partition_t] {
        // SAFETY: the list is live and ours.
        unsafe { elements(self.0) }
    }
}

/// # Safety
/// `list` is live for `'a`, and nobody else uses its elements mutably meanwhile.
unsafe fn elements<'a>(list: *mut rd::rd_kafka_topic_partition_list_t) -> &'a mut [rd::rd_kafka_topic_partition_t] {
    // SAFETY: as the caller says; an empty list's array may be null.
    unsafe {
        match (*list).cnt {
            0 => &mut [],
            count => std::slice::from_raw_parts_mut((*list).elems, count as usize),
        }
    }
}

impl Drop for List {
    fn drop(&mut self) {
        // SAFETY: it is ours, and freed once.
        unsafe { rd::rd_kafka_topic_partition_list_destroy(self.0) };
    }
}
