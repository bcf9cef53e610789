//! Pages are complete and name things that exist.

use std::collections::BTreeSet;

use super::code;
use super::settle;
use super::tree::{self, File};

#[test]
fn every_page_is_in_the_index() {
    let index = tree::read("docs/README.md");
    let pages = tree::names_in("docs").into_iter().filter(|name| name.ends_with(".md") && name != "README.md");
    let missing = pages.filter(|page| !index.contains(&format!("]({page})"))).map(|page| format!("docs/{page}"));
    settle(missing.collect(), "Add a line with a link to it to docs/README.md.");
}

/// The code map has a section `### crate/` per crate, and in it a line for each module.
#[test]
fn the_code_map_names_every_module() {
    let page = tree::read("ARCHITECTURE.md");
    let mut problems = Vec::new();
    for name in tree::crates() {
        let Some(section) = section(&page, &format!("### {name}/")) else {
            problems.push(format!("ARCHITECTURE.md has no section \"### {name}/\""));
            continue;
        };
        let modules: Vec<String> = tree::names_in(&format!("{name}/src"))
            .into_iter()
            .filter(|module| !matches!(module.as_str(), "lib.rs" | "main.rs"))
            .map(|module| if module.ends_with(".rs") { module } else { format!("{module}/") })
            .collect();
        for module in &modules {
            if !section.contains(&format!("`{module}`")) {
                problems.push(format!("\"### {name}/\" does not name {module}"));
            }
        }
        let listed = section.lines().filter_map(|line| line.strip_prefix("- `")?.split('`').next());
        for listed in listed.filter(|listed| !modules.iter().any(|module| module == listed)) {
            problems.push(format!("\"### {name}/\" lists {listed}, which is not in {name}/src"));
        }
    }
    settle(problems, "Bring the code map of ARCHITECTURE.md up to date.");
}

/// The text between a heading and the next one of its level or above.
fn section<'a>(page: &'a str, heading: &str) -> Option<&'a str> {
    let start = page.lines().find(|line| *line == heading)?;
    let start = start.as_ptr() as usize - page.as_ptr() as usize + start.len();
    let rest = &page[start..];
    let end = ["\n### ", "\n## "].iter().filter_map(|next| rest.find(next)).min();
    Some(&rest[..end.unwrap_or(rest.len())])
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut problems = Vec::new();
    for file in tree::files().iter().filter(|file| file.path.ends_with(".md")) {
        let dir = file.path.rsplit_once('/').map_or("", |(dir, _)| dir);
        for (at, _) in file.text.match_indices("](") {
            let target = file.text[at + 2..].split(')').next().unwrap_or_default();
            let path = target.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !tree::root().join(dir).join(path).exists() {
                problems.push(format!("{}:{}: {target}", file.path, code::line_of(&file.text, at)));
            }
        }
    }
    settle(problems, "Correct the link, or write the page.");
}

/// Pages and `SAFETY` comments name the test that holds a claim, in backticks.
#[test]
fn a_test_that_is_named_exists() {
    let files = tree::files();
    let mut names: BTreeSet<String> =
        files.iter().filter(|file| file.is_rust()).flat_map(|file| code::functions(&file.code())).map(|function| function.name).collect();
    let python = files.iter().filter(|file| file.path.ends_with(".py"));
    names.extend(python.flat_map(|file| python_functions(&file.text)));
    let mut problems = Vec::new();
    for file in files.iter().filter(|file| file.is_rust() || file.path.ends_with(".md")) {
        for (at, name) in named_tests(file) {
            if !names.contains(name) {
                problems.push(format!("{}:{}: {name}", file.path, code::line_of(&file.text, at)));
            }
        }
    }
    settle(problems, "The test was renamed or removed: name the one that holds the claim now.");
}

/// The tests of the Python package hold what its extension claims.
fn python_functions(text: &str) -> impl Iterator<Item = String> {
    let defined = |line: &str| Some(line.trim().strip_prefix("def ")?.split('(').next()?.to_string());
    text.lines().filter_map(defined)
}

/// Words in backticks that can only be names of tests: sentences of four words or more.
fn named_tests(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let text = &file.text;
    text.match_indices('`').filter_map(move |(at, _)| {
        let word = text[at + 1..].split('`').next()?;
        let is_line = !file.is_rust() || text[..at].lines().next_back().is_some_and(|line| line.contains("//"));
        let is_name = word.chars().all(|char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '_');
        (is_line && is_name && word.matches('_').count() >= 3).then_some((at, word))
    })
}
