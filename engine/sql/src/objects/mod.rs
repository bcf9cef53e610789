//! The statements about objects: groups, tags, comments, search. The parser does not know them:
//!
//! ```text
//! CREATE [OR REPLACE] TABLE … WITH TAGS (k = v, …)
//! COMMENT ON TABLE|VIEW|ARRAY|GROUP|BLOB|FUNCTION name IS 'text' | NULL
//! CREATE GROUP [IF NOT EXISTS] g [IN h] [WITH TAGS (k = v, …)]
//! ALTER GROUP g ADD|REMOVE TABLE t, …, VIEW v, …;  ALTER GROUP g RENAME TO h
//! DROP GROUP [IF EXISTS] g [CASCADE]
//! TAG TABLE|VIEW|ARRAY|GROUP|BLOB|FUNCTION name, … SET (k = v, …);  TAG OBJECTS WHERE … SET (k = v, …)
//! TAG OBJECTS FROM … (a query)
//! UNTAG TABLE|VIEW|ARRAY|GROUP|BLOB|FUNCTION name, … (k, …) | ALL;  UNTAG OBJECTS WHERE … (k, …) | ALL
//! COPY BLOB b FROM 'file' [WITH TAGS (k = v, …)];  COPY BLOB b TO 'file';  COPY BLOBS FROM … (a query)
//! DROP BLOB [IF EXISTS] b;  ALTER BLOB b RENAME TO c;  ALTER GROUP|BLOB name SET (read_only = true|false)
//! ALTER TABLE|ARRAY|GROUP name SET TIER memory|pmem|disk|object
//! ALTER TABLE|ARRAY|GROUP name SET TIER POLICY 'disk after 30 days, back on use'
//! FIND OBJECTS|TABLES|VIEWS|ARRAYS|GROUPS|BLOBS|FUNCTIONS [IN GROUP g] [WHERE …] [ORDER BY k [DESC], …] [LIMIT n] [OFFSET n] [INTO GROUP g]
//! ```

mod create_tags;
mod parse;
mod statement;

pub use create_tags::take_tags_clause;
pub use parse::{parse_objects, read_only, tags};
pub use statement::{BlobChange, GroupChange, ObjectName, ObjectStatement, Search, SearchOrder, Selection, Tag};
