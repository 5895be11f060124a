//! A little statistics.

/// Returns the middle of a list, or the mean of the two that are there.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    values.get(middle).copied()
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn of_an_odd_list() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
    }

    #[test]
    fn of_an_even_list() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), Some(2.5));
    }
}
