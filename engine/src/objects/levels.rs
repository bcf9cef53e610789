//! `finest_region('group', [0:64, :])`: the arrays of a group as levels of one, by their tag `level`.

use std::sync::Arc;

use arrays::definition::refused;
use arrays::functions::slices_of;
use arrays::levels::LevelsTable;
use arrays::table::ArrayTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use kernels::table_argument::{TablesOf, named_table, text_argument};
use pmem_store::attributes::{AttributeValue, Attributes};
use pmem_store::objects::{ObjectCatalog, ObjectKind};

use common::error::{EngineError, store_error};
use common::type_names::qualified;
use table::catalog::{StoreCatalog, resolve};

const FUNCTION: &str = "finest_region";
/// The tag of an array with the number of its level, 0 for the coarsest.
const LEVEL: &str = "level";
/// The tag of the group: cells of a level along the side of a cell of the level before it.
const REFINEMENT: &str = "refinement";
const REFINEMENT_DEFAULT: i64 = 2;

pub fn register(context: &SessionContext, tables: TablesOf) {
    context.register_udtf(FUNCTION, Arc::new(FinestRegion(tables)));
}

#[derive(Debug)]
struct FinestRegion(TablesOf);

impl TableFunctionImpl for FinestRegion {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        if args.exprs().len() > 2 {
            let message = format!("{FUNCTION} takes 2 arguments, and was given {}", args.exprs().len());
            return Err(refused(message, "write finest_region('group', [0:64, :])").into());
        }
        let (namespace, name) = resolve(&TableReference::parse_str(text_argument(&args, FUNCTION, 0)?))?;
        let state = args.session().as_any().downcast_ref::<SessionState>();
        let (Some(state), Some(catalog)) = (state, StoreCatalog::of(args.session())) else {
            return Err(EngineError::internal(format!("{FUNCTION} is called outside a session")).into());
        };
        let snapshot = catalog.snapshot();
        let objects = ObjectCatalog::of(&snapshot).map_err(store_error)?;
        let group = objects.named(ObjectKind::Group, &namespace, &name).map_err(store_error)?;
        let members = objects.objects().members(group.id).and_then(|ids| objects.get_all(&ids)).map_err(store_error)?;
        let mut arrays = Vec::new();
        for member in members.into_iter().filter(|member| member.kind == ObjectKind::Array) {
            let Some(level) = whole(&member.attributes, LEVEL) else { continue };
            let level = i8::try_from(level).ok().filter(|level| *level >= 0);
            let Some(level) = level else {
                return Err(refused(format!("the tag \"level\" of array {} is no level", member.name), "levels are numbered from 0").into());
            };
            let reference = TableReference::partial(member.namespace.as_str(), member.name.as_str());
            let table = named_table(state, self.0, reference, FUNCTION)?;
            arrays.extend(table.and_then(|table| table.downcast_ref::<ArrayTable>().cloned()).map(|array| (level, array)));
        }
        let refinement = whole(&group.attributes, REFINEMENT).unwrap_or(REFINEMENT_DEFAULT);
        let Some(refinement) = u64::try_from(refinement).ok().filter(|refinement| *refinement > 0) else {
            return Err(refused(format!("the tag \"refinement\" of group {name} is {refinement}"), "it is a number of at least 1").into());
        };
        let slices = slices_of(FUNCTION, args.exprs().get(1))?;
        Ok(Arc::new(LevelsTable::new(&qualified(&namespace, &name), arrays, refinement, &slices)?))
    }
}

fn whole(tags: &Attributes, name: &str) -> Option<i64> {
    match tags.get(name)? {
        AttributeValue::Integer(value) => Some(value),
        _ => None,
    }
}
