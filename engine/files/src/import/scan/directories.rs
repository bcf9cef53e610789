//! Columns whose values are in the names of directories: `year=2024/month=1/x.csv`.

use std::path::{Component, Path};
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use percent_encoding::percent_decode_str;

use super::FileScan;
use super::plans::{Plan, PlannedFile, fit};
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
                let value = valid(file, text.as_deref(), &data_type)?;
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

/// As `fit`, but columns of `target` that the file has not may be in its path.
pub(super) fn fit_with_directories(file: &mut PlannedFile, target: &Schema) -> Result<(), ImportError> {
    let own = file.schema();
    let has_all = !file.has_names() && own.fields().len() >= target.fields().len();
    let is_own = |name: &str| has_all || (file.has_names() && find_field(own.fields(), name).is_some());
    let is_directory = |name: &str| pairs(&file.source.path).any(|(other, _)| other.eq_ignore_ascii_case(name)) && !is_own(name);
    let (of_path, of_file): (Vec<_>, Vec<_>) = target.fields().iter().enumerate().partition(|(_, field)| is_directory(field.name()));
    fit(file, &Schema::new(of_file.into_iter().map(|(_, field)| field.clone()).collect::<Vec<_>>()))?;
    match &file.plan {
        Plan::Json(_) => file.mapping = (0..target.fields().len()).map(Some).collect(),
        Plan::Csv(_) | Plan::Parquet(_) | Plan::Arrow(_) => of_path.iter().for_each(|(place, _)| file.mapping.insert(*place, None)),
    }
    let value = |(place, field): (usize, &FieldRef)| {
        let text = value_in(&file.source.path, field.name());
        Ok::<_, ImportError>((place, valid(file, text.as_deref(), field.data_type())?))
    };
    file.values = of_path.into_iter().map(value).collect::<Result<_, _>>()?;
    Ok(())
}

fn valid(file: &PlannedFile, text: Option<&str>, data_type: &DataType) -> Result<ScalarValue, ImportError> {
    value_of(text, data_type).ok_or_else(|| ImportError::Unsupported {
        file: file.source.label(),
        what: format!("{:?} is not a valid {}", text.unwrap_or_default(), sql_type_name(data_type)),
    })
}

/// The names and values of the directories above a file, from the top.
fn pairs(path: &Path) -> impl DoubleEndedIterator<Item = (&str, &str)> {
    let directories = path.parent().unwrap_or(Path::new("")).components();
    directories.filter_map(|directory| match directory {
        Component::Normal(name) => name.to_str()?.split_once('=').filter(|(name, _)| !name.is_empty()),
        _ => None,
    })
}

/// Signs that no directory may have in its name are there as `%2F`.
pub(super) fn value_in(path: &Path, column: &str) -> Option<String> {
    let (_, value) = pairs(path).rfind(|(name, _)| name.eq_ignore_ascii_case(column))?;
    (value != NO_VALUE).then(|| percent_decode_str(value).decode_utf8().unwrap_or(value.into()).into_owned())
}

fn inferred(texts: &[Option<String>]) -> DataType {
    let mut types = SeenTypes::default();
    texts.iter().flatten().for_each(|text| types.add(classify(text)));
    match types.date_order() {
        // A value is read without the notation of its column.
        Some(_) => DataType::Utf8View,
        None => settled_type(&types.data_type()),
    }
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
        for (name, value) in [("y=a%20b", "a b"), ("y=100%", "100%"), ("y=%ff", "%ff"), ("y=a+b", "a+b")] {
            assert_eq!(value_in(&Path::new(name).join("f.csv"), "y").as_deref(), Some(value));
        }
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
