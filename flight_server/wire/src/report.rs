//! The report of a query, as JSON: in `app_metadata` of FlightInfo and of the last message of a result, and, while it runs,
//! as its progress. docs/flight-sql.md lists the fields; later versions may add some.

use bytes::Bytes;
use engine::{QueryReport, StatementKind};
use serde_json::{Value, json};

const KINDS: [(StatementKind, &str); 5] = [
    (StatementKind::Query, "query"),
    (StatementKind::Write, "write"),
    (StatementKind::Ddl, "ddl"),
    (StatementKind::Set, "set"),
    (StatementKind::Transaction, "transaction"),
];

pub fn report_json(report: &QueryReport, kind: StatementKind) -> Bytes {
    Bytes::from(report_value(report, kind).to_string())
}

/// The report of a statement without rows. A statement about transactions also reports whether one is open now.
pub fn ended_json(report: &QueryReport, kind: StatementKind, is_in_transaction: bool) -> Bytes {
    let mut value = report_value(report, kind);
    if kind == StatementKind::Transaction {
        value["in_transaction"] = is_in_transaction.into();
    }
    Bytes::from(value.to_string())
}

fn report_value(report: &QueryReport, kind: StatementKind) -> Value {
    let statement = KINDS.iter().find(|(other, _)| *other == kind).map(|(_, name)| *name);
    json!({
        "statement": statement,
        "bytes_touched": report.bytes_touched,
        "bytes_returned": report.bytes_returned,
        "rows_returned": report.rows_returned,
        "rows_scanned": report.rows_scanned,
        "rows_total": report.rows_total,
        "segments_total": report.segments_total,
        "segments_pruned": report.segments_pruned,
        "zones_total": report.zones_total,
        "zones_pruned": report.zones_pruned,
        "precopied_bytes": report.precopied_bytes,
        "reread_bytes": report.reread_bytes,
        "placed_bytes": report.placed_bytes,
        "staleness_ms": report.staleness_ms,
        "spilled_bytes": report.spilled_bytes,
        "peak_memory_bytes": report.peak_memory_bytes,
        "planning_ms": rounded(report.planning_ms),
        "elapsed_ms": rounded(report.elapsed_ms),
    })
}

/// The part of the report about bytes that crossed the boundaries of the engine, for clients that count bytes and want few of them.
pub fn brief_report_json(report: &QueryReport) -> Bytes {
    let value = json!({
        "bytes_touched": report.bytes_touched,
        "bytes_returned": report.bytes_returned,
        "elapsed_ms": rounded(report.elapsed_ms),
    });
    Bytes::from(value.to_string())
}

/// The progress of a statement: the part of its report that is known while it runs.
pub fn progress_json(report: &QueryReport) -> Bytes {
    let value = json!({
        "rows_scanned": report.rows_scanned,
        // Unknown before it begins to read a table.
        "rows_total": (report.rows_total > 0).then_some(report.rows_total),
        "rows_returned": report.rows_returned,
        "bytes_touched": report.bytes_touched,
        "bytes_returned": report.bytes_returned,
        "spilled_bytes": report.spilled_bytes,
        "peak_memory_bytes": report.peak_memory_bytes,
        "elapsed_ms": rounded(report.elapsed_ms),
    });
    Bytes::from(value.to_string())
}

/// Decodes the report, and the kind of the statement if there is one. Missing fields are 0.
pub fn report_of_json(json: &[u8]) -> Option<(QueryReport, Option<StatementKind>)> {
    let value: Value = serde_json::from_slice(json).ok()?;
    let count = |name: &str| value[name].as_u64().unwrap_or_default();
    let ms = |name: &str| value[name].as_f64().unwrap_or_default();
    let report = QueryReport {
        elapsed_ms: ms("elapsed_ms"),
        planning_ms: ms("planning_ms"),
        bytes_touched: count("bytes_touched"),
        // Servers do not read tables of other nodes.
        node_bytes_touched: 0,
        bytes_returned: count("bytes_returned"),
        rows_returned: count("rows_returned"),
        rows_scanned: count("rows_scanned"),
        rows_total: count("rows_total"),
        segments_total: count("segments_total"),
        segments_pruned: count("segments_pruned"),
        zones_total: count("zones_total"),
        zones_pruned: count("zones_pruned"),
        precopied_bytes: count("precopied_bytes"),
        reread_bytes: count("reread_bytes"),
        placed_bytes: count("placed_bytes"),
        staleness_ms: count("staleness_ms"),
        spilled_bytes: count("spilled_bytes"),
        peak_memory_bytes: count("peak_memory_bytes"),
    };
    let kind = value["statement"].as_str().and_then(|name| KINDS.iter().find(|(_, other)| *other == name));
    Some((report, kind.map(|(kind, _)| *kind)))
}

/// Rounds to microseconds, because more digits are noise.
fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_report_has_the_bytes() {
        let report = QueryReport { bytes_touched: 7, bytes_returned: 3, elapsed_ms: 1.5, ..QueryReport::default() };
        let brief = brief_report_json(&report);
        assert_eq!(report_of_json(&brief), Some((report, None)));
        assert!(brief.len() < 100, "{}", String::from_utf8_lossy(&brief));
    }

    #[test]
    fn only_statements_about_transactions_report_whether_one_is_open() {
        let in_transaction =
            |kind| serde_json::from_slice::<Value>(&ended_json(&QueryReport::default(), kind, true)).unwrap()["in_transaction"].clone();
        assert_eq!(in_transaction(StatementKind::Transaction), true);
        assert_eq!(in_transaction(StatementKind::Write), Value::Null);
    }

    #[test]
    fn a_report_survives_encoding_and_decoding() {
        let report = QueryReport {
            bytes_touched: 7,
            zones_pruned: 3,
            elapsed_ms: 1.5,
            spilled_bytes: 9,
            precopied_bytes: 5,
            placed_bytes: 4,
            staleness_ms: 6,
            ..QueryReport::default()
        };
        assert_eq!(report_of_json(&report_json(&report, StatementKind::Write)), Some((report, Some(StatementKind::Write))));
        assert_eq!(report_of_json(b"{}"), Some((QueryReport::default(), None)));
        assert_eq!(report_of_json(b"rows"), None);
        let report = QueryReport { rows_scanned: 7, rows_total: 9, bytes_touched: 5, elapsed_ms: 1.5, ..QueryReport::default() };
        assert_eq!(report_of_json(&progress_json(&report)), Some((report, None)));
        assert_eq!(report_of_json(&progress_json(&QueryReport::default())), Some((QueryReport::default(), None)));
    }
}
