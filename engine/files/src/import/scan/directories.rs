//! Columns whose values are in the names of directories: `year=2024/month=1/x.csv`.

use std::path::{Component, Path};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;

use super::FileScan;
use crate::import::conform::{conform, find_field, settled_type};
use crate::import::infer::{SeenTypes, classify};
use crate::import::leaf::leaf_for;
use common::error::import::ImportError;
use common::type_names::plain::sql_type_name;

/// What a directory is called if its rows have no value.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

impl FileScan {
    /// The same files with these columns behind their own. A column without a type gets that of its values.
    pub fn with_directory_columns(mut self, columns: &[(String, Option<DataType>)]) -> Result<FileScan, ImportError> {
        let mut fields: Vec<FieldRef> = self.columns.fields().iter().cloned().collect();
        for (name, declared) in columns {
            if let (Some(_), Some(file)) = (find_field(self.columns.fields(), name), self.files.first()) {
                return Err(ImportError::ColumnTwice { file: file.source.label(), column: name.clone() });
            }
            let texts: Vec<Option<String>> = self.files.iter().map(|file| value_in(&file.source.path, name)).collect();
            let data_type = declared.clone().unwrap_or_else(|| inferred(&texts));
            for (file, text) in self.files.iter_mut().zip(&texts) {
                let value = value_of(text.as_deref(), &data_type).ok_or_else(|| ImportError::Unsupported {
                    file: file.source.label(),
                    what: format!("{:?} is not a valid {}", text.as_deref().unwrap_or_default(), sql_type_name(&data_type)),
                })?;
                file.mapping.push(None);
                file.values.push((fields.len(), value));
            }
            fields.push(Arc::new(Field::new(name, data_type, true)));
        }
        self.columns = Arc::new(Schema::new_with_metadata(fields, self.columns.metadata().clone()));
        self.schema = self.columns.clone();
        Ok(self)
    }

    /// The same with all columns in the path of the first file.
    pub(super) fn with_all_directory_columns(self) -> Result<FileScan, ImportError> {
        let mut columns: Vec<(String, Option<DataType>)> = Vec::new();
        for (name, _) in self.files.first().into_iter().flat_map(|file| pairs(&file.source.path)) {
            if !columns.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                columns.push((name.to_owned(), None));
            }
        }
        self.with_directory_columns(&columns)
    }
}

/// The names and values of the directories above a file, from the top.
fn pairs(path: &Path) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let directories = path.parent().unwrap_or(Path::new("")).components();
    directories.filter_map(|directory| match directory {
        Component::Normal(name) => name.to_str()?.split_once('=').filter(|(name, _)| !name.is_empty()),
        _ => None,
    })
}

fn value_in(path: &Path, column: &str) -> Option<String> {
    let (_, value) = pairs(path).rfind(|(name, _)| name.eq_ignore_ascii_case(column))?;
    (value != NO_VALUE).then(|| value.to_owned())
}

fn inferred(texts: &[Option<String>]) -> DataType {
    let mut types = SeenTypes::default();
    texts.iter().flatten().for_each(|text| types.add(classify(text)));
    settled_type(&types.data_type())
}

/// `None` if the text is no value of the type.
fn value_of(text: Option<&str>, data_type: &DataType) -> Option<ScalarValue> {
    let Some(text) = text else { return ScalarValue::try_from(data_type).ok() };
    let mut leaf = leaf_for(data_type)?;
    if !leaf.push(text) {
        return None;
    }
    let value = conform(&leaf.finish(), data_type).ok()?;
    ScalarValue::try_from_array(&value, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_the_directory_nearest_to_the_file_counts() {
        let path = Path::new("/data/y=2023/y=2024/M=01/n=__HIVE_DEFAULT_PARTITION__/=/k=3.csv");
        assert_eq!(value_in(path, "y").as_deref(), Some("2024"));
        assert_eq!(value_in(path, "m").as_deref(), Some("01"));
        assert_eq!(value_in(path, "n"), None);
        assert_eq!(value_in(path, "k"), None, "it is the file itself");
        assert_eq!(pairs(path).count(), 4);
    }

    #[test]
    fn values_have_the_type_of_all_of_them() {
        let texts = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect::<Vec<_>>();
        assert_eq!(inferred(&texts(&["2023", "2024"])), DataType::Int64);
        assert_eq!(inferred(&texts(&["01", "02"])), DataType::Utf8View);
        assert_eq!(inferred(&[None]), DataType::Utf8View);
        assert_eq!(value_of(Some("7"), &DataType::Int32), Some(ScalarValue::Int32(Some(7))));
        assert_eq!(value_of(Some("x"), &DataType::Int32), None);
        assert_eq!(value_of(None, &DataType::Int32), Some(ScalarValue::Int32(None)));
    }
}
