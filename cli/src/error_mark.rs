//! The line of SQL with an error, with a mark under its position. Pure: tested in `tests/suite`.

/// The part of a long line that is shown around the position. A statement of 10 MB may be one line.
const WIDTH_MAX: usize = 100;

/// ```text
///   3 | SELECT orign FROM flights
///     |        ^^^^^
/// ```
/// `position` is a byte offset into `sql`; `line_first` is the number of its first line in the
/// file it came from.
pub fn mark(sql: &str, position: usize, line_first: usize) -> String {
    let position = floor_char_boundary(sql, position);
    let line_start = sql[..position].rfind('\n').map_or(0, |at| at + 1);
    let line_end = sql[position..].find(['\n', '\r']).map_or(sql.len(), |at| position + at);
    let number = line_first + sql[..line_start].matches('\n').count();

    let before: Vec<char> = visible(&sql[line_start..position]);
    let after: Vec<char> = visible(&sql[position..line_end]);
    let (shown, column) = window(&before, &after);
    let marks = "^".repeat(word_length(&after).clamp(1, WIDTH_MAX / 2));

    let number = format!("{number:>3}");
    let gutter = " ".repeat(number.len());
    format!("{number} | {shown}\n{gutter} | {}{marks}", " ".repeat(column))
}

/// The part of the line to show, and the column of the position in it.
fn window(before: &[char], after: &[char]) -> (String, usize) {
    let keep_before =
        if before.len() + after.len() <= WIDTH_MAX { before.len() } else { before.len().min(WIDTH_MAX - after.len().min(WIDTH_MAX / 2)) };
    let cut_left = before.len() - keep_before;
    let keep_after = after.len().min(WIDTH_MAX - keep_before);

    let mut shown = String::new();
    if cut_left > 0 {
        shown.push('…');
    }
    shown.extend(&before[cut_left..]);
    let column = shown.chars().count();
    shown.extend(&after[..keep_after]);
    if keep_after < after.len() {
        shown.push('…');
    }
    (shown, column)
}

/// Marks the whole name or number at the position, or else a single character.
fn word_length(after: &[char]) -> usize {
    after.iter().take_while(|c| c.is_alphanumeric() || **c == '_').count()
}

/// A tab has no fixed width and a control character may move the cursor: both would put the mark
/// under the wrong column, so each is shown as one blank.
fn visible(text: &str) -> Vec<char> {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn floor_char_boundary(text: &str, position: usize) -> usize {
    let mut position = position.min(text.len());
    while !text.is_char_boundary(position) {
        position -= 1;
    }
    position
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_whole_word() {
        assert_eq!(mark("SELECT orign FROM flights", 7, 1), "  1 | SELECT orign FROM flights\n    |        ^^^^^");
    }

    #[test]
    fn lines_are_counted_from_the_line_of_the_file() {
        let sql = "SELECT a,\n\tb +\n  FROM t";
        let place = sql.find('+').unwrap();
        assert_eq!(mark(sql, place, 40), " 41 |  b +\n    |    ^");
    }

    #[test]
    fn a_position_at_the_end_of_the_text_is_marked_after_the_last_character() {
        assert_eq!(mark("SELECT", 6, 1), "  1 | SELECT\n    |       ^");
        assert_eq!(mark("", 99, 1), "  1 | \n    | ^");
    }

    #[test]
    fn a_long_line_is_cut_around_the_position() {
        let sql = format!("SELECT {} orign {}", "a, ".repeat(50_000), "b, ".repeat(50_000));
        let place = sql.find("orign").unwrap();
        let text = mark(&sql, place, 1);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].chars().count() < WIDTH_MAX + 12, "{text}");
        let column = lines[1].find('^').unwrap();
        let marked: String = lines[0].chars().skip(column).take(5).collect();
        assert_eq!(marked, "orign");
    }

    #[test]
    fn a_position_inside_a_character_does_not_panic() {
        assert!(mark("SELECT 'ä'", 9, 1).contains('^'));
    }
}
