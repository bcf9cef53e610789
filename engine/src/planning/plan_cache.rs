//! Plans of statements that come again, as those of a dashboard do. As much of a plan is used as is still true:
//!
//! - **The text means the same**, because the store has the same version, and the session has no transaction and no temporary tables: the text is
//!   neither parsed nor resolved ([`PlanCache::repeated`]).
//! - **The plan is the same**: columns, types, conditions, constants. It is not optimised again. What rules see beside it is the settings of the
//!   session and the user. Tables of a kept plan are replaced by those of the statement, with their version and the rights to read them.
//! - **The tables have the same rows**: operators are copied ([`OperatorTemplate`]), and otherwise planned anew.
//!
//! A kept plan holds no table and no version of one. The number and the texts of kept plans are bounded; their memory is not counted.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::engine_settings::switches;
use common::user_functions::{UserAggregate, UserScalar};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, TableReference, internal_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::logical_plan::TableScan;
use datafusion::logical_expr::logical_plan::builder::LogicalTableSource;
use datafusion::logical_expr::{AggregateUDF, Expr, LogicalPlan, ScalarUDF, TableSource, Volatility, WindowFunctionDefinition};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::ExecutionPlan;
use parking_lot::Mutex;
use semantics::cancel::{CancellableWindows, unwatched};
use semantics::functions::{InlineFunction, is_bounded, is_operator_chain};
use table::catalog::StoreTable;

use super::operator_template::{OperatorTemplate, Tables, operators_without_filters, stored, with_filters};

/// Beyond it the plan that was not used for the longest time goes.
const PLANS_MAX: usize = 256;
/// A text that meant something else so often has parameters, and its plans are not kept.
const MISSES_MAX: u32 = 3;
/// After so many templates of which none was copied, no more are made of a plan: its tables have other rows each time.
const TEMPLATES_MAX: u32 = 8;
/// A longer text has large plans, and is hardly that of a dashboard.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// The texts of which one is remembered to have been seen once.
const TEXTS_MAX: usize = 8_192;

#[derive(Debug, Default)]
pub struct PlanCache {
    state: Mutex<State>,
    hits: AtomicU64,
    repeats: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// A plan is kept when its text comes for the second time: most statements do not.
    seen: HashSet<u64>,
    plans: HashMap<u64, Arc<CachedPlan>>,
    uses: u64,
}

#[derive(Debug)]
pub struct CachedPlan {
    /// Without its tables, as the others.
    pub plan: LogicalPlan,
    optimized: LogicalPlan,
    /// Whether it calls functions that reserve memory of their statement.
    reserves_memory: bool,
    operators: Mutex<Operators>,
    pub tables: Vec<TableReference>,
    /// The last version of the store at which the text alone meant this plan.
    version: Mutex<Option<u64>>,
    /// Held, so that no other settings have their address.
    options: Arc<ConfigOptions>,
    /// How often the text came with another plan.
    misses: u32,
    last_use: AtomicU64,
}

#[derive(Debug, Clone, Default)]
struct Operators {
    template: Option<Arc<OperatorTemplate>>,
    /// The templates that were made since the last one that was copied.
    in_vain: u32,
    /// How often a template was copied.
    copies: u64,
}

/// Where a statement comes from.
pub struct StatementOrigin<'a> {
    pub sql: &'a str,
    pub user: Option<&'a str>,
    /// The settings of the session: the same ones until it changes one.
    pub options: &'a Arc<ConfigOptions>,
    /// The version of the store, if it says with the others what the text means; `None` if that depends on more.
    pub version: Option<u64>,
}

impl StatementOrigin<'_> {
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.sql, self.user, Arc::as_ptr(self.options)).hash(&mut hasher);
        hasher.finish()
    }

    /// `None` also for a statement that reads an older version of a table, whose name in the plan is not all that says which one.
    fn version_over(&self, tables: &Tables) -> Option<u64> {
        self.version.filter(|_| stored(tables).all(|(_, table)| !table.is_older()))
    }
}

enum Lookup {
    Cached(Arc<CachedPlan>, Tables),
    /// A plan that cannot be kept.
    Optimized(LogicalPlan),
    Uncached,
}

impl PlanCache {
    /// The operators of a statement, with as little planning as they need.
    pub async fn operators(
        &self,
        origin: &StatementOrigin<'_>,
        plan: &LogicalPlan,
        state: &SessionState,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let optimized = match self.lookup(origin, plan, state)? {
            Lookup::Cached(cached, tables) => return cached.operators(&tables, state).await,
            Lookup::Optimized(optimized) => optimized,
            Lookup::Uncached => state.optimize(plan)?,
        };
        state.query_planner().create_physical_plan(&optimized, state).await
    }

    fn lookup(&self, origin: &StatementOrigin<'_>, plan: &LogicalPlan, state: &SessionState) -> Result<Lookup> {
        if !is_cacheable(origin) {
            return Ok(Lookup::Uncached);
        }
        let hash = origin.hash();
        let cached = {
            let mut state = self.state.lock();
            if !state.has_come_again(hash) {
                return Ok(Lookup::Uncached);
            }
            state.get(hash, origin)
        };
        let misses = cached.as_ref().map_or(0, |cached| cached.misses);
        if misses >= MISSES_MAX {
            return Ok(Lookup::Uncached);
        }
        let Some(tables) = tables_of(plan)? else { return Ok(Lookup::Uncached) };
        let is_miss = cached.is_some();
        if let Some(cached) = cached.filter(|cached| cached.plan == *plan) {
            self.hits.fetch_add(1, Ordering::Relaxed);
            // Another session may have a transaction.
            if let Some(version) = origin.version_over(&tables) {
                *cached.version.lock() = Some(version);
            }
            return Ok(Lookup::Cached(cached, tables));
        }
        let optimized = state.optimize(plan)?;
        Ok(match self.insert(hash, origin, plan, &optimized, &tables, misses + u32::from(is_miss))? {
            Some(cached) => Lookup::Cached(cached, tables),
            None => Lookup::Optimized(optimized),
        })
    }

    /// The plan of a text that has to be neither parsed nor resolved, since it meant this plan at the same version of the store.
    pub fn repeated(&self, origin: &StatementOrigin<'_>) -> Option<Arc<CachedPlan>> {
        let version = origin.version.filter(|_| is_cacheable(origin))?;
        let cached = self.state.lock().get(origin.hash(), origin)?;
        let is_same = *cached.version.lock() == Some(version);
        (is_same && cached.misses < MISSES_MAX).then_some(cached)
    }

    /// Counts a statement whose text was not parsed.
    pub fn count_repeated(&self) {
        self.hits.fetch_add(1, Ordering::Relaxed);
        self.repeats.fetch_add(1, Ordering::Relaxed);
    }

    /// How many plans came from the cache, of how many of them the text was not parsed, and how many have copied operators.
    #[cfg(test)]
    pub fn counts(&self) -> (u64, u64, u64) {
        let copies = self.state.lock().plans.values().map(|plan| plan.operators.lock().copies).sum();
        (self.hits.load(Ordering::Relaxed), self.repeats.load(Ordering::Relaxed), copies)
    }

    fn insert(
        &self,
        hash: u64,
        origin: &StatementOrigin<'_>,
        plan: &LogicalPlan,
        optimized: &LogicalPlan,
        tables: &Tables,
        misses: u32,
    ) -> Result<Option<Arc<CachedPlan>>> {
        // Rules may add nodes that hold tables of their own, and functions that belong to one statement.
        if tables_of(optimized)?.is_none() {
            return Ok(None);
        }
        let no_table = |scan: &TableScan| Some(Arc::new(LogicalTableSource::new(scan.source.schema())) as Arc<dyn TableSource>);
        let (Some(plan), Some(optimized)) = (with_sources(plan, no_table)?, with_sources(optimized, no_table)?) else { return Ok(None) };
        let version = origin.version_over(tables);
        // A chain of operators belongs to its statement.
        let in_vain = if calls(&optimized, is_operator_chain)? { TEMPLATES_MAX } else { 0 };
        let reserves_memory = calls(&optimized, is_bounded)?;
        let cached = Arc::new(CachedPlan {
            plan,
            optimized,
            reserves_memory,
            operators: Mutex::new(Operators { in_vain, ..Operators::default() }),
            tables: tables.keys().cloned().collect(),
            version: Mutex::new(version),
            options: Arc::clone(origin.options),
            misses,
            last_use: AtomicU64::default(),
        });
        let mut state = self.state.lock();
        cached.last_use.store(state.uses, Ordering::Relaxed);
        let mut dropped = vec![state.plans.insert(hash, Arc::clone(&cached))];
        if state.plans.len() > PLANS_MAX {
            let oldest = state.plans.iter().min_by_key(|(_, plan)| plan.last_use.load(Ordering::Relaxed)).map(|(hash, _)| *hash);
            dropped.extend(oldest.map(|oldest| state.plans.remove(&oldest)));
        }
        // A large plan takes a while to drop, and all statements wait for the lock.
        drop(state);
        drop(dropped);
        Ok(Some(cached))
    }
}

fn is_cacheable(origin: &StatementOrigin<'_>) -> bool {
    switches(origin.options).plan_cache && origin.sql.len() <= TEXT_BYTES_MAX
}

impl State {
    fn has_come_again(&mut self, hash: u64) -> bool {
        if self.plans.contains_key(&hash) || !self.seen.insert(hash) {
            return true;
        }
        if self.seen.len() > TEXTS_MAX {
            self.seen.clear();
        }
        false
    }

    fn get(&mut self, hash: u64, origin: &StatementOrigin<'_>) -> Option<Arc<CachedPlan>> {
        self.uses += 1;
        let plan = self.plans.get(&hash).filter(|plan| Arc::ptr_eq(&plan.options, origin.options))?;
        plan.last_use.store(self.uses, Ordering::Relaxed);
        Some(Arc::clone(plan))
    }
}

impl CachedPlan {
    /// The operators for a statement with these tables: copies if the tables have the same rows as before.
    pub async fn operators(&self, tables: &Tables, state: &SessionState) -> Result<Arc<dyn ExecutionPlan>> {
        let Operators { template, in_vain, .. } = self.operators.lock().clone();
        let options = state.execution_props().config_options.as_ref().unwrap_or_else(|| state.config_options());
        if let Some(template) = template
            && let Some(operators) = template.over(tables, options)?
        {
            let mut counts = self.operators.lock();
            counts.in_vain = 0;
            counts.copies += 1;
            drop(counts);
            return with_filters(operators, state);
        }
        let Some(optimized) = with_sources(&self.optimized, |scan| tables.get(&scan.table_name).cloned().map(provider_as_source))? else {
            return internal_err!("a cached plan has a table that the statement does not have");
        };
        // An aggregate over a window watches whether its own statement is cancelled.
        let optimized = CancellableWindows.analyze(optimized, state.config_options())?;
        if in_vain >= TEMPLATES_MAX {
            return state.query_planner().create_physical_plan(&optimized, state).await;
        }
        let operators = operators_without_filters(&optimized, state, &self.options).await?;
        let template = OperatorTemplate::of(&operators, tables, state.config_options())?.map(Arc::new);
        let operators = match &template {
            // What the statement computes of scalar subqueries must not stay in the template.
            Some(template) => template.over(tables, options)?,
            // Its functions have to reserve memory of the statement.
            None if self.reserves_memory => None,
            None => Some(operators),
        };
        let in_vain = if template.is_some() { in_vain + 1 } else { TEMPLATES_MAX };
        let replaced = {
            let mut kept = self.operators.lock();
            kept.in_vain = in_vain;
            std::mem::replace(&mut kept.template, template.filter(|_| in_vain < TEMPLATES_MAX))
        };
        // A large plan takes a while to drop, and other statements wait for the lock.
        drop(replaced);
        match operators {
            Some(operators) => with_filters(operators, state),
            None => state.query_planner().create_physical_plan(&optimized, state).await,
        }
    }
}

/// Whether the plan calls such a function.
fn calls(plan: &LogicalPlan, is_such: fn(&ScalarUDF) -> bool) -> Result<bool> {
    let mut has_some = false;
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            has_some |= expr.exists(|expr| Ok(matches!(expr, Expr::ScalarFunction(call) if is_such(&call.func))))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(has_some)
}

/// The tables of a plan that depends on nothing but these, the settings and the user. `None` for other plans.
fn tables_of(plan: &LogicalPlan) -> Result<Option<Tables>> {
    let mut tables = Tables::new();
    let mut depends = false;
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::TableScan(scan) => {
                let provider = source_as_provider(&scan.source)?;
                let first = tables.entry(scan.table_name.clone()).or_insert_with(|| Arc::clone(&provider));
                // One name may stand for two versions of a table.
                depends |= provider.downcast_ref::<StoreTable>().is_none() || !Arc::ptr_eq(first, &provider);
            }
            LogicalPlan::Explain(_)
            | LogicalPlan::Analyze(_)
            | LogicalPlan::Dml(_)
            | LogicalPlan::Ddl(_)
            | LogicalPlan::Copy(_)
            | LogicalPlan::Statement(_)
            | LogicalPlan::DescribeTable(_)
            | LogicalPlan::Extension(_) => depends = true,
            _ => {}
        }
        node.apply_expressions(|expr| {
            depends |= expr.exists(|expr| Ok(is_dependent(expr)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if depends { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok((!depends).then_some(tables))
}

/// Whether the expression may mean something else the next time: the time, a parameter, a function that was replaced.
fn is_dependent(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => {
            let inner = call.func.inner();
            let of_user = inner.downcast_ref::<UserScalar>().is_some() || inner.downcast_ref::<InlineFunction>().is_some();
            of_user || call.func.signature().volatility != Volatility::Immutable
        }
        Expr::AggregateFunction(call) => is_of_user(&call.func),
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => is_of_user(function),
            WindowFunctionDefinition::WindowUDF(_) => false,
        },
        Expr::Placeholder(_) | Expr::ScalarVariable(..) => true,
        _ => false,
    }
}

fn is_of_user(function: &Arc<AggregateUDF>) -> bool {
    unwatched(function).unwrap_or(function).inner().downcast_ref::<UserAggregate>().is_some()
}

/// The plan with other tables of the same columns; `None` if one has none.
fn with_sources(plan: &LogicalPlan, source: impl Fn(&TableScan) -> Option<Arc<dyn TableSource>>) -> Result<Option<LogicalPlan>> {
    let mut is_complete = true;
    let plan = plan.clone().transform_down_with_subqueries(|node| match node {
        LogicalPlan::TableScan(mut scan) => {
            match source(&scan) {
                Some(source) => scan.source = source,
                None => is_complete = false,
            }
            Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
        }
        node => Ok(Transformed::no(node)),
    });
    Ok(is_complete.then_some(plan.data()?))
}
