//! Transactions begun with BEGIN: their state, and the list of open ones.

mod open;
mod slot;

pub use open::OpenTransactions;
pub use slot::{OpenTransaction, TransactionSlot, state_error};
