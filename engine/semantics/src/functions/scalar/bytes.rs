//! `substr` and `octet_length` of bytes too: DataFusion's take texts alone. Bytes are not copied, because a range of a blob is a view of it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder, ByteView, Int64Array, MAX_INLINE_VIEW_LEN};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::types::{NativeType, logical_binary, logical_int32, logical_int64};
use datafusion::common::{Result, exec_err};
use datafusion::functions::string::octet_length;
use datafusion::functions::unicode as of_texts;
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult};
use datafusion::logical_expr::{
    Coercion, ColumnarValue, Documentation, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature,
    TypeSignatureClass,
};

pub fn all() -> [ScalarUDF; 2] {
    [substr(), with_bytes(octet_length(), vec![vec![]], BytesFunction::OctetLength)]
}

fn substr() -> ScalarUDF {
    let whole = vec![TypeSignatureClass::Native(logical_int32())];
    let int64 = Coercion::new_implicit(TypeSignatureClass::Native(logical_int64()), whole, NativeType::Int64);
    with_bytes(of_texts::substr(), vec![vec![int64.clone()], vec![int64.clone(), int64]], BytesFunction::Substr)
}

/// DataFusion's planner calls its own `substr`, because the parser has a form of its own for it.
#[derive(Debug)]
pub struct SubstringOfBytes;

impl ExprPlanner for SubstringOfBytes {
    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        Ok(PlannerResult::Planned(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(substr()), args))))
    }
}

/// The function for bytes too. `others` are the arguments that may follow them.
fn with_bytes(inner: Arc<ScalarUDF>, others: Vec<Vec<Coercion>>, of_bytes: BytesFunction) -> ScalarUDF {
    let mut signatures = match &inner.signature().type_signature {
        TypeSignature::OneOf(signatures) => signatures.clone(),
        one => vec![one.clone()],
    };
    let bytes = || Coercion::new_exact(TypeSignatureClass::Native(logical_binary()));
    signatures.extend(others.into_iter().map(|others| TypeSignature::Coercible([vec![bytes()], others].concat())));
    let mut signature = Signature::one_of(signatures, inner.signature().volatility);
    signature.parameter_names = inner.signature().parameter_names.clone();
    ScalarUDF::from(WithBytes { inner, signature, of_bytes })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum BytesFunction {
    Substr,
    OctetLength,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct WithBytes {
    inner: Arc<ScalarUDF>,
    signature: Signature,
    of_bytes: BytesFunction,
}

impl ScalarUDFImpl for WithBytes {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match (types, self.of_bytes) {
            ([bytes, ..], BytesFunction::Substr) if bytes.is_binary() => Ok(DataType::BinaryView),
            ([bytes, ..], BytesFunction::OctetLength) if bytes.is_binary() => Ok(DataType::Int64),
            _ => self.inner.return_type(types),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let of_bytes = match self.of_bytes {
            BytesFunction::Substr => substr_of_bytes,
            BytesFunction::OctetLength => length_of_bytes,
        };
        match args.args.first() {
            Some(bytes) if bytes.data_type().is_binary() => make_scalar_function(of_bytes, vec![])(&args.args),
            _ => self.inner.invoke_with_args(args),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

fn length_of_bytes(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = cast(&args[0], &DataType::BinaryView)?;
    let lengths = values.as_binary_view().iter().map(|value| value.map(|value| value.len() as i64));
    Ok(Arc::new(lengths.collect::<Int64Array>()))
}

/// Positions count from 1, as for texts; what lies outside of the value is left out.
fn substr_of_bytes(args: &[ArrayRef]) -> Result<ArrayRef> {
    let values = cast(&args[0], &DataType::BinaryView)?;
    let values: &BinaryViewArray = values.as_binary_view();
    let starts = args[1].as_primitive::<Int64Type>();
    let lengths = args.get(2).map(|lengths| lengths.as_primitive::<Int64Type>());
    let mut parts = BinaryViewBuilder::with_capacity(values.len());
    let blocks: Vec<u32> = values.data_buffers().iter().map(|buffer| parts.append_block(buffer.clone())).collect();
    for row in 0..values.len() {
        if values.is_null(row) || starts.is_null(row) || lengths.is_some_and(|lengths| lengths.is_null(row)) {
            parts.append_null();
            continue;
        }
        let value = values.value(row);
        let first = starts.value(row).saturating_sub(1);
        let end = match lengths.map(|lengths| lengths.value(row)) {
            Some(length) if length < 0 => return exec_err!("negative substring length not allowed: {length}"),
            Some(length) => first.saturating_add(length),
            None => i64::MAX,
        };
        let within = |position: i64| usize::try_from(position).unwrap_or(0).min(value.len());
        let part = within(first)..within(end).max(within(first));
        match ByteView::from(values.views()[row]) {
            view if part.len() > MAX_INLINE_VIEW_LEN as usize => {
                parts.try_append_view(blocks[view.buffer_index as usize], view.offset + part.start as u32, part.len() as u32)?;
            }
            _ => parts.append_value(&value[part]),
        }
    }
    Ok(Arc::new(parts.finish()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(values: &[Option<&[u8]>], start: i64, length: Option<i64>) -> Vec<Option<Vec<u8>>> {
        let of_rows = |number: i64| Arc::new(Int64Array::from(vec![number; values.len()])) as ArrayRef;
        let mut args: Vec<ArrayRef> = vec![Arc::new(BinaryViewArray::from_iter(values.iter().copied())), of_rows(start)];
        args.extend(length.map(of_rows));
        substr_of_bytes(&args).unwrap().as_binary_view().iter().map(|part| part.map(<[u8]>::to_vec)).collect()
    }

    #[test]
    fn a_part_of_bytes_begins_at_1_and_ends_with_the_value() {
        let long: Vec<u8> = (0..200).collect();
        let values = [Some(&b"abcdef"[..]), None, Some(&long[..])];
        assert_eq!(parts(&values, 2, Some(3)), [Some(b"bcd".to_vec()), None, Some(vec![1, 2, 3])]);
        assert_eq!(parts(&values, -1, Some(4)), [Some(b"ab".to_vec()), None, Some(vec![0, 1])]);
        assert_eq!(parts(&values, 5, None), [Some(b"ef".to_vec()), None, Some((4..200).collect())]);
        assert_eq!(parts(&values, 100, Some(50)), [Some(vec![]), None, Some((99..149).collect())]);
        assert_eq!(parts(&values, i64::MAX, Some(i64::MAX)), [Some(vec![]), None, Some(vec![])]);
        assert!(
            substr_of_bytes(&[
                Arc::new(BinaryViewArray::from_iter(values)),
                Arc::new(Int64Array::from(vec![1; 3])),
                Arc::new(Int64Array::from(vec![-1; 3]))
            ])
            .is_err()
        );
    }
}
