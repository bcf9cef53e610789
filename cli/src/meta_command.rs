//! The backslash commands: their names, their help, and their parser. `dot_command` has those of other shells.
//! Running them is `console::meta`. Pure: tested in `tests/suite`.

use std::time::Duration;

#[derive(Debug, PartialEq, Eq)]
pub enum Meta {
    /// `\d` without a name lists everything, with a name shows the columns of that table.
    Describe(String),
    List {
        kind: Listed,
        pattern: Option<String>,
    },
    Format(Option<String>),
    Pset(Option<(String, Option<String>)>),
    Timing(Option<bool>),
    Expanded(Option<bool>),
    Output(Option<String>),
    Include(String),
    Edit,
    Print,
    /// Runs the statement before it, or else the last one; into a file, or with one line per column.
    Again {
        file: Option<String>,
        expanded: bool,
    },
    Watch {
        pause: Duration,
        times: Option<u64>,
    },
    Reset,
    Copy(String),
    /// A variable and its value.
    Set(Option<(String, String)>),
    Unset(String),
    History,
    Echo(String),
    Shell(String),
    ChangeDirectory(String),
    Connection,
    Help,
    SqlHelp(Option<String>),
    Quit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    Everything,
    Tables,
    Views,
    Schemas,
    Functions,
    Indexes,
    Users,
    Stores,
}

/// Usage and meaning of every command, in the order `\?` shows them.
pub const HELP: &[(&str, &str)] = &[
    ("\\? ", "show this help"),
    ("\\h [STATEMENT]", "syntax of a SQL statement"),
    ("\\q", "leave the shell (also Ctrl-D)"),
    ("\\d [TABLE]", "list tables and views, or the columns of one"),
    ("\\dt [PATTERN]", "list tables"),
    ("\\dv [PATTERN]", "list views"),
    ("\\dtv [PATTERN]", "list both"),
    ("\\di [PATTERN]", "list the orders of tables, which stand for indexes"),
    ("\\dn", "list schemas"),
    ("\\du [PATTERN]", "list users"),
    ("\\df [PATTERN]", "list functions and how they are called"),
    ("\\l", "show the store, or the server"),
    ("\\conninfo", "show the store and its mode, or the server; and the version"),
    ("\\i FILE", "run the statements of a file"),
    ("\\o [FILE]", "write results to a file; without one, back to the screen"),
    ("\\e", "edit the last statement in $EDITOR, then run it"),
    ("\\g [FILE]", "run the statement before it, or the last one; its result to a file"),
    ("\\gx", "the same, with one line per column"),
    ("\\watch [SECONDS]", "run it again and again until Ctrl-C; c=N ends after N times"),
    ("\\p", "print the statement before it, or the last one"),
    ("\\r", "drop the statement before it"),
    ("\\copy TABLE FROM FILE", "read a file of this machine; \\copy TABLE | (QUERY) TO FILE writes one"),
    ("\\s", "print the history"),
    ("\\format [NAME]", "table, box, csv, json, markdown or arrow"),
    ("\\x [on|off]", "one line per column instead of one per row"),
    ("\\timing [on|off]", "print the time of every statement"),
    ("\\pset [NAME [VALUE]]", "format, null, pager, footer, maxrows, expanded"),
    ("\\set [NAME VALUE]", "set a variable, which SQL names as :NAME, :'NAME' or :\"NAME\"; or list all"),
    ("\\unset NAME", "remove a variable"),
    ("\\echo TEXT", "print a text"),
    ("\\cd [DIR]", "change the working directory"),
    ("\\! [COMMAND]", "run a command of the operating system"),
];

/// Commands of psql that are not here, with what to do instead.
const OF_PSQL: &[(&[&str], &str)] = &[
    (&["\\a", "\\f", "\\H", "\\t"], "\\format csv or json shows rows without lines around them"),
    (&["\\ddp", "\\dp", "\\drg", "\\z"], "SHOW GRANTS; lists privileges"),
    (&["\\dD", "\\dm", "\\ds", "\\dT", "\\dx"], "a store has tables, views and schemas, which \\d and \\dn list"),
    (&["\\password"], "ALTER USER name PASSWORD 'text'; changes a password"),
    (&["\\sf"], "\\df shows how functions are called"),
    (&["\\sv"], "SHOW CREATE TABLE name; shows the statement that makes a table or a view"),
];

/// The name of the command in its usage line.
pub fn name_of(usage: &str) -> &str {
    usage.split(' ').next().unwrap_or(usage)
}

/// Reads a line that starts with `\`. The error is a sentence for the user.
pub fn parse(line: &str) -> Result<Meta, String> {
    let line = line.trim();
    let (name, rest) = split_name(line);
    // These take the rest of the line unchanged.
    match name {
        "\\!" => return Ok(Meta::Shell(rest.to_string())),
        "\\copy" => return Ok(Meta::Copy(rest.to_string())),
        "\\echo" => return Ok(Meta::Echo(unquote(rest))),
        _ => {}
    }
    let rest = rest.trim_end_matches(';').trim_end();
    let words = words(rest);
    let first = words.first().cloned();
    let listed = |kind| Meta::List { kind, pattern: first.clone() };
    // In psql a `+` shows more detail; here all details are shown anyway.
    Ok(match name.trim_end_matches('+') {
        "\\d" => first.map_or(Meta::List { kind: Listed::Everything, pattern: None }, Meta::Describe),
        "\\dt" => listed(Listed::Tables),
        "\\dv" => listed(Listed::Views),
        "\\dtv" => listed(Listed::Everything),
        "\\di" => listed(Listed::Indexes),
        "\\du" => listed(Listed::Users),
        "\\dn" => listed(Listed::Schemas),
        "\\df" => listed(Listed::Functions),
        "\\l" => Meta::List { kind: Listed::Stores, pattern: None },
        "\\format" => Meta::Format(first),
        "\\pset" => Meta::Pset(first.map(|name| (name, words.get(1).cloned()))),
        "\\timing" => Meta::Timing(switch(name, first)?),
        "\\x" => Meta::Expanded(switch(name, first)?),
        "\\o" | "\\out" => Meta::Output(first),
        "\\i" | "\\include" | "\\ir" => Meta::Include(required(name, first, "a file")?),
        "\\e" | "\\edit" => Meta::Edit,
        "\\p" | "\\print" => Meta::Print,
        "\\g" | "\\gx" => Meta::Again { file: first, expanded: name == "\\gx" },
        "\\watch" => watch(&words)?,
        "\\r" | "\\reset" => Meta::Reset,
        "\\set" => Meta::Set(first.map(|name| (name, words[1..].concat()))),
        "\\unset" => Meta::Unset(required(name, first, "a variable")?),
        "\\s" => Meta::History,
        "\\cd" => Meta::ChangeDirectory(first.unwrap_or_default()),
        "\\conninfo" | "\\c" | "\\connect" => connection(name, first)?,
        "\\?" | "\\help" => Meta::Help,
        "\\h" => Meta::SqlHelp((!rest.is_empty()).then(|| rest.to_string())),
        "\\q" | "\\quit" | "\\exit" => Meta::Quit,
        _ => return Err(unknown(name)),
    })
}

/// `\!ls` and `\?` need no blank after the character.
fn split_name(line: &str) -> (&str, &str) {
    for name in ["\\!", "\\?"] {
        if let Some(rest) = line.strip_prefix(name) {
            return (name, rest.trim_start());
        }
    }
    let end = line.find(|c: char| c.is_whitespace() || c == ';' || c == '(').unwrap_or(line.len());
    (&line[..end], line[end..].trim_start())
}

/// Splits at blanks. Single quotes group, and a doubled one stands for itself.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let mut word = String::new();
        let mut quoted = false;
        let mut end = rest.len();
        for (at, sign) in rest.char_indices() {
            if sign.is_whitespace() && !quoted {
                end = at;
                break;
            }
            if sign != '\'' {
                word.push(sign);
                continue;
            }
            if !quoted && at > 0 && rest[..at].ends_with('\'') {
                word.push('\'');
            }
            quoted = !quoted;
        }
        words.push(word);
        rest = rest[end..].trim_start();
    }
    words
}

fn unquote(text: &str) -> String {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    inner.map_or_else(|| text.to_string(), |inner| inner.replace("''", "'"))
}

fn switch(name: &str, value: Option<String>) -> Result<Option<bool>, String> {
    value.map(|value| parse_switch(name, &value)).transpose()
}

/// `on` or `off`, in the spellings that psql accepts.
pub fn parse_switch(name: &str, value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        _ => Err(format!("{name} takes 'on' or 'off', not '{value}'")),
    }
}

/// `\watch 5`, `\watch c=3 i=0.5`
fn watch(words: &[String]) -> Result<Meta, String> {
    let wrong = || "\\watch takes the seconds between two runs, and c=N for the number of runs".to_string();
    let (mut pause, mut times) = (Duration::from_secs(2), None);
    for word in words {
        match word.split_once('=').unwrap_or(("i", word.as_str())) {
            ("c" | "count", value) => times = Some(value.parse::<u64>().map_err(|_| wrong())?),
            ("i" | "interval", value) => {
                let seconds = value.parse::<f64>().map_err(|_| wrong())?;
                pause = Duration::try_from_secs_f64(seconds).map_err(|_| wrong())?;
            }
            _ => return Err(wrong()),
        }
    }
    Ok(Meta::Watch { pause, times })
}

fn required(name: &str, value: Option<String>, what: &str) -> Result<String, String> {
    value.ok_or_else(|| format!("{name} needs {what}"))
}

fn connection(name: &str, target: Option<String>) -> Result<Meta, String> {
    match target {
        None => Ok(Meta::Connection),
        Some(_) => Err(format!("{name} cannot change the store; leave and start with --store DIR or --connect URI")),
    }
}

fn unknown(name: &str) -> String {
    let plain_name = name.trim_end_matches('+');
    if let Some((_, advice)) = OF_PSQL.iter().find(|(names, _)| names.contains(&plain_name)) {
        return format!("there is no command {name} here: {advice}");
    }
    let names = HELP.iter().map(|(usage, _)| name_of(usage));
    // Each single letter is near to every other one.
    match nearest(plain_name, names).filter(|_| plain_name.len() > 2) {
        Some(near) => {
            format!("there is no command {name}; did you mean {near}? (\\? lists them all)")
        }
        None => format!("there is no command {name}; \\? lists them all"),
    }
}

/// The candidate a misspelt word most likely stood for, if any is near enough.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |candidate: &str| {
        let longer = candidate.starts_with(word) || (candidate.len() > 2 && word.starts_with(candidate));
        match longer {
            true => 1,
            false => strsim::damerau_levenshtein(word, candidate),
        }
    };
    let best = candidates.map(|candidate| (distance(candidate), candidate)).min()?;
    // The backslash always matches. Of the rest, at most a third may differ, but one character always may.
    let allowed = (word.chars().count().saturating_sub(1) / 3).max(1);
    (best.0 <= allowed).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_in_the_help_is_understood() {
        for (usage, _) in HELP {
            let argument = if name_of(usage) == "\\watch" { "0.5" } else { "on" };
            let line = format!("{} {argument}", name_of(usage));
            if name_of(usage) != "\\conninfo" {
                assert!(parse(&line).is_ok(), "{line}: {:?}", parse(&line));
            }
        }
        assert_eq!(parse("\\conninfo"), Ok(Meta::Connection));
    }

    #[test]
    fn arguments_may_be_quoted_and_a_last_semicolon_is_forgiven() {
        assert_eq!(parse("\\i 'my file.sql'"), Ok(Meta::Include("my file.sql".into())));
        assert_eq!(parse("\\pset null ''"), Ok(Meta::Pset(Some(("null".into(), Some(String::new()))))));
        assert_eq!(parse("\\d flights;"), Ok(Meta::Describe("flights".into())));
        assert_eq!(parse("\\q;"), Ok(Meta::Quit));
        assert_eq!(parse("\\i 'it''s'"), Ok(Meta::Include("it's".into())));
    }

    #[test]
    fn the_operating_system_gets_the_rest_of_the_line_unchanged() {
        assert_eq!(parse("\\! echo 'a  b';"), Ok(Meta::Shell("echo 'a  b';".into())));
        assert_eq!(parse("\\!ls"), Ok(Meta::Shell("ls".into())));
    }

    #[test]
    fn a_statement_is_repeated_in_seconds_and_a_number_of_times() {
        let watch = |pause_s: f64, times| Ok(Meta::Watch { pause: Duration::from_secs_f64(pause_s), times });
        assert_eq!(parse("\\watch"), watch(2.0, None));
        assert_eq!(parse("\\watch 0.5"), watch(0.5, None));
        assert_eq!(parse("\\watch c=3 i=1"), watch(1.0, Some(3)));
        for bad in ["\\watch soon", "\\watch -1", "\\watch c=x", "\\watch n=1"] {
            assert!(parse(bad).unwrap_err().contains("\\watch takes"), "{bad}");
        }
    }

    #[test]
    fn the_values_of_a_variable_are_joined_as_in_psql() {
        assert_eq!(parse("\\set a 1 'b c'"), Ok(Meta::Set(Some(("a".into(), "1b c".into())))));
        assert_eq!(parse("\\set a"), Ok(Meta::Set(Some(("a".into(), String::new())))));
        assert_eq!(parse("\\set"), Ok(Meta::Set(None)));
    }

    #[test]
    fn a_copy_keeps_its_quotes() {
        assert_eq!(parse("\\copy (select 'a') to 'b c'"), Ok(Meta::Copy("(select 'a') to 'b c'".into())));
        assert_eq!(parse("\\copy(select 1) to x"), Ok(Meta::Copy("(select 1) to x".into())));
    }

    #[test]
    fn a_switch_without_a_value_toggles() {
        assert_eq!(parse("\\timing"), Ok(Meta::Timing(None)));
        assert_eq!(parse("\\timing on"), Ok(Meta::Timing(Some(true))));
        assert_eq!(parse("\\x off"), Ok(Meta::Expanded(Some(false))));
        assert!(parse("\\x maybe").unwrap_err().contains("'on' or 'off'"));
    }

    #[test]
    fn a_misspelt_command_is_refused_with_the_nearest_one() {
        assert!(parse("\\timig").unwrap_err().contains("did you mean \\timing"));
        assert!(parse("\\fromat csv").unwrap_err().contains("did you mean \\format"));
        for other in ["\\zzzzzz", "\\w"] {
            assert!(!parse(other).unwrap_err().contains("did you mean"), "{other}");
        }
    }

    #[test]
    fn commands_of_psql_that_are_not_here_say_what_to_do() {
        for name in OF_PSQL.iter().flat_map(|(names, _)| *names) {
            assert!(parse(name).unwrap_err().starts_with(&format!("there is no command {name} here: ")), "{name}");
        }
        assert!(parse("\\dp+ t").unwrap_err().contains("SHOW GRANTS"));
    }
}
