//! The proleptic Gregorian calendar, as in PostgreSQL.

const DAY_SECONDS: i64 = 86_400;
/// Years, and days, after which the calendar repeats itself.
const ERA_YEARS: i64 = 400;
const ERA_DAYS: i64 = 146_097;
/// Days from the first of March in the year 0 to 1970.
const EPOCH_DAYS: i64 = 719_468;
/// The Julian day number of 1970-01-01.
const EPOCH_JULIAN: i64 = 2_440_588;

/// A local time with its offset from UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Civil {
    /// 0 is 1 BC.
    pub year: i64,
    pub month: i64,
    pub day: i64,
    /// Since 1970.
    pub days: i64,
    pub second_of_day: i64,
    pub nanosecond: i64,
    pub offset_seconds: i64,
}

impl Civil {
    /// From local seconds since 1970.
    pub fn new(seconds: i64, nanosecond: i64, offset_seconds: i64) -> Civil {
        let days = seconds.div_euclid(DAY_SECONDS);
        let (year, month, day) = date_of(days);
        Civil { year, month, day, days, second_of_day: seconds.rem_euclid(DAY_SECONDS), nanosecond, offset_seconds }
    }

    pub fn day_of_year(&self) -> i64 {
        self.days - days_of(self.year, 1, 1) + 1
    }

    /// Sunday is 0.
    pub fn weekday(&self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    /// Monday is 1.
    pub fn iso_weekday(&self) -> i64 {
        (self.days + 3).rem_euclid(7) + 1
    }

    /// The ISO year, which has most days of the week, and the number of the week in it.
    pub fn iso_week(&self) -> (i64, i64) {
        let thursday = self.days - self.iso_weekday() + 4;
        let (year, _, _) = date_of(thursday);
        (year, (thursday - days_of(year, 1, 1)) / 7 + 1)
    }

    pub fn julian_day(&self) -> i64 {
        self.days + EPOCH_JULIAN
    }
}

/// Days since 1970 for a Julian day number.
pub fn days_of_julian(julian: i64) -> i64 {
    julian - EPOCH_JULIAN
}

/// Days since 1970. Months and days beyond the calendar carry over into the next ones.
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that the leap day is its last.
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(ERA_YEARS), year.rem_euclid(ERA_YEARS));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - EPOCH_DAYS
}

pub fn month_days(year: i64, month: i64) -> i64 {
    let (next_year, next_month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    days_of(next_year, next_month, 1) - days_of(year, month, 1)
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let (era, of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * ERA_YEARS + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_each_other() {
        for days in (-1_000_000..1_000_000).step_by(37) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
        }
        assert_eq!(date_of(0), (1970, 1, 1));
        assert_eq!(date_of(19_782), (2024, 2, 29));
        assert_eq!((month_days(2024, 2), month_days(2023, 2), month_days(1900, 2), month_days(2023, 12)), (29, 28, 28, 31));
    }

    #[test]
    fn weeks_belong_to_the_year_of_their_thursday() {
        let week = |year, month, day| Civil::new(days_of(year, month, day) * DAY_SECONDS, 0, 0).iso_week();
        assert_eq!(week(2021, 1, 3), (2020, 53));
        assert_eq!(week(2021, 1, 4), (2021, 1));
        assert_eq!(week(2024, 12, 30), (2025, 1));
    }
}
