//! Computes the positions of quantiles among sorted values.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::Result;
use datafusion::physical_expr::PhysicalExpr;

use super::constants::Argument;
use common::tensors::refused;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Interpolates between two values.
    Cont,
    /// Always one of the values.
    Disc,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Cont => "quantile_cont",
            Kind::Disc => "quantile_disc",
        }
    }
}

/// The second argument of a quantile: a number, or a list of them.
#[derive(Debug, Clone)]
pub struct Fractions {
    kind: Kind,
    argument: Argument,
    pub is_list: bool,
    descending: bool,
    fractions: Option<Vec<f64>>,
}

/// The positions of two values, which are equal or adjacent, and the share of the way from the first to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuantilePosition {
    pub low: usize,
    pub high: usize,
    pub share: f64,
}

impl Fractions {
    /// From an argument that does not depend on rows.
    pub fn new(kind: Kind, expression: &Arc<dyn PhysicalExpr>, data_type: &DataType, descending: bool) -> Result<Fractions> {
        let argument = Argument::of(expression);
        if matches!(argument, Argument::Column) {
            let message = format!("the fraction of {} is to be the same for all rows, a number or a list of numbers", kind.name());
            return Err(refused(message, None));
        }
        let is_list = matches!(data_type, DataType::List(_));
        Ok(Fractions { kind, argument, is_list, descending, fractions: None })
    }

    /// The positions among so many values; none if there are no values.
    pub fn places(&mut self, values: usize) -> Result<Vec<QuantilePosition>> {
        let (kind, descending) = (self.kind, self.descending);
        Ok(self.fractions()?.iter().map(|fraction| place(kind, *fraction, values, descending)).collect())
    }

    fn fractions(&mut self) -> Result<&[f64]> {
        if self.fractions.is_none() {
            self.fractions = Some(self.read()?);
        }
        Ok(self.fractions.as_deref().unwrap_or_default())
    }

    fn read(&self) -> Result<Vec<f64>> {
        let null = || refused(format!("the fraction of {} is NULL", self.kind.name()), Some("give a number from 0 to 1"));
        let Some(value) = self.argument.value()?.filter(|value| value.is_valid(0)) else { return Err(null()) };
        let numbers: ArrayRef = if self.is_list { value.as_list::<i32>().value(0) } else { value };
        let numbers = numbers.as_primitive::<Float64Type>();
        if numbers.null_count() > 0 {
            return Err(null());
        }
        if let Some(wrong) = numbers.values().iter().find(|fraction| !(0.0..=1.0).contains(*fraction)) {
            return Err(refused(format!("the fraction of {} is from 0 to 1, and not {wrong}", self.kind.name()), None));
        }
        Ok(numbers.values().to_vec())
    }
}

fn place(kind: Kind, fraction: f64, values: usize, descending: bool) -> QuantilePosition {
    let last = values.saturating_sub(1);
    let (low, high, share) = match kind {
        Kind::Cont => {
            let at = fraction * last as f64;
            let low = (at.floor() as usize).min(last);
            (low, (at.ceil() as usize).min(last), at - low as f64)
        }
        Kind::Disc => {
            let at = (steady(fraction * values as f64).ceil() as usize).saturating_sub(1).min(last);
            (at, at, 0.0)
        }
    };
    match descending {
        true => QuantilePosition { low: last - low, high: last - high, share },
        false => QuantilePosition { low, high, share },
    }
}

/// 0.7 of 30 values are 21, and not 20.999999999999996: corrects the rounding error of decimal fractions.
fn steady(product: f64) -> f64 {
    let near = product.round();
    if (product - near).abs() <= 2.0 * f64::EPSILON * near { near } else { product }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disc(fraction: f64, values: usize) -> usize {
        place(Kind::Disc, fraction, values, false).low
    }

    #[test]
    fn the_discrete_quantile_is_the_first_that_has_the_fraction_at_or_before_it() {
        for hundredths in 0..=100_usize {
            for values in 1..300_usize {
                let reached = (hundredths * values).div_ceil(100);
                assert_eq!(disc(hundredths as f64 / 100.0, values), reached.max(1) - 1, "{hundredths} of {values}");
            }
        }
    }

    #[test]
    fn the_continuous_quantile_lies_between_two_neighbours() {
        assert_eq!(place(Kind::Cont, 0.25, 4, false), QuantilePosition { low: 0, high: 1, share: 0.75 });
        assert_eq!(place(Kind::Cont, 0.25, 4, true), QuantilePosition { low: 3, high: 2, share: 0.75 });
        assert_eq!(place(Kind::Cont, 1.0, 4, false), QuantilePosition { low: 3, high: 3, share: 0.0 });
        assert_eq!(place(Kind::Cont, 0.5, 1, false), QuantilePosition { low: 0, high: 0, share: 0.0 });
    }
}
