//! The address of the server and the login: from `--connect` and its options, the environment and, finally, a prompt.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use flight_client::{Address, ConnectOptions, Login, Tls};

use crate::args::ConnectArgs;
use crate::errors::{CliError, Result};

pub const PASSWORD_VARIABLE: &str = "QUIVER_PASSWORD";
pub const TOKEN_VARIABLE: &str = "QUIVER_TOKEN";

/// A password or token is one line; a longer file is something else.
const SECRET_BYTES_MAX: u64 = 64 << 10;

/// `None` without `--connect`. Conflicts with options of a store were checked with the command line.
pub fn options(args: &ConnectArgs) -> Result<Option<ConnectOptions>> {
    let Some(uri) = &args.connect else { return Ok(None) };
    let address: Address = uri.parse().map_err(|error| CliError::message(format!("--connect: {error}")))?;
    let tls = Tls { ca: args.tls_ca.clone(), identity: args.client_cert.clone().zip(args.client_key.clone()) };
    let login = login(args, &address)?;
    Ok(Some(ConnectOptions { address, tls, login }))
}

fn login(args: &ConnectArgs, address: &Address) -> Result<Login> {
    if let Some(path) = &args.token_file {
        return Ok(Login::Token(secret_file(path)?));
    }
    let Some(user) = args.user.clone().or_else(|| address.user.clone()) else {
        let token = std::env::var(TOKEN_VARIABLE).ok().filter(|token| !token.is_empty());
        return Ok(token.map_or(Login::Nobody, Login::Token));
    };
    if user.contains(':') {
        return Err(CliError::with_hint("the name of a user has no colon", "the password is asked for, or given in QUIVER_PASSWORD"));
    }
    let password = password(args, &user, address)?;
    Ok(Login::Password { user, password })
}

fn password(args: &ConnectArgs, user: &str, address: &Address) -> Result<String> {
    if args.password_stdin {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map_err(|error| CliError::file("stdin", error))?;
        return Ok(line.trim_end_matches(['\n', '\r']).to_string());
    }
    if let Some(path) = &args.password_file {
        return secret_file(path);
    }
    if let Ok(password) = std::env::var(PASSWORD_VARIABLE) {
        return Ok(password);
    }
    let prompt = format!("Password of {user} at {address}: ");
    rpassword::prompt_password(prompt).map_err(|error| {
        CliError::with_hint(
            format!("the password of {user} is missing, and there is no terminal to ask for it ({error})"),
            "give it in QUIVER_PASSWORD, by --password-file FILE or --password-stdin",
        )
    })
}

/// The first line of a file, which no other user may read.
fn secret_file(path: &Path) -> Result<String> {
    let failed = |error| CliError::file(path.display(), error);
    let file = File::open(path).map_err(failed)?;
    if file.metadata().map_err(failed)?.mode() & 0o077 != 0 {
        return Err(CliError::with_hint(
            format!("{}: others may read it, so it is no place for a secret", path.display()),
            format!("chmod 600 {}", path.display()),
        ));
    }
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(line.to_string()),
        None => Err(CliError::message(format!("{}: its first line is empty", path.display()))),
    }
}
