//! A connection for the whole of a run: when its broker goes away it is made anew, with whichever broker answers. Who asks
//! gets no answer meanwhile, and one complaint tells of it.

use std::sync::Arc;

use kafka_protocol::protocol::Request;

use super::{BrokerError, Connection};
use crate::kafka::complaints::Complaints;
use crate::kafka::token::Keeper;
use crate::kafka::{Address, Reach, Security};

/// So many attempts in a row fail before anybody is told: a broker that restarts is no news.
const TOLD_AFTER: u32 = 3;

pub(in crate::kafka) struct Lasting {
    security: Arc<Security>,
    tokens: Option<Arc<Keeper>>,
    complaints: Complaints,
    /// What it is for, as a complaint has it.
    purpose: &'static str,
    /// Who was named for the run.
    bootstrap: Vec<Address>,
    /// Whom to try, in turn.
    brokers: Vec<Address>,
    turn: usize,
    open: Option<Connection>,
    failed: u32,
    /// Nobody lets us in: it is not tried again, as that could lock an account.
    shut_out: bool,
}

impl Lasting {
    pub(in crate::kafka) fn new(reach: &Reach, purpose: &'static str) -> Self {
        let bootstrap: Vec<Address> = reach.addresses.iter().cloned().collect();
        Lasting {
            security: reach.security.clone(),
            tokens: reach.tokens.clone(),
            complaints: reach.complaints.clone(),
            purpose,
            brokers: bootstrap.clone(),
            bootstrap,
            turn: 0,
            open: None,
            failed: 0,
            shut_out: false,
        }
    }

    /// Whether the last question was answered.
    pub(in crate::kafka) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Whom else to try when the broker goes away; those that the run was given are tried after them.
    pub(in crate::kafka) fn know(&mut self, brokers: impl Iterator<Item = Address>) {
        let mut all: Vec<Address> = brokers.collect();
        let others = self.bootstrap.iter().filter(|address| !all.contains(address)).cloned().collect::<Vec<_>>();
        all.extend(others);
        self.brokers = all;
    }

    /// Asks what `question` makes for the connection: one attempt, with one broker.
    pub(in crate::kafka) fn ask<R: Request>(&mut self, question: impl Fn(&Connection) -> R) -> Option<R::Response> {
        if self.shut_out || self.brokers.is_empty() {
            return None;
        }
        let address = &self.brokers[self.turn % self.brokers.len()];
        let open = match self.open.take() {
            Some(connection) => Ok(connection),
            None => {
                let token = self.tokens.as_ref().map(|tokens| tokens.token());
                Connection::open(address, &self.security, token.as_ref())
            }
        };
        let asked = open.and_then(|mut connection| {
            let answer = connection.ask(&question(&connection))?;
            Ok((connection, answer))
        });
        match asked {
            Ok((connection, answer)) => {
                self.open = Some(connection);
                self.failed = 0;
                Some(answer)
            }
            Err(error) => {
                let address = address.to_string();
                self.failed(&address, &error);
                None
            }
        }
    }

    fn failed(&mut self, address: &str, error: &BrokerError) {
        self.turn += 1;
        self.failed += 1;
        self.shut_out = !error.is_of_this_address();
        if self.failed == TOLD_AFTER || self.shut_out {
            self.complaints.add(&format!("{}: {address} {error}", self.purpose));
        }
    }
}
