//! Substrait plans: run once, prepared, in transactions, bound to a version and segments, and with the rights of their user.

use arrow_flight::sql::{
    ActionBeginTransactionRequest, ActionBeginTransactionResult, ActionClosePreparedStatementRequest, ActionCreatePreparedStatementResult,
    ActionCreatePreparedSubstraitPlanRequest, Any, CommandGetSqlInfo, CommandPreparedStatementQuery, CommandStatementSubstraitPlan,
    DoPutUpdateResult, ProstMessageExt, SqlInfo, SubstraitPlan,
};
use arrow_flight::{Action, FlightData, FlightDescriptor, FlightInfo, Ticket};
use bytes::Bytes;
use engine::Binding;
use flight_client::{Address, ConnectOptions, Login, RemoteSession, Tls};
use flight_server::ServerOptions;
use futures::TryStreamExt;
use prost::Message;
use std::collections::BTreeMap;
use tonic::{Code, Request, Status};

use crate::helpers::{Served, code, fetch, options, query, shown, ticket, wait, with};

const BINDING: &str = "x-quiver-plan-binding";
/// ada:secret and bob:secret
const ADA: &str = "Basic YWRhOnNlY3JldA==";
const BOB: &str = "Basic Ym9iOnNlY3JldA==";

fn command(plan: impl Into<Bytes>, transaction: Option<Bytes>) -> FlightDescriptor {
    let plan = Some(SubstraitPlan { plan: plan.into(), version: String::new() });
    FlightDescriptor::new_cmd(CommandStatementSubstraitPlan { plan, transaction_id: transaction }.as_any().encode_to_vec())
}

fn body(sql: &str) -> String {
    serde_json::json!({ "sql": sql }).to_string()
}

impl Served {
    fn plan(&self, sql: &str) -> Bytes {
        self.act("substrait_plan", body(sql)).unwrap().remove(0)
    }

    fn info_of(&self, request: impl tonic::IntoRequest<FlightDescriptor>) -> Result<FlightInfo, Status> {
        wait(self.flight().get_flight_info(request)).map(|info| info.into_inner())
    }

    fn rows_of(&self, info: &FlightInfo) -> Vec<String> {
        shown(&wait(fetch(&mut self.client(), info)).unwrap())
    }

    fn plan_rows(&self, plan: impl Into<Bytes>) -> Vec<String> {
        self.rows_of(&self.info_of(command(plan, None)).unwrap())
    }

    fn refused(&self, plan: impl Into<Bytes>) -> Status {
        self.info_of(command(plan, None)).unwrap_err()
    }
}

/// The message in the `Any` of an answer.
fn unpacked<M: ProstMessageExt>(answers: Vec<Bytes>) -> M {
    Any::decode(answers[0].clone()).unwrap().unpack().unwrap().unwrap()
}

fn filled() -> Served {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT, b VARCHAR)");
    served.update("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, NULL)");
    served
}

#[test]
fn a_plan_gives_the_same_result_as_its_sql() {
    let served = filled();
    for sql in [
        "SELECT a, b FROM t ORDER BY a",
        "SELECT b, a + 1 AS more FROM t WHERE a > 1 ORDER BY a DESC",
        "SELECT count(*) AS n, sum(a) AS s FROM t",
        "SELECT x.b FROM t AS x JOIN t AS y ON x.a = y.a + 1 ORDER BY 1",
        "SELECT 7 AS seven",
    ] {
        let plan = served.plan(sql);
        assert_eq!(served.plan_rows(plan.clone()), served.rows(sql), "{sql}");
        let of_sql = wait(served.client().execute(sql.into(), None)).unwrap().try_decode_schema().unwrap();
        let schema = wait(served.flight().get_schema(command(plan, None))).unwrap().into_inner();
        let names = |schema: &arrow::datatypes::Schema| {
            schema.fields().iter().map(|field| (field.name().clone(), field.data_type().clone())).collect::<Vec<_>>()
        };
        assert_eq!(names(&arrow::datatypes::Schema::try_from(&schema).unwrap()), names(&of_sql), "{sql}");
    }
}

#[test]
fn a_result_of_a_plan_is_fetched_once_and_a_plan_itself_any_number_of_times() {
    let served = filled();
    let plan = served.plan("SELECT a FROM t WHERE a = 2");
    let info = served.info_of(command(plan.clone(), None)).unwrap();
    assert_eq!(served.stat("results_waiting"), 1);
    assert_eq!(served.rows_of(&info), ["2"]);
    assert_eq!(wait(served.flight().do_get(ticket(&info))).map(|_| ()).unwrap_err().code(), Code::NotFound);
    let itself = || Ticket::new(command(plan.clone(), None).cmd);
    for _ in 0..2 {
        let messages =
            wait(async { served.flight().do_get(itself()).await.unwrap().into_inner().try_collect::<Vec<FlightData>>().await.unwrap() });
        // The schema, the row and the report.
        assert!(messages.len() >= 3 && messages.last().is_some_and(|last| !last.app_metadata.is_empty()), "{messages:?}");
    }
    assert_eq!(served.stat("results_waiting"), 0);
}

#[test]
fn a_plan_is_prepared_and_run_as_often_as_one_likes() {
    let served = filled();
    let plan = SubstraitPlan { plan: served.plan("SELECT b FROM t WHERE a < 3 ORDER BY a"), version: "0.20.0".into() };
    let request = ActionCreatePreparedSubstraitPlanRequest { plan: Some(plan), transaction_id: None };
    let answers = served.act("CreatePreparedSubstraitPlan", request.as_any().encode_to_vec()).unwrap();
    let prepared: ActionCreatePreparedStatementResult = unpacked(answers);
    assert!(!prepared.dataset_schema.is_empty());
    let handle = prepared.prepared_statement_handle;
    let again = CommandPreparedStatementQuery { prepared_statement_handle: handle.clone() };
    for _ in 0..2 {
        let info = served.info_of(FlightDescriptor::new_cmd(again.as_any().encode_to_vec())).unwrap();
        assert_eq!(served.rows_of(&info), ["one", "two"]);
    }
    served.update("DELETE FROM t WHERE a = 1");
    let info = served.info_of(FlightDescriptor::new_cmd(again.as_any().encode_to_vec())).unwrap();
    assert_eq!(served.rows_of(&info), ["two"]);
    let close = ActionClosePreparedStatementRequest { prepared_statement_handle: handle };
    served.act("ClosePreparedStatement", close.as_any().encode_to_vec()).unwrap();
    assert_eq!(served.stat("prepared_statements"), 0);
    let wrong = ActionCreatePreparedSubstraitPlanRequest { plan: None, transaction_id: None };
    assert_eq!(served.act("CreatePreparedSubstraitPlan", wrong.as_any().encode_to_vec()).unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn a_plan_is_in_the_transaction_that_it_names() {
    let served = filled();
    let plan = served.plan("SELECT count(*) AS n FROM t");
    let begun: ActionBeginTransactionResult =
        unpacked(served.act("BeginTransaction", ActionBeginTransactionRequest {}.as_any().encode_to_vec()).unwrap());
    let transaction = Some(begun.transaction_id);
    wait(served.client().execute_update("INSERT INTO t VALUES (4, 'four')".into(), transaction.clone())).unwrap();
    let inside = served.info_of(command(plan.clone(), transaction.clone())).unwrap();
    assert_eq!(served.rows_of(&inside), ["4"]);
    assert_eq!(served.plan_rows(plan.clone()), ["3"]);
    // A failing plan fails the transaction, as SQL does.
    served.info_of(command(&b"no plan"[..], transaction.clone())).unwrap_err();
    let failed = wait(query(&mut served.client(), "SELECT 1", transaction));
    assert_eq!(code(failed), Code::InvalidArgument);
    assert_eq!(served.info_of(command(plan, Some(Bytes::from_static(b"nobody's")))).unwrap_err().code(), Code::NotFound);
}

#[test]
fn a_plan_that_is_put_runs_and_changes_nothing() {
    let served = filled();
    let message = FlightData::new().with_descriptor(command(served.plan("SELECT * FROM t"), None));
    let answers = wait(async {
        served.flight().do_put(futures::stream::iter([message])).await.unwrap().into_inner().try_collect::<Vec<_>>().await.unwrap()
    });
    assert_eq!(DoPutUpdateResult::decode(answers[0].app_metadata.clone()).unwrap().record_count, -1);
}

#[test]
fn a_header_binds_a_plan_to_a_version_and_segments() {
    let served = filled();
    let version = served.engine.store().snapshot().unwrap().version();
    served.update("OPTIMIZE TABLE t");
    served.update("INSERT INTO t VALUES (4, 'four')");
    let ids = served.rows("SELECT segment_id FROM system.segments WHERE table_name = 't' ORDER BY row_count");
    let plan = served.plan("SELECT a FROM t");
    let rows = |binding: &str| {
        let mut rows = served.info_of(with(command(plan.clone(), None), BINDING, binding)).map(|info| served.rows_of(&info))?;
        rows.sort_unstable();
        Ok::<_, Status>(rows)
    };
    assert_eq!(rows("{}").unwrap(), ["1", "2", "3", "4"]);
    assert_eq!(rows(&format!("{{\"version\": {version}}}")).unwrap(), ["1", "2", "3"]);
    assert_eq!(rows(&format!("{{\"segments\": {{\"main.t\": [{}]}}}}", ids[0])).unwrap(), ["4"]);
    for wrong in ["7", "{\"segments\": {\"main.t\": [4711]}}", "{\"segments\": {\"main.u\": []}}", "{\"versions\": 1}"] {
        assert_eq!(rows(wrong).unwrap_err().code(), Code::InvalidArgument, "{wrong}");
    }
    // A prepared plan keeps its binding.
    let request =
        ActionCreatePreparedSubstraitPlanRequest { plan: Some(SubstraitPlan { plan, version: String::new() }), transaction_id: None };
    let action = Action::new("CreatePreparedSubstraitPlan", request.as_any().encode_to_vec());
    let answers = wait(async {
        let request = with(action, BINDING, &format!("{{\"version\": {version}}}"));
        served.flight().do_action(request).await.unwrap().into_inner().try_collect::<Vec<_>>().await.unwrap()
    });
    let prepared: ActionCreatePreparedStatementResult = unpacked(vec![answers[0].body.clone()]);
    let run = CommandPreparedStatementQuery { prepared_statement_handle: prepared.prepared_statement_handle };
    assert_eq!(served.rows_of(&served.info_of(FlightDescriptor::new_cmd(run.as_any().encode_to_vec())).unwrap()).len(), 3);
}

#[test]
fn our_own_client_sends_plans_and_has_them_made() {
    let served = filled();
    let address: Address = format!("grpc://{}", served.address).parse().unwrap();
    let session = wait(RemoteSession::connect(ConnectOptions { address, tls: Tls::default(), login: Login::Nobody })).unwrap();
    let plan = wait(session.plan_of("SELECT a FROM t ORDER BY a")).unwrap();
    let run = |binding: &Binding| wait(async { session.run_plan(plan.clone(), binding).await?.collect().await });
    assert_eq!(shown(&run(&Binding::default()).unwrap()), ["1", "2", "3"]);
    let binding = Binding { version: None, segments: BTreeMap::from([("main.t".into(), vec![])]) };
    assert!(shown(&run(&binding).unwrap()).is_empty());
    assert!(run(&Binding { version: Some(1 << 40), ..Binding::default() }).is_err());
    let error = wait(session.plan_of("SELECT orign FROM t")).unwrap_err();
    assert_eq!(error.position(), Some(7), "{error}");
    assert!(wait(session.plan_of("DELETE FROM t")).is_err());
    // Also in an SQL transaction.
    for sql in ["BEGIN", "DELETE FROM t WHERE a > 1"] {
        wait(async { session.execute(sql).await.unwrap().collect().await.unwrap() });
    }
    assert_eq!(shown(&run(&Binding::default()).unwrap()), ["1"]);
}

#[test]
fn a_plan_reads_only_tables_that_its_user_may_read() {
    let served = Served::with_users(options(), &["ada", "bob"]);
    let mut ada = served.client_of("ada");
    for sql in [
        "CREATE TABLE seen (a INT)",
        "CREATE TABLE secret (a INT)",
        "CREATE TABLE inbox (a INT)",
        "GRANT SELECT ON seen TO bob",
        "GRANT INSERT ON inbox TO bob",
    ] {
        wait(ada.execute_update(sql.into(), None)).unwrap();
    }
    let plan = |table: &str| {
        let action = with(Action::new("substrait_plan", body(&format!("SELECT a FROM {table}"))), "authorization", ADA);
        let answers = wait(async { served.flight().do_action(action).await.unwrap().into_inner().try_collect::<Vec<_>>().await.unwrap() });
        answers[0].body.clone()
    };
    let as_bob = |plan: Bytes| {
        let request: Request<_> = with(command(plan, None), "authorization", BOB);
        served.info_of(request).map_err(|status| (status.code(), status.message().to_string()))
    };
    as_bob(plan("seen")).unwrap();
    let (unseen, words) = as_bob(plan("secret")).unwrap_err();
    let of_sql = wait(served.client_of("bob").execute("SELECT a FROM secret".into(), None));
    assert_eq!(unseen, code(of_sql), "{words}");
    assert!(!words.contains("did you mean") && !words.contains("privilege"), "{words}");
    assert_eq!(as_bob(plan("inbox")).unwrap_err().0, Code::PermissionDenied);
    let planned = with(Action::new("substrait_plan", body("SELECT a FROM secret")), "authorization", BOB);
    assert!(wait(served.flight().do_action(planned)).is_err());
    assert_eq!(served.refused(plan("seen")).code(), Code::Unauthenticated);
}

#[test]
fn an_invalid_plan_is_refused_and_the_server_goes_on() {
    let served = filled();
    let empty = CommandStatementSubstraitPlan { plan: None, transaction_id: None };
    assert_eq!(served.info_of(FlightDescriptor::new_cmd(empty.as_any().encode_to_vec())).unwrap_err().code(), Code::InvalidArgument);
    for bytes in [&b""[..], b"SELECT 1", b"{}", &[0xff; 100]] {
        assert_eq!(served.refused(bytes.to_vec()).code(), Code::InvalidArgument, "{bytes:?}");
    }
    // Messages that nest deeper than any decoder allows.
    let mut deep = vec![0x08, 1];
    for _ in 0..5_000 {
        let mut outer = vec![0x1a];
        prost::encoding::encode_varint(deep.len() as u64, &mut outer);
        outer.append(&mut deep);
        deep = outer;
    }
    assert_eq!(served.refused(deep).code(), Code::InvalidArgument);
    for body in ["", "SELECT 1", "{}", "{\"sql\": 7}", "{\"sql\": \"SELECT 1\", \"more\": 1}"] {
        assert_eq!(served.act("substrait_plan", body).unwrap_err().code(), Code::InvalidArgument, "{body}");
    }
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn a_plan_of_a_hundred_megabytes_is_refused() {
    let served = filled();
    let mut long = served.plan("SELECT a FROM t").to_vec();
    // An unknown field of this many bytes.
    long.extend([0xfa, 0x7f]);
    prost::encoding::encode_varint(20 << 20, &mut long);
    long.extend(vec![0; 20 << 20]);
    let refused = served.refused(long.clone());
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    long.resize(100 << 20, 0);
    // The limit for calls without rows.
    let refused = served.refused(long.clone());
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    assert!(refused.message().contains("longer than the 69206016 bytes that this call takes; send less"), "{refused}");
    let message = FlightData::new().with_descriptor(command(long, None));
    let refused = wait(served.flight().do_put(futures::stream::iter([message])));
    let refused = match refused {
        Ok(answers) => wait(answers.into_inner().try_collect::<Vec<_>>()).map(|_| ()),
        Err(status) => Err(status),
    };
    assert_eq!(refused.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(served.rows("SELECT 1"), ["1"]);
}

#[test]
fn spoilt_plans_are_refused_or_run() {
    let served = filled();
    let sql = "SELECT b, sum(a) AS s FROM t WHERE a > 1 OR b LIKE 'o%' GROUP BY b ORDER BY s DESC LIMIT 5";
    let plan = served.plan(sql).to_vec();
    let mut state = 17_u64;
    let mut dice = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let (mut refused, mut ran) = (0, 0);
    for _ in 0..1_000 {
        let mut spoilt = plan.clone();
        match dice(4) {
            0 => spoilt.truncate(dice(plan.len())),
            1 => {
                let at = dice(plan.len());
                spoilt[at] = [0x00, 0x7f, 0xff][dice(3)];
            }
            2 => {
                spoilt.remove(dice(plan.len()));
            }
            _ => {
                let at = dice(plan.len());
                spoilt[at] ^= 1 << dice(8);
            }
        }
        let done = served.info_of(command(spoilt, None)).and_then(|info| {
            let messages = wait(served.flight().do_get(ticket(&info)))?.into_inner();
            wait(messages.try_collect::<Vec<_>>()).map(|_| ())
        });
        match done {
            Ok(()) => ran += 1,
            Err(status) => {
                assert!(!matches!(status.code(), Code::Internal | Code::Unknown | Code::Unavailable | Code::DataLoss), "{status}");
                assert!((10..6_000).contains(&status.message().len()), "{status}");
                refused += 1;
            }
        }
    }
    assert!(refused > 300, "{refused} refused, {ran} ran");
    assert_eq!(served.plan_rows(plan), served.rows(sql));
}

#[test]
fn plans_that_are_kept_are_within_the_budget() {
    let served = Served::with(ServerOptions { kept_bytes_max: 100_000, ..options() });
    let plan = served.plan("SELECT 1 AS one");
    let prepare = |plan: Bytes| {
        let request =
            ActionCreatePreparedSubstraitPlanRequest { plan: Some(SubstraitPlan { plan, version: String::new() }), transaction_id: None };
        served.act("CreatePreparedSubstraitPlan", request.as_any().encode_to_vec())
    };
    assert!(prepare(plan.clone()).is_ok());
    assert_eq!(prepare(Bytes::from(vec![0; 200_000])).unwrap_err().code(), Code::ResourceExhausted);
    let prepared = (0..200).take_while(|_| prepare(plan.clone()).is_ok()).count();
    assert!((5..150).contains(&prepared), "{prepared}");
}

#[test]
fn the_reported_substrait_support_is_true() {
    let served = Served::new();
    let info =
        [SqlInfo::FlightSqlServerSubstrait, SqlInfo::FlightSqlServerSubstraitMinVersion, SqlInfo::FlightSqlServerSubstraitMaxVersion];
    let command = CommandGetSqlInfo { info: info.map(|info| info as u32).to_vec() };
    let info = served.info_of(FlightDescriptor::new_cmd(command.as_any().encode_to_vec())).unwrap();
    let rows = served.rows_of(&info).join("\n");
    assert!(rows.contains("{bool_value=true}") && rows.matches("{string_value=0.").count() == 2, "{rows}");
}
