//! The table functions that read files: `read_csv('x.csv', header = true)`.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Expr;

use super::options::{set_option, texts};
use super::{check_files, table_in_session};
use crate::blocking::holding_up_nobody;
use common::error::EngineError;
use common::file_format::{FILE_READERS, FileFormat};
use common::messages::{constant_hint, described};
use files::import::{FileScan, ReadOptions};

pub fn file_readers() -> impl Iterator<Item = (&'static str, Arc<dyn TableFunctionImpl>)> {
    FILE_READERS.into_iter().map(|(name, format)| (name, Arc::new(FileReader { name, format }) as Arc<dyn TableFunctionImpl>))
}

#[derive(Debug)]
struct FileReader {
    name: &'static str,
    format: FileFormat,
}

impl TableFunctionImpl for FileReader {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let (paths, mut options) = self.arguments(args.exprs())?;
        let catalog = check_files(args.session(), &format!("files with {}", self.name))?;
        options.directories = catalog.file_directories().clone();
        let files = holding_up_nobody(|| FileScan::open(&paths, options)).map_err(EngineError::from)?;
        Ok(table_in_session(args.session(), files))
    }
}

impl FileReader {
    /// The paths, and the options, which come as one struct.
    fn arguments(&self, arguments: &[Expr]) -> Result<(Vec<String>, ReadOptions), EngineError> {
        let mut options = ReadOptions { format: Some(self.format), ..ReadOptions::default() };
        let (paths, named) = match arguments {
            [paths] => (constant(self.name, paths)?, None),
            [paths, named] => (constant(self.name, paths)?, Some(constant(self.name, named)?)),
            _ => return Err(self.usage(format!("{} takes a path, and options by their names", self.name))),
        };
        match named {
            None => {}
            Some(ScalarValue::Struct(fields)) => {
                for (field, values) in fields.fields().iter().zip(fields.columns()) {
                    set_option(&mut options, field.name(), &ScalarValue::try_from_array(values, 0)?)?;
                }
            }
            Some(_) => return Err(self.usage(format!("{} takes options by their names", self.name))),
        }
        match texts(paths) {
            Some(paths) => Ok((paths, options)),
            None => Err(self.usage(format!("{} takes a path, or a list of paths", self.name))),
        }
    }

    fn usage(&self, message: String) -> EngineError {
        let hint = match self.format {
            FileFormat::Csv => format!("write {}('x.csv', header = true)", self.name),
            _ => format!("write {}('x.{}')", self.name, format!("{:?}", self.format).to_lowercase()),
        };
        EngineError::Sql { message, position: None, hint: Some(hint) }
    }
}

fn constant<'a>(function: &str, argument: &'a Expr) -> Result<&'a ScalarValue, EngineError> {
    match argument {
        Expr::Literal(value, _) => Ok(value),
        other => {
            let message = format!("{function} takes constants, and was given {}", described(other));
            Err(EngineError::Sql { message, position: None, hint: Some(constant_hint(other).into()) })
        }
    }
}
