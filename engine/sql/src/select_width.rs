//! Limits the columns that a SELECT lists. DataFusion searches all of them for each one in most of its steps, so planning takes quadratic
//! time.

use datafusion::sql::sqlparser::ast::{Select, SelectItem};

use common::error::EngineError;

/// Planning them takes some seconds. The widest tables have fewer columns, and `*` counts as one.
pub const COLUMNS_MAX: usize = 16_384;
/// Each may stand for all columns of a table.
const STARS_MAX: usize = 100;

pub fn check_select_width(select: &Select) -> Result<(), EngineError> {
    let columns = select.projection.len();
    if columns > COLUMNS_MAX {
        let message = format!("a SELECT has {columns} columns, more than {COLUMNS_MAX}");
        return refused(message, "select fewer at a time; * stands for all columns of a table");
    }
    // Most lists are shorter than both limits.
    if columns <= STARS_MAX {
        return Ok(());
    }
    let is_star = |item: &&SelectItem| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..));
    match select.projection.iter().filter(is_star).count() {
        stars if stars > STARS_MAX => refused(format!("a SELECT has * {stars} times, more than {STARS_MAX}"), "name the columns"),
        _ => Ok(()),
    }
}

fn refused(message: String, hint: &str) -> Result<(), EngineError> {
    Err(EngineError::Sql { message, position: None, hint: Some(hint.to_string()) })
}

#[cfg(test)]
mod tests {
    use datafusion::sql::parser::DFParser;

    use super::super::rewrite::rewrite;
    use super::*;

    fn refusal(sql: &str) -> Option<String> {
        let mut statement = DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        rewrite(&mut statement).err().map(|error| error.to_string())
    }

    #[test]
    fn a_list_of_very_many_columns_is_refused_wherever_it_stands() {
        let list = |columns: usize| vec!["a"; columns].join(", ");
        assert_eq!(refusal(&format!("SELECT {} FROM t", list(COLUMNS_MAX))), None);
        let (long, said) = (list(COLUMNS_MAX + 1), "a SELECT has 16385 columns, more than 16384".to_string());
        for sql in [
            format!("SELECT {long} FROM t"),
            format!("EXPLAIN SELECT {long} FROM t"),
            format!("INSERT INTO u SELECT {long} FROM t"),
            format!("CREATE VIEW v AS SELECT 1 FROM (SELECT {long} FROM t)"),
            format!("WITH c AS (SELECT {long} FROM t) SELECT 1 FROM c"),
        ] {
            assert_eq!(refusal(&sql).as_ref(), Some(&said), "{}", &sql[..40]);
        }
        assert_eq!(refusal(&format!("INSERT INTO t VALUES ({long})")), None);
        assert_eq!(refusal(&format!("SELECT 1 FROM t WHERE b IN ({long})")), None);
    }

    #[test]
    fn a_star_may_stand_for_many_columns_and_is_not_said_very_often() {
        assert_eq!(refusal(&format!("SELECT {} FROM t", vec!["*"; STARS_MAX].join(", "))), None);
        let stars = vec!["t.*"; STARS_MAX + 1].join(", ");
        assert_eq!(refusal(&format!("SELECT {stars} FROM t")).as_deref(), Some("a SELECT has * 101 times, more than 100"));
    }
}
