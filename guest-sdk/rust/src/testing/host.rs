//! What the manifest and the run would be, said in a chain.

use std::cell::RefCell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use super::Running;
use super::channel::{Asked, Channel, Replies};
use super::state::{State, Table, enter};
use crate::batch::nanos;
use crate::worker::{self, Factory};
use crate::{Code, Consume, Session, Stream};

/// Begins a test: what the flow will find. Nothing is there that is not said here.
#[derive(Default)]
pub struct Host(State);

impl Host {
    /// A run of a flow named `flow` with one worker, the seed 0, no parameters and no topics.
    pub fn new() -> Self {
        Host::default()
    }

    /// The flow's name.
    pub fn flow(mut self, name: &str) -> Self {
        self.0.flow = name.into();
        self
    }

    /// Which worker of how many it is, from 0.
    pub fn worker(mut self, number: u32, of: u32) -> Self {
        (self.0.worker, self.0.worker_count) = (number, of);
        self
    }

    /// What [`run::seed`](crate::run::seed) answers.
    pub fn seed(mut self, seed: u64) -> Self {
        self.0.seed = seed;
        self
    }

    /// What [`run::id`](crate::run::id) answers.
    pub fn run_id(mut self, id: u64) -> Self {
        self.0.run_id = id;
        self
    }

    /// A parameter: a text, a number, true or false.
    pub fn param(mut self, name: &str, value: impl Display) -> Self {
        self.0.params.insert(name.into(), value.to_string());
        self
    }

    /// A parameter that the manifest writes as a duration.
    pub fn duration_param(self, name: &str, value: Duration) -> Self {
        self.param(name, nanos(value))
    }

    /// A list parameter.
    pub fn param_list(mut self, name: &str, items: &[impl Display]) -> Self {
        self.0.param_lists.insert(name.into(), items.iter().map(|item| item.to_string()).collect());
        self
    }

    /// A topic of the manifest.
    pub fn topic(mut self, name: &str, partitions: u32) -> Self {
        self.0.add_topic(name, None, partitions);
        self
    }

    /// One of a topic that the manifest repeats.
    pub fn topic_each(mut self, name: &str, each: &str, partitions: u32) -> Self {
        self.0.add_topic(name, Some(each), partitions);
        self
    }

    /// A channel of the manifest, and what comes back for each thing that is asked for through it.
    pub fn channel(mut self, name: &str, replies: impl FnMut(&Asked) -> Replies + 'static) -> Self {
        self.0.channels.push(Channel { name: name.into(), script: Box::new(replies) });
        self
    }

    /// A data set of the manifest, whose rows come in this order, and after the last the first again. Those of JSON lines
    /// have the only column `json`, those of raw files `payload`.
    ///
    /// Panics when there is no row, or one with another number of cells than there are columns.
    pub fn dataset<R: AsRef<[C]>, C: AsRef<[u8]>>(self, name: &str, columns: &[&str], rows: &[R]) -> Self {
        self.add_dataset(name, columns, rows, false)
    }

    /// The same with `order = "unique"`: after the last row there are no more.
    pub fn unique_dataset<R: AsRef<[C]>, C: AsRef<[u8]>>(self, name: &str, columns: &[&str], rows: &[R]) -> Self {
        self.add_dataset(name, columns, rows, true)
    }

    fn add_dataset<R: AsRef<[C]>, C: AsRef<[u8]>>(
        mut self,
        name: &str,
        columns: &[&str],
        rows: &[R],
        unique: bool,
    ) -> Self {
        assert!(!rows.is_empty(), "data set `{name}` has no rows, which khost refuses");
        let row = |row: &R| {
            let cells: Vec<Vec<u8>> = row.as_ref().iter().map(|cell| cell.as_ref().to_vec()).collect();
            assert_eq!(cells.len(), columns.len(), "data set `{name}`: cells of a row, and columns");
            cells
        };
        let (columns, rows) = (columns.iter().map(|&column| column.into()).collect(), rows.iter().map(row).collect());
        self.0.tables.push(Table { name: name.into(), columns, rows, unique, taken: 0 });
        self
    }

    /// What every [`deliver`](crate::Batch::deliver) is answered with. Left out, that is [`Code::OK`].
    pub fn acknowledge_with(mut self, code: Code) -> Self {
        self.0.acknowledge_with = code;
        self
    }

    /// Sets up a stream. Errors: the text that khost would end the run with.
    pub fn stream<F: Stream>(self) -> Result<Running, String> {
        self.start(worker::stream::<F>)
    }

    /// Sets up a session. Errors: the text that khost would end the run with.
    pub fn session<F: Session>(self) -> Result<Running, String> {
        self.start(worker::session::<F>)
    }

    /// Sets up a consumer. Errors: the text that khost would end the run with.
    pub fn consume<F: Consume>(self) -> Result<Running, String> {
        self.start(worker::consume::<F>)
    }

    pub(crate) fn start(self, factory: Factory) -> Result<Running, String> {
        let state = Rc::new(RefCell::new(self.0));
        let made = enter(&state, factory);
        state.borrow_mut().set_up = true;
        made.map(|worker| Running::new(state, worker)).map_err(|error| worker::text(&*error))
    }
}
