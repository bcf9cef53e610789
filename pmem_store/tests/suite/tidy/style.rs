//! Rules of style that reviews would otherwise repeat.

use super::code::{line_of, words};
use super::settle;
use super::tree::{self, File};

/// A comment may have so many lines, and a statement may begin so many lines above its `unsafe`.
const SAFETY_LINES_ABOVE: usize = 10;

#[test]
fn unsafe_code_says_why_it_is_sound() {
    let mut problems = Vec::new();
    for file in tree::rust_files() {
        for line in lines_with_unsafe(&file) {
            if reason_above(&file.text, line).is_none() {
                problems.push(format!("{}:{line}", file.path));
            }
        }
    }
    settle(
        problems,
        "Put `// SAFETY:` above: the invariant that makes it sound, and the test that holds it (`# Safety` in the docs of an unsafe fn).",
    );
}

/// The tests of its callers cover the contract of an unsafe function.
#[test]
fn unsafe_code_names_the_test_that_holds_it() {
    let mut problems = Vec::new();
    for file in tree::rust_files().iter().filter(|file| file.is_source()) {
        for line in lines_with_unsafe(file) {
            let reason = reason_above(&file.text, line).unwrap_or_default();
            let names = reason.split('`').any(|word| word.matches('_').count() >= 3 && !word.contains(' '));
            if !names && !reason.contains("# Safety") && !reason.contains("No test can hold it") {
                problems.push(format!("{}:{line}", file.path));
            }
        }
    }
    settle(problems, "Name the test, in backticks, in the SAFETY comment; or say \"No test can hold it\" and why.");
}

/// Line numbers count from 1; types of function pointers do not count.
fn lines_with_unsafe(file: &File) -> Vec<usize> {
    let code = file.code();
    let is_type = |at: usize| {
        let rest = code[at + "unsafe".len()..].trim_start();
        let rest =
            rest.strip_prefix("extern").map_or(rest, |rest| rest.trim_start().trim_start_matches('"').trim_start_matches([' ', '"']));
        rest.starts_with("fn(")
    };
    let places = words(&code, "unsafe").filter(|at| !is_type(*at));
    places.map(|at| line_of(&code, at)).collect()
}

/// The text from the nearest SAFETY above `line` down to it.
fn reason_above(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let above = &lines[line.saturating_sub(SAFETY_LINES_ABOVE)..line];
    let start = above.iter().rposition(|line| line.contains("SAFETY:") || line.contains("# Safety"))?;
    let words = above[start..].iter().flat_map(|line| line.split_whitespace()).filter(|word| !word.starts_with("//"));
    Some(words.collect::<Vec<_>>().join(" "))
}

#[test]
fn nothing_unfinished_is_left_in_the_code() {
    let calls = ["todo", "unimplemented", "dbg"];
    let notes = [concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];
    let mut problems = Vec::new();
    for file in tree::files() {
        if file.is_rust() {
            let code = file.code();
            for call in calls {
                let called = words(&code, call).filter(|at| code[at + call.len()..].starts_with('!'));
                problems.extend(called.map(|at| format!("{}:{}: {call}!", file.path, line_of(&code, at))));
            }
        }
        let is_ours = file.name() != "Cargo.lock" && file.name() != "LICENSE";
        for note in notes.iter().filter(|_| is_ours) {
            let positions = words(&file.text, note);
            problems.extend(positions.map(|at| format!("{}:{}: {note}", file.path, line_of(&file.text, at))));
        }
    }
    settle(problems, "Finish it, or make it an error that says what is not supported.");
}

#[test]
fn no_file_names_a_place_of_one_machine() {
    let places = [concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];
    let registries = [
        concat!("crates", ".io"),
        concat!("pypi", ".org"),
        concat!("pythonhosted", ".org"),
        concat!("maven", ".org"),
        concat!("npmjs", ".org"),
        concat!("proxy.golang", ".org"),
        concat!("--index", "-url"),
        concat!("--extra-index", "-url"),
    ];
    let mut problems = Vec::new();
    for file in tree::files().iter().filter(|file| file.path != "Cargo.lock") {
        for word in places.iter().chain(&registries) {
            let positions = file.text.match_indices(word);
            problems.extend(positions.map(|(at, _)| format!("{}:{}: {word}", file.path, line_of(&file.text, at))));
        }
    }
    settle(
        problems,
        "Use a path relative to the clone, $HOME, or a temporary directory; and leave registries to everybody's own settings.",
    );
}

#[test]
fn a_panic_is_not_an_answer_to_a_user() {
    let mut problems = Vec::new();
    for file in tree::rust_files().iter().filter(|file| file.is_source()) {
        let code = file.code();
        // The tests of a file are at its end.
        let end = code.find("#[cfg(test)]").unwrap_or(code.len());
        for call in [".unwrap()", ".expect(\"", "panic!("] {
            let positions = code[..end].match_indices(call);
            problems.extend(positions.map(|(at, _)| format!("{}:{}: {call}", file.path, line_of(&code, at))));
        }
    }
    settle(problems, "Return an error. For what cannot happen, unreachable!(\"why\") says so.");
}
