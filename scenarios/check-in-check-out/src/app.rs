//! The application under test, played: a worker is a thread of it, which is busy for as long as its work takes.

use khost_guest::prelude::*;

use crate::wire::{CHECK_IN, CHECK_OUT, Chunk, ChunkDone, Circulated, Circulation, Event};

pub struct App {
    import: Topic,
    replies: Topic,
    events: Topic,
    done: Topic,
    error: Topic,
    check_in: Duration,
    check_out: Duration,
    create: Duration,
    update: Duration,
}

impl Consume for App {
    fn setup() -> Result<Self> {
        Ok(App {
            import: Topic::open("import"),
            replies: Topic::open("circulation-replies"),
            events: Topic::open("circulation-events"),
            done: Topic::open("import-done"),
            error: Topic::open("import-error"),
            check_in: run::param("check-in-time")?,
            check_out: run::param("check-out-time")?,
            create: run::param("create-time")?,
            update: run::param("update-time")?,
        })
    }

    fn handle(&mut self, record: Record<'_>, out: &mut Batch) -> Result<Progress> {
        if record.topic() == self.import {
            self.import(record, out)?
        } else {
            self.circulate(record, out)?
        }
        Ok(More)
    }
}

impl App {
    /// Checks an item in or out, says so to who asked, and tells the other modules.
    fn circulate(&self, record: Record<'_>, out: &mut Batch) -> Result {
        let asked: Circulation = record.json()?;
        let (time, event) = match asked.action.as_str() {
            CHECK_IN => (self.check_in, "ITEM_CHECKED_IN"),
            CHECK_OUT => (self.check_out, "ITEM_CHECKED_OUT"),
            _ => {
                out.message(self.replies).copy_headers(record).header("status", "failed").value(asked.action);
                return Ok(());
            }
        };
        run::sleep(time)?;
        let reply = Circulated { item: asked.item.clone() };
        out.message(self.replies).copy_headers(record).key(&asked.item).value_json(&reply);
        out.message(self.events).key(&asked.item).value_json(&Event { kind: event, item: asked.item.clone() });
        Ok(())
    }

    /// Works through a chunk of records.
    fn import(&self, record: Record<'_>, out: &mut Batch) -> Result {
        let chunk: Chunk = record.json()?;
        let time = match chunk.profile.as_str() {
            "create" => self.create,
            "update" => self.update,
            other => {
                let error = Some(format!("unknown profile {other}"));
                out.message(self.error).value_json(&ChunkDone { id: chunk.id, error });
                return Ok(());
            }
        };
        run::sleep(time * chunk.records)?;
        out.message(self.done).value_json(&ChunkDone { id: chunk.id, error: None });
        Ok(())
    }
}
