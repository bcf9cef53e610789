//! LIKE with a pattern of several literal pieces, such as `'%special%requests%'`.
//!
//! arrow-string compiles such a pattern to a regular expression for each batch, which takes longer than to compare a zone. Here the pieces
//! are searched one after the other, and what the search needs is prepared once for a scan.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayAccessor, AsArray, BooleanArray, RecordBatch};
use arrow::datatypes::{DataType, FieldRef, Schema};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{LikeExpr, Literal};
use memchr::memmem::Finder;

/// `expr` with each LIKE of several pieces prepared.
pub fn with_prepared_patterns(expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
    let prepare = |node: Arc<dyn PhysicalExpr>| match LikePieces::of(&node) {
        Some(like) => Transformed::yes(Arc::new(like) as Arc<dyn PhysicalExpr>),
        None => Transformed::no(node),
    };
    expr.transform_up(|node| Ok(prepare(node))).data()
}

#[derive(Debug, Clone)]
struct LikePieces {
    /// The expression that it stands for: a [`LikeExpr`].
    original: Arc<dyn PhysicalExpr>,
    text: Arc<dyn PhysicalExpr>,
    is_negated: bool,
    pieces: Arc<Pieces>,
}

/// What is between the `%` of a pattern.
#[derive(Debug)]
struct Pieces {
    prefix: Vec<u8>,
    /// In their order, anywhere between prefix and suffix.
    inner: Vec<Finder<'static>>,
    suffix: Vec<u8>,
}

impl Pieces {
    /// `None` for patterns that arrow-string tests without a regular expression, and those with `_` or an escape.
    fn of(pattern: &str) -> Option<Pieces> {
        if pattern.contains(['_', '\\']) {
            return None;
        }
        let mut inner: Vec<&str> = pattern.split('%').collect();
        let suffix = inner.pop()?;
        let prefix = if inner.is_empty() { return None } else { inner.remove(0) };
        inner.retain(|piece| !piece.is_empty());
        let pieces = inner.len() + usize::from(!prefix.is_empty()) + usize::from(!suffix.is_empty());
        let inner = inner.into_iter().map(|piece| Finder::new(piece).into_owned()).collect();
        (pieces > 1).then(|| Pieces { prefix: prefix.into(), inner, suffix: suffix.into() })
    }

    /// The leftmost position of each piece leaves most room for the next ones.
    fn matches(&self, text: &[u8]) -> bool {
        let Some(mut rest) = without_prefix(text, &self.prefix).and_then(|rest| without_suffix(rest, &self.suffix)) else { return false };
        self.inner.iter().all(|piece| {
            let Some(at) = piece.find(rest) else { return false };
            rest = &rest[at + piece.needle().len()..];
            true
        })
    }
}

/// An empty vector points to no memory. On processors with AVX-512 `memcmp` of no bytes is a masked load from there, which takes 90 ns.
fn without_prefix<'a>(text: &'a [u8], prefix: &[u8]) -> Option<&'a [u8]> {
    if prefix.is_empty() { Some(text) } else { text.strip_prefix(prefix) }
}

/// Compares nothing where there is no suffix: see [`without_prefix`].
fn without_suffix<'a>(text: &'a [u8], suffix: &[u8]) -> Option<&'a [u8]> {
    if suffix.is_empty() { Some(text) } else { text.strip_suffix(suffix) }
}

impl LikePieces {
    fn of(node: &Arc<dyn PhysicalExpr>) -> Option<LikePieces> {
        let like = node.downcast_ref::<LikeExpr>().filter(|like| !like.case_insensitive())?;
        let pattern = like.pattern().downcast_ref::<Literal>()?.value().try_as_str()??;
        let pieces = Arc::new(Pieces::of(pattern)?);
        Some(LikePieces { original: Arc::clone(node), text: Arc::clone(like.expr()), is_negated: like.negated(), pieces })
    }

    fn test<'a>(&self, texts: impl ArrayAccessor<Item = &'a str>) -> BooleanArray {
        BooleanArray::from_unary(texts, |text| self.pieces.matches(text.as_bytes()) != self.is_negated)
    }
}

impl PhysicalExpr for LikePieces {
    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        let ColumnarValue::Array(texts) = self.text.evaluate(batch)? else { return self.original.evaluate(batch) };
        let passed = match texts.data_type() {
            DataType::Utf8 => self.test(texts.as_string::<i32>()),
            DataType::LargeUtf8 => self.test(texts.as_string::<i64>()),
            DataType::Utf8View => self.test(texts.as_string_view()),
            _ => return self.original.evaluate(batch),
        };
        Ok(ColumnarValue::Array(Arc::new(passed)))
    }

    fn return_field(&self, schema: &Schema) -> Result<FieldRef> {
        self.original.return_field(schema)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.original.children()
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let Some(text) = children.first().cloned() else { return internal_err!("LIKE has a text") };
        let original = Arc::clone(&self.original).with_new_children(children)?;
        Ok(Arc::new(LikePieces { original, text, ..self.as_ref().clone() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.original.fmt_sql(f)
    }
}

impl fmt::Display for LikePieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.original.fmt(f)
    }
}

impl PartialEq for LikePieces {
    fn eq(&self, other: &Self) -> bool {
        self.original.eq(&other.original)
    }
}

impl Eq for LikePieces {}

impl Hash for LikePieces {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.original.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::StringArray;

    #[test]
    fn pieces_match_what_arrow_matches() {
        let texts = ["", "a", "ab", "aba", "abab", "abcab", "xaby", "ab\ncab", "äbä", "aab", "abb", "a%b"];
        for pattern in ["a%b", "%a%b%", "ab%ab", "a%", "%b", "%", "", "%%a%%b%%", "a%b%", "%a%b", "ab%b", "%ä%ä", "a%a", "%ab%ab%ab%"] {
            let array = StringArray::from(texts.to_vec());
            let expected = arrow::compute::like(&array, &StringArray::new_scalar(pattern)).unwrap();
            let Some(pieces) = Pieces::of(pattern) else { continue };
            let found: BooleanArray = texts.iter().map(|text| Some(pieces.matches(text.as_bytes()))).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }

    #[test]
    fn patterns_of_one_piece_wildcards_of_one_character_and_escapes_are_left_to_arrow() {
        for pattern in ["", "%", "%%", "a", "a%", "%a", "%a%", "a%_b%", r"a%\%b"] {
            assert!(Pieces::of(pattern).is_none(), "{pattern}");
        }
        assert!(Pieces::of("%a%b%").is_some());
    }
}
