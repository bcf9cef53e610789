//! A flag of `quiver serve` for each setting of a server.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use flight_server::config::{Kind, SETTINGS, Setting};

const SERVE: &str = "serve";
/// The only flag that is the opposite of its setting.
const MAINTENANCE: &str = "maintenance";
const NO_MAINTENANCE: &str = "no_maintenance";

/// Adds the flags of the server.
pub fn with_flags(command: Command) -> Command {
    let flags = SETTINGS.iter().filter(|setting| !setting.is_global).map(flag);
    command.mut_subcommand(SERVE, |serve| serve.args(flags))
}

fn flag(setting: &'static Setting) -> Arg {
    let help = format!("{} [default: {}]", sentence(setting.help), setting.default());
    // Leaked once per setting and process, because clap needs static names.
    let long: &'static str = setting.flag().leak();
    let flag = Arg::new(setting.name).long(long).value_name(setting.kind().placeholder()).help(help);
    match setting.kind() {
        Kind::Switch => flag.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => flag,
    }
}

fn sentence(help: &str) -> String {
    let mut chars = help.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The settings on the command line.
pub fn settings_of_matches(matches: &ArgMatches) -> Vec<(&'static str, String)> {
    let Some(matches) = matches.subcommand_matches(SERVE) else { return Vec::new() };
    let is_explicit = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let value = |setting: &'static Setting| match setting.name {
        MAINTENANCE => is_explicit(NO_MAINTENANCE).then(|| "false".to_string()),
        name if is_explicit(name) => {
            let text = matches.get_raw(name).and_then(|mut values| values.next_back()).map(|text| text.to_string_lossy().into_owned());
            // A flag without a value is a switch.
            Some(text.filter(|text| !text.is_empty()).unwrap_or_else(|| "true".to_string()))
        }
        _ => None,
    };
    SETTINGS.iter().filter_map(|setting| Some((setting.name, value(setting)?))).collect()
}
