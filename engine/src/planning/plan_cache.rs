//! Optimised plans of statements that come again, as those of a dashboard do.
//!
//! A statement's plan is looked up before it is optimised, and is equal only if its text means the same: columns, types, conditions, constants.
//! What rules see beside it is the settings of the session and the user. Data are no part of it: the tables of a cached plan are replaced by
//! those of the statement, with their version and the rights to read them, and operators are planned from these anew.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::engine_settings::switches;
use common::user_functions::{UserAggregate, UserScalar};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, TableReference};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::logical_plan::TableScan;
use datafusion::logical_expr::logical_plan::builder::LogicalTableSource;
use datafusion::logical_expr::{Expr, LogicalPlan, TableSource, Volatility, WindowFunctionDefinition};
use parking_lot::Mutex;
use semantics::functions::InlineFunction;
use table::catalog::StoreTable;

/// Beyond it the plan that was not used for the longest time goes.
const PLANS_MAX: usize = 256;
/// A text that meant something else so often has parameters, and its plans are not kept.
const MISSES_MAX: u32 = 3;
/// A longer text has large plans, and is hardly that of a dashboard.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// The texts of which one is remembered to have been seen once.
const TEXTS_MAX: usize = 8_192;

#[derive(Debug, Default)]
pub struct PlanCache {
    state: Mutex<State>,
    hits: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    /// A plan is kept when its text comes for the second time: most statements do not.
    seen: HashSet<u64>,
    plans: HashMap<u64, CachedPlan>,
    uses: u64,
}

#[derive(Debug, Clone)]
struct CachedPlan {
    plan: Arc<LogicalPlan>,
    optimized: Arc<LogicalPlan>,
    /// Held, so that no other settings have their address.
    options: Arc<ConfigOptions>,
    /// How often the text came with another plan.
    misses: u32,
    last_use: u64,
}

/// Where a statement comes from.
pub struct StatementOrigin<'a> {
    pub sql: &'a str,
    pub user: Option<&'a str>,
    /// The settings of the session: the same ones until it changes one.
    pub options: &'a Arc<ConfigOptions>,
}

impl StatementOrigin<'_> {
    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.sql, self.user, Arc::as_ptr(self.options)).hash(&mut hasher);
        hasher.finish()
    }
}

impl PlanCache {
    /// The plan after its rules: from the cache, or by `optimize`.
    pub fn optimized(
        &self,
        origin: &StatementOrigin<'_>,
        plan: &LogicalPlan,
        optimize: impl FnOnce() -> Result<LogicalPlan>,
    ) -> Result<LogicalPlan> {
        if !switches(origin.options).plan_cache || origin.sql.len() > TEXT_BYTES_MAX {
            return optimize();
        }
        let hash = origin.hash();
        let cached = {
            let mut state = self.state.lock();
            if !state.has_come_again(hash) {
                drop(state);
                return optimize();
            }
            state.get(hash, origin)
        };
        let misses = cached.as_ref().map_or(0, |cached| cached.misses);
        if misses >= MISSES_MAX {
            return optimize();
        }
        let Some(sources) = sources(plan)? else { return optimize() };
        if let Some(cached) = &cached
            && *cached.plan == *plan
            && let Some(optimized) = with_sources(&cached.optimized, |scan| sources.get(&scan.table_name).cloned())?
        {
            self.hits.fetch_add(1, Ordering::Relaxed);
            return Ok(optimized);
        }
        let optimized = optimize()?;
        self.insert(hash, origin, plan, &optimized, misses + u32::from(cached.is_some()))?;
        Ok(optimized)
    }

    /// How many plans came from the cache.
    #[cfg(test)]
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::Relaxed)
    }

    fn insert(&self, hash: u64, origin: &StatementOrigin<'_>, plan: &LogicalPlan, optimized: &LogicalPlan, misses: u32) -> Result<()> {
        // Rules may add nodes that hold tables of their own, and functions that belong to one statement.
        if sources(optimized)?.is_none() {
            return Ok(());
        }
        let no_table = |scan: &TableScan| Some(Arc::new(LogicalTableSource::new(scan.source.schema())) as Arc<dyn TableSource>);
        let (Some(plan), Some(optimized)) = (with_sources(plan, no_table)?, with_sources(optimized, no_table)?) else { return Ok(()) };
        let mut state = self.state.lock();
        let (options, last_use) = (Arc::clone(origin.options), state.uses);
        let plan = CachedPlan { plan: Arc::new(plan), optimized: Arc::new(optimized), options, misses, last_use };
        let mut dropped = vec![state.plans.insert(hash, plan)];
        if state.plans.len() > PLANS_MAX {
            let oldest = state.plans.iter().min_by_key(|(_, plan)| plan.last_use).map(|(hash, _)| *hash);
            dropped.extend(oldest.map(|oldest| state.plans.remove(&oldest)));
        }
        // A large plan takes a while to drop, and all statements wait for the lock.
        drop(state);
        drop(dropped);
        Ok(())
    }
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

    fn get(&mut self, hash: u64, origin: &StatementOrigin<'_>) -> Option<CachedPlan> {
        self.uses += 1;
        let uses = self.uses;
        let plan = self.plans.get_mut(&hash).filter(|plan| Arc::ptr_eq(&plan.options, origin.options))?;
        plan.last_use = uses;
        Some(plan.clone())
    }
}

/// The tables of a plan that depends on nothing but these, the settings and the user. `None` for other plans.
fn sources(plan: &LogicalPlan) -> Result<Option<HashMap<TableReference, Arc<dyn TableSource>>>> {
    let mut sources: HashMap<TableReference, Arc<dyn TableSource>> = HashMap::new();
    let mut depends = false;
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::TableScan(scan) => {
                let provider = source_as_provider(&scan.source)?;
                let first = sources.entry(scan.table_name.clone()).or_insert_with(|| Arc::clone(&scan.source));
                // One name may stand for two versions of a table.
                depends |= provider.downcast_ref::<StoreTable>().is_none() || !Arc::ptr_eq(&source_as_provider(first)?, &provider);
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
    Ok((!depends).then_some(sources))
}

/// Whether the expression may mean something else the next time: the time, a parameter, a function that was replaced.
fn is_dependent(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => {
            let inner = call.func.inner();
            let of_user = inner.downcast_ref::<UserScalar>().is_some() || inner.downcast_ref::<InlineFunction>().is_some();
            of_user || call.func.signature().volatility != Volatility::Immutable
        }
        Expr::AggregateFunction(call) => call.func.inner().downcast_ref::<UserAggregate>().is_some(),
        // An aggregate over a window watches whether its statement is cancelled.
        Expr::WindowFunction(call) => matches!(call.fun, WindowFunctionDefinition::AggregateUDF(_)),
        Expr::Placeholder(_) | Expr::ScalarVariable(..) => true,
        _ => false,
    }
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
