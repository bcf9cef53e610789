//! The backslash commands: their names, their help, and their parser.
//! Running them is `console::meta`. Pure: tested in `tests/suite`.

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
    Again,
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
    ("\\dn", "list schemas"),
    ("\\df [PATTERN]", "list functions"),
    ("\\l", "show the store, or the server"),
    ("\\conninfo", "show the store and its mode, or the server; and the version"),
    ("\\i FILE", "run the statements of a file"),
    ("\\o [FILE]", "write results to a file; without one, back to the screen"),
    ("\\e", "edit the last statement in $EDITOR, then run it"),
    ("\\g", "run the last statement again"),
    ("\\p", "print the last statement"),
    ("\\s", "print the history"),
    ("\\format [NAME]", "table, box, csv, json, markdown or arrow"),
    ("\\x [on|off]", "one line per column instead of one per row"),
    ("\\timing [on|off]", "print the time of every statement"),
    ("\\pset [NAME [VALUE]]", "format, null, pager, footer, maxrows, expanded"),
    ("\\echo TEXT", "print a text"),
    ("\\cd [DIR]", "change the working directory"),
    ("\\! [COMMAND]", "run a command of the operating system"),
];

/// The name of the command in its usage line.
pub fn name_of(usage: &str) -> &str {
    usage.split(' ').next().unwrap_or(usage)
}

/// Reads a line that starts with `\`. The error is a sentence for the user.
pub fn parse(line: &str) -> Result<Meta, String> {
    let line = line.trim();
    let (name, rest) = split_name(line);
    // These two take the rest of the line unchanged.
    match name {
        "\\!" => return Ok(Meta::Shell(rest.to_string())),
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
        "\\g" => Meta::Again,
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
    let end = line.find(|c: char| c.is_whitespace() || c == ';').unwrap_or(line.len());
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
    let names = HELP.iter().map(|(usage, _)| name_of(usage));
    match nearest(name, names) {
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
            let line = format!("{} on", name_of(usage));
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
        assert!(!parse("\\zzzzzz").unwrap_err().contains("did you mean"));
    }
}
