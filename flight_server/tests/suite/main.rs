//! The real server on a free port of the loopback, with the clients of `arrow-flight`.

mod bad_input;
mod bad_values;
mod cancelling;
mod certificates;
mod client;
mod config;
mod connections;
mod errors;
mod fairness;
#[path = "../../../engine/tests/suite/foreign_forms.rs"]
mod foreign_forms;
mod hand_off;
mod helpers;
mod http;
mod ingest;
mod leaving;
mod limits;
mod logs;
mod long_plans;
mod metadata;
mod nodes;
mod others;
mod parts;
mod plain_flight;
mod prepared;
mod progress;
mod reading;
mod running;
mod savepoints;
mod sessions;
mod stalled;
mod statements;
mod streaming;
mod substrait;
mod temporary_tables;
mod tensors;
mod tickets;
mod tls;
#[cfg(feature = "otlp")]
mod traces;
mod transactions;
mod users;
