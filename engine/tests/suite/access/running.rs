//! Whose statements a user sees and ends.

use std::sync::Arc;

use engine::ErrorKind;

use super::{house, session_of};
use crate::running::{SILENT, ended, in_state, session, spawned};

#[test]
fn users_see_and_end_their_own_statements_and_administrators_everybodys() {
    let db = house(&["bob", "eve"]);
    let (bob, eve) = (Arc::new(session_of(&db.engine, "bob")), Arc::new(session_of(&db.engine, "eve")));
    let running = spawned(&bob, SILENT);
    let id = in_state(&db, SILENT, "running");
    assert_eq!(db.value(&format!("SELECT user_name FROM system.queries WHERE query_id = {id}")), "bob");
    let count =
        |session| ended(spawned(session, "SELECT query_id FROM system.queries WHERE statement LIKE 'SELECT count%'")).unwrap().row_count();
    assert_eq!((count(&bob), count(&eve)), (1, 0));
    let denied = ended(spawned(&eve, &format!("KILL {id}"))).unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::Denied);
    assert!(denied.hint().is_some_and(|hint| hint.contains("administrator")), "{denied}");
    ended(spawned(&bob, &format!("KILL {id}"))).unwrap();
    assert!(ended(running).is_err());
    let running = spawned(&eve, SILENT);
    let id = in_state(&db, SILENT, "running");
    ended(spawned(&session(&db.engine), &format!("KILL {id}"))).unwrap();
    assert!(ended(running).is_err());
}
