//! SET and RESET: names of ours, and DataFusion's own under `datafusion.`.

use datafusion::logical_expr::SetVariable;

use crate::error::{EngineError, nearest};

/// Ours, and what they are called in DataFusion.
const NAMES: [(&str, &str); 4] = [
    ("threads", "datafusion.execution.target_partitions"),
    ("batch_size", "datafusion.execution.batch_size"),
    ("timezone", "datafusion.execution.time_zone"),
    ("explain_format", "datafusion.explain.format"),
];

/// The setting with DataFusion's name, or an error with the nearest name there is.
pub fn set_variable(mut set: SetVariable, known: impl Fn(&str) -> bool, all: &[String]) -> Result<SetVariable, EngineError> {
    if let Some((_, name)) = NAMES.iter().find(|(ours, _)| *ours == set.variable) {
        set.variable = (*name).to_string();
    }
    if set.variable.starts_with("datafusion.runtime.") {
        let hint = Some("memory and spill space belong to the process: use --memory-limit and --spill-dir");
        return Err(EngineError::unsupported(format!("SET {}", set.variable), hint));
    }
    if known(&set.variable) {
        return Ok(set);
    }
    let names = NAMES.iter().map(|(ours, _)| *ours).chain(all.iter().map(String::as_str));
    let hint = nearest(&set.variable, names).map(|near| format!("did you mean \"{near}\"?"));
    let hint = hint.or_else(|| Some("SHOW ALL lists the settings".to_string()));
    Err(EngineError::Sql { message: format!("there is no setting \"{}\"", set.variable), position: None, hint })
}
