//! Evaluates a condition with the indexes of the segments.
//!
//! A segment's index knows for each attribute and value the rows that have it. What it does not know (the times of an object, the name of
//! a table) may be true of any row, so each set of rows is a superset of the right one, and says whether it is exact.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use roaring::RoaringBitmap;

use super::predicate::{Comparison, Predicate, PropertyKey, is_like, literal_prefix};
use super::properties::{KIND_PROPERTY, NAME_PROPERTY, NAMESPACE_PROPERTY};
use super::record::ObjectKind;
use crate::attributes::{AttributeValue, ValueClass, put_sort_key};
use crate::error::Result;
use crate::segment::{AttributeIndex, KeyIndex};

/// The rows of a segment for which a condition may be true.
#[derive(Debug, Clone)]
pub struct Candidates {
    pub rows: Rows,
    /// The condition is true of all of them.
    pub is_exact: bool,
}

#[derive(Debug, Clone)]
pub enum Rows {
    All,
    /// Ascending.
    Few(Vec<u32>),
    Bitmap(RoaringBitmap),
}

impl Rows {
    fn into_bitmap(self, row_count: u32) -> RoaringBitmap {
        match self {
            Rows::All => (0..row_count).collect(),
            Rows::Few(rows) => rows.into_iter().collect(),
            Rows::Bitmap(rows) => rows,
        }
    }
}

/// Where the values of a property are in the index.
fn indexed_key(key: &PropertyKey) -> Option<&str> {
    match key {
        PropertyKey::Attribute(key) => Some(key),
        PropertyKey::Kind => Some(KIND_PROPERTY),
        PropertyKey::Name => Some(NAME_PROPERTY),
        PropertyKey::Namespace => Some(NAMESPACE_PROPERTY),
        _ => None,
    }
}

/// The rows for which the condition may be true.
pub fn candidates(index: &AttributeIndex, predicate: &Predicate) -> Result<Candidates> {
    Search { index }.evaluate(predicate, true)
}

/// The rows of the objects with one of these names, ascending.
pub fn rows_named(index: &AttributeIndex, names: &HashSet<&str>) -> Result<Vec<u32>> {
    let Some(key) = index.key(NAME_PROPERTY) else { return Ok(Vec::new()) };
    let mut rows = Vec::with_capacity(names.len());
    for name in names {
        let value = sort_key(&AttributeValue::Text((*name).to_string()));
        for entry in key.range(&value, true, &value, true) {
            key.visit_rows(entry, |row| rows.push(row))?;
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

struct Search<'a> {
    index: &'a AttributeIndex,
}

/// Entries of one key whose rows satisfy a condition.
struct Entries<'a> {
    key: KeyIndex<'a>,
    ranges: Vec<Range<usize>>,
}

impl Entries<'_> {
    fn size_bytes(&self) -> usize {
        self.ranges.iter().map(|range| self.key.size_bytes(range)).sum()
    }

    fn rows(&self) -> Result<Rows> {
        if let [range] = self.ranges.as_slice()
            && range.len() == 1
        {
            return Ok(Rows::Few(self.key.rows(range.start)?));
        }
        let mut all = RoaringBitmap::new();
        for range in &self.ranges {
            all |= self.key.rows_of(range.clone())?;
        }
        Ok(Rows::Bitmap(all))
    }

    /// Keeps the entries that `others`, of the same key, has too.
    fn intersect(&mut self, others: &Entries<'_>) {
        let pairs =
            self.ranges.iter().flat_map(|one| others.ranges.iter().map(move |other| one.start.max(other.start)..one.end.min(other.end)));
        self.ranges = pairs.filter(|range| !range.is_empty()).collect();
    }

    /// Those of `rows` that are among the rows of the entries.
    fn retain(&self, rows: &[u32]) -> Result<Vec<u32>> {
        let mut is_kept = vec![false; rows.len()];
        // Most rows of the entries are none of these, and a bit says so of most of them.
        let mut filter = [0u64; FILTER_BITS / 64];
        rows.iter().for_each(|row| filter[(*row as usize % FILTER_BITS) / 64] |= 1 << (row % 64));
        for entry in self.ranges.iter().cloned().flatten() {
            self.key.visit_rows(entry, |row| {
                if filter[(row as usize % FILTER_BITS) / 64] & 1 << (row % 64) != 0
                    && let Ok(at) = rows.binary_search(&row)
                {
                    is_kept[at] = true;
                }
            })?;
        }
        Ok(rows.iter().zip(is_kept).filter(|(_, is_kept)| *is_kept).map(|(row, _)| *row).collect())
    }
}

/// So many rows are looked at one by one sooner than conditions on all are evaluated.
const NAMED_ROWS_MAX: usize = 4_096;

/// Whether only objects with one of some names satisfy it.
fn lists_names(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Compare { key: PropertyKey::Name, operator: Comparison::Equal, .. } => true,
        Predicate::And(all) => all.iter().any(lists_names),
        Predicate::Or(some) => !some.is_empty() && some.iter().all(lists_names),
        _ => false,
    }
}

/// 4 KiB on the stack.
const FILTER_BITS: usize = 1 << 15;

impl<'a> Search<'a> {
    /// The rows for which the condition may have this value, true or false.
    fn evaluate(&self, predicate: &Predicate, wanted: bool) -> Result<Candidates> {
        match predicate {
            Predicate::Not(inner) => self.evaluate(inner, !wanted),
            Predicate::And(all) if wanted => self.intersection(all, wanted),
            Predicate::Or(some) if !wanted => self.intersection(some, wanted),
            Predicate::And(some) | Predicate::Or(some) => self.union(some, wanted),
            Predicate::Exists(key) => self.with_key(key, wanted),
            Predicate::Compare { key, .. } | Predicate::Like { key, .. } => {
                let Some(name) = indexed_key(key) else { return Ok(Candidates { rows: Rows::All, is_exact: false }) };
                let Some(found) = self.index.key(name) else { return self.without_row(key, Rows::Few(Vec::new())) };
                let matching = matching(&found, predicate);
                let rows = match wanted {
                    true => Entries { key: found, ranges: matching }.rows()?,
                    false => {
                        let (comparable, is_true) = (comparable(&found, predicate), Entries { key: found.clone(), ranges: matching });
                        let mut rows = Entries { key: found, ranges: comparable }.rows()?.into_bitmap(self.index.row_count());
                        rows -= is_true.rows()?.into_bitmap(self.index.row_count());
                        Rows::Bitmap(rows)
                    }
                };
                self.without_row(key, rows)
            }
        }
    }

    /// The names of tables and views are in the catalog: for a row of theirs a condition on the name may be true or false.
    fn without_row(&self, key: &PropertyKey, rows: Rows) -> Result<Candidates> {
        if !matches!(key, PropertyKey::Name | PropertyKey::Namespace) {
            return Ok(Candidates { rows, is_exact: true });
        }
        let mut all = rows.into_bitmap(self.index.row_count());
        if let Some(kinds) = self.index.key(KIND_PROPERTY) {
            for kind in ObjectKind::ALL.into_iter().filter(|kind| kind.is_in_catalog()) {
                let value = sort_key(&AttributeValue::Text(kind.word().to_string()));
                all |= kinds.rows_of(kinds.range(&value, true, &value, true))?;
            }
        }
        Ok(Candidates { rows: Rows::Bitmap(all), is_exact: false })
    }

    fn with_key(&self, key: &PropertyKey, wanted: bool) -> Result<Candidates> {
        let PropertyKey::Attribute(key) = key else { return Ok(Candidates { rows: Rows::All, is_exact: false }) };
        let rows = match self.index.key(key) {
            Some(found) => found.rows_of(found.entries())?,
            None => RoaringBitmap::new(),
        };
        let rows = if wanted { rows } else { (0..self.index.row_count()).collect::<RoaringBitmap>() - rows };
        Ok(Candidates { rows: Rows::Bitmap(rows), is_exact: true })
    }

    fn union(&self, some: &[Predicate], wanted: bool) -> Result<Candidates> {
        let (mut all, mut is_exact) = (RoaringBitmap::new(), true);
        for one in some {
            let found = self.evaluate(one, wanted)?;
            is_exact &= found.is_exact;
            match found.rows {
                Rows::All => return Ok(Candidates { rows: Rows::All, is_exact }),
                rows => all |= rows.into_bitmap(self.index.row_count()),
            }
        }
        Ok(Candidates { rows: Rows::Bitmap(all), is_exact })
    }

    /// The few rows of the names that one of the conditions lists. Whoever looks at them evaluates the other conditions, of which the
    /// kind and the schema hold for most objects there are.
    fn named(&self, all: &[Predicate], wanted: bool) -> Result<Option<Candidates>> {
        let Some(names) = all.iter().find(|one| wanted && lists_names(one)) else { return Ok(None) };
        let found = self.evaluate(names, wanted)?;
        let is_few = match &found.rows {
            Rows::All => false,
            Rows::Few(rows) => rows.len() <= NAMED_ROWS_MAX,
            Rows::Bitmap(rows) => rows.len() <= NAMED_ROWS_MAX as u64,
        };
        Ok(is_few.then_some(Candidates { is_exact: false, ..found }))
    }

    /// The condition with the fewest rows comes first. Of the others, comparisons are not made sets: their rows are looked up among those
    /// that are left.
    fn intersection(&self, all: &[Predicate], wanted: bool) -> Result<Candidates> {
        if let Some(found) = self.named(all, wanted)? {
            return Ok(found);
        }
        let mut simple: Vec<Entries<'a>> = Vec::new();
        // A range of values is two comparisons of one key; where no row has several values their entries are intersected.
        let mut by_key: HashMap<&str, usize> = HashMap::new();
        let mut others: Vec<&Predicate> = Vec::new();
        for one in flattened(all, wanted) {
            match self.entries(one, wanted) {
                Some((name, entries)) => match by_key.get(name).map(|at| &mut simple[*at]) {
                    Some(others) if !entries.key.has_lists() => others.intersect(&entries),
                    _ => {
                        by_key.insert(name, simple.len());
                        simple.push(entries);
                    }
                },
                None => others.push(one),
            }
        }
        let mut found = Candidates { rows: Rows::All, is_exact: true };
        if !simple.is_empty() {
            simple.sort_by_cached_key(Entries::size_bytes);
            let mut rows = match simple[0].rows()? {
                Rows::Bitmap(rows) => rows.into_iter().collect(),
                Rows::Few(rows) => rows,
                Rows::All => Vec::new(),
            };
            for entries in &simple[1..] {
                if rows.is_empty() {
                    break;
                }
                rows = entries.retain(&rows)?;
            }
            found.rows = Rows::Few(rows);
        }
        for one in others {
            if matches!(&found.rows, Rows::Few(rows) if rows.is_empty()) {
                break;
            }
            let more = self.evaluate(one, wanted)?;
            found.is_exact &= more.is_exact;
            found.rows = match (found.rows, more.rows) {
                (rows, Rows::All) | (Rows::All, rows) => rows,
                (Rows::Few(mut rows), Rows::Bitmap(others)) | (Rows::Bitmap(others), Rows::Few(mut rows)) => {
                    rows.retain(|row| others.contains(*row));
                    Rows::Few(rows)
                }
                (one, other) => Rows::Bitmap(one.into_bitmap(self.index.row_count()) & other.into_bitmap(self.index.row_count())),
            };
        }
        Ok(found)
    }

    /// The entries of a comparison that the index answers exactly.
    fn entries<'b>(&self, predicate: &'b Predicate, wanted: bool) -> Option<(&'b str, Entries<'a>)> {
        let (Predicate::Compare { key, .. } | Predicate::Like { key, .. }) = predicate else { return None };
        let PropertyKey::Attribute(name) = key else { return None };
        let found = self.index.key(name).filter(|_| wanted)?;
        Some((name, Entries { ranges: matching(&found, predicate), key: found }))
    }
}

/// With the parts of nested conjunctions, or of nested disjunctions where these are to be false.
fn flattened(all: &[Predicate], wanted: bool) -> Vec<&Predicate> {
    let (mut flat, mut unseen) = (Vec::new(), all.iter().rev().collect::<Vec<_>>());
    while let Some(one) = unseen.pop() {
        match one {
            Predicate::And(inner) if wanted => unseen.extend(inner.iter().rev()),
            Predicate::Or(inner) if !wanted => unseen.extend(inner.iter().rev()),
            other => flat.push(other),
        }
    }
    flat
}

fn sort_key(value: &AttributeValue) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(9);
    value.each_scalar(&mut |scalar| put_sort_key(&mut bytes, scalar));
    bytes
}

fn class_range(key: &KeyIndex<'_>, class: u8) -> Range<usize> {
    key.range(&[class], true, &[class + 1], false)
}

/// The entries with which the value can be compared.
fn comparable(key: &KeyIndex<'_>, predicate: &Predicate) -> Vec<Range<usize>> {
    let class = match predicate {
        Predicate::Compare { value, .. } => sort_key(value)[0],
        _ => ValueClass::Text as u8,
    };
    vec![class_range(key, ValueClass::EmptyList as u8), class_range(key, class)]
}

/// The entries for which the comparison is true.
fn matching(key: &KeyIndex<'_>, predicate: &Predicate) -> Vec<Range<usize>> {
    match predicate {
        Predicate::Compare { operator, value, .. } => {
            let value = sort_key(value);
            let (class, after) = ([value[0]], [value[0] + 1]);
            let range = match operator {
                Comparison::Equal => key.range(&value, true, &value, true),
                Comparison::Less => key.range(&class, true, &value, false),
                Comparison::LessOrEqual => key.range(&class, true, &value, true),
                Comparison::Greater => key.range(&value, false, &after, false),
                Comparison::GreaterOrEqual => key.range(&value, true, &after, false),
            };
            vec![range]
        }
        Predicate::Like { pattern, ignores_case, .. } => {
            let mut prefix = vec![ValueClass::Text as u8];
            if !ignores_case {
                prefix.extend_from_slice(literal_prefix(pattern).as_bytes());
            }
            let texts = class_range(key, ValueClass::Text as u8);
            let start = key.range(&prefix, true, &[ValueClass::Text as u8 + 1], false).start;
            let is_match = |entry: &usize| {
                let text = std::str::from_utf8(&key.value(*entry)[1..]).unwrap_or_default();
                is_like(text, pattern, *ignores_case)
            };
            let with_prefix = (start..texts.end).take_while(|entry| key.value(*entry).starts_with(&prefix));
            with_prefix.filter(is_match).map(|entry| entry..entry + 1).collect()
        }
        _ => Vec::new(),
    }
}
