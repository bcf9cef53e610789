//! The configuration of a server: flags, variables, a file, defaults, and their errors.

use std::path::PathBuf;
use std::time::Duration;

use flight_server::config::{Config, SETTINGS, Setting, SettingSource, Source, variable};

fn file(text: &str) -> (tempfile::TempDir, SettingSource) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quiver.toml");
    std::fs::write(&path, text).unwrap();
    (dir, SettingSource { file: Some(path), ..SettingSource::default() })
}

fn error(text: &str) -> String {
    let (_dir, source) = file(text);
    let error = Config::load(&source).unwrap_err().to_string();
    error.replace(&format!("{}", source.file.unwrap().display()), "FILE")
}

#[test]
fn a_flag_comes_before_a_variable_and_a_variable_before_the_file() {
    let (_dir, mut source) = file("sessions_max = 1\ntransactions_max = 1\nprepared_max = 1\n");
    source.variables = vec![
        ("QUIVER_SESSIONS_MAX".into(), "2".into()),
        ("QUIVER_TRANSACTIONS_MAX".into(), "2".into()),
        ("QUIVER_TICKETS_MAX".into(), String::new()),
    ];
    source.flags = vec![("sessions_max", "3".into())];
    let config = Config::load(&source).unwrap();
    let server = &config.server;
    assert_eq!((server.sessions_max, server.transactions_max, server.prepared_max, server.tickets_max), (3, 2, 1, 1_000));
    let sources = ["sessions_max", "transactions_max", "prepared_max", "tickets_max"].map(|name| config.source(name));
    let of_file = Source::File { path: source.file.unwrap(), line: 3 };
    assert_eq!(sources, [Source::Flag, Source::Variable, of_file, Source::Default]);
}

#[test]
fn values_are_read_as_people_write_them() {
    let (_dir, source) = file(
        "# a comment\nstore = \"/data/store\"\nlisten = \"localhost:0\"\nmemory_limit = \"512MB\"\nkept_bytes_max = 1000\n\
         statement_timeout = \"30s\"\nsession_idle = \"12h\"\nqueries_max = 0\nmaintenance = false\nlog_format = \"json\"\n",
    );
    let config = Config::load(&source).unwrap();
    assert_eq!(config.store, Some(PathBuf::from("/data/store")));
    assert!(config.server.listen.ip().is_loopback());
    assert_eq!((config.engine.memory_limit_bytes, config.server.kept_bytes_max), (Some(512 << 20), 1000));
    assert_eq!((config.engine.statement_timeout_ms, config.server.session_idle), (Some(30_000), Duration::from_secs(12 * 3600)));
    assert_eq!((config.engine.queries_max, config.engine.maintenance.enabled), (None, false));
    assert_eq!(config.log.format, "json");
}

#[test]
fn a_key_that_is_none_is_an_error_with_its_line_and_the_nearest_one() {
    assert_eq!(
        error("sessions_max = 5\n\nsesions_max = 6\n"),
        "FILE:3: there is no setting \"sesions_max\"; did you mean \"sessions_max\"?"
    );
    assert_eq!(error("colour = \"red\"\n"), "FILE:1: there is no setting \"colour\"; docs/server.md lists them");
    assert!(error("[limits]\nsessions_max = 5\n").starts_with("FILE:1: there is no setting \"limits\""));
}

#[test]
fn a_value_of_another_type_is_an_error_with_its_line_and_what_was_expected() {
    for (text, expected) in [
        ("sessions_max = \"many\"", "sessions_max: a number from 1 is expected, and not the text \"many\""),
        ("sessions_max = 0", "sessions_max: a number from 1 is expected, and not \"0\""),
        ("sessions_max = 1.5", "sessions_max: a number from 1 is expected, and not the number 1.5"),
        ("session_idle = 30", "session_idle: a time such as \"30s\", \"5min\" or \"12h\" is expected, and not the number 30"),
        ("session_idle = \"30 parsecs\"", "session_idle: a time such as \"30s\", \"5min\" or \"12h\" is expected, and not \"30 parsecs\""),
        ("token_lifetime = \"0s\"", "token_lifetime: a time from \"1s\", such as \"5min\" or \"12h\", is expected, and not \"0s\""),
        ("token_lifetime = \"900ms\"", "token_lifetime: a time from \"1s\", such as \"5min\" or \"12h\", is expected, and not \"900ms\""),
        ("memory_limit = \"much\"", "memory_limit: a size such as \"512MB\" is expected, and not \"much\""),
        (
            "listen = \"nowhere\"",
            "listen: an IP address or a host name with a port, such as \"127.0.0.1:31337\", is expected, and not \"nowhere\"",
        ),
        ("maintenance = \"no\"", "maintenance: true or false is expected, and not the text \"no\""),
        ("log_format = \"xml\"", "log_format: \"text\" or \"json\" is expected, and not \"xml\""),
        ("store = [\"a\"]", "store: a path is expected, and not a list"),
        ("otlp_endpoint = 4317", "otlp_endpoint: a URL such as \"http://127.0.0.1:4317\" is expected, and not the number 4317"),
        (
            "otlp_endpoint = \"127.0.0.1:4317\"",
            "otlp_endpoint: a URL such as \"http://127.0.0.1:4317\" is expected, and not \"127.0.0.1:4317\"",
        ),
        (
            "otlp_endpoint = \"http://a/v1/traces\"",
            "otlp_endpoint: a URL such as \"http://127.0.0.1:4317\" is expected, and not \"http://a/v1/traces\"",
        ),
    ] {
        assert_eq!(error(&format!("\n{text}\n")), format!("FILE:2: {expected}"), "{text}");
    }
}

#[test]
fn invalid_toml_is_an_error_with_its_line() {
    let message = error("sessions_max = 5\nlisten = \n");
    assert!(message.starts_with("FILE:2: "), "{message}");
    let twice = error("sessions_max = 5\nsessions_max = 6\n");
    assert!(twice.starts_with("FILE:2: ") && twice.contains("duplicate"), "{twice}");
    let missing = Config::load(&SettingSource { file: Some("/no/such/file".into()), ..SettingSource::default() }).unwrap_err().to_string();
    assert!(missing.starts_with("the configuration file /no/such/file cannot be read"), "{missing}");
}

#[test]
fn a_wrong_flag_or_variable_is_named() {
    let flags = SettingSource { flags: vec![("session_idle", "soon".into())], ..SettingSource::default() };
    assert!(Config::load(&flags).unwrap_err().to_string().starts_with("--session-idle: a time such as"));
    let variables = SettingSource { variables: vec![("QUIVER_SESSION_IDLE".into(), "soon".into())], ..SettingSource::default() };
    assert!(Config::load(&variables).unwrap_err().to_string().ends_with("is expected, and not \"soon\""));
}

#[test]
fn a_variable_that_looks_like_one_of_ours_is_pointed_out() {
    let variables = ["QUIVER_SESION_IDLE", "QUIVER_BIN", "PATH", "QUIVER_SESSION_IDLE", "QUIVER_CONFIG"]
        .map(|name| (name.to_string(), "1h".to_string()));
    let source = SettingSource { variables: variables.into(), ..SettingSource::default() };
    assert_eq!(source.doubtful_variables(), [("QUIVER_SESION_IDLE".to_string(), "QUIVER_SESSION_IDLE".to_string())]);
}

#[test]
fn the_printed_configuration_is_an_equivalent_file() {
    let (_dir, mut source) = file("sessions_max = 7\nstore = \"a \\\"b\\\"\"\nhttp = \"127.0.0.1:0\"\n");
    source.flags = vec![("drain", "90s".into())];
    let printed = Config::load(&source).unwrap().printed();
    let line =
        |name: &str| printed.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {printed}")).to_string();
    assert!(line("sessions_max = 7 ").ends_with("quiver.toml:1"), "{printed}");
    assert!(line("drain = \"90s\" ").ends_with("# flag"), "{printed}");
    assert!(line("tickets_max = 1000 ").ends_with("# default"), "{printed}");
    assert!(line("# threads is not set").ends_with("# default: one per core"), "{printed}");
    let (_dir, again) = file(&printed);
    let again = Config::load(&again).unwrap();
    let values = |text: &str| text.lines().map(|line| line.split(" # ").next().unwrap().trim_end().to_string()).collect::<Vec<_>>();
    assert_eq!(values(&again.printed())[1..], values(&printed)[1..]);
}

#[test]
fn a_setting_keeps_the_value_that_it_shows() {
    for setting in SETTINGS {
        let mut config = Config::default();
        let Some(shown) = setting.field.shown(&mut config) else { continue };
        setting.field.read(&shown, &mut config).unwrap_or_else(|| panic!("{} shows {shown} and does not read it", setting.name));
        assert_eq!(setting.field.shown(&mut config).as_deref(), Some(shown.as_str()), "{}", setting.name);
    }
}

/// For any setting, one of these is a valid value other than its default.
const CANDIDATES: [&str; 10] =
    ["17", "17KiB", "17s", "127.0.0.1:17", "http://127.0.0.1:17", "true", "false", "json", "optional", "seventeen"];

fn changed_to(setting: &Setting, other: &'static str) -> Option<(Config, &'static str)> {
    let mut config = Config::default();
    setting.field.read(other, &mut config)?;
    let is_other = setting.default() != other && setting.field.shown(&mut config).as_deref() == Some(other);
    is_other.then_some((config, other))
}

#[test]
fn no_two_settings_have_one_name_or_one_place() {
    for (index, setting) in SETTINGS.iter().enumerate() {
        assert!(SETTINGS[..index].iter().all(|before| before.name != setting.name), "{}", setting.name);
    }
    // Changing one setting changes no other.
    for changed in SETTINGS {
        let (mut config, other) =
            CANDIDATES.iter().find_map(|other| changed_to(changed, other)).unwrap_or_else(|| panic!("{}", changed.name));
        for setting in SETTINGS {
            let shown = setting.field.shown(&mut config).unwrap_or_else(|| setting.unset.to_string());
            let expected = if setting.name == changed.name { other.to_string() } else { setting.default() };
            assert_eq!(shown, expected, "{} after {} was set", setting.name, changed.name);
        }
    }
}

#[test]
fn the_page_lists_every_setting_as_it_is() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/server.md")).unwrap();
    let table_rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `") && line.contains("` | `QUIVER_")).collect();
    let row = |setting: &Setting| {
        let default = match setting.name {
            // The actual default depends on the machine.
            "queries_max" => "4 for each core".to_string(),
            _ => setting.default(),
        };
        let (name, variable, kind) = (setting.name, variable(setting.name), setting.kind().name());
        format!("| `{name}` | `{variable}` | {kind} | {default} | {} |", setting.help)
    };
    let expected: Vec<String> = SETTINGS.iter().map(row).collect();
    assert_eq!(table_rows, expected, "the table should be:\n{}", expected.join("\n"));
}
