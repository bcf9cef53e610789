//! A server on a temporary store, and helpers for the calls of clients.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::LazyLock;
use std::time::Duration;

use arrow::array::{ArrayRef, AsArray, Int64Array, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_client::FlightServiceClient;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::{Action, FlightInfo, Ticket};
use bytes::Bytes;
use engine::{Engine, EngineOptions, MaintenanceOptions};
use flight_server::{Certificates, Server, ServerOptions};
use futures::TryStreamExt;
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

pub type Client = FlightSqlServiceClient<Channel>;

/// A timeout that is longer than any test, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(120);

static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_multi_thread().worker_threads(2).thread_stack_size(8 << 20).enable_all().build().expect("a runtime"));

pub fn wait<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(async { tokio::time::timeout(LIMIT, future).await.expect("it ends within two minutes") })
}

pub struct Served {
    pub engine: Engine,
    pub channel: Channel,
    pub http: Option<SocketAddr>,
    pub certificates: Option<Certificates>,
    leave: Option<oneshot::Sender<()>>,
    pub serving: Option<JoinHandle<bool>>,
    pub address: SocketAddr,
    dir: TempDir,
}

pub fn options() -> ServerOptions {
    ServerOptions { listen: "127.0.0.1:0".parse().unwrap(), ..ServerOptions::default() }
}

impl Served {
    pub fn new() -> Served {
        Served::with(options())
    }

    pub fn with(options: ServerOptions) -> Served {
        Served::set_up(options, &[])
    }

    /// A server with these users; all have the password "secret", and the first one is an admin.
    pub fn with_users(options: ServerOptions, users: &[&str]) -> Served {
        let statements: Vec<String> = users
            .iter()
            .enumerate()
            .map(|(at, user)| format!("CREATE USER {user} PASSWORD 'secret'{}", if at == 0 { " ADMIN" } else { "" }))
            .collect();
        Served::set_up(options, &statements.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// A server on a store in which these statements have run.
    pub fn set_up(options: ServerOptions, statements: &[&str]) -> Served {
        Served::at(tempfile::tempdir().unwrap(), options, EngineOptions::default(), statements)
    }

    pub fn over(options: ServerOptions, engine: EngineOptions) -> Served {
        Served::at(tempfile::tempdir().unwrap(), options, engine, &[])
    }

    /// A server on the store in a directory. The engine does no background maintenance.
    pub fn at(dir: TempDir, options: ServerOptions, engine: EngineOptions, statements: &[&str]) -> Served {
        let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
        let engine_options = EngineOptions { threads: Some(2), maintenance, ..engine };
        let engine = Engine::open(&dir.path().join("store"), engine_options).unwrap();
        for sql in statements {
            run(&engine, sql);
        }
        let (leave, stop_signal) = oneshot::channel();
        let (server, http, channel) = wait(async {
            let server = Server::bind(&engine, options).await.unwrap();
            let channel = Channel::from_shared(format!("http://{}", server.address())).unwrap().connect_lazy();
            let http = server.http_address();
            (server, http, channel)
        });
        let (address, certificates) = (server.address(), server.certificates());
        let serving = RUNTIME.spawn(server.serve(async move {
            let _ = stop_signal.await;
        }));
        Served { engine, channel, http, certificates, address, leave: Some(leave), serving: Some(serving), dir }
    }

    /// Ends the server, and returns the directory for another server on the same store.
    pub fn end(mut self) -> TempDir {
        self.leave();
        wait(self.serving.take().unwrap()).unwrap();
        let Served { engine, dir, .. } = self;
        drop(engine);
        dir
    }

    /// A client that is logged in with the password "secret".
    pub fn client_of(&self, user: &str) -> Client {
        let mut client = self.client();
        wait(client.handshake(user, "secret")).unwrap();
        client
    }

    /// A client with a connection of its own.
    pub fn another_channel(&self) -> Channel {
        wait(async { Channel::from_shared(format!("http://{}", self.address)).unwrap().connect_lazy() })
    }

    pub fn client(&self) -> Client {
        FlightSqlServiceClient::new(self.channel.clone())
    }

    pub fn flight(&self) -> FlightServiceClient<Channel> {
        FlightServiceClient::new(self.channel.clone())
    }

    /// Runs a client's work concurrently.
    pub fn spawn<F: Future<Output: Send> + Send + 'static>(&self, work: F) -> JoinHandle<F::Output> {
        RUNTIME.spawn(work)
    }

    /// Begins the shutdown. The server goes on until its calls have ended.
    pub fn leave(&mut self) {
        let _ = self.leave.take().unwrap().send(());
    }

    /// Runs SQL directly in the engine, without the server.
    pub fn embedded(&self, sql: &str) -> RecordBatch {
        run(&self.engine, sql)
    }

    pub fn update(&self, sql: &str) -> i64 {
        self.try_update(sql).unwrap()
    }

    pub fn try_update(&self, sql: &str) -> Result<i64, FlightError> {
        wait(self.client().execute_update(sql.to_string(), None))
    }

    /// The rows as text, with columns separated by a space.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        self.try_rows(sql).unwrap()
    }

    pub fn try_rows(&self, sql: &str) -> Result<Vec<String>, FlightError> {
        let mut client = self.client();
        wait(async { query(&mut client, sql, None).await.map(|batches| shown(&batches)) })
    }

    pub fn count(&self, table: &str) -> i64 {
        let batch = self.embedded(&format!("SELECT count(*) FROM {table}"));
        batch.column(0).as_primitive::<Int64Type>().value(0)
    }

    /// The value of `name` in the action `stats`.
    pub fn stat(&self, name: &str) -> u64 {
        let answer = self.act("stats", Bytes::new()).unwrap();
        serde_json::from_slice::<serde_json::Value>(&answer[0]).unwrap()[name].as_u64().unwrap()
    }

    pub fn act(&self, name: &str, body: impl Into<Bytes>) -> Result<Vec<Bytes>, Status> {
        let action = Action::new(name, body);
        wait(async {
            let answers: Vec<_> = self.flight().do_action(action).await?.into_inner().try_collect().await?;
            Ok(answers.into_iter().map(|answer| answer.body).collect())
        })
    }
}

fn run(engine: &Engine, sql: &str) -> RecordBatch {
    wait(async {
        let session = engine.session().unwrap();
        let output = session.execute(sql).await.unwrap();
        let schema = output.schema();
        let (batches, _) = output.collect().await.unwrap();
        arrow::compute::concat_batches(&schema, &batches).unwrap()
    })
}

pub async fn query(client: &mut Client, sql: &str, transaction: Option<Bytes>) -> Result<Vec<RecordBatch>, FlightError> {
    let info = client.execute(sql.to_string(), transaction).await?;
    fetch(client, &info).await
}

pub async fn fetch(client: &mut Client, info: &FlightInfo) -> Result<Vec<RecordBatch>, FlightError> {
    client.do_get(ticket(info)).await?.try_collect().await
}

pub fn ticket(info: &FlightInfo) -> Ticket {
    info.endpoint[0].ticket.clone().unwrap()
}

pub fn shown(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows = Vec::new();
    for batch in batches {
        let options = FormatOptions::new().with_null("NULL");
        let columns: Vec<_> = batch.columns().iter().map(|column| ArrayFormatter::try_new(column.as_ref(), &options).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let values: Vec<String> = columns.iter().map(|column| column.value(row).to_string()).collect();
            rows.push(values.join(" "));
        }
    }
    rows
}

/// Sets a header, as clients do.
pub fn with<T>(message: T, name: &'static str, value: &str) -> Request<T> {
    let mut request = Request::new(message);
    request.metadata_mut().insert(name, value.parse().unwrap());
    request
}

pub fn code<T>(result: Result<T, FlightError>) -> Code {
    status(result).code()
}

pub fn status<T>(result: Result<T, FlightError>) -> Status {
    match result {
        Err(FlightError::Tonic(status)) => *status,
        Err(other) => panic!("not a status: {other}"),
        Ok(_) => panic!("it was not refused"),
    }
}

pub fn numbers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    std::sync::Arc::new(Int64Array::from_iter_values(values))
}

pub fn batch(columns: &[(&str, ArrayRef)]) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|(name, column)| (*name, column.clone(), true))).unwrap()
}

pub fn as_type(array: &ArrayRef, data_type: &DataType) -> ArrayRef {
    cast(array, data_type).unwrap()
}

/// Waits until the condition holds, for at most ten seconds.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("after ten seconds still not so: {what}");
}
