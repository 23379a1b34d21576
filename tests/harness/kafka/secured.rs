//! One broker with listeners of every kind of security, ACLs in force, and users: shared by the tests of security, which run
//! alone.

use std::ops::Deref;
use std::sync::OnceLock;

use super::certificates::Certificates;
use super::listeners::{Listener, USERS};
use super::{Brokers, Kafka, skip};
use crate::harness::turn;

/// The tests' own work goes over [`Kafka::bootstrap`], in plain and as a user who may do everything.
pub(crate) struct Secured {
    kafka: Kafka,
}

impl Kafka {
    /// The broker of the tests of security; the test runs alone from here on. Never `KHOST_TEST_BROKERS`.
    pub(crate) fn secured() -> Option<Brokers<&'static Secured>> {
        static SECURED: OnceLock<Result<Secured, String>> = OnceLock::new();
        let turn = turn::alone();
        match SECURED.get_or_init(Secured::start) {
            Ok(kafka) => Some(Brokers { kafka, _turn: turn }),
            Err(reason) => skip(reason),
        }
    }
}

impl Secured {
    fn start() -> Result<Secured, String> {
        let secured = Secured { kafka: Kafka::own().secure().launch()? };
        for user in USERS {
            secured.user(user.name, user.password);
        }
        Ok(secured)
    }

    /// `host:port` of a listener.
    pub(crate) fn at(&self, listener: Listener) -> String {
        let ports = self.node(0).ports.secure.expect("it was started so");
        let index = Listener::ALL.iter().position(|one| *one == listener).expect("all are there");
        format!("127.0.0.1:{}", ports[index])
    }

    pub(crate) fn certificates(&self) -> &Certificates {
        self.node(0).certificates.as_ref().expect("it was started so")
    }
}

impl Deref for Secured {
    type Target = Kafka;
    fn deref(&self) -> &Kafka {
        &self.kafka
    }
}
