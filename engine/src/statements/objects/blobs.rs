//! COPY BLOB, COPY BLOBS and DROP BLOB.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;
use std::path::{Path, PathBuf};

use arrow::array::{Array, AsArray, LargeBinaryArray, RecordBatch, StringArray};
use arrow::buffer::Buffer;
use arrow::datatypes::DataType;
use datafusion::common::TableReference;
use pmem_store::mapping::{Mapping, MappingError};
use pmem_store::objects::{ObjectCatalog, ObjectKind, ObjectRecord};
use pmem_store::{DEFAULT_NAMESPACE, StoreError};

use super::ObjectResult;
use super::names::{check_changeable, check_owner, new_object, put, renamed};
use super::tag_rows::{NAME, NAMESPACE, TagColumns, cast_to, text_at, texts};
use super::tags::values_of;
use crate::execution::StatementContext;
use crate::statements::ddl::commit;
use crate::statements::functions::check_no_module;
use common::clock::now_ms;
use common::error::EngineError;
use common::type_names::declared_name;
use files::import::check_path;
use sql::objects::{BlobChange, Tag};
use table::catalog::resolve;

/// 16 GiB: a blob is mapped whole.
const BLOB_BYTES_MAX: u64 = 16 << 30;
const CONTENT: &str = "content";

/// The bytes of a file become a blob, or the new bytes of a blob that is there.
pub fn copy_from(ctx: &StatementContext, name: &TableReference, path: &str, tags: &[Tag]) -> Result<ObjectResult, EngineError> {
    let path = PathBuf::from(path);
    check_path(&path, ctx.catalog.file_directories())?;
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let (namespace, name) = resolve(name)?;
    let found = catalog.objects().named(ObjectKind::Blob, &namespace, &name)?;
    let mut blob = blob_of(ctx, &catalog, found, namespace, name)?;
    blob.attributes.put_all(&values_of(ctx, tags)?);
    let content = FileBytes::open(&path)?;
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "COPY BLOB", |transaction| {
        transaction.put_blobs(vec![(blob, content.bytes.clone())])?;
        // Bytes that were cut off while they were copied have been read as zeros.
        match content.is_cut() {
            true => Err(StoreError::Refused(format!("\"{}\" was cut short while it was read; nothing was copied", path.display()))),
            false => Ok(()),
        }
    })?;
    Ok(ObjectResult::Nothing)
}

/// A new blob, or the one that was found under this name.
fn blob_of(
    ctx: &StatementContext,
    catalog: &ObjectCatalog<'_>,
    found: Option<ObjectRecord>,
    namespace: String,
    name: String,
) -> Result<ObjectRecord, EngineError> {
    match found {
        Some(blob) if catalog.sees(&blob) => {
            check_owner(ctx, &blob)?;
            check_changeable(&blob)?;
            Ok(ObjectRecord { changed_at_ms: now_ms(), ..blob })
        }
        found => {
            let new = new_object(ctx, ObjectKind::Blob, namespace, name)?;
            // The user may not see the blob of this name.
            match found {
                Some(blob) => Err(StoreError::is_taken(blob.kind.word(), &blob.namespace, &blob.name).into()),
                None => Ok(new),
            }
        }
    }
}

/// A file that is copied from where it is mapped.
struct FileBytes {
    bytes: Buffer,
    mapping: Option<std::sync::Arc<Mapping>>,
}

impl FileBytes {
    fn open(path: &Path) -> Result<FileBytes, EngineError> {
        let mapping = match Mapping::open(path, None) {
            Ok(mapping) => mapping,
            Err(MappingError::Empty { .. }) => return Ok(FileBytes { bytes: Buffer::from(&[] as &[u8]), mapping: None }),
            Err(error) => return Err(StoreError::Mapping(error).into()),
        };
        let bytes = mapping.whole();
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            let message = format!("\"{}\" has {} bytes, and a blob has at most {BLOB_BYTES_MAX}", path.display(), bytes.len());
            return Err(EngineError::Sql { message, position: None, hint: Some("split the file, or put its rows into a table".into()) });
        }
        Ok(FileBytes { bytes, mapping: Some(mapping) })
    }

    fn is_cut(&self) -> bool {
        self.mapping.as_ref().is_some_and(|mapping| mapping.damaged())
    }
}

/// The file appears under its name when it is whole.
pub fn copy_to(ctx: &StatementContext, name: &TableReference, path: &str) -> Result<ObjectResult, EngineError> {
    let path = PathBuf::from(path);
    check_path(&path, ctx.catalog.file_directories())?;
    let snapshot = ctx.catalog.snapshot();
    let (namespace, name) = resolve(name)?;
    let blob = ObjectCatalog::of(&snapshot)?.named(ObjectKind::Blob, &namespace, &name)?;
    let Some(content) = snapshot.blobs()?.content(blob.id)? else {
        return Err(EngineError::internal(format!("blob {} has no bytes", blob.id)));
    };
    write_file(&path, &content).map_err(|source| StoreError::Io { action: "write", path: path.clone(), source })?;
    Ok(ObjectResult::Nothing)
}

fn write_file(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

/// The rows of a batch that become blobs.
struct BlobRows<'a> {
    namespaces: Option<StringArray>,
    names: StringArray,
    contents: LargeBinaryArray,
    tags: TagColumns<'a>,
}

impl BlobRows<'_> {
    fn of(batch: &RecordBatch) -> Result<BlobRows<'_>, EngineError> {
        let (Some(names), Some(contents)) = (texts(batch, NAME)?, batch.column_by_name(CONTENT)) else {
            let message = "the rows are no blobs".to_string();
            let hint = "give them columns name and content (and schema_name); all other columns are tags".to_string();
            return Err(EngineError::Sql { message, position: None, hint: Some(hint) });
        };
        if !contents.data_type().is_binary() && !contents.data_type().is_string() {
            let what = format!("{} as the content of a blob", declared_name(contents.data_type()));
            return Err(EngineError::unsupported(what, Some("it is BYTEA or a text")));
        }
        let contents = cast_to(contents, &DataType::LargeBinary)?.as_binary().clone();
        if names.null_count() > 0 || contents.null_count() > 0 {
            let message = "a row has no name or no content".to_string();
            return Err(EngineError::Sql { message, position: None, hint: None });
        }
        let tags = TagColumns::of(batch, &[NAME, NAMESPACE, CONTENT])?;
        Ok(BlobRows { namespaces: texts(batch, NAMESPACE)?, names, contents, tags })
    }

    /// Namespace and name.
    fn name(&self, row: usize) -> (&str, &str) {
        let namespace = self.namespaces.as_ref().and_then(|namespaces| text_at(namespaces, row));
        (namespace.unwrap_or(DEFAULT_NAMESPACE), self.names.value(row))
    }

    fn content(&self, row: usize) -> Buffer {
        let (start, end) = (self.contents.value_offsets()[row] as usize, self.contents.value_offsets()[row + 1] as usize);
        self.contents.values().slice_with_length(start, end - start)
    }
}

/// Blobs from the rows of a query: name, content, and tags.
pub fn copy_rows(ctx: &StatementContext, batches: &[RecordBatch]) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let batches: Vec<BlobRows<'_>> = batches.iter().map(BlobRows::of).collect::<Result<_, _>>()?;
    let row_count = batches.iter().map(|rows| rows.names.len()).sum();
    let mut blobs: Vec<(ObjectRecord, Buffer)> = Vec::with_capacity(row_count);
    // A later row of the same blob adds its tags, and has the bytes that count.
    let mut positions: HashMap<(&str, &str), usize> = HashMap::with_capacity(row_count);
    for rows in &batches {
        let found = catalog.objects().named_all(ObjectKind::Blob, &rows.names.iter().flatten().collect())?;
        let mut found: HashMap<_, _> = found.into_iter().map(|blob| ((blob.namespace.clone(), blob.name.clone()), blob)).collect();
        for row in 0..rows.names.len() {
            let (namespace, name) = rows.name(row);
            let position = match positions.entry((namespace, name)) {
                Entry::Occupied(position) => *position.get(),
                Entry::Vacant(vacant) => {
                    let key = (namespace.to_string(), name.to_string());
                    let blob = blob_of(ctx, &catalog, found.remove(&key), key.0, key.1)?;
                    blobs.push((blob, Buffer::default()));
                    *vacant.insert(blobs.len() - 1)
                }
            };
            blobs[position].0.attributes.put_all(&rows.tags.row(row)?);
            blobs[position].1 = rows.content(row);
        }
    }
    let count = blobs.len() as u64;
    ctx.catalog.write_scope().check_writable()?;
    if count > 0 {
        commit(ctx, "COPY BLOBS", |transaction| transaction.put_blobs(blobs))?;
    }
    Ok(ObjectResult::Changed(count))
}

pub fn drop_blob(ctx: &StatementContext, name: &TableReference, if_exists: bool) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let (namespace, name) = resolve(name)?;
    let blob = match ObjectCatalog::of(&snapshot)?.named(ObjectKind::Blob, &namespace, &name) {
        Err(StoreError::DoesNotExist { .. }) if if_exists => return Ok(ObjectResult::Nothing),
        found => found?,
    };
    check_owner(ctx, &blob)?;
    check_changeable(&blob)?;
    check_no_module(ctx, &namespace, &name)?;
    ctx.catalog.write_scope().check_writable()?;
    commit(ctx, "DROP BLOB", |transaction| transaction.remove_blobs(&[blob.id]))?;
    Ok(ObjectResult::Nothing)
}

pub fn alter(ctx: &StatementContext, name: &TableReference, change: &BlobChange) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let (namespace, name) = resolve(name)?;
    let blob = catalog.named(ObjectKind::Blob, &namespace, &name)?;
    check_owner(ctx, &blob)?;
    let changed = match change {
        BlobChange::Rename(to) => {
            check_changeable(&blob)?;
            check_no_module(ctx, &namespace, &name)?;
            renamed(ctx, &catalog, blob, to)?
        }
        BlobChange::ReadOnly(is_read_only) => ObjectRecord { is_read_only: *is_read_only, ..blob },
    };
    put(ctx, "ALTER BLOB", vec![changed])?;
    Ok(ObjectResult::Nothing)
}
