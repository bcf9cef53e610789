//! The context in which a foreign plan is read: functions, settings, and the tables that its reader may see.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow::buffer::Buffer;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::logical_expr::{LogicalPlan, TableType};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use futures::FutureExt;
use parking_lot::Mutex;

use super::binding::Binding;
use super::reads::check_reads;
use crate::planning;
use crate::shared::EngineShared;
use crate::sql_planner::explain_error::explain_error;
use crate::sql_planner::plan::plan_statement;
use crate::sql_planner::temporary_names::qualify_temporary_names;
use common::error::EngineError;
use common::names::{CATALOG, INFORMATION_SCHEMA, SYSTEM, TEMP};
use sql::{self, Parsed, split_name, versioned_name};
use table::access::check_statement_kind;
use table::catalog::{self, CatalogHandle, PlanFunction, StoreCatalog, StoreTable};

/// Names resolve as in an SQL statement that runs now in the same session.
pub struct PlanContext {
    state: SessionState,
    engine: Arc<EngineShared>,
    catalog: Arc<StoreCatalog>,
    binding: Binding,
    /// Names in the binding's segments that the plan has looked up.
    bound: Mutex<BTreeSet<String>>,
}

/// An existing table or view.
struct PlanRelation {
    schema: Arc<dyn SchemaProvider>,
    namespace: String,
    table: String,
}

impl PlanRelation {
    fn is_system(&self) -> bool {
        self.namespace == SYSTEM || self.namespace == INFORMATION_SCHEMA
    }

    fn full_name(&self) -> String {
        format!("{}.{}", self.namespace, self.table)
    }
}

impl PlanContext {
    pub(crate) fn new(state: SessionState, engine: Arc<EngineShared>, catalog: Arc<StoreCatalog>, binding: Binding) -> PlanContext {
        PlanContext { state, engine, catalog, binding, bound: Mutex::default() }
    }

    /// Functions, rules and settings of the session.
    pub fn state(&self) -> &SessionState {
        &self.state
    }

    /// The table or view that a plan names by one to three parts, at the version and with the segments that the plan is bound to. The
    /// case of a name does not matter if only one table matches. `None` if the user may see no such table.
    ///
    /// # Errors
    ///
    /// The name may mean several tables; the version is not kept, or is older than the table; a segment is not in the table; the user may
    /// see a view but not read it; a view is broken.
    pub async fn table(&self, names: &[String]) -> Result<Option<(TableReference, Arc<dyn TableProvider>)>, EngineError> {
        let Some((relation, clause)) = self.find(names)? else { return Ok(None) };
        let provider = match &clause {
            None => relation.schema.table(&relation.table).await,
            Some(clause) => relation.schema.table(&versioned_name(&relation.table, clause)).await,
        };
        let Some(provider) = provider.map_err(|error| explain_error("", &self.state, &self.catalog, error))? else {
            return match clause {
                Some(_) if relation.is_system() => Err(EngineError::unsupported(
                    format!("a version of the system table \"{}\"", relation.full_name()),
                    Some("it shows the state of the store as it is now; bind the plan to no version"),
                )),
                _ => Ok(None),
            };
        };
        let provider = self.of_segments(&relation, provider)?;
        Ok(Some((TableReference::partial(relation.namespace, relation.table), provider)))
    }

    /// The function of a user that a plan names by its name and hash. `sent` is the statement that creates it, with its module, if the plan has them; they
    /// are kept for later plans of the user.
    ///
    /// # Errors
    ///
    /// The user may not send such a function, or its code cannot be used.
    pub async fn function(
        &self,
        name: &str,
        hash: &str,
        sent: Option<(String, Option<Buffer>)>,
    ) -> Result<Option<PlanFunction>, EngineError> {
        catalog::plan_function(&self.catalog, &self.state, name, hash, sent).await
    }

    /// Restricts a table that was found here to these columns, in its own order, if it has so many that planning with all of them takes
    /// longer than reading some.
    pub fn narrowed(&self, table: Arc<dyn TableProvider>, columns: &BTreeSet<usize>) -> Arc<dyn TableProvider> {
        catalog::prune_table(table, columns)
    }

    /// A query as an analysed and optimised logical plan, with all columns of its tables.
    pub async fn optimised(&self, sql: &str) -> Result<LogicalPlan, EngineError> {
        let parsed = sql::parse(&self.state, sql)?;
        self.catalog.check(|authorization| check_statement_kind(authorization, &parsed))?;
        let Parsed::Statement(statement) = parsed else { return Err(no_query()) };
        let mut statement = sql::rewrite_show(&self.state, *statement)?;
        let lowers_names = self.state.config_options().sql_parser.enable_ident_normalization;
        qualify_temporary_names(&self.catalog.temporary(), &mut statement, lowers_names)?;
        match &statement {
            Statement::Statement(inner) if matches!(inner.as_ref(), ast::Statement::Query(_)) => {}
            _ => return Err(no_query()),
        }
        if !planning::is_long(sql) && !planning::stands_for_many(&statement, &self.catalog.snapshot()) {
            return optimised(&self.state, &self.catalog, sql, statement).await;
        }
        let (state, catalog, text) = (self.state.clone(), Arc::clone(&self.catalog), sql.to_string());
        let optimisation = async move { optimised(&state, &catalog, &text, statement).await };
        self.engine.on_planner_thread(self.catalog.user(), optimisation.boxed()).await
    }

    /// Checks that the plan has looked up every name in the binding: otherwise a table would be read whole that should be read in part.
    pub(crate) fn check_bound(&self) -> Result<(), EngineError> {
        let bound = self.bound.lock();
        match self.binding.segments.keys().find(|name| !bound.contains(*name)) {
            None => Ok(()),
            Some(name) => Err(EngineError::Sql {
                message: format!("segments of \"{name}\" are named beside the plan, which does not read it"),
                position: None,
                hint: Some("tables are named schema.table there, in the letters that they have in system.segments".into()),
            }),
        }
    }

    /// Resolves a name, and its version clause if it has one: a version in the name takes precedence over that of the binding.
    fn find(&self, names: &[String]) -> Result<Option<(PlanRelation, Option<String>)>, EngineError> {
        let (catalog, schema, table) = match names {
            [table] => (None, None, table),
            [schema, table] => (None, Some(schema), table),
            [catalog, schema, table] => (Some(catalog), Some(schema), table),
            _ => return Ok(None),
        };
        if catalog.is_some_and(|catalog| !catalog.eq_ignore_ascii_case(CATALOG)) {
            return Ok(None);
        }
        let (table, clause) = match split_name(table) {
            Some((table, clause)) => (table, Some(clause.to_string())),
            None => (table.as_str(), self.binding.version.map(|version| format!("VERSION AS OF {version}"))),
        };
        let schema = match schema {
            Some(schema) => schema,
            None if self.catalog.temporary().get(table).is_some() => TEMP,
            None => &self.state.config_options().catalog.default_schema,
        };
        Ok(self.named(schema, table)?.map(|relation| (relation, clause)))
    }

    fn named(&self, schema: &str, table: &str) -> Result<Option<PlanRelation>, EngineError> {
        let store = CatalogHandle(Arc::clone(&self.catalog));
        let mut namespaces = store.schema_names();
        // It is not in the list of schemas.
        namespaces.push(INFORMATION_SCHEMA.to_string());
        namespaces.retain(|name| name.eq_ignore_ascii_case(schema));
        let mut relations = Vec::new();
        for namespace in namespaces {
            let Some(provider) = store.schema(&namespace) else { continue };
            if namespace == schema && provider.table_exist(table) {
                return Ok(Some(PlanRelation { schema: provider, namespace, table: table.to_string() }));
            }
            let alike = provider.table_names().into_iter().filter(|name| name.eq_ignore_ascii_case(table));
            relations.extend(alike.map(|table| PlanRelation { schema: Arc::clone(&provider), namespace: namespace.clone(), table }));
        }
        prefer(&mut relations, |relation| relation.namespace == schema);
        prefer(&mut relations, |relation| relation.table == table);
        match relations.as_slice() {
            [] | [_] => Ok(relations.pop()),
            several => Err(EngineError::Sql {
                message: format!(
                    "the plan's table \"{schema}.{table}\" may be any of {}",
                    several.iter().map(PlanRelation::full_name).collect::<Vec<_>>().join(", ")
                ),
                position: None,
                hint: Some("name it in the letters that it has".into()),
            }),
        }
    }

    fn of_segments(&self, relation: &PlanRelation, provider: Arc<dyn TableProvider>) -> Result<Arc<dyn TableProvider>, EngineError> {
        if self.binding.segments.is_empty() {
            return Ok(provider);
        }
        let name = relation.full_name();
        let stored = provider.downcast_ref::<StoreTable>();
        match (self.binding.segments.get(&name), stored) {
            (Some(ids), Some(table)) => {
                let part = table.of_segments(ids)?;
                self.bound.lock().insert(name);
                Ok(Arc::new(part))
            }
            (Some(_), None) => {
                Err(EngineError::unsupported(format!("a choice of segments of \"{name}\", which is not a stored table,"), None))
            }
            // Its text is planned separately, and would read tables whole that should be read in part.
            (None, None) if provider.table_type() == TableType::View && !relation.is_system() => {
                let hint = Some("name the tables of the view in the plan instead");
                Err(EngineError::unsupported(format!("the view \"{name}\" in a plan for some segments"), hint))
            }
            (None, _) => Ok(provider),
        }
    }
}

impl fmt::Debug for PlanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanContext").field("binding", &self.binding).finish_non_exhaustive()
    }
}

/// Keeps only those for which `is_so` is true, if there are any.
fn prefer(relations: &mut Vec<PlanRelation>, is_so: impl Fn(&PlanRelation) -> bool) {
    if relations.iter().any(&is_so) {
        relations.retain(is_so);
    }
}

fn no_query() -> EngineError {
    EngineError::unsupported("a plan of a statement that is no query", Some("plans are made of queries: SELECT, WITH, VALUES, TABLE"))
}

async fn optimised(state: &SessionState, catalog: &StoreCatalog, sql: &str, statement: Statement) -> Result<LogicalPlan, EngineError> {
    let failed = |error| explain_error(sql, state, catalog, error);
    let mut with_all_columns = state.clone();
    with_all_columns.register_catalog_list(catalog.with_all_columns().catalog_list());
    let plan = Box::pin(plan_statement(&with_all_columns, Vec::new(), statement)).await.map_err(failed)?;
    check_reads(&plan)?;
    state.optimize(&plan).map_err(failed)
}
