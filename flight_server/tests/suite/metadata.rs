//! Metadata of Flight SQL with users: none without a login, and none about objects that the user may not read.

use arrow::array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys,
    CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables, CommandGetXdbcTypeInfo, ProstMessageExt,
};
use arrow_flight::{FlightDescriptor, Ticket};
use futures::TryStreamExt;
use prost::Message;
use tonic::{Code, Request, Status};

use crate::helpers::{Client, Served, options, shown, ticket, wait};

/// bob may not see `secret.plans`, but may see `shown.t`.
fn served() -> Served {
    let served = Served::with_users(options(), &["ada", "bob"]);
    for sql in [
        "CREATE SCHEMA secret",
        "CREATE TABLE secret.plans (hidden_key BIGINT PRIMARY KEY)",
        "CREATE SCHEMA shown",
        "CREATE TABLE shown.t (a BIGINT PRIMARY KEY)",
        "GRANT SELECT ON shown.t TO bob",
    ] {
        served.embedded(sql);
    }
    served
}

fn commands() -> Vec<(&'static str, Vec<u8>)> {
    let (catalog, table) = (Some("quiver".to_string()), "plans".to_string());
    let db_schema = Some("secret".to_string());
    let keys = CommandGetPrimaryKeys { catalog: catalog.clone(), db_schema: db_schema.clone(), table: table.clone() };
    let exported = CommandGetExportedKeys { catalog: catalog.clone(), db_schema: db_schema.clone(), table: table.clone() };
    let imported = CommandGetImportedKeys { catalog: catalog.clone(), db_schema: db_schema.clone(), table: table.clone() };
    let crossed = CommandGetCrossReference {
        pk_catalog: catalog.clone(),
        pk_db_schema: db_schema.clone(),
        pk_table: table.clone(),
        fk_catalog: catalog,
        fk_db_schema: db_schema,
        fk_table: table,
    };
    vec![
        ("catalogs", CommandGetCatalogs {}.as_any().encode_to_vec()),
        ("schemas", CommandGetDbSchemas::default().as_any().encode_to_vec()),
        ("tables", CommandGetTables { include_schema: true, ..CommandGetTables::default() }.as_any().encode_to_vec()),
        ("table types", CommandGetTableTypes {}.as_any().encode_to_vec()),
        ("primary keys", keys.as_any().encode_to_vec()),
        ("exported keys", exported.as_any().encode_to_vec()),
        ("imported keys", imported.as_any().encode_to_vec()),
        ("cross reference", crossed.as_any().encode_to_vec()),
        ("SQL info", CommandGetSqlInfo::default().as_any().encode_to_vec()),
        ("types", CommandGetXdbcTypeInfo::default().as_any().encode_to_vec()),
    ]
}

fn by<T>(client: Option<&Client>, message: T) -> Request<T> {
    let mut request = Request::new(message);
    if let Some(token) = client.and_then(Client::token) {
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
    }
    request
}

fn rows(served: &Served, client: Option<&Client>, command: &[u8]) -> Result<Vec<String>, Status> {
    wait(async {
        let descriptor = FlightDescriptor::new_cmd(command.to_vec());
        let info = served.flight().get_flight_info(by(client, descriptor)).await?.into_inner();
        let messages = served.flight().do_get(by(client, ticket(&info))).await?.into_inner();
        let batches = FlightRecordBatchStream::new_from_flight_data(messages.map_err(FlightError::from));
        let batches: Vec<RecordBatch> = batches.try_collect().await.map_err(Status::from)?;
        Ok(shown(&batches))
    })
}

#[test]
fn without_a_login_no_metadata_is_told() {
    let served = served();
    for (what, command) in commands() {
        let descriptor = || FlightDescriptor::new_cmd(command.clone());
        let refused = [
            wait(served.flight().get_flight_info(descriptor())).map(|_| ()),
            wait(served.flight().poll_flight_info(descriptor())).map(|_| ()),
            wait(served.flight().get_schema(descriptor())).map(|_| ()),
            // The command is its own ticket.
            wait(served.flight().do_get(Ticket::new(command.clone()))).map(|_| ()),
        ];
        for refused in refused {
            assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated, "{what}");
        }
    }
}

#[test]
fn metadata_leaves_out_objects_that_its_reader_may_not_see() {
    let served = served();
    let (ada, bob) = (served.client_of("ada"), served.client_of("bob"));
    let is_visible =
        |client: &Client, command: &[u8], word: &str| rows(&served, Some(client), command).unwrap().iter().any(|row| row.contains(word));
    for (what, command) in commands() {
        for word in ["secret", "plans", "hidden_key"] {
            assert!(!is_visible(&bob, &command, word), "{what} tells of {word}");
        }
        // An admin sees it, so the calls above have hidden something.
        let is_there = matches!(what, "schemas" | "tables" | "primary keys");
        assert_eq!(is_visible(&ada, &command, "secret"), is_there, "{what}");
    }
    let of_shown = CommandGetPrimaryKeys { catalog: None, db_schema: Some("shown".into()), table: "t".into() };
    assert!(is_visible(&bob, &of_shown.as_any().encode_to_vec(), "shown t a"));
    assert!(is_visible(&bob, &CommandGetDbSchemas::default().as_any().encode_to_vec(), "shown"));
    assert!(is_visible(&bob, &CommandGetTables::default().as_any().encode_to_vec(), "shown t"));
}
