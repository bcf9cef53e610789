//! Checks tables, joins and aliases in FROM.

use datafusion::sql::sqlparser::ast::{
    Join, JoinConstraint, JoinOperator, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins,
};

use super::super::merged_columns::is_merging;
use super::{Refusal, YES, no, unless};

const SAMPLE: (&str, &str) = ("TABLESAMPLE", "filter with random() < 0.01 to see one row in a hundred");
const ORDINALITY: (&str, &str) = ("WITH ORDINALITY", "use row_number() OVER ()");

pub fn check(factor: &TableFactor) -> Refusal {
    let alias = match factor {
        TableFactor::Table { name: _, alias, args, with_hints, version, with_ordinality, partitions, json_path, sample, index_hints } => {
            if let Some(TableFunctionArgs { args: _, settings }) = args {
                unless(settings.is_none(), "SETTINGS of a table function", "use SET")?;
            }
            unless(with_hints.is_empty() && index_hints.is_empty(), "hints for a table", "leave them out")?;
            unless(
                version.is_none(),
                "a version of a table said so",
                "write FOR VERSION AS OF 3 or FOR SYSTEM_TIME AS OF '…' behind its name",
            )?;
            unless(!with_ordinality, ORDINALITY.0, ORDINALITY.1)?;
            unless(partitions.is_empty(), "PARTITION of a table", "use WHERE")?;
            unless(json_path.is_none(), "a path behind the name of a table", "select the fields of its columns")?;
            unless(sample.is_none(), SAMPLE.0, SAMPLE.1)?;
            alias
        }
        TableFactor::Derived { lateral: _, subquery: _, alias, sample } => {
            unless(sample.is_none(), SAMPLE.0, SAMPLE.1)?;
            alias
        }
        TableFactor::TableFunction { expr: _, alias: _ } => return no("TABLE (…) in FROM", "call the function by its name"),
        TableFactor::Function { lateral: _, name: _, args: _, with_ordinality, alias } => {
            unless(!with_ordinality, ORDINALITY.0, ORDINALITY.1)?;
            alias
        }
        TableFactor::UNNEST { alias, array_exprs: _, with_offset, with_offset_alias, with_ordinality } => {
            unless(!with_offset && with_offset_alias.is_none(), "UNNEST … WITH OFFSET", "use row_number() OVER ()")?;
            unless(!with_ordinality, ORDINALITY.0, ORDINALITY.1)?;
            alias
        }
        TableFactor::NestedJoin { table_with_joins, alias } => {
            let TableWithJoins { relation: _, joins } = table_with_joins.as_ref();
            joins.iter().try_for_each(check_join)?;
            if joins.iter().any(|join| is_merging(&join.join_operator)) {
                return no("FULL or RIGHT JOIN … USING in parentheses", "join ON the columns, and select coalesce(a.x, b.x)");
            }
            alias
        }
        TableFactor::JsonTable { .. } | TableFactor::OpenJsonTable { .. } => return no("tables of JSON in FROM", "import the JSON first"),
        TableFactor::Pivot { .. } => return no("PIVOT", "use an aggregate with FILTER (WHERE …) for each column"),
        TableFactor::Unpivot { .. } => return no("UNPIVOT", "use UNION ALL with a SELECT for each column"),
        TableFactor::MatchRecognize { .. } => return no("MATCH_RECOGNIZE", "use windows"),
        TableFactor::XmlTable { .. } => return no("tables of XML in FROM", "import the rows as CSV, JSON or Parquet first"),
        TableFactor::SemanticView { .. } => return no("SEMANTIC_VIEW", "select from the tables"),
    };
    alias.as_ref().map_or(YES, check_alias)
}

pub fn check_alias(alias: &TableAlias) -> Refusal {
    let TableAlias { explicit: _, name: _, columns, at } = alias;
    unless(at.is_none(), "AT behind the name of a table", "use row_number() OVER ()")?;
    columns.iter().try_for_each(|column| {
        let TableAliasColumnDef { name: _, data_type } = column;
        unless(data_type.is_none(), "types of columns behind the name of a table", "cast the columns in the SELECT list")
    })
}

pub fn check_join(join: &Join) -> Refusal {
    let Join { relation: _, global, join_operator } = join;
    unless(!global, "GLOBAL JOIN", "leave GLOBAL out")?;
    let (constraint, is_conditional) = match join_operator {
        JoinOperator::Join(constraint) | JoinOperator::Inner(constraint) => (constraint, true),
        JoinOperator::Left(constraint) | JoinOperator::LeftOuter(constraint) => (constraint, true),
        JoinOperator::Right(constraint) | JoinOperator::RightOuter(constraint) => (constraint, true),
        JoinOperator::FullOuter(constraint) => (constraint, true),
        JoinOperator::LeftSemi(constraint) | JoinOperator::RightSemi(constraint) => (constraint, true),
        JoinOperator::LeftAnti(constraint) | JoinOperator::RightAnti(constraint) => (constraint, true),
        JoinOperator::Semi(constraint) | JoinOperator::Anti(constraint) => (constraint, true),
        JoinOperator::CrossJoin(constraint) => (constraint, false),
        JoinOperator::CrossApply | JoinOperator::OuterApply => return no("CROSS APPLY and OUTER APPLY", "use LATERAL, or a window"),
        JoinOperator::AsOf { match_condition: _, constraint: _ } => {
            return no("ASOF JOIN", "join on the conditions, and keep the last row of each with QUALIFY row_number() OVER (…) = 1");
        }
        JoinOperator::StraightJoin(_) => return no("STRAIGHT_JOIN", "write JOIN"),
        JoinOperator::ArrayJoin | JoinOperator::LeftArrayJoin | JoinOperator::InnerArrayJoin => return no("ARRAY JOIN", "use unnest()"),
    };
    match constraint {
        JoinConstraint::On(_) | JoinConstraint::Using(_) | JoinConstraint::Natural => {
            unless(is_conditional, "CROSS JOIN with a condition", "write JOIN")
        }
        JoinConstraint::None if !is_conditional => YES,
        JoinConstraint::None => no("a JOIN without ON or USING", "say what makes two rows one, or write CROSS JOIN for each row with each"),
    }
}
