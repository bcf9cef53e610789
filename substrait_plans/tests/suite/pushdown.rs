//! Tables of another node, with a real engine on each side and no network between them.

mod changes;
mod kernels;
mod wide;

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use async_trait::async_trait;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::SessionContext;
use engine::{Binding, Engine, EngineError, EngineOptions, MaintenanceOptions, QueryOutput, Session};
use futures::{StreamExt, TryStreamExt};
use substrait_plans::pushdown::{
    CachedNode, Network, Node, NodeError, NodeReport, NodeRows, NodeTable, Pushdown, PushdownRule, RemoteTable, TableLocation,
    remote_tables,
};

use crate::runtime::wait;

const ADDRESS: &str = "quiver://other:31337";
const LEVELS: [&str; 3] = ["off", "filter", "full"];

fn engine_with(change: impl FnOnce(&mut EngineOptions)) -> Engine {
    let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
    let mut options = EngineOptions { threads: Some(3), maintenance, ..EngineOptions::default() };
    change(&mut options);
    Engine::open_temporary(options).unwrap()
}

fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
        rows.extend(
            (0..batch.num_rows()).map(|row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join("|")),
        );
    }
    rows
}

/// The remote engine, and the requests that it received.
struct Other {
    engine: Engine,
    session: Session,
    plans: Mutex<Vec<Vec<u8>>>,
    fetched: AtomicUsize,
    rows_out: AtomicUsize,
}

impl fmt::Debug for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Other")
    }
}

fn refused(error: impl fmt::Display) -> NodeError {
    NodeError::Refused { node: ADDRESS.into(), message: error.to_string(), hint: None, kind: None }
}

impl Other {
    fn rows(self: &Arc<Other>, output: QueryOutput) -> NodeRows {
        let (schema, other) = (output.schema(), Arc::clone(self));
        let counted = output.inspect_ok(move |batch| {
            other.rows_out.fetch_add(batch.num_rows(), Ordering::Relaxed);
        });
        NodeRows { schema, batches: counted.map_err(refused).boxed(), report: Arc::new(NodeReport::default()) }
    }
}

/// The node's own view of itself: its results keep it alive as long as their rows are read.
#[derive(Debug)]
struct Handle(Arc<Other>);

#[async_trait]
impl Node for Handle {
    fn address(&self) -> &str {
        ADDRESS
    }

    async fn table(&self, namespace: &str, name: &str) -> Result<NodeTable, NodeError> {
        let output = self.0.session.execute(&format!("SELECT * FROM \"{namespace}\".\"{name}\" LIMIT 0")).await.map_err(refused)?;
        Ok(NodeTable { schema: output.schema(), rows: None, languages: Arc::default() })
    }

    async fn run(&self, plan: Vec<u8>) -> Result<NodeRows, NodeError> {
        let output = substrait_plans::run(&self.0.session, &plan, &Binding::default()).await;
        self.0.plans.lock().unwrap().push(plan);
        Ok(self.0.rows(output.map_err(refused)?))
    }

    async fn fetch(&self, namespace: &str, name: &str) -> Result<NodeRows, NodeError> {
        self.0.fetched.fetch_add(1, Ordering::Relaxed);
        let output = self.0.session.execute(&format!("SELECT * FROM \"{namespace}\".\"{name}\"")).await.map_err(refused)?;
        Ok(self.0.rows(output))
    }
}

#[derive(Debug)]
struct OneNode(Arc<dyn Node>);

impl Network for OneNode {
    fn place(&self, location: &str) -> Result<TableLocation, NodeError> {
        let table = location.strip_prefix("quiver://other/").ok_or(NodeError::Location { reason: "there is one node".into() })?;
        let (namespace, name) = table.split_once('.').unwrap_or(("main", table));
        Ok(TableLocation { node: Arc::clone(&self.0), namespace: namespace.into(), name: name.into() })
    }
}

/// A local session and the remote engine.
struct Both {
    session: Session,
    _engine: Engine,
    other: Arc<Other>,
}

impl Both {
    fn new(statements: &[&str]) -> Both {
        let engine = engine_with(|_| {});
        let session = engine.session().unwrap();
        let other =
            Arc::new(Other { session, engine, plans: Mutex::default(), fetched: AtomicUsize::new(0), rows_out: AtomicUsize::new(0) });
        statements.iter().for_each(|statement| drop(rows(&other.session, statement).unwrap()));
        let node: Arc<dyn Node> = Arc::new(CachedNode::new(Arc::new(Handle(Arc::clone(&other)))));
        let here = engine_with(|options| options.remote_tables = Some(remote_tables(Arc::new(OneNode(node)))));
        Both { session: here.session().unwrap(), _engine: here, other }
    }

    /// Remote orders and customers, and local names of customers.
    fn filled() -> Both {
        let both = Both::new(&[
            "CREATE TABLE orders (id BIGINT, customer INT, price DECIMAL(10, 2), note VARCHAR, ratio DOUBLE)",
            "INSERT INTO orders SELECT v, v % 100, CAST(v AS DECIMAL(10, 2)) / 4, 'order number ' || v, v * 0.25e0
             FROM generate_series(1, 20000) AS s (v)",
            "INSERT INTO orders VALUES (20001, NULL, NULL, NULL, NULL), (20002, 7, 1.5, '', 'NaN')",
            "CREATE TABLE customers (id INT, name VARCHAR)",
            "INSERT INTO customers SELECT v, 'customer ' || v FROM generate_series(0, 99) AS s (v)",
        ]);
        for table in ["orders", "customers"] {
            both.run(&format!("CREATE EXTERNAL TABLE {table} STORED AS QUIVER LOCATION 'quiver://other/{table}'"));
        }
        both.run("CREATE TABLE names (customer INT, nick VARCHAR)");
        both.run("INSERT INTO names VALUES (3, 'carl'), (7, 'dora'), (NULL, 'nobody')");
        both
    }

    fn run(&self, sql: &str) -> Vec<String> {
        rows(&self.session, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn explained(&self, sql: &str) -> String {
        self.run(&format!("EXPLAIN {sql}")).join("\n")
    }

    /// The number of rows that the remote engine returned for `sql`, and whether a whole table was requested.
    fn crossing(&self, sql: &str) -> (usize, bool) {
        self.other.rows_out.store(0, Ordering::Relaxed);
        let fetched = self.other.fetched.load(Ordering::Relaxed);
        self.run(sql);
        (self.other.rows_out.load(Ordering::Relaxed), self.other.fetched.load(Ordering::Relaxed) > fetched)
    }
}

fn rows(session: &Session, sql: &str) -> Result<Vec<String>, EngineError> {
    let (batches, _) = wait(async { session.execute(sql).await?.collect().await })?;
    Ok(shown(&batches))
}

#[test]
fn every_level_gives_the_rows_that_the_node_gives() {
    let both = Both::filled();
    for sql in [
        "SELECT count(*) FROM orders",
        "SELECT 1 FROM orders WHERE customer = 99 LIMIT 3",
        "SELECT count(*), count(customer), sum(price), avg(price), min(note), max(id), round(stddev(id), 6), median(id) FROM orders WHERE id < 20000",
        "SELECT customer, sum(price) AS s FROM orders GROUP BY customer HAVING sum(price) > 260000 ORDER BY s DESC, customer",
        "SELECT id, note FROM orders WHERE note LIKE '%777' OR id IN (1, 5, 20002) ORDER BY id DESC NULLS LAST LIMIT 7 OFFSET 1",
        "SELECT note FROM orders WHERE customer IS NULL OR ratio = 'NaN' ORDER BY id",
        "SELECT DISTINCT customer FROM orders WHERE id % 7 = 3 ORDER BY customer LIMIT 5",
        "SELECT name, count(*) FROM orders JOIN customers ON customers.id = customer WHERE price > 4990 GROUP BY name ORDER BY name",
        "SELECT id FROM orders WHERE customer NOT IN (SELECT customer FROM orders WHERE id > 19990) ORDER BY id LIMIT 5",
        "SELECT id FROM orders WHERE customer NOT IN (SELECT customer FROM orders WHERE id < 50) AND id < 200 ORDER BY id LIMIT 5",
        "SELECT id, rank() OVER (PARTITION BY customer ORDER BY price DESC) AS r FROM orders WHERE id > 19900 ORDER BY r, id LIMIT 9",
        "SELECT id FROM orders WHERE price > (SELECT avg(price) FROM orders) ORDER BY price LIMIT 3",
        "SELECT id FROM orders WHERE id < 3 UNION ALL SELECT id FROM customers WHERE id > 97 ORDER BY 1",
        "SELECT upper(note) || '!', CASE WHEN price > 2 THEN 'dear' ELSE 'cheap' END FROM orders WHERE id BETWEEN 5 AND 12 ORDER BY id",
    ] {
        let expected = rows(&both.other.session, sql).unwrap();
        for level in LEVELS {
            both.run(&format!("SET pushdown = {level}"));
            assert_eq!(both.run(sql), expected, "{level}: {sql}");
        }
    }
}

#[test]
fn tables_of_both_sides_are_joined() {
    let both = Both::filled();
    for level in LEVELS {
        both.run(&format!("SET pushdown = {level}"));
        let joined =
            "SELECT nick, count(*), max(o.id) FROM names LEFT JOIN orders AS o ON o.customer = names.customer GROUP BY nick ORDER BY nick";
        assert_eq!(both.run(joined), ["carl|200|19903", "dora|201|20002", "nobody|1|NULL"], "{level}");
        let sums = "SELECT nick, s FROM names JOIN (SELECT customer, sum(id) AS s FROM orders GROUP BY customer) AS o ON o.customer = names.customer ORDER BY 1";
        assert_eq!(both.run(sums), ["carl|1990600", "dora|2011402"], "{level}");
    }
    // The sums per customer are transferred, and not the orders.
    let (came, _) =
        both.crossing("SELECT nick, s FROM names JOIN (SELECT customer, sum(id) AS s FROM orders GROUP BY customer) AS o USING (customer)");
    assert!(came <= 101, "{came}");
}

#[test]
fn each_level_moves_what_it_says() {
    let both = Both::filled();
    let sql = "SELECT sum(price) FROM orders WHERE id > 19990";
    both.run("SET pushdown = off");
    assert_eq!(both.crossing(sql), (20002, true));
    both.run("SET quiver.pushdown = 'filter'");
    assert_eq!(both.crossing(sql), (12, false));
    both.run("SET pushdown = FULL");
    assert_eq!(both.crossing(sql), (1, false));
    assert_eq!(both.run("SHOW pushdown"), ["pushdown|full"]);
    assert_eq!(both.crossing("SELECT id FROM orders ORDER BY price DESC NULLS LAST LIMIT 3"), (3, false));
    assert_eq!(both.crossing("SELECT id FROM orders LIMIT 3"), (3, false));
    let error = rows(&both.session, "SET pushdown = most").unwrap_err();
    assert_eq!(error.to_string(), "there is no pushdown \"most\"");
    assert!(error.hint().is_some_and(|hint| hint.contains("'filter'")));
}

#[test]
fn explain_shows_where_what_runs() {
    let both = Both::filled();
    let sql = "SELECT customer, sum(price) FROM orders WHERE id > 5 GROUP BY customer ORDER BY 2 DESC LIMIT 3";
    let full = both.explained(sql);
    assert!(full.contains("RemoteExec: node=quiver://other:31337, level=full, runs there ("), "{full}");
    assert!(full.contains("| ") && full.contains("Aggregate: groupBy=") && !full.contains("AggregateExec"), "{full}");
    // The node's order is kept without a sort.
    assert!(!full.contains("SortExec"), "{full}");
    both.run("SET pushdown = filter");
    let filter = both.explained(sql);
    assert!(filter.contains("AggregateExec") && filter.contains("level=filter") && !filter.contains("FilterExec"), "{filter}");
    both.run("SET pushdown = off");
    let off = both.explained(sql);
    assert!(off.contains("FilterExec") && off.contains("level=off, the whole table main.orders"), "{off}");
}

#[test]
fn rows_never_multiply_on_their_way() {
    let both = Both::filled();
    let cross = "SELECT a.id, b.id FROM customers AS a CROSS JOIN customers AS b";
    assert_eq!(both.crossing(cross), (200, false));
    let smaller = "SELECT a.id FROM customers AS a JOIN customers AS b ON a.id < b.id";
    assert_eq!(both.crossing(smaller), (200, false));
    // The aggregate above the join makes one row.
    let counted = "SELECT count(*) FROM customers AS a CROSS JOIN customers AS b";
    assert_eq!((both.run(counted), both.crossing(counted)), (vec!["10000".to_string()], (1, false)));
}

#[test]
fn a_function_that_gives_another_value_each_time_stays_here() {
    let both = Both::filled();
    let text = both.explained("SELECT id FROM orders WHERE random() < 2 AND id < 5");
    assert!(text.lines().any(|line| line.contains("FilterExec") && line.contains("random()")), "{text}");
    assert_eq!(both.run("SELECT count(*) FROM orders WHERE random() < 2 AND id < 5"), ["4"]);
}

#[test]
fn a_plan_names_the_columns_that_it_uses_and_no_others() {
    let columns: Vec<String> = (0..2_000).map(|column| format!("a_column_with_a_long_name_{column} DOUBLE")).collect();
    let both = Both::new(&[&format!("CREATE TABLE wide ({})", columns.join(", "))]);
    both.run("CREATE EXTERNAL TABLE wide STORED AS QUIVER LOCATION 'quiver://other/main.wide'");
    for sql in [
        "SELECT sum(a_column_with_a_long_name_1234) FROM wide",
        "SELECT a_column_with_a_long_name_7 FROM wide WHERE a_column_with_a_long_name_8 > 5",
    ] {
        both.other.plans.lock().unwrap().clear();
        both.run(sql);
        let plans = both.other.plans.lock().unwrap();
        assert_eq!(plans.len(), 1, "{sql}");
        assert!(plans[0].len() < 500, "{sql}: {} bytes", plans[0].len());
    }
}

#[test]
fn a_table_that_has_changed_is_an_error_once_and_never_wrong_rows() {
    let both = Both::filled();
    assert_eq!(both.run("SELECT name FROM customers WHERE id = 3"), ["customer 3"]);
    for change in ["ALTER TABLE customers DROP COLUMN name", "ALTER TABLE customers ADD COLUMN city VARCHAR"] {
        rows(&both.other.session, change).unwrap();
    }
    // The remaining columns keep their meaning.
    assert_eq!(both.run("SELECT id FROM customers WHERE id = 3"), ["3"]);
    let error = rows(&both.session, "SELECT name FROM customers WHERE id = 3").unwrap_err().to_string();
    assert!(error.starts_with("the node quiver://other:31337 says: "), "{error}");
    assert_eq!(both.run("SELECT * FROM customers WHERE id = 3"), ["3|NULL"]);
    let error = rows(&both.session, "SELECT name FROM customers WHERE id = 3").unwrap_err().to_string();
    assert!(error.contains("column \"name\" does not exist"), "{error}");
}

#[test]
fn an_error_of_the_node_names_it() {
    let both = Both::filled();
    let error = rows(&both.session, "SELECT sum(9223372036854775807 - customer + id) FROM orders").unwrap_err();
    assert!(error.to_string().starts_with("the node quiver://other:31337 says: "), "{error}");
    let error = rows(&both.session, "CREATE EXTERNAL TABLE x STORED AS QUIVER LOCATION 'quiver://other/nothing'").unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
    for (sql, part) in [
        ("CREATE EXTERNAL TABLE x (a INT) STORED AS QUIVER LOCATION 'quiver://other/orders'", "list of columns"),
        ("CREATE EXTERNAL TABLE x STORED AS QUIVER LOCATION 'orders.csv'", "this location"),
        ("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION 'quiver://other/orders'", "a file on another node"),
    ] {
        let error = rows(&both.session, sql).unwrap_err().to_string();
        assert!(error.contains(part), "{sql}: {error}");
    }
    // An engine without access to nodes, like that of a server.
    let alone = engine_with(|_| {});
    let error = rows(&alone.session().unwrap(), "CREATE EXTERNAL TABLE x STORED AS QUIVER LOCATION 'quiver://other/orders'").unwrap_err();
    assert_eq!(error.to_string(), "reading tables of other nodes from a server is not supported");
}

#[test]
fn rows_that_nobody_reads_any_more_end_the_statement_of_the_node() {
    let both = Both::filled();
    let running = || rows(&both.other.session, "SELECT count(*) FROM system.queries").unwrap()[0].parse::<usize>().unwrap();
    let before = running();
    wait(async {
        let sql = "SELECT a.id FROM orders AS a JOIN orders AS b ON a.customer = b.customer";
        let mut output = both.session.execute(sql).await.unwrap();
        assert!(output.next().await.unwrap().unwrap().num_rows() > 0);
        drop(output);
    });
    let ended = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        running() == before
    });
    assert!(ended, "the node still works");
    assert_eq!(both.other.engine.statement_counts().queued, 0);
}

#[test]
fn a_plain_session_of_datafusion_has_the_same_with_the_rule() {
    let both = Both::filled();
    let node: Arc<dyn Node> = Arc::new(Handle(Arc::clone(&both.other)));
    let state = SessionStateBuilder::new().with_default_features().with_optimizer_rule(Arc::new(PushdownRule)).build();
    let context = SessionContext::new_with_state(state);
    let shown = wait(async {
        for level in [Pushdown::Off, Pushdown::Filter, Pushdown::Full] {
            let table = RemoteTable::open(Arc::clone(&node), "main".into(), "orders".into(), level).await.unwrap();
            context.register_table(format!("orders_{level}"), Arc::new(table)).unwrap();
        }
        let mut shown = Vec::new();
        for level in LEVELS {
            let sql = format!(
                "SELECT customer, count(*) AS n, max(note) AS m FROM orders_{level} WHERE id > 19000 GROUP BY customer ORDER BY customer LIMIT 2"
            );
            shown.push(self::shown(&context.sql(&sql).await.unwrap().collect().await.unwrap()));
        }
        shown
    });
    for rows in shown {
        assert_eq!(rows, ["0|10|order number 20000", "1|10|order number 19901"]);
    }
    let (came, fetched) = (both.other.rows_out.swap(0, Ordering::Relaxed), both.other.fetched.load(Ordering::Relaxed));
    assert!(came < 20002 + 1002 + 10, "{came}");
    assert_eq!(fetched, 1);
}
