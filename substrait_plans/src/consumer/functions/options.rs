//! Options of a call. Each lists the values that the producer accepts, best first. If none of them is supported here, or the option is
//! unknown, the call is refused.

use crate::error::PlanError;
use crate::proto::FunctionOption;

/// The supported values of an option of the standard.
#[derive(Debug)]
pub struct Accepted {
    pub option: &'static str,
    pub values: &'static [&'static str],
    /// The values for floating-point numbers, if they differ.
    pub floats: Option<&'static [&'static str]>,
}

impl Accepted {
    pub const fn of(option: &'static str, values: &'static [&'static str]) -> Accepted {
        Accepted { option, values, floats: None }
    }
}

/// Integers and decimals that do not fit are errors; floats become infinite. SILENT, which pyarrow writes in every call, permits any
/// result, and an error is better than a wrong value.
pub const OVERFLOW: Accepted = Accepted { option: "overflow", values: &["ERROR", "SILENT"], floats: Some(&["SILENT"]) };
pub const NOTHING_OVERFLOWS: Accepted = Accepted::of("overflow", &["ERROR", "SILENT", "SATURATE"]);
pub const ROUNDING: Accepted = Accepted::of("rounding", &["TIE_TO_EVEN"]);
pub const DOMAIN: Accepted = Accepted { option: "on_domain_error", values: &["ERROR"], floats: Some(&["NAN"]) };
pub const CASE: Accepted = Accepted::of("case_sensitivity", &["CASE_SENSITIVE"]);
pub const CHARS: Accepted = Accepted::of("char_set", &["UTF8"]);

/// The chosen values, each with its option, in upper case.
#[derive(Debug, Default)]
pub struct Options(Vec<(&'static str, &'static str)>);

impl Options {
    pub fn get(&self, option: &str) -> Option<&'static str> {
        self.0.iter().find(|(name, _)| *name == option).map(|(_, value)| *value)
    }
}

pub fn choose(options: &[FunctionOption], accepted: &'static [Accepted], is_float: bool, place: &str) -> Result<Options, PlanError> {
    let mut chosen = Options::default();
    for option in options {
        let name: String = option.name.chars().take(80).collect();
        let entry = accepted.iter().find(|accepted| accepted.option.eq_ignore_ascii_case(&option.name));
        let unknown = || PlanError::unsupported(format!("the option \"{}\"", name.escape_default()), place);
        let entry = entry.ok_or_else(unknown)?;
        let values = entry.floats.filter(|_| is_float).unwrap_or(entry.values);
        let done = option.preference.iter().find_map(|preference| values.iter().find(|value| value.eq_ignore_ascii_case(preference)));
        match done {
            Some(value) => chosen.0.push((entry.option, value)),
            None if option.preference.is_empty() => {
                return Err(PlanError::invalid(format!("the option \"{}\" without a preference", entry.option), place));
            }
            None => {
                let what = format!("any other {} than {}", entry.option, values.join(" or "));
                return Err(PlanError::unsupported(what, place));
            }
        }
    }
    Ok(chosen)
}
