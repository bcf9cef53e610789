//! `quiver backup` and `quiver restore`.

use std::fs;

use crate::quiver::Place;

fn with_table() -> Place {
    let place = Place::new();
    place.quiver(&["-c", "create table t as select * from generate_series(1, 50000)"]).ok();
    place.quiver(&["-c", "insert into t values (1000000)"]).ok();
    place
}

fn sum(place: &Place, store: &str) -> String {
    place.run(&["--store", store, "--format", "csv", "-c", "select count(*) as n, sum(value) as s from t"]).ok()
}

#[test]
fn a_backup_and_the_next_one_and_a_restore_say_what_they_did() {
    let place = with_table();
    let output = place.quiver(&["backup", "--to", "kept/backup"]).ok();
    assert!(
        output.starts_with("version 2 is in ") && output.contains("4 files linked (") && output.contains("2 files copied ("),
        "{output}"
    );
    place.quiver(&["-c", "insert into t select * from generate_series(1, 50000)"]).ok();
    let output = place.quiver(&["backup", "--to", "kept/backup"]).ok();
    assert!(
        output.starts_with("version 3 is in ") && output.contains("4 files linked (") && output.contains("4 files unchanged ("),
        "{output}"
    );
    let output = place.run(&["restore", "--from", "kept/backup", "--verify-only"]).ok();
    assert!(
        output.starts_with("version 3, backed up 2")
            && output.contains(" UTC: 2 segments, ")
            && output.ends_with("verified: no problems\n"),
        "{output}"
    );
    let output = place.run(&["restore", "--from", "kept/backup", "--store", "restored"]).ok();
    assert!(output.contains("restored is version 3, backed up 2") && output.ends_with("all verified\n"), "{output}");
    assert_eq!(sum(&place, "restored"), sum(&place, "store"));
    assert_eq!(place.quiver(&["-q", "backup", "--copy", "--to", "kept/backup"]).ok(), "");
    assert_eq!(place.run(&["-q", "restore", "--copy", "--from", "kept/backup", "--store", "again"]).ok(), "");
    assert_eq!(sum(&place, "again"), sum(&place, "store"));
}

#[test]
fn a_damaged_backup_is_named_and_not_restored() {
    let place = with_table();
    place.quiver(&["backup", "--copy", "--to", "backup"]).ok();
    let table = place.path("backup/segments/1");
    let segment = fs::read_dir(table).unwrap().flatten().map(|entry| entry.path());
    let segment = segment.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let mut bytes = fs::read(&segment).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&segment, bytes).unwrap();
    let name = segment.file_name().unwrap().to_str().unwrap();
    let output = place.run(&["restore", "--from", "backup", "--verify-only"]);
    assert_eq!(output.status, 1);
    assert!(output.out.contains(name) && output.err.starts_with("error: 1 problem found"), "{}{}", output.out, output.err);
    let output = place.run(&["restore", "--from", "backup", "--store", "restored"]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains(name) && output.err.contains("nothing was restored"), "{}", output.err);
    assert!(!place.path("restored").exists());
}

#[test]
fn wrong_usage_of_backup_and_restore_says_what_to_do() {
    let place = with_table();
    place.quiver(&["backup", "--to", "backup"]).ok();
    let cases: [(&[&str], i32, &str); 9] = [
        (&["backup", "--to", "x"], 2, "quiver backup needs a store"),
        (&["backup", "--store", "store"], 2, "--to"),
        (&["backup", "--store", "nothing", "--to", "x"], 1, "there is no store"),
        (&["backup", "--store", "store", "--to", "store/x"], 1, "inside the store"),
        (&["backup", "--store", "store", "--to", "."], 1, "has other files"),
        (&["backup", "--store", "backup", "--to", "x"], 1, "it is a backup"),
        (&["restore", "--from", "backup"], 2, "needs a store"),
        (&["restore", "--from", "store", "--store", "x"], 1, "it is a store"),
        (&["restore", "--from", "backup", "--store", "store"], 1, "a store already"),
    ];
    for (args, status, text) in cases {
        let output = place.run(args);
        assert_eq!(output.status, status, "{args:?}: {}{}", output.out, output.err);
        assert!(output.err.contains(text), "{args:?}: {}", output.err);
        assert!(!place.path("x").exists() && !place.path("nothing").exists(), "{args:?}");
    }
}
