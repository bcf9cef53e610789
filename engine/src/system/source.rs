//! The data from which system tables are built.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::Expr;
use pmem_store::{Snapshot, StoreError, TableRecord, TableSnapshot, ViewRecord};

use crate::queries::Query;
use crate::shared::EngineShared;
use common::error::store_error;
use common::privilege::Privilege;
use table::access::Authorization;
use table::temporary::TemporaryTables;
use table::transactions::TransactionSlot;

pub struct Source<'a> {
    pub engine: &'a EngineShared,
    /// The statement's snapshot.
    pub snapshot: &'a Arc<Snapshot>,
    /// The session's transaction.
    pub slot: &'a Arc<TransactionSlot>,
    pub options: &'a ConfigOptions,
    /// The rights of the user; `None`: everything.
    pub authorization: Option<&'a Authorization>,
    /// The session's temporary tables.
    pub temporary: &'a TemporaryTables,
    /// What the rows must satisfy; they are checked once more.
    pub filters: &'a [Expr],
}

impl Source<'_> {
    pub fn is_for_all(&self) -> bool {
        self.authorization.is_none_or(Authorization::is_admin)
    }

    /// Whether the user may see this user or role.
    pub fn knows(&self, name: &str) -> bool {
        self.authorization.is_none_or(|authorization| authorization.is_admin() || authorization.has_name(name))
    }

    /// Whether the statement belongs to the user.
    pub fn runs(&self, query: &Query) -> bool {
        self.authorization.is_none_or(|authorization| authorization.is_admin() || query.principal.is_user(authorization.user()))
    }

    /// Whether the user may read the rows of a table, and therefore see their number and storage.
    pub fn reads(&self, table: &TableSnapshot) -> bool {
        let record = table.record();
        self.authorization.is_none_or(|authorization| authorization.on_table(record.id, &record.namespace).has(Privilege::Select))
    }

    /// Whether the user owns the view, and therefore may see its text.
    pub fn owns(&self, view: &ViewRecord) -> bool {
        self.authorization.is_none_or(|authorization| authorization.on_view(&view.namespace, &view.name).has(Privilege::Ownership))
    }

    /// Whether the user may see paths on this machine.
    pub fn knows_files(&self) -> bool {
        self.authorization.is_none_or(Authorization::has_files)
    }

    /// The stored tables that the user may read.
    pub fn read_tables(&self) -> Result<Vec<TableSnapshot>> {
        let mut tables = self.tables()?;
        tables.retain(|table| self.reads(table));
        Ok(tables)
    }

    /// Every visible stored table, by schema and name, except for [`Source::damaged`] ones.
    pub fn tables(&self) -> Result<Vec<TableSnapshot>> {
        Ok(self.tables_and_damaged()?.0)
    }

    /// Tables with a damaged log: a query of one gets the error, and the lists show the others.
    pub fn damaged(&self) -> Result<Vec<TableRecord>> {
        Ok(self.tables_and_damaged()?.1)
    }

    fn tables_and_damaged(&self) -> Result<(Vec<TableSnapshot>, Vec<TableRecord>)> {
        let (mut tables, mut damaged) = (Vec::new(), Vec::new());
        for record in self.snapshot.tables().map_err(store_error)? {
            match self.snapshot.table(&record.namespace, &record.name) {
                Ok(table) => tables.extend(table),
                Err(StoreError::LogDamaged { .. }) => damaged.push(record),
                Err(error) => return Err(store_error(error)),
            }
        }
        Ok((tables, damaged))
    }
}
