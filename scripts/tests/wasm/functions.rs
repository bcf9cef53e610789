//! Functions for test_wasm_rust.py.

macro_rules! same {
    ($($same:ident $maybe:ident $given:ty, $returned:ty;)*) => {$(
        #[quiver::function]
        fn $same(value: $given) -> $returned {
            value.into()
        }

        #[quiver::function]
        fn $maybe(value: Option<$given>) -> Option<$returned> {
            value.map(Into::into)
        }
    )*};
}

same! {
    same_bool maybe_bool bool, bool;
    same_i8 maybe_i8 i8, i8;
    same_u8 maybe_u8 u8, u8;
    same_i16 maybe_i16 i16, i16;
    same_u16 maybe_u16 u16, u16;
    same_i32 maybe_i32 i32, i32;
    same_u32 maybe_u32 u32, u32;
    same_i64 maybe_i64 i64, i64;
    same_u64 maybe_u64 u64, u64;
    same_f32 maybe_f32 f32, f32;
    same_f64 maybe_f64 f64, f64;
    same_text maybe_text &str, String;
    same_bytes maybe_bytes &[u8], Vec<u8>;
}

#[quiver::function]
fn initial(name: &str) -> Result<Option<String>, String> {
    match name {
        "bad" => Err("no good".into()),
        name => Ok(name.chars().next().map(|first| first.to_uppercase().to_string())),
    }
}

#[quiver::function]
fn breaks(a: i64) -> i64 {
    49 / a
}

#[quiver::table_function]
fn at_least(t: quiver::Table, least: f64) -> Result<Vec<(i64, Option<String>)>, String> {
    let (values, names) = (t.column::<f64>("x")?, t.column::<&str>("name")?);
    let found = (0..t.rows()).filter(|row| values.get(*row).map_or(false, |x| x >= least));
    Ok(found.map(|row| (row as i64, names.get(row).map(str::to_uppercase))).collect())
}

#[quiver::table_function]
fn below(n: i64) -> Vec<(i64,)> {
    (0..n).map(|number| (number,)).collect()
}

#[quiver::table_function]
fn spread() -> Vec<(bool, &'static str, f32, Vec<u8>)> {
    vec![(true, "a", 0.5, vec![1, 2]), (false, "b", -1.0, vec![])]
}

/// Of a list of structs, which is a table of its own in each row.
#[quiver::function]
fn total(items: quiver::Table) -> Result<i64, String> {
    Ok(items.column::<i64>("n")?.iter().flatten().sum())
}

/// Of lists, which are no table.
#[quiver::function]
fn items_of(lists: quiver::Table) -> Result<i64, String> {
    Ok(lists.column::<i64>("item")?.iter().flatten().sum())
}
