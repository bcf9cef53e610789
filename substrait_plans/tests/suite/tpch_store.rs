//! The tables of TPC-H with a few rows, chosen so that nearly every query finds some.

use std::fmt::Write;

const SCHEMA: &str = include_str!("../../../scripts/substrait/tpch_schema.sql");

const REGIONS: [&str; 5] = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"];
/// Nations with their regions.
const NATIONS: [(&str, usize); 25] = [
    ("ALGERIA", 0),
    ("ARGENTINA", 1),
    ("BRAZIL", 1),
    ("CANADA", 1),
    ("EGYPT", 4),
    ("ETHIOPIA", 0),
    ("FRANCE", 3),
    ("GERMANY", 3),
    ("INDIA", 2),
    ("INDONESIA", 2),
    ("IRAN", 4),
    ("IRAQ", 4),
    ("JAPAN", 2),
    ("JORDAN", 4),
    ("KENYA", 0),
    ("MOROCCO", 0),
    ("MOZAMBIQUE", 0),
    ("PERU", 1),
    ("CHINA", 2),
    ("ROMANIA", 3),
    ("SAUDI ARABIA", 4),
    ("VIETNAM", 2),
    ("RUSSIA", 3),
    ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
];
/// The nations that the queries select.
const HOMES: [usize; 7] = [2, 3, 6, 7, 8, 18, 20];
const TYPES: [&str; 6] = [
    "ECONOMY ANODIZED STEEL",
    "SMALL PLATED BRASS",
    "PROMO BURNISHED COPPER",
    "MEDIUM POLISHED TIN",
    "LARGE BRUSHED BRASS",
    "STANDARD PLATED NICKEL",
];
const NAMES: [&str; 5] = ["forest green", "almond azure", "forest ivory", "dark green", "lace peru"];
const BRANDS: [&str; 5] = ["Brand#12", "Brand#23", "Brand#34", "Brand#45", "Brand#11"];
const CONTAINERS: [&str; 6] = ["SM CASE", "MED BOX", "LG PACK", "MED BAG", "LG BOX", "SM PKG"];
const SIZES: [u64; 9] = [15, 1, 5, 10, 23, 45, 49, 14, 9];
const SEGMENTS: [&str; 3] = ["BUILDING", "AUTOMOBILE", "MACHINERY"];
const PRIORITIES: [&str; 5] = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"];
const MODES: [&str; 5] = ["MAIL", "SHIP", "AIR", "AIR REG", "TRUCK"];
const INSTRUCTIONS: [&str; 2] = ["DELIVER IN PERSON", "NONE"];
const PARTS: u64 = 60;
const SUPPLIERS: u64 = 25;
const CUSTOMERS: u64 = 75;
const ORDERS: u64 = 320;

/// The statements, separated by semicolons.
pub fn script() -> String {
    let mut random = Random(7);
    let mut script = SCHEMA.to_string();
    let regions = REGIONS.iter().enumerate().map(|(key, name)| format!("({key}, '{name}', '')")).collect();
    insert(&mut script, "region", regions);
    let nations = NATIONS.iter().enumerate().map(|(key, (name, region))| format!("({key}, '{name}', {region}, '')")).collect();
    insert(&mut script, "nation", nations);
    insert(&mut script, "supplier", (1..=SUPPLIERS).map(|key| supplier(key, &mut random)).collect());
    insert(&mut script, "customer", (1..=CUSTOMERS).map(|key| customer(key, &mut random)).collect());
    insert(&mut script, "part", (1..=PARTS).map(|key| part(key, &mut random)).collect());
    insert(&mut script, "partsupp", (1..=PARTS).flat_map(|key| partsupp(key, &mut random)).collect());
    let (orders, lines): (Vec<String>, Vec<Vec<String>>) = (1..=ORDERS).map(|key| order(key, &mut random)).unzip();
    insert(&mut script, "orders", orders);
    insert(&mut script, "lineitem", lines.into_iter().flatten().collect());
    script
}

/// The query as in `bench`.
pub fn query(number: usize) -> String {
    let path = format!("{}/../bench/queries/q{number:02}.sql", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap().trim_end().trim_end_matches(';').to_string()
}

fn insert(script: &mut String, table: &str, rows: Vec<String>) {
    for rows in rows.chunks(500) {
        write!(script, ";\nINSERT INTO {table} VALUES {}", rows.join(", ")).unwrap();
    }
}

fn supplier(key: u64, random: &mut Random) -> String {
    let comment = if key.is_multiple_of(6) { "slow Customer service Complaints" } else { "quick" };
    let home = HOMES[usize::try_from(key).unwrap() % HOMES.len()];
    format!("({key}, 'Supplier#{key:09}', 'street {key}', {home}, '{}', {}, '{comment}')", phone(home, random), random.money(9_000))
}

fn customer(key: u64, random: &mut Random) -> String {
    let (home, segment) = (random.one(&HOMES), random.one(&SEGMENTS));
    let phone = phone(home, random);
    format!("({key}, 'Customer#{key:09}', 'road {key}', {home}, '{phone}', {}, '{segment}', 'words')", random.money(9_000))
}

/// The country code is the nation's number plus ten.
fn phone(nation: usize, random: &mut Random) -> String {
    format!("{}-{}-555", nation + 10, 100 + random.below(900))
}

fn part(key: u64, random: &mut Random) -> String {
    let (name, brand, kind) = (random.one(&NAMES), random.one(&BRANDS), random.one(&TYPES));
    let (size, container) = (random.one(&SIZES), random.one(&CONTAINERS));
    format!("({key}, '{name}', 'Manufacturer#{}', '{brand}', '{kind}', {size}, '{container}', {}, '')", key % 5, random.money(1_500))
}

fn partsupp(part: u64, random: &mut Random) -> Vec<String> {
    let suppliers = (0..4).map(|place| (part + place * 6) % SUPPLIERS + 1);
    suppliers.map(|supplier| format!("({part}, {supplier}, {}, {}, '')", 1 + random.below(9_000), random.money(900))).collect()
}

/// An order with its lines.
fn order(key: u64, random: &mut Random) -> (String, Vec<String>) {
    // As in TPC-H, every third customer has no orders.
    let customer = random.below(CUSTOMERS / 3) * 3 + 1 + random.below(2);
    let day = random.below(2_400);
    let status = ["F", "O", "P"][usize::try_from(day / 900).unwrap_or(2).min(2)];
    let comment = if key.is_multiple_of(9) { "special gift requests" } else { "plain" };
    let priority = random.one(&PRIORITIES);
    let lines = if key.is_multiple_of(40) { 7 } else { 1 + random.below(6) };
    let order = format!(
        "({key}, {customer}, '{status}', {}, DATE '1992-01-01' + INTERVAL '{day}' DAY, '{priority}', 'Clerk#{}', 0, '{comment}')",
        random.money(90_000),
        key % 10,
    );
    let whole = key.is_multiple_of(40);
    (order, (1..=lines).map(|line| lineitem(key, line, day, whole, random)).collect())
}

fn lineitem(order: u64, line: u64, day: u64, whole: bool, random: &mut Random) -> String {
    let part = 1 + random.below(PARTS);
    let supplier = (part + random.below(4) * 6) % SUPPLIERS + 1;
    let quantity = if whole { 50 } else { 1 + random.below(50) };
    let (ship, commit) = (day + 1 + random.below(120), day + 30 + random.below(60));
    let receipt = ship + 1 + random.below(30);
    let (returned, status) = if day < 1_200 { (random.one(&["R", "A"]), "F") } else { ("N", "O") };
    let (instruction, mode) = (random.one(&INSTRUCTIONS), random.one(&MODES));
    let date = |day: u64| format!("DATE '1992-01-01' + INTERVAL '{day}' DAY");
    format!(
        "({order}, {part}, {supplier}, {line}, {quantity}, {}, 0.{:02}, 0.{:02}, \
         '{returned}', '{status}', {}, {}, {}, '{instruction}', '{mode}', '')",
        random.money(90_000),
        random.below(11),
        random.below(9),
        date(ship),
        date(commit),
        date(receipt),
    )
}

/// Reproducible pseudo-random numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }

    fn money(&mut self, most: u64) -> String {
        format!("{}.{:02}", 1 + self.below(most), self.below(100))
    }
}
