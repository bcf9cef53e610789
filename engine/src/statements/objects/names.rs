//! From a name in a statement to an object, and to the right to change it.

use datafusion::common::TableReference;
use pmem_store::objects::{ObjectCatalog, ObjectKind, ObjectRecord};
use pmem_store::{GrantObject, StoreError, said_name};

use crate::execution::StatementContext;
use crate::statements::ddl::commit;
use common::clock::now_ms;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::qualified;
use sql::objects::ObjectName;
use table::catalog::resolve;
use table::definition::EXTERNAL;

/// The object. An external table is stored as a view, and users call it a table. `statement` is what the statement says before the kind of the
/// object, for the hint at another kind.
pub fn object(
    ctx: &StatementContext,
    catalog: &ObjectCatalog<'_>,
    name: &ObjectName,
    statement: &str,
) -> Result<ObjectRecord, EngineError> {
    if name.kind.is_in_catalog() {
        ctx.catalog.check_stored(&name.name, "a tag, comment or group of")?;
    }
    let (namespace, object_name) = resolve(&name.name)?;
    let found = catalog.named(name.kind, &namespace, &object_name);
    let Err(missing @ StoreError::DoesNotExist { .. }) = found else { return Ok(found?) };
    let snapshot = ctx.catalog.snapshot();
    let view = snapshot.view(&namespace, &object_name)?;
    if name.kind == ObjectKind::Table && view.as_ref().is_some_and(|view| view.kind == EXTERNAL) {
        return Ok(catalog.named(ObjectKind::View, &namespace, &object_name)?);
    }
    for kind in ObjectKind::ALL {
        if catalog.named(kind, &namespace, &object_name).is_ok() {
            let (is, kind) = (kind.word(), name.kind.word());
            let message = format!("\"{}\" is {}, not {}", said_name(&namespace, &object_name), with_article(is), with_article(kind));
            let hint = format!("write {statement} {} {}", is.to_uppercase(), qualified(&namespace, &object_name));
            return Err(EngineError::Sql { message, position: None, hint: Some(hint) });
        }
    }
    Err(missing.into())
}

fn with_article(word: &str) -> String {
    format!("{} {word}", if word.starts_with('a') { "an" } else { "a" })
}

/// An error unless the user may make an object in this schema.
fn check_new(ctx: &StatementContext, namespace: &str) -> Result<(), EngineError> {
    if !ctx.catalog.snapshot().has_namespace(namespace) {
        return Err(StoreError::DoesNotExist { kind: "schema", name: namespace.to_string() }.into());
    }
    ctx.catalog.check(|authorization| authorization.schema(Privilege::Create, namespace))
}

/// A group or blob that is not in the store yet.
pub fn new_object(ctx: &StatementContext, kind: ObjectKind, namespace: String, name: String) -> Result<ObjectRecord, EngineError> {
    check_new(ctx, &namespace)?;
    let id = ctx.engine.store.new_table_id();
    let owner = ctx.catalog.user().map(str::to_string);
    Ok(ObjectRecord { namespace, name, owner, ..ObjectRecord::new(id, kind, now_ms()) })
}

/// The object with another name, which must be free.
pub fn renamed(
    ctx: &StatementContext,
    catalog: &ObjectCatalog<'_>,
    object: ObjectRecord,
    to: &TableReference,
) -> Result<ObjectRecord, EngineError> {
    // As for a table, a name without a schema stays in the schema.
    let (namespace, name) = match to {
        TableReference::Bare { table } => (object.namespace.clone(), table.to_string()),
        _ => resolve(to)?,
    };
    if namespace != object.namespace {
        check_new(ctx, &namespace)?;
    }
    let renamed = ObjectRecord { namespace, name, ..object };
    catalog.objects().require_free_name(&renamed)?;
    Ok(renamed)
}

pub fn group(catalog: &ObjectCatalog<'_>, name: &TableReference) -> Result<ObjectRecord, EngineError> {
    let (namespace, name) = resolve(name)?;
    Ok(catalog.named(ObjectKind::Group, &namespace, &name)?)
}

/// An error unless the user owns the object.
pub fn check_owner(ctx: &StatementContext, object: &ObjectRecord) -> Result<(), EngineError> {
    let snapshot = ctx.catalog.snapshot();
    ctx.catalog.check(|authorization| {
        let (namespace, name) = (object.namespace.as_str(), object.name.as_str());
        let noted = match object.kind {
            ObjectKind::Table | ObjectKind::Array => {
                authorization.known_table(Privilege::Ownership, object.id, namespace, name)?;
                GrantObject::Table(object.id)
            }
            ObjectKind::View => {
                let view = snapshot.view(namespace, name)?.ok_or_else(|| StoreError::no_table(namespace, name))?;
                authorization.view(Privilege::Ownership, &view)?;
                GrantObject::View(namespace.to_string(), name.to_string())
            }
            ObjectKind::Group | ObjectKind::Blob | ObjectKind::Function => {
                authorization.owned_object(object.kind.word(), &qualified(namespace, name), object.ownership())?;
                if authorization.made(object.ownership()) {
                    return Ok(());
                }
                match object.kind {
                    ObjectKind::Group => GrantObject::Group(object.id),
                    ObjectKind::Function => GrantObject::Function(object.id),
                    _ => GrantObject::Blob(object.id),
                }
            }
        };
        authorization.note_object_change(noted, namespace, name);
        Ok(())
    })
}

/// An error if it was set read-only, by whomever.
pub fn check_changeable(object: &ObjectRecord) -> Result<(), EngineError> {
    if !object.is_read_only {
        return Ok(());
    }
    let (kind, name) = (object.kind.word(), qualified(&object.namespace, &object.name));
    let message = format!("{kind} {name} is read-only");
    let hint = format!("ALTER {} {name} SET (read_only = false) allows changes again", kind.to_uppercase());
    Err(EngineError::Store(StoreError::Refused(format!("{message}; {hint}"))))
}

/// Writes the changed records. The user must own all of them.
pub fn put(ctx: &StatementContext, operation: &str, mut records: Vec<ObjectRecord>) -> Result<(), EngineError> {
    ctx.catalog.write_scope().check_writable()?;
    for record in &mut records {
        check_owner(ctx, record)?;
        record.changed_at_ms = now_ms();
    }
    commit(ctx, operation, |transaction| transaction.put_objects(records))
}
