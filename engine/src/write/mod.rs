//! Rows into the store: INSERT, CREATE TABLE AS, COPY FROM and import all go through here.

mod in_place;
mod open;
mod rows;
mod scope;
mod sink;
mod table_in_place;
mod written;

pub(crate) use open::{OpenTransaction, OpenTransactions};
pub(crate) use rows::{Declarations, RowWriter, Target, WriteTarget, blocking, blocking_here, check_not_null, holding_up_nobody};
pub(crate) use scope::{TransactionSlot, WriteScope, state_error};
pub(crate) use sink::{check_shape, check_shapes, insert_plan, nullable};
pub(crate) use table_in_place::NewTable;
pub(crate) use written::{FEW_BYTES, FEW_ROWS, Written, physical_rows};
