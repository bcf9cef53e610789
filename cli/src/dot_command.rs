//! The dot commands of sqlite and DuckDB, as backslash commands. Pure: tested in `tests/suite`.

use super::meta_command::{self, Meta, nearest};

/// What a dot command is here.
enum Equivalent {
    Command(&'static str),
    /// A sentence about what to type.
    Advice(&'static str),
}

use Equivalent::{Advice, Command};

const COMMANDS: &[(&str, Equivalent)] = &[
    (".backup", Advice("BACKUP TO 'directory'; makes a backup")),
    (".cd", Command("\\cd")),
    (".databases", Command("\\l")),
    (".dump", Advice("\\copy TABLE TO 'FILE' writes a table, and quiver backup the whole store")),
    (".edit", Command("\\e")),
    (".exit", Command("\\q")),
    (".functions", Command("\\df")),
    (".headers", Advice("the names of the columns are always shown")),
    (".help", Command("\\?")),
    (".import", Advice("\\copy TABLE FROM 'FILE' reads a file into a table, and quiver import makes the table too")),
    (".indexes", Command("\\di")),
    (".indices", Command("\\di")),
    (".maxrows", Command("\\pset maxrows")),
    (".mode", Command("\\format")),
    (".nullvalue", Command("\\pset null")),
    (".once", Advice("\\g FILE writes the result of one statement to a file")),
    (".open", Advice("leave, and start with --store DIR")),
    (".output", Command("\\o")),
    (".print", Command("\\echo")),
    (".quit", Command("\\q")),
    (".read", Command("\\i")),
    (".schema", Command("\\d")),
    (".separator", Advice("COPY … TO 'FILE' (DELIMITER ';') writes CSV with another delimiter")),
    (".shell", Command("\\!")),
    (".show", Command("\\pset")),
    (".system", Command("\\!")),
    (".tables", Command("\\dtv")),
    (".timer", Command("\\timing")),
    (".version", Command("\\l")),
    (".width", Advice("a table is narrowed until it fits; \\x shows one line per column")),
];

/// The modes of `.mode` under their names here.
const FORMATS: &[(&str, &str)] = &[
    ("column", "\\format box"),
    ("duckbox", "\\format box"),
    ("jsonlines", "\\format json"),
    ("line", "\\x on"),
    ("lines", "\\x on"),
    ("ndjson", "\\format json"),
];

pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(dot, _)| *dot)
}

/// Reads a command that starts with a dot or a backslash. The error is a sentence for the user.
pub fn parse(line: &str) -> Result<Meta, String> {
    match line.trim_start().starts_with('.') {
        true => meta_command::parse(&backslash(line)?),
        false => meta_command::parse(line),
    }
}

/// A line that starts with a dot, as a line that starts with a backslash.
fn backslash(line: &str) -> Result<String, String> {
    let line = line.trim().trim_end_matches(';').trim_end();
    let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    let Some((_, equivalent)) = COMMANDS.iter().find(|(dot, _)| dot.eq_ignore_ascii_case(name)) else {
        return Err(match nearest(name, names()) {
            Some(near) => format!("there is no command {name}; did you mean {near}? (\\? lists them all)"),
            None => format!("there is no command {name}; \\? lists them all"),
        });
    };
    let command = match equivalent {
        Command(command) => *command,
        Advice(advice) => return Err(format!("there is no command {name} here: {advice}")),
    };
    let format = FORMATS.iter().find(|(mode, _)| command == "\\format" && mode.eq_ignore_ascii_case(rest));
    Ok(match format {
        Some((_, format)) => format.to_string(),
        // Patterns are those of LIKE there.
        None if command == "\\dtv" => format!("{command} {}", rest.replace('%', "*")),
        None => format!("{command} {rest}"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::meta_command::Listed;
    use super::*;

    #[test]
    fn every_dot_command_is_a_command_or_a_sentence() {
        for (name, equivalent) in COMMANDS {
            match equivalent {
                Command(command) => assert!(parse(&format!("{command} on")).is_ok(), "{name}"),
                Advice(advice) => assert_eq!(parse(name), Err(format!("there is no command {name} here: {advice}"))),
            }
        }
    }

    #[test]
    fn arguments_and_modes_keep_their_meaning() {
        let tables = |pattern: &str| Meta::List { kind: Listed::Everything, pattern: Some(pattern.to_string()) };
        assert_eq!(parse(".tables fl%;"), Ok(tables("fl*")));
        assert_eq!(parse(".schema flights"), Ok(Meta::Describe("flights".into())));
        assert_eq!(parse(".mode duckbox"), Ok(Meta::Format(Some("box".into()))));
        assert_eq!(parse(".mode line"), Ok(Meta::Expanded(Some(true))));
        assert_eq!(parse(".mode csv"), Ok(Meta::Format(Some("csv".into()))));
        assert_eq!(parse(".quit"), Ok(Meta::Quit));
    }

    #[test]
    fn a_misspelt_dot_command_is_refused_with_the_nearest_one() {
        assert!(parse(".tabels").unwrap_err().contains("did you mean .tables"));
        assert!(!parse(".zzzzzz").unwrap_err().contains("did you mean"));
    }
}
