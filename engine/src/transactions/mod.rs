//! Transactions begun with BEGIN: their state, and the list of open ones.

mod open;
mod slot;

pub(crate) use open::OpenTransactions;
pub(crate) use slot::{OpenTransaction, TransactionSlot, state_error};
