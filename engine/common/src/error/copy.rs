//! Copies an error for several streams that end with it: each gets the whole error, with its kind.

use crate::error::EngineError;

impl EngineError {
    pub fn copy(&self) -> EngineError {
        use EngineError::*;
        match self {
            Sql { message, position, hint } => Sql { message: message.clone(), position: *position, hint: hint.clone() },
            NoTable(table) => NoTable(table.clone()),
            NoTableFunction(name) => NoTableFunction(name.clone()),
            ViewCycle(view) => ViewCycle(view.clone()),
            Execution { message, hint } => Execution { message: message.clone(), hint: hint.clone() },
            Data { message, position, hint } => Data { message: message.clone(), position: *position, hint: hint.clone() },
            Unsupported { feature, hint } => Unsupported { feature: feature.clone(), hint: hint.clone() },
            NotNull { table, column, row } => NotNull { table: table.clone(), column: column.clone(), row: *row },
            Constraint { constraint, message } => Constraint { constraint: constraint.clone(), message: message.clone() },
            Memory { message } => Memory { message: message.clone() },
            Cancelled => Cancelled,
            SpillFull => SpillFull,
            Killed => Killed,
            TimedOut { limit_ms } => TimedOut { limit_ms: *limit_ms },
            QueueTimedOut { limit_ms } => QueueTimedOut { limit_ms: *limit_ms },
            NoSuchQuery { id } => NoSuchQuery { id: *id },
            NotOwnQuery { id } => NotOwnQuery { id: *id },
            QueryDone { id } => QueryDone { id: *id },
            Plan { message, hint, kind } => Plan { message: message.clone(), hint: hint.clone(), kind: *kind },
            Unreachable { message, hint } => Unreachable { message: message.clone(), hint: hint.clone() },
            Denied { message, hint } => Denied { message: message.clone(), hint: hint.clone() },
            NoPrincipal { kind, name, hint } => NoPrincipal { kind, name: name.clone(), hint: hint.clone() },
            Unauthenticated { message } => Unauthenticated { message: message.clone() },
            Internal(message) => Internal(message.clone()),
            // Their sources cannot be cloned, so the copy has the same text and the same kind.
            SpillDir { .. } | Store(_) | Import(_) | Export(_) => {
                Plan { message: self.to_string(), hint: self.hint().map(str::to_string), kind: self.kind() }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::common::DataFusionError;

    use super::*;
    use crate::error::import::ImportError;
    use crate::error::kind::ErrorKind;

    #[test]
    fn an_error_that_several_streams_share_keeps_its_kind_and_hint() {
        let store = || EngineError::Store(pmem_store::StoreError::NamespaceNotEmpty("s".to_string()));
        let kinds = [
            (EngineError::Killed, ErrorKind::Cancelled),
            (EngineError::TimedOut { limit_ms: 5 }, ErrorKind::TimedOut),
            (EngineError::unsupported("x", Some("y")), ErrorKind::Unsupported),
            (EngineError::Constraint { constraint: "c".into(), message: "m".into() }, ErrorKind::NotAllowed),
            (EngineError::NotNull { table: "t".into(), column: "c".into(), row: 3 }, ErrorKind::NotAllowed),
            (store(), ErrorKind::NotAllowed),
            (EngineError::Import(ImportError::Internal { file: "f".into(), reason: "r".into() }), ErrorKind::Internal),
        ];
        for (error, kind) in kinds {
            let (text, hint) = (error.to_string(), error.hint().map(str::to_string));
            let shared = Arc::new(error.into_datafusion());
            let other = Arc::clone(&shared);
            let copy = EngineError::from(DataFusionError::Shared(shared));
            assert_eq!((copy.kind(), copy.to_string(), copy.hint().map(str::to_string)), (kind, text, hint));
            drop(other);
        }
    }
}
