//! Everything that a user does, through the real binary; most of it against a real Kafka.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod harness;

mod addresses;
mod consume;
mod counts;
mod data;
mod deliveries;
mod docs;
mod endings;
mod experiments;
mod growth;
mod guests;
mod input;
mod jobs;
mod lag;
mod laws;
mod order;
mod partitioner;
mod paused;
mod properties;
mod rates;
mod reading;
mod records;
mod replies;
mod rights;
mod scenarios;
mod secrets;
mod secured;
mod security;
mod selftest;
mod sessions;
mod settings;
mod stall;
mod stamps;
mod streams;
mod timestamps;
mod topics;
mod topics_change;
mod windows;
