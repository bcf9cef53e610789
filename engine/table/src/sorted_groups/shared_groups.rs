//! The functions of groups, and groups that lie in several units of a scan.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, UInt32Array, make_comparator};
use arrow::compute::{concat, take};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use parking_lot::Mutex;

/// The aggregates of each group.
#[derive(Debug, Clone)]
pub struct Functions(pub Arc<[Arc<AggregateFunctionExpr>]>);

impl Functions {
    pub fn accumulators(&self) -> Result<Vec<Box<dyn GroupsAccumulator>>> {
        self.0.iter().map(|function| function.create_groups_accumulator()).collect()
    }
}

/// The states of some rows of a group.
#[derive(Debug)]
pub struct PartOfGroup {
    /// One value.
    pub key: ArrayRef,
    /// By function, and by state of the function; one value each.
    pub states: Vec<Vec<ArrayRef>>,
}

/// The shared groups of one run of an operator.
#[derive(Debug)]
pub struct SharedGroups {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    parts: Vec<PartOfGroup>,
    /// Partitions that have not ended.
    partitions: usize,
}

impl SharedGroups {
    pub fn new(partitions: usize) -> SharedGroups {
        SharedGroups { state: Mutex::new(State { parts: Vec::new(), partitions }) }
    }

    pub fn add(&self, part: PartOfGroup) {
        self.state.lock().parts.push(part);
    }

    /// A partition has ended. The last one gets the parts of all groups.
    pub fn end(&self) -> Result<Vec<PartOfGroup>> {
        let mut state = self.state.lock();
        let Some(partitions) = state.partitions.checked_sub(1) else { return internal_err!("more partitions have ended than there are") };
        state.partitions = partitions;
        Ok(if partitions == 0 { std::mem::take(&mut state.parts) } else { Vec::new() })
    }
}

/// The keys and the results of the groups that have these parts, of which there is at least one.
pub fn merged(parts: &[PartOfGroup], functions: &Functions) -> Result<Vec<ArrayRef>> {
    let keys = concat(&parts.iter().map(|part| part.key.as_ref()).collect::<Vec<_>>())?;
    let compare = make_comparator(&keys, &keys, Default::default())?;
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|one, other| compare(*one, *other));
    let mut firsts: Vec<u32> = Vec::new();
    let mut groups = vec![0; parts.len()];
    for part in order {
        if firsts.last().is_none_or(|first| compare(*first as usize, part).is_ne()) {
            firsts.push(part as u32);
        }
        groups[part] = firsts.len() - 1;
    }
    let mut columns = vec![take(&keys, &UInt32Array::from(firsts), None)?];
    let group_count = columns[0].len();
    for (function, mut accumulator) in functions.accumulators()?.into_iter().enumerate() {
        let state = |state: usize| Ok(concat(&parts.iter().map(|part| part.states[function][state].as_ref()).collect::<Vec<_>>())?);
        let states = (0..parts[0].states[function].len()).map(state).collect::<Result<Vec<_>>>()?;
        accumulator.merge_batch(&states, &groups, group_count)?;
        columns.push(accumulator.evaluate(EmitTo::All)?);
    }
    Ok(columns)
}
