//! Savepoints by handle.

use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionEndSavepointRequest, Any, EndTransaction, ProstMessageExt,
};
use bytes::Bytes;
use prost::Message;
use tonic::{Code, Status};

use crate::helpers::{Served, batch, numbers, wait};
use crate::transactions::{begin, rows, table, update};

const RELEASE: i32 = 1;
const ROLLBACK: i32 = 2;

fn savepoint(served: &Served, transaction: &Bytes) -> Result<Bytes, Status> {
    // All have the same name.
    let request = ActionBeginSavepointRequest { transaction_id: transaction.clone(), name: "s".into() };
    let answer = served.act("BeginSavepoint", request.as_any().encode_to_vec())?;
    let answer: ActionBeginSavepointResult = Any::decode(answer[0].clone()).unwrap().unpack().unwrap().unwrap();
    Ok(answer.savepoint_id)
}

fn end(served: &Served, savepoint_id: &Bytes, action: i32) -> Result<(), Status> {
    let request = ActionEndSavepointRequest { savepoint_id: savepoint_id.clone(), action };
    served.act("EndSavepoint", request.as_any().encode_to_vec()).map(|_| ())
}

#[test]
fn a_savepoint_is_gone_back_to_or_released() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    let first = savepoint(&served, &transaction).unwrap();
    update(&mut client, "INSERT INTO t VALUES (2)", &transaction);
    let second = savepoint(&served, &transaction).unwrap();
    update(&mut client, "INSERT INTO t VALUES (3)", &transaction);
    end(&served, &second, ROLLBACK).unwrap();
    assert_eq!(rows(&mut client, "SELECT a FROM t ORDER BY a", &transaction), ["1", "2"]);
    end(&served, &second, RELEASE).unwrap();
    assert_eq!(end(&served, &second, ROLLBACK).unwrap_err().code(), Code::NotFound);
    end(&served, &first, ROLLBACK).unwrap();
    wait(client.end_transaction(transaction.clone(), EndTransaction::Commit)).unwrap();
    assert_eq!(served.rows("SELECT a FROM t"), ["1"]);
    assert_eq!(end(&served, &first, ROLLBACK).unwrap_err().code(), Code::NotFound);
}

#[test]
fn a_savepoint_that_is_over_says_so_and_the_transaction_goes_on() {
    let served = table();
    let mut client = served.client();
    let transaction = begin(&mut client);
    let savepoints = || [(); 3].map(|()| savepoint(&served, &transaction).unwrap());
    let is_over = |savepoint_id: &Bytes| {
        for action in [ROLLBACK, RELEASE] {
            let refused = end(&served, savepoint_id, action).unwrap_err();
            assert_eq!(refused.code(), Code::NotFound);
            assert!(refused.message().starts_with("this savepoint is over"), "{}", refused.message());
        }
    };
    update(&mut client, "INSERT INTO t VALUES (1)", &transaction);
    // Ended by a rollback to an earlier one, by a release of an earlier one, and by a rollback in SQL.
    let [first, second, third] = savepoints();
    end(&served, &second, ROLLBACK).unwrap();
    is_over(&third);
    end(&served, &first, RELEASE).unwrap();
    is_over(&second);
    update(&mut client, "SAVEPOINT of_sql", &transaction);
    let [in_sql, ..] = savepoints();
    update(&mut client, "ROLLBACK TO of_sql", &transaction);
    is_over(&in_sql);
    update(&mut client, "INSERT INTO t VALUES (2)", &transaction);
    wait(client.end_transaction(transaction.clone(), EndTransaction::Commit)).unwrap();
    assert_eq!(served.rows("SELECT a FROM t ORDER BY a"), ["1", "2"]);
}

/// Otherwise it would contain half of a failed batch.
#[test]
fn a_failed_transaction_takes_no_savepoint_and_goes_back_to_an_earlier_one() {
    let served = Served::new();
    served.update("CREATE TABLE t (a BIGINT PRIMARY KEY, CHECK (a < 100))");
    served.update("INSERT INTO t VALUES (50)");
    let mut client = served.client();
    for has_earlier in [false, true] {
        let transaction = begin(&mut client);
        let earlier = has_earlier.then(|| savepoint(&served, &transaction).unwrap());
        let mut prepared = wait(client.prepare("UPDATE t SET a = ? WHERE a = ?".into(), Some(transaction.clone()))).unwrap();
        prepared.set_parameters(batch(&[("$1", numbers([51, 500])), ("$2", numbers([50, 51]))])).unwrap();
        assert!(wait(prepared.execute_update()).is_err());
        let refused = savepoint(&served, &transaction).unwrap_err();
        assert!(refused.message().starts_with("a statement of this transaction failed"), "{}", refused.message());
        if let Some(earlier) = earlier {
            assert!(end(&served, &earlier, RELEASE).unwrap_err().message().contains("ROLLBACK TO"));
            end(&served, &earlier, ROLLBACK).unwrap();
            assert_eq!(rows(&mut client, "SELECT a FROM t", &transaction), ["50"]);
        }
        let committed = wait(client.end_transaction(transaction, EndTransaction::Commit));
        assert_eq!(committed.is_ok(), has_earlier);
        assert_eq!(served.rows("SELECT a FROM t"), ["50"]);
    }
}
