//! ListFlights: every table and view. Each is described when the client reads it.

use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::{Criteria, FlightInfo};
use futures::{Stream, StreamExt};
use tonic::{Code, Status};

use super::table;
use crate::error::status;
use crate::sessions::Connection;
use crate::stream::ClientOptions;

pub type Flights = Pin<Box<dyn Stream<Item = Result<FlightInfo, Status>> + Send>>;

/// The tables of the schema that the criteria name, or all tables.
pub async fn list(connection: Arc<Connection>, criteria: &Criteria, client_options: ClientOptions) -> Result<Flights, Status> {
    let schema = std::str::from_utf8(&criteria.expression)
        .map_err(|_| Status::invalid_argument("the criteria are not UTF-8; give the name of a schema, or nothing"))?
        .to_string();
    let mut tables = connection.turn().await?.session().tables().map_err(status)?;
    tables.retain(|table| schema.is_empty() || table.schema == schema);
    let flights = futures::stream::iter(tables).filter_map(move |listed| {
        let connection = Arc::clone(&connection);
        async move {
            match table::listed(&connection, listed, client_options).await {
                // A table that was dropped since the list was made, or a view whose tables were dropped.
                Err(error) if matches!(error.code(), Code::NotFound | Code::InvalidArgument) => None,
                flight => Some(flight),
            }
        }
    });
    Ok(Box::pin(flights))
}
