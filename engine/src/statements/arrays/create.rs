//! CREATE ARRAY.

use arrays::definition::{ArrayDefinition, CELLS, NewDimension};
use arrow::datatypes::{DataType, Field};
use datafusion::sql::sqlparser::ast;
use pmem_store::objects::{ObjectKind, ObjectRecord};
use pmem_store::{ARRAY_OPTION, ColumnOrder, NewTable, StoreError};

use crate::execution::StatementContext;
use crate::statements::create_table::column_field;
use crate::statements::ddl::commit;
use crate::statements::draft::Draft;
use crate::statements::objects::values_of;
use crate::statements::table_options::new_options;
use common::clock::now_ms;
use common::error::EngineError;
use common::privilege::Privilege;
use sql::arrays::NewArray;
use table::catalog::resolve;
use table::constraints::{Declared, DeclaredRule, default_value};

pub async fn create(ctx: &StatementContext, new: NewArray) -> Result<(), EngineError> {
    let (namespace, name) = resolve(&new.name)?;
    let snapshot = ctx.catalog.snapshot();
    if !snapshot.has_namespace(&namespace) {
        return Err(StoreError::DoesNotExist { kind: "schema", name: namespace }.into());
    }
    let older = snapshot.table_record(&namespace, &name);
    ctx.catalog.check(|authorization| match older {
        Some(older) if new.or_replace => authorization.table(Privilege::Ownership, older),
        _ => authorization.schema(Privilege::Create, &namespace),
    })?;
    let kind = match older {
        Some(older) if older.is_array() => Some(ObjectKind::Array.word()),
        Some(_) => Some(ObjectKind::Table.word()),
        None => snapshot.view(&namespace, &name)?.map(|_| ObjectKind::View.word()),
    };
    match kind {
        Some(_) if new.if_not_exists => return Ok(()),
        Some("array") if new.or_replace => {}
        Some(kind) => return Err(StoreError::is_taken(kind, &namespace, &name).into()),
        None => {}
    }
    let definition = definition(ctx, &new).await?;
    let schema = definition.chunk_schema()?;
    let mut draft = Draft::new(&name, &schema);
    let numbers: Vec<String> = definition.dimensions.iter().map(|dimension| dimension.name.clone()).collect();
    // Two transactions that write the same new chunk conflict by its key.
    draft.declare(ctx, Declared { name: None, rule: DeclaredRule::PrimaryKey(numbers.clone()) })?;
    let cluster_key = numbers.into_iter().map(|column| ColumnOrder { column, descending: false, nulls_first: false }).collect();
    let (columns, constraints) = (draft.infos(), draft.constraint_texts()?);
    let mut options = new_options(&ctx.engine.store, new.options)?;
    options.insert(ARRAY_OPTION.to_string(), definition.stored()?);
    let id = ctx.engine.store.new_table_id();
    let tags = ObjectRecord { attributes: values_of(ctx, &new.tags)?, ..ObjectRecord::new(id, ObjectKind::Array, now_ms()) };
    let replaced = older.map(|older| older.id);
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "CREATE ARRAY", |transaction| {
        let new = NewTable { namespace: &namespace, name: &name, schema: &schema, columns, cluster_key, constraints, options };
        transaction.create_table(id, new, replaced.is_some())?;
        if let Some(replaced) = replaced {
            transaction.remove_objects(&[replaced])?;
        }
        match tags.attributes.is_empty() {
            true => Ok(()),
            false => transaction.put_objects(vec![tags]),
        }
    })
}

async fn definition(ctx: &StatementContext, new: &NewArray) -> Result<ArrayDefinition, EngineError> {
    let element = column_field(ctx, ast::Ident::new(CELLS), new.element.clone()).await?.data_type().clone();
    let fill = match &new.fill {
        Some(sql) => Some(fill(ctx, sql, &element)?),
        None => None,
    };
    let dimensions = new.dimensions.iter().map(|dimension| NewDimension {
        name: dimension.name.clone(),
        length: dimension.length,
        unit: dimension.unit.clone(),
    });
    ArrayDefinition::new(dimensions.collect(), element, new.chunk.as_deref(), fill)
}

fn fill(ctx: &StatementContext, sql: &str, element: &DataType) -> Result<datafusion::common::ScalarValue, EngineError> {
    let (value, is_constant) =
        default_value(&ctx.engine.rules, sql, &Field::new("fill", element.clone(), true)).map_err(|error| ctx.located(error))?;
    match is_constant {
        true => Ok(value),
        false => Err(EngineError::unsupported(format!("FILL {sql}, which is another value each time"), Some("write a constant"))),
    }
}
