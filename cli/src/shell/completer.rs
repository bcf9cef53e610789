//! The completion menu: keywords, tables, columns, functions, and files in quotes; meta commands, and what they take.
//!
//! Each Tab queries the tables, so that a table is offered right after its CREATE.

use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use engine::KEYWORDS;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use tokio::runtime::Handle;

use super::paths::paths;
use crate::console::Settings;
use crate::lexer::{self, Kind, Token};
use crate::output::Format;
use crate::session::{Outcome, Session, table_name};
use crate::{dot_command, meta_command};

/// A longer menu is useless; one more letter shortens it.
const SUGGESTIONS_MAX: usize = 60;

/// The user waits no longer than this.
const ANSWER_MAX: Duration = Duration::from_millis(500);

pub struct SqlCompleter {
    session: Arc<dyn Session>,
    runtime: Handle,
    functions: Vec<String>,
}

impl SqlCompleter {
    pub fn new(session: Arc<dyn Session>, runtime: &Handle) -> Self {
        let mut completer = SqlCompleter { session, runtime: runtime.clone(), functions: Vec::new() };
        completer.functions = completer.ask(|session| session.function_names());
        completer
    }

    /// Empty if the session does not answer soon.
    fn ask<'a, T>(&'a self, question: impl FnOnce(&'a dyn Session) -> Outcome<'a, Vec<T>>) -> Vec<T> {
        if !self.session.is_at_hand() {
            return Vec::new();
        }
        let answer = question(self.session.as_ref());
        let answer = self.runtime.block_on(async { tokio::time::timeout(ANSWER_MAX, answer).await });
        answer.ok().and_then(Result::ok).unwrap_or_default()
    }

    fn table_names(&self) -> Vec<String> {
        self.ask(|session| session.tables()).iter().map(table_name).collect()
    }

    fn column_names<'a>(&'a self, table: &'a str) -> Vec<String> {
        self.ask(|session| session.column_names(table))
    }

    fn sql_suggestions(&self, line: &str, word: &str) -> Vec<(String, &'static str)> {
        let tables = self.table_names();
        let mut candidates = Vec::new();
        if let Some((table, start)) = word.rsplit_once('.') {
            if let Some(table) = resolve(line, table, &tables) {
                for column in self.column_names(&table) {
                    if starts_with(&column, start) {
                        candidates.push((format!("{}.{}", &word[..word.len() - start.len() - 1], quote(&column)), "column"));
                    }
                }
            }
        } else if !wants_table(line, word) {
            let mentioned = mentioned(line, &tables);
            let columns: Vec<String> = match mentioned.is_empty() && !word.is_empty() && line.trim() != word {
                // Before FROM is typed, it may be a column of any table.
                true => self.ask(|session| session.all_column_names()),
                false => mentioned.into_iter().flat_map(|table| self.column_names(table)).collect(),
            };
            let fitting = columns.iter().filter(|column| starts_with(column, word));
            candidates.extend(fitting.map(|column| (quote(column), "column")));
        }
        let fitting = tables.iter().filter(|table| starts_with(table, word));
        candidates.extend(fitting.map(|table| (quote_path(table), "table")));
        if word.is_empty() || word.contains('.') || wants_table(line, word) {
            return candidates;
        }
        let keywords = KEYWORDS.iter().filter(|keyword| starts_with(keyword, word));
        candidates.extend(keywords.map(|keyword| (in_case_of(word, keyword), "keyword")));
        let functions = self.functions.iter().filter(|function| starts_with(function, word));
        candidates.extend(functions.map(|function| (format!("{function}("), "function")));
        candidates
    }
}

impl Completer for SqlCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let before = &line[..pos.min(line.len())];
        let tokens = lexer::tokens(before);
        let last = tokens.last().copied();
        let dot = before.len() - before.trim_start().len();
        if let Some(start) = last.filter(|token| token.kind == Kind::Command).map(|token| token.start) {
            return CompletionResult::fresh(meta_suggestions(before, start, &self.table_names()));
        }
        if before[dot..].starts_with('.') {
            return CompletionResult::fresh(meta_suggestions(before, dot, &self.table_names()));
        }
        let is_quote = |token: &Token| !token.closed || (token.kind == Kind::Comment && !before.ends_with('\n'));
        if let Some(quote) = last.filter(is_quote) {
            let is_path = quote.kind == Kind::Text && self.session.has_files_here() && wants_path(before, &tokens);
            let start = quote.start + 1;
            let paths = if is_path { paths(&before[start..]) } else { Vec::new() };
            let paths = paths.into_iter().map(|path| (path, "file")).collect();
            return CompletionResult::fresh(menu(paths, Span::new(start, pos)));
        }
        let start = word_start(before);
        let candidates = self.sql_suggestions(line, &before[start..]);
        CompletionResult::fresh(menu(candidates, Span::new(start, pos)))
    }
}

fn menu(candidates: Vec<(String, &'static str)>, span: Span) -> Vec<Suggestion> {
    let mut values = std::collections::HashSet::new();
    let distinct = candidates.into_iter().filter(|(value, _)| values.insert(value.clone()));
    let suggestions = distinct.take(SUGGESTIONS_MAX).map(|(value, kind)| Suggestion {
        append_whitespace: kind == "keyword",
        description: Some(kind.to_string()),
        value,
        span,
        ..Default::default()
    });
    suggestions.collect()
}

/// The commands that take a file or a directory.
const TAKE_PATHS: [&str; 14] =
    ["\\!", "\\cd", "\\copy", "\\g", "\\gx", "\\i", "\\include", "\\ir", "\\o", "\\out", ".cd", ".output", ".read", ".shell"];

/// `\ti⇥` completes the command itself, `\d fl⇥` tables, `\i fl⇥` files, `\format c⇥` formats. The command starts at `command`.
fn meta_suggestions(before: &str, command: usize, tables: &[String]) -> Vec<Suggestion> {
    let is_break = |c: char| c.is_ascii_whitespace() || c == '\'';
    let start = before[command..].rfind(is_break).map_or(command, |at| command + at + 1);
    let word = &before[start..];
    let span = Span::new(start, before.len());
    if start == command {
        let names = meta_command::HELP.iter().map(|(usage, _)| meta_command::name_of(usage)).chain(dot_command::names());
        let fitting = names.filter(|name| name.starts_with(word));
        return menu(fitting.map(|name| (name.to_string(), "command")).collect(), span);
    }
    let name = before[command..].split_whitespace().next().unwrap_or_default();
    if let Some(words) = fixed_words(before[command..start].trim_end()) {
        let fitting = words.into_iter().filter(|choice| starts_with(choice, word));
        return menu(fitting.map(|choice| (choice, "setting")).collect(), span);
    }
    let takes_path = TAKE_PATHS.contains(&name);
    let mut candidates = Vec::new();
    if !takes_path || name == "\\copy" {
        let fitting = tables.iter().filter(|table| starts_with(table, word));
        candidates.extend(fitting.map(|table| (quote_path(table), "table")));
    }
    if takes_path {
        candidates.extend(paths(word).into_iter().map(|path| (path, "file")));
    }
    menu(candidates, span)
}

/// What may follow if that is one of a few words.
fn fixed_words(before: &str) -> Option<Vec<String>> {
    match before {
        "\\format" | "\\pset format" | ".mode" => Some(Format::value_variants().iter().map(|format| format.name()).collect()),
        "\\pset" => Some(Settings::NAMES.map(str::to_string).to_vec()),
        _ => None,
    }
}

/// Whether the open quote at the end is that of a file.
fn wants_path(before: &str, tokens: &[Token]) -> bool {
    let solid = tokens.iter().rev().skip(1).filter(|token| token.kind != Kind::Blank);
    let mut words = solid.map(|token| before[token.start..token.end].to_ascii_uppercase());
    match words.next().as_deref() {
        Some("FROM" | "JOIN" | "TO" | "LOCATION" | "DESCRIBE" | "DESC" | "SUMMARIZE") => true,
        Some("(") => words.next().is_some_and(|word| word.starts_with("READ_")),
        _ => false,
    }
}

/// The start of the name that ends at the cursor. A dotted name counts as one.
fn word_start(before: &str) -> usize {
    before
        .rfind(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
}

/// After these words only a table is possible.
fn wants_table(line: &str, word: &str) -> bool {
    let before = line.trim_end().strip_suffix(word).unwrap_or(line);
    let last = lexer::tokens(before)
        .iter()
        .rfind(|token| token.kind != Kind::Blank)
        .map(|token| before[token.start..token.end].to_ascii_uppercase());
    matches!(last.as_deref(), Some("FROM" | "JOIN" | "INTO" | "TABLE" | "DESCRIBE" | "SUMMARIZE"))
}

/// The tables that the statement names anywhere.
fn mentioned<'a>(line: &str, tables: &'a [String]) -> Vec<&'a str> {
    let tokens = lexer::tokens(line);
    let words: Vec<&str> = tokens
        .iter()
        .filter(|token| matches!(token.kind, Kind::Word | Kind::QuotedName))
        .map(|token| line[token.start..token.end].trim_matches('"'))
        .collect();
    let is_mentioned = |table: &&String| {
        let name = table.rsplit('.').next().unwrap_or(table);
        words.iter().any(|word| word.eq_ignore_ascii_case(name))
    };
    tables.iter().filter(is_mentioned).map(String::as_str).collect()
}

/// The table a prefix stands for: its name, or an alias given to it in the statement.
fn resolve(line: &str, prefix: &str, tables: &[String]) -> Option<String> {
    let find_table = |name: &str| tables.iter().find(|table| table.eq_ignore_ascii_case(name)).cloned();
    if let Some(table) = find_table(prefix) {
        return Some(table);
    }
    let tokens = lexer::tokens(line);
    let words: Vec<&str> = tokens
        .iter()
        .filter(|token| token.kind == Kind::Word)
        .map(|token| &line[token.start..token.end])
        .filter(|word| !word.eq_ignore_ascii_case("AS"))
        .collect();
    let alias = |pair: &&[&str]| pair[1].eq_ignore_ascii_case(prefix) && find_table(pair[0]).is_some();
    words.windows(2).find(alias).and_then(|pair| find_table(pair[0]))
}

fn starts_with(name: &str, word: &str) -> bool {
    name.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
}

/// Keywords follow the case of what the user types.
fn in_case_of(word: &str, keyword: &str) -> String {
    if word.chars().any(|c| c.is_ascii_lowercase()) { keyword.to_ascii_lowercase() } else { keyword.to_string() }
}

/// SQL folds unquoted names to lower case, so any other name needs quotes.
fn quote(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let starts_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    if starts_well && name.chars().all(plain) { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

fn quote_path(path: &str) -> String {
    path.split('.').map(quote).collect::<Vec<_>>().join(".")
}
