//! `#[quiver::function]` and `#[quiver::table_function]`: the export of a function.

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Exports a function of values, so that `CREATE FUNCTION … LANGUAGE wasm` finds it by its name. It is called for each row.
///
/// Parameters are what `quiver::Argument` is implemented for, the result is what `quiver::Returned` is implemented for.
#[proc_macro_attribute]
pub fn function(_: TokenStream, item: TokenStream) -> TokenStream {
    with_export(item, "results")
}

/// Exports a function of tables, so that `CREATE FUNCTION … RETURNS TABLE … LANGUAGE wasm` finds it by its name. It is called once.
///
/// Parameters are `quiver::Table` and what `quiver::Argument` is implemented for, the result is what `quiver::ReturnedRows` is implemented for: a
/// vector of tuples, or a `Result` of one.
#[proc_macro_attribute]
pub fn table_function(_: TokenStream, item: TokenStream) -> TokenStream {
    with_export(item, "table_results")
}

/// `results` turns what the function returns into an array.
fn with_export(item: TokenStream, results: &str) -> TokenStream {
    match exported(item.clone(), results) {
        Ok(export) => [item, export].into_iter().collect(),
        Err(message) => [item, format!("compile_error!({message:?});").parse().unwrap()].into_iter().collect(),
    }
}

fn exported(item: TokenStream, results: &str) -> Result<TokenStream, &'static str> {
    let mut tokens = item.into_iter().skip_while(|token| token.to_string() != "fn").skip(1);
    let name = tokens.next().ok_or("this attribute is for functions")?.to_string();
    let parameters = match tokens.next() {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => group.stream(),
        _ => return Err("a function of Quiver has no generic parameters"),
    };
    let types = types_of(parameters)?;
    let text = format!("::quiver::__export_function!({name}, {name:?}, {results}, {});", types.join(", "));
    text.parse().map_err(|_| "the types of the parameters cannot be read")
}

/// What stands behind the colon of each parameter.
fn types_of(parameters: TokenStream) -> Result<Vec<String>, &'static str> {
    let (mut types, mut current, mut depth, mut previous) = (Vec::new(), TokenStream::new(), 0, None);
    for token in parameters {
        let mark = match &token {
            TokenTree::Punct(mark) => Some(mark.as_char()),
            _ => None,
        };
        match mark {
            Some('<') => depth += 1,
            // Not that of an arrow.
            Some('>') if previous != Some('-') => depth -= 1,
            _ => {}
        }
        previous = mark;
        if mark == Some(',') && depth == 0 {
            types.push(std::mem::take(&mut current));
        } else {
            current.extend([token]);
        }
    }
    if !current.is_empty() {
        types.push(current);
    }
    let of = |parameter: TokenStream| {
        let mut tokens = parameter.into_iter().skip_while(|token| token.to_string() != ":");
        let _colon = tokens.next().ok_or("a function of Quiver has no self")?;
        Ok(tokens.collect::<TokenStream>().to_string())
    };
    types.into_iter().map(of).collect()
}
