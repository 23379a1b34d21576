//! The application under test, played: it refreshes a list page by page, and lets the other lists' pages in between.

use khost_guest::prelude::*;

use crate::wire::{List, Refreshed};

pub struct App {
    pages: Topic,
    replies: Topic,
    pages_of_a_list: u32,
    page_time: Duration,
}

impl Consume for App {
    fn setup() -> Result<Self> {
        let (read, write): (Duration, Duration) = (run::param("read-time")?, run::param("write-time")?);
        let is_split: bool = run::param("read-write-split")?;
        Ok(App {
            pages: Topic::open("list-pages"),
            replies: Topic::open("list-replies"),
            pages_of_a_list: run::param("pages")?,
            page_time: if is_split { read.max(write) } else { read + write },
        })
    }

    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
        let mut list: List = record.json()?;
        if list.done < self.pages_of_a_list {
            run::sleep(self.page_time)?;
            list.done += 1;
        }
        if list.done < self.pages_of_a_list {
            let partition = (list.number + list.done) % self.pages.partition_count();
            out.message(self.pages).partition(partition).copy_headers(record).value_json(&list);
        } else {
            let refreshed = Refreshed { name: list.name, pages: list.done };
            out.message(self.replies).copy_headers(record).value_json(&refreshed);
        }
        Ok(More)
    }
}
