//! A condition on one column that is stored with a dictionary: it is evaluated once for each text of the dictionary, and not for each row.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::concat;
use arrow::datatypes::{ArrowDictionaryKeyType, ArrowNativeType, DataType, Field, Schema, SchemaRef, UInt8Type, UInt16Type};
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr};
use parking_lot::Mutex;
use pmem_store::segment::decode;

use super::selection::true_bits;

/// Operators that fail for no values.
pub(super) const COMPARISONS: [Operator; 8] = [
    Operator::Eq,
    Operator::NotEq,
    Operator::Lt,
    Operator::LtEq,
    Operator::Gt,
    Operator::GtEq,
    Operator::IsDistinctFrom,
    Operator::IsNotDistinctFrom,
];

/// Evaluates a condition.
type Evaluate = fn(&Arc<dyn PhysicalExpr>, &RecordBatch) -> Result<BooleanArray>;

#[derive(Debug)]
pub struct DictionaryTest {
    /// Over the column in its physical type.
    expr: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
    results: Mutex<Option<Results>>,
}

/// The results for the texts of a dictionary.
#[derive(Debug)]
struct Results {
    texts: ArrayRef,
    /// By code; for NULL it is the last one.
    passed: Arc<[bool]>,
}

impl DictionaryTest {
    /// Only comparisons of the column with constants: they fail for no text, and take no long time, so that they may be evaluated for texts that no row
    /// has.
    pub fn takes(expr: &Arc<dyn PhysicalExpr>) -> bool {
        let is_simple = |node: &Arc<dyn PhysicalExpr>| match node.downcast_ref::<BinaryExpr>() {
            Some(binary) => binary.op().is_logic_operator() || COMPARISONS.contains(binary.op()),
            None => {
                node.is::<Column>()
                    || node.is::<Literal>()
                    || node.is::<LikeExpr>()
                    || node.is::<InListExpr>()
                    || node.is::<IsNullExpr>()
                    || node.is::<IsNotNullExpr>()
                    || node.is::<NotExpr>()
            }
        };
        // The closure does not fail.
        !expr.exists(|node| Ok(!is_simple(node))).unwrap_or(true)
    }

    pub fn new(expr: Arc<dyn PhysicalExpr>, column: &Field) -> DictionaryTest {
        let schema = Arc::new(Schema::new(vec![column.clone().with_nullable(true)]));
        DictionaryTest { expr, schema, results: Mutex::default() }
    }

    /// The result for each row, without NULLs; `rows` has the stored column.
    pub fn evaluate(&self, rows: &RecordBatch, boolean: Evaluate) -> Result<BooleanArray> {
        let column = rows.column(0);
        let texts = column.as_any_dictionary().values();
        let mut results = self.results.lock();
        let passed = match results.as_ref().filter(|results| results.texts.to_data().ptr_eq(&texts.to_data())) {
            Some(results) => Some(Arc::clone(&results.passed)),
            None if column.len() < texts.len() => None,
            None => {
                let passed = self.results_of(texts, boolean)?;
                *results = Some(Results { texts: Arc::clone(texts), passed: Arc::clone(&passed) });
                Some(passed)
            }
        };
        drop(results);
        match (passed, column.data_type()) {
            (Some(passed), DataType::Dictionary(codes, _)) if **codes == DataType::UInt8 => Ok(look_up::<UInt8Type>(column, &passed)),
            (Some(passed), DataType::Dictionary(codes, _)) if **codes == DataType::UInt16 => Ok(look_up::<UInt16Type>(column, &passed)),
            // Few rows of many texts.
            _ => boolean(&self.expr, &self.batch(decode(column, self.schema.field(0).data_type())?)?),
        }
    }

    fn batch(&self, column: ArrayRef) -> Result<RecordBatch> {
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), vec![column])?)
    }

    fn results_of(&self, texts: &ArrayRef, boolean: Evaluate) -> Result<Arc<[bool]>> {
        let to = self.schema.field(0).data_type();
        let texts = concat(&[&*decode(texts, to)?, &*new_null_array(to, 1)])?;
        Ok(true_bits(&boolean(&self.expr, &self.batch(texts)?)?).iter().collect())
    }
}

fn look_up<K: ArrowDictionaryKeyType>(column: &ArrayRef, passed: &[bool]) -> BooleanArray {
    let codes = column.as_dictionary::<K>().keys();
    let of_null = passed.last().copied().unwrap_or_default();
    let values = codes.values();
    let bits = BooleanBuffer::collect_bool(values.len(), |row| passed.get(values[row].as_usize()).copied().unwrap_or_default());
    let bits = match codes.nulls() {
        None => bits,
        Some(nulls) if of_null => &bits | &!nulls.inner(),
        Some(nulls) => &bits & nulls.inner(),
    };
    BooleanArray::new(bits, None)
}
