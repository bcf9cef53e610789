//! Parses tokens to a statement. An error shows the expected syntax and never the text that was found: that may be a password.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::statement::{AccessStatement, GrantTarget, GrantedPrivileges, UserChange};
use super::token_reader::TokenReader;
use crate::access::statement::Secret;
use crate::objects::ObjectName;
use crate::redact::is_about_passwords;
use crate::significant_tokens::is_word;
use common::error::EngineError;
use common::names::{CATALOG, ObjectKind, PUBLIC};
use common::privilege::Privilege;

const CREATE_USER: &str = "CREATE USER [IF NOT EXISTS] name PASSWORD 'text' [ADMIN]";
const ALTER_USER: &str = "ALTER USER name PASSWORD 'text', ALTER USER name ADMIN or ALTER USER name NOT ADMIN";
const GRANT: &str =
    "GRANT SELECT, … ON [TABLE] t | SCHEMA s TO name, GRANT FILES TO name, GRANT CREATE FUNCTION (python) TO name or GRANT role TO name";
const REVOKE: &str = "REVOKE SELECT, … ON [TABLE] t | SCHEMA s FROM name, REVOKE FILES FROM name, REVOKE CREATE FUNCTION (python) FROM name or REVOKE role FROM name";

/// The statement, if it is one of these.
pub fn parse_access(tokens: &[TokenWithSpan]) -> Result<Option<AccessStatement>, EngineError> {
    let mut words = TokenReader::new(tokens);
    let (parsed, usage) = match () {
        () if words.accept(&["CREATE", "USER"]) => (create_user(&mut words), CREATE_USER),
        () if words.accept(&["ALTER", "USER"]) => (alter_user(&mut words), ALTER_USER),
        () if words.accept(&["DROP", "USER"]) => (drop_user(&mut words), "DROP USER [IF EXISTS] name"),
        () if words.accept(&["CREATE", "ROLE"]) => {
            (create_role(&mut words), "CREATE ROLE [IF NOT EXISTS] name; a role cannot log in, a user can")
        }
        () if words.accept(&["DROP", "ROLE"]) => (drop_role(&mut words), "DROP ROLE [IF EXISTS] name"),
        () if words.accept(&["SHOW", "GRANTS"]) => (show_grants(&mut words), "SHOW GRANTS [FOR name]"),
        () if words.accept(&["GRANT"]) => (grant(&mut words, "TO")?.map(|said| said.granted()), GRANT),
        () if words.accept(&["REVOKE"]) => (grant(&mut words, "FROM")?.map(|said| said.revoked()), REVOKE),
        () if words.accept(&["PUBLISH", "GROUP"]) => (publish(&mut words).map(|said| said.granted()), "PUBLISH GROUP g"),
        () if words.accept(&["UNPUBLISH", "GROUP"]) => (publish(&mut words).map(|said| said.revoked()), "UNPUBLISH GROUP g"),
        () if is_about_passwords(words.tokens()) => {
            return Err(EngineError::unsupported(
                "this statement about a user",
                Some(&format!("write it by itself: {CREATE_USER}; {ALTER_USER}")),
            ));
        }
        () => return Ok(None),
    };
    match parsed.filter(|_| words.end()) {
        Some(statement) => Ok(Some(statement)),
        None => {
            let message = "the statement is not written as it has to be".to_string();
            Err(EngineError::Sql { message, position: None, hint: Some(format!("write {usage}")) })
        }
    }
}

fn create_user(words: &mut TokenReader<'_>) -> Option<AccessStatement> {
    let if_not_exists = words.accept(&["IF", "NOT", "EXISTS"]);
    let name = words.name()?;
    let password = password(words)?;
    Some(AccessStatement::CreateUser { name, password, is_admin: words.accept(&["ADMIN"]), if_not_exists })
}

fn password(words: &mut TokenReader<'_>) -> Option<Secret> {
    words.accept(&["WITH"]);
    words.accept(&["PASSWORD"]).then(|| words.text()).flatten().map(Secret)
}

fn alter_user(words: &mut TokenReader<'_>) -> Option<AccessStatement> {
    let name = words.name()?;
    let change = match () {
        () if words.accept(&["ADMIN"]) => UserChange::Admin(true),
        () if words.accept(&["NOT", "ADMIN"]) => UserChange::Admin(false),
        () => UserChange::Password(password(words)?),
    };
    Some(AccessStatement::AlterUser { name, change })
}

fn drop_user(words: &mut TokenReader<'_>) -> Option<AccessStatement> {
    let if_exists = words.accept(&["IF", "EXISTS"]);
    Some(AccessStatement::DropUser { name: words.name()?, if_exists })
}

fn create_role(words: &mut TokenReader<'_>) -> Option<AccessStatement> {
    let if_not_exists = words.accept(&["IF", "NOT", "EXISTS"]);
    Some(AccessStatement::CreateRole { name: words.name()?, if_not_exists })
}

fn drop_role(words: &mut TokenReader<'_>) -> Option<AccessStatement> {
    let if_exists = words.accept(&["IF", "EXISTS"]);
    Some(AccessStatement::DropRole { name: words.name()?, if_exists })
}

fn show_grants(words: &mut TokenReader<'_>) -> Option<AccessStatement> {
    let of = if words.accept(&["FOR"]) { Some(words.name()?) } else { None };
    Some(AccessStatement::ShowGrants { of })
}

/// The common clause of GRANT and REVOKE.
enum GrantClause {
    Roles { roles: Vec<String>, whom: Vec<String> },
    Privileges { privileges: GrantedPrivileges, on: GrantTarget, whom: Vec<String> },
}

impl GrantClause {
    fn granted(self) -> AccessStatement {
        match self {
            GrantClause::Roles { roles, whom } => AccessStatement::GrantRoles { roles, to: whom },
            GrantClause::Privileges { privileges, on, whom } => AccessStatement::Grant { privileges, on, to: whom },
        }
    }

    fn revoked(self) -> AccessStatement {
        match self {
            GrantClause::Roles { roles, whom } => AccessStatement::RevokeRoles { roles, from: whom },
            GrantClause::Privileges { privileges, on, whom } => AccessStatement::Revoke { privileges, on, from: whom },
        }
    }
}

/// Everybody may read a published group.
fn publish(words: &mut TokenReader<'_>) -> Option<GrantClause> {
    let on = GrantTarget::Object(ObjectName { kind: ObjectKind::Group, name: words.table()? });
    Some(GrantClause::Privileges { privileges: GrantedPrivileges::These(vec![Privilege::Select]), on, whom: vec![PUBLIC.to_string()] })
}

/// `None` for wrong syntax; an error for what is not supported.
fn grant(words: &mut TokenReader<'_>, before_names: &str) -> Result<Option<GrantClause>, EngineError> {
    let things = match words.accept(&["CREATE", "FUNCTION"]) {
        true => of_language(words),
        false => things(words)?,
    };
    let Some(things) = things else { return Ok(None) };
    let on = if words.accept(&["ON"]) { Some(object(words)?) } else { None };
    if !words.accept(&[before_names]) {
        return Ok(None);
    }
    let Some(whom) = words.names() else { return Ok(None) };
    if words.accept(&["WITH", "GRANT", "OPTION"]) || words.accept(&["WITH", "ADMIN", "OPTION"]) {
        let hint = "owners and admins grant: GRANT OWNERSHIP ON t TO name makes another owner";
        return Err(EngineError::unsupported("WITH GRANT OPTION and WITH ADMIN OPTION", Some(hint)));
    }
    Ok(match (things, on) {
        (PrivilegeList::All, Some(Some(on))) => Some(GrantClause::Privileges { privileges: GrantedPrivileges::All, on, whom }),
        (PrivilegeList::Named(names), Some(Some(on))) => {
            Some(GrantClause::Privileges { privileges: GrantedPrivileges::These(privileges(&names)?), on, whom })
        }
        (PrivilegeList::Named(names), None) if names == ["files"] => {
            Some(GrantClause::Privileges { privileges: GrantedPrivileges::These(vec![Privilege::Files]), on: GrantTarget::Store, whom })
        }
        (PrivilegeList::Python, None) => {
            let privileges = GrantedPrivileges::These(vec![Privilege::CreatePython]);
            Some(GrantClause::Privileges { privileges, on: GrantTarget::Store, whom })
        }
        (PrivilegeList::Python, Some(_)) => None,
        (PrivilegeList::Named(roles), None) => match roles.iter().find(|role| Privilege::of_word(role).is_some()) {
            Some(privilege) => return Err(without_object(&privilege.to_uppercase())),
            None => Some(GrantClause::Roles { roles, whom }),
        },
        (PrivilegeList::All, None) => return Err(without_object("ALL")),
        (_, Some(None)) => None,
    })
}

enum PrivilegeList {
    All,
    /// The names of privileges or roles.
    Named(Vec<String>),
    /// CREATE FUNCTION (python)
    Python,
}

/// Functions in SQL and WebAssembly need no privilege but CREATE on their schema.
fn of_language(words: &mut TokenReader<'_>) -> Option<PrivilegeList> {
    let is_python = words.accept_token(&Token::LParen) && words.accept(&["PYTHON"]) && words.accept_token(&Token::RParen);
    is_python.then_some(PrivilegeList::Python)
}

fn things(words: &mut TokenReader<'_>) -> Result<Option<PrivilegeList>, EngineError> {
    if words.accept(&["ALL"]) {
        words.accept(&["PRIVILEGES"]);
        return Ok(Some(PrivilegeList::All));
    }
    let names = words.names();
    if words.ahead(0) == Some(&Token::LParen) {
        let hint = "make a view of these columns, which is read with the rights of who reads it, or a table of them";
        return Err(EngineError::unsupported("a privilege on columns", Some(hint)));
    }
    Ok(names.map(PrivilegeList::Named))
}

/// `None` if the statement names no object of ours.
fn object(words: &mut TokenReader<'_>) -> Result<Option<GrantTarget>, EngineError> {
    if words.accept(&["ALL", "TABLES", "IN", "SCHEMA"]) {
        let hint = "write ON SCHEMA s: that is for every table in it, also for those to come";
        return Err(EngineError::unsupported("ON ALL TABLES IN SCHEMA", Some(hint)));
    }
    if words.accept(&["SCHEMA"]) {
        // With or without the name of the database in front.
        return Ok(words.table().map(|name| GrantTarget::Schema(name.table().to_string())));
    }
    if words.accept(&["DATABASE"]) {
        return Ok(words.name().filter(|name| name == CATALOG).map(|_| GrantTarget::Store));
    }
    let kinds = [
        ("ARRAY", ObjectKind::Array),
        ("GROUP", ObjectKind::Group),
        ("BLOB", ObjectKind::Blob),
        ("FUNCTION", ObjectKind::Function),
        ("PROCEDURE", ObjectKind::Function),
    ];
    for (word, kind) in kinds {
        let is_name = matches!(words.ahead(1), Some(Token::Word(_))) && words.ahead(1).is_some_and(|token| !is_word(token, "TO"));
        if is_name && words.accept(&[word]) {
            return Ok(words.table().map(|name| GrantTarget::Object(ObjectName { kind, name })));
        }
    }
    words.accept(&["TABLE"]);
    Ok(words.table().map(GrantTarget::Table))
}

fn privileges(names: &[String]) -> Result<Vec<Privilege>, EngineError> {
    let known = |name: &String| {
        Privilege::of_word(name).ok_or_else(|| {
            let hint = "there are SELECT, INSERT, UPDATE, DELETE, TRUNCATE, CREATE, EXECUTE, USAGE, FILES, OWNERSHIP and ALL";
            EngineError::unsupported(format!("the privilege {}", name.to_uppercase()), Some(hint))
        })
    };
    names.iter().map(known).collect()
}

fn without_object(privilege: &str) -> EngineError {
    let message = format!("{privilege} is not said to be on what");
    let hint = Some("write ON a table, ON SCHEMA s or ON DATABASE quiver behind it".to_string());
    EngineError::Sql { message, position: None, hint }
}
