//! Derives the name of a table from a file name. Pure: tested in `tests/suite`.

/// `data/Flights-2013.csv.gz` becomes `flights_2013`, `lake/day=*.parquet` becomes `day`, and
/// `lake/events/*.parquet` becomes `events`. `None` if no part of the path gives a name.
pub fn of_path(path: &str) -> Option<String> {
    path.rsplit('/').find_map(of_component)
}

fn of_component(component: &str) -> Option<String> {
    // The suffix begins at the first dot, and a pattern at the first wildcard.
    let stem = component.split(['.', '*', '?', '[', '{']).next()?;
    let sign = |c: char| match c.is_alphanumeric() {
        true => c.to_lowercase().to_string(),
        false => "_".to_string(),
    };
    let plain: String = stem.chars().map(sign).collect();
    let plain = plain.trim_matches('_');
    // In SQL, a name that starts with a digit needs quotes.
    match plain.chars().next()?.is_numeric() {
        true => Some(format!("t{plain}")),
        false => Some(plain.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_its_name_without_suffixes() {
        let name = |path| of_path(path).unwrap_or_default();
        assert_eq!(name("flights.parquet"), "flights");
        assert_eq!(name("/data/Flights-2013.csv.gz"), "flights_2013");
        assert_eq!(name("lake/events/"), "events");
        assert_eq!(name("lake/events/*.parquet"), "events");
        assert_eq!(name("lake/day-*.json"), "day");
        assert_eq!(name("2013.csv"), "t2013");
    }

    #[test]
    fn a_path_without_a_name_gives_none() {
        for path in ["", ".", "/", "*.csv", "./"] {
            assert_eq!(of_path(path), None, "{path}");
        }
    }
}
