//! Wide tables: both sides plan them with only the used columns. The oracle is the same statement on the remote engine, and a table with
//! the same rows and few columns.

use engine::Binding;
use substrait_plans::proto::rel::RelType;
use substrait_plans::proto::{Rel, plan_rel};
use substrait_plans::{Limits, decode};

use super::{Both, LEVELS, rows};

const COLUMNS: usize = 600;

fn both() -> Both {
    let others = (0..COLUMNS).map(|column| format!("v + {column} AS c{column}")).collect::<Vec<_>>().join(", ");
    let create = format!(
        "CREATE TABLE wide AS SELECT {others}, nullif(v % 3, 1) AS \"Some\", CAST(v AS DECIMAL(10, 2)) / 4 AS price, named_struct('x', v) AS p \
         FROM generate_series(0, 999) AS s (v)"
    );
    let both = Both::new(&[&create, "CREATE TABLE slim AS SELECT c5, c599, \"Some\", price, p FROM wide"]);
    for table in ["wide", "slim"] {
        both.run(&format!("CREATE EXTERNAL TABLE {table} STORED AS QUIVER LOCATION 'quiver://other/{table}'"));
    }
    both
}

const QUERIES: &[&str] = &[
    "SELECT sum(c5), avg(price), count(\"Some\") FROM {t}",
    "SELECT count(*) FROM {t}",
    "SELECT C599 FROM {t} WHERE c5 BETWEEN 10 AND 12 ORDER BY 1",
    "SELECT \"Some\", count(*) AS n FROM {t} WHERE c5 > 7 GROUP BY \"Some\" HAVING count(*) > 1 ORDER BY n, 1",
    "SELECT p['x'], w.p.x FROM {t} AS w ORDER BY w.c5 DESC LIMIT 2",
    "SELECT a.c5 FROM {t} a JOIN {t} b ON a.c5 = b.c599 - 500 WHERE b.\"Some\" IS NULL ORDER BY 1 LIMIT 4",
    "SELECT c5 FROM {t} WHERE price > (SELECT avg(price) FROM {t}) ORDER BY c5 LIMIT 3",
    "SELECT c5 FROM {t} WHERE random() >= 0 AND \"Some\" = 2 ORDER BY 1 LIMIT 3",
];

#[test]
fn every_level_gives_the_rows_of_a_table_with_few_columns() {
    let both = both();
    for query in QUERIES {
        let expected = rows(&both.other.session, &query.replace("{t}", "slim")).unwrap();
        assert!(!expected.is_empty(), "{query}");
        for level in LEVELS {
            both.run(&format!("SET pushdown = {level}"));
            for table in ["wide", "slim"] {
                assert_eq!(both.run(&query.replace("{t}", table)), expected, "{level}, {table}: {query}");
            }
        }
    }
    assert_eq!(both.run("SELECT * FROM wide WHERE c5 = 5")[0].split('|').count(), COLUMNS + 3);
}

#[test]
fn what_is_wrong_is_said_by_who_knows_all_columns() {
    let both = both();
    let error = rows(&both.session, "SELECT prise FROM wide").unwrap_err();
    assert_eq!((error.to_string().as_str(), error.hint()), ("column \"prise\" does not exist", Some("did you mean \"price\"?")));
    // A plan that spells columns in another case, and one with a dropped column.
    let plan = |sql: &str| {
        both.other.plans.lock().unwrap().clear();
        both.run(sql);
        both.other.plans.lock().unwrap()[0].clone()
    };
    let renamed = |bytes: &[u8], name: &str| {
        let mut plan = decode(bytes, &Limits::default()).unwrap();
        *columns_read(&mut plan).iter_mut().find(|column| *column == "price").unwrap() = name.to_string();
        let bytes = substrait_plans::encode(&plan);
        crate::runtime::wait(async {
            let output = substrait_plans::run(&both.other.session, &bytes, &Binding::default()).await?;
            Ok::<_, substrait_plans::PlanError>(super::shown(&output.collect().await.unwrap().0))
        })
    };
    let bytes = plan("SELECT sum(price) FROM wide WHERE c5 < 9");
    assert_eq!(renamed(&bytes, "PRICE").unwrap(), both.run("SELECT sum(price) FROM slim WHERE c5 < 9"));
    let error = renamed(&bytes, "prices").unwrap_err().to_string();
    assert!(error.contains("it has no column \"prices\", but there is \"price\""), "{error}");
}

/// The columns of the plan's only table.
fn columns_read(plan: &mut substrait_plans::proto::Plan) -> &mut Vec<String> {
    let Some(plan_rel::RelType::Root(root)) = &mut plan.relations[0].rel_type else { panic!("no root") };
    let mut rel: &mut Rel = root.input.as_mut().unwrap();
    loop {
        rel = match rel.rel_type.as_mut().unwrap() {
            RelType::Project(of) => of.input.as_mut().unwrap(),
            RelType::Filter(of) => of.input.as_mut().unwrap(),
            RelType::Aggregate(of) => of.input.as_mut().unwrap(),
            RelType::Read(read) => return &mut read.base_schema.as_mut().unwrap().names,
            other => panic!("{other:?}"),
        };
    }
}

/// Other engines may refer to columns by position.
#[test]
fn a_plan_for_elsewhere_has_all_columns_of_a_table() {
    let both = both();
    rows(&both.other.session, "CREATE VIEW of_wide AS SELECT c5 FROM wide").unwrap();
    for table in ["wide", "of_wide"] {
        let bytes = crate::runtime::wait(substrait_plans::from_sql(&both.other.session, &format!("SELECT sum(c5) FROM {table}"))).unwrap();
        let mut plan = decode(&bytes, &Limits::default()).unwrap();
        let columns = columns_read(&mut plan);
        assert!(columns.len() > COLUMNS && columns[7] == "c7", "{table}: {}", columns.len());
    }
}
