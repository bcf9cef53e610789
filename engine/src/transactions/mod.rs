//! Transactions that are begun with BEGIN: what each is and may still do, and which there are.

mod open;
mod slot;

pub(crate) use open::OpenTransactions;
pub(crate) use slot::{OpenTransaction, TransactionSlot, state_error};
