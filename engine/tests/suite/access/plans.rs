//! A plan that was made elsewhere reads what its user may read.

use engine::{Binding, EngineError, ErrorKind};

use super::{User, house};
use crate::foreign_plans::read;
use crate::helpers::Ran;

impl User {
    fn read(&self, name: &str, segments: &[(&str, u64)]) -> Result<Ran, EngineError> {
        let segments = segments.iter().map(|(name, id)| (name.to_string(), vec![*id])).collect();
        read(&self.session, name, &Binding { version: None, segments })
    }

    #[track_caller]
    fn refused(&self, name: &str, segments: &[(&str, u64)], kind: ErrorKind) -> String {
        match self.read(name, segments) {
            Err(error) => {
                assert_eq!(error.kind(), kind, "{name}: {error}");
                error.to_string()
            }
            Ok(_) => panic!("{name} was read"),
        }
    }
}

#[test]
fn a_plan_sees_and_reads_what_its_user_may() {
    let db = house(&["bob"]);
    db.script(
        "CREATE TABLE t AS SELECT 1 AS a; CREATE TABLE secret AS SELECT 2 AS a; CREATE TABLE inbox AS SELECT 3 AS a; CREATE VIEW v AS SELECT * FROM t;
         CREATE VIEW w AS SELECT * FROM secret; GRANT SELECT ON t TO bob; GRANT INSERT ON inbox TO bob; GRANT SELECT ON v TO bob; GRANT SELECT ON w TO bob",
    );
    let bob = db.as_user("bob");
    assert_eq!(bob.read("t", &[]).unwrap().rows(), ["1"]);
    assert_eq!(bob.read("V", &[]).unwrap().rows(), ["1"]);
    for name in ["secret", "SECRET", "main.secret", "quiver.main.secret"] {
        assert_eq!(bob.refused(name, &[], ErrorKind::NotFound), format!("no table {name}"));
        assert_eq!(bob.refused(name, &[("main.secret", 1)], ErrorKind::NotFound), format!("no table {name}"));
    }
    assert!(bob.refused("inbox", &[], ErrorKind::Denied).contains("SELECT on table inbox"));
    assert!(bob.refused("inbox", &[("main.inbox", 1)], ErrorKind::Denied).contains("SELECT on table inbox"));
    // As in SQL: what a view names is read with the rights of who reads it.
    bob.refused("w", &[], ErrorKind::Invalid);
    // It lists what the same lists in SQL: the view's text has the table's name, and no row is the table's.
    let listed = bob.read("system.tables", &[]).unwrap().rows();
    assert_eq!(listed, bob.rows("SELECT * FROM system.tables"));
    assert!(!listed.iter().any(|row| row.contains("secret") && !row.contains("FROM secret")), "{listed:?}");
    db.run("REVOKE SELECT ON t FROM bob");
    assert_eq!(bob.refused("t", &[], ErrorKind::NotFound), "no table t");
}
