//! Names of headers, by which a client chooses the form of results and names its session.

pub const VIEW_TYPES: &str = "x-quiver-view-types";
pub const JDBC_TYPES: &str = "x-quiver-jdbc-types";
pub const COMPRESSION: &str = "x-quiver-compression";
pub const BRIEF: &str = "x-quiver-brief";

/// The cookie that names a session.
pub const COOKIE: &str = "arrow_flight_session_id";
