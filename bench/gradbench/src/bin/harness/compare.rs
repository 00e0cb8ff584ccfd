//! How far one output is from another.

use serde_json::Value;

/// The largest difference between numbers that belong together, each as a part of the largest number of its list; the
/// error says what cannot be compared. Whole numbers (indices, counts) must be equal.
pub fn relative_error(found: &Value, expected: &Value) -> Result<f64, String> {
    if let (Value::Object(found), Value::Object(expected)) = (found, expected) {
        if !found.keys().eq(expected.keys()) {
            return Err("other keys".into());
        }
        let mut each = expected.iter().map(|(key, value)| relative_error(&found[key], value));
        return each.try_fold(0.0, |worst, error| Ok(f64::max(worst, error?)));
    }
    let (mut difference, mut largest) = (0.0_f64, 0.0_f64);
    each_number(found, expected, &mut |found, expected| {
        difference = difference.max((found - expected).abs());
        largest = largest.max(expected.abs());
    })?;
    Ok(if difference == 0.0 { 0.0 } else { difference / largest })
}

fn each_number(found: &Value, expected: &Value, visit: &mut impl FnMut(f64, f64)) -> Result<(), String> {
    match (found, expected) {
        (Value::Array(found), Value::Array(expected)) if found.len() == expected.len() => {
            found.iter().zip(expected).try_for_each(|(found, expected)| each_number(found, expected, visit))
        }
        (Value::Array(found), Value::Array(expected)) => {
            Err(format!("{} entries, not {}", found.len(), expected.len()))
        }
        (Value::Number(found), Value::Number(expected)) if found.is_u64() && expected.is_u64() && found != expected => {
            Err(format!("{found}, not {expected}"))
        }
        _ => {
            let (Some(found), Some(expected)) = (found.as_f64(), expected.as_f64()) else {
                return Err("another shape".into());
            };
            visit(found, expected);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn errors_are_relative_to_the_largest_number_of_a_list() {
        assert_eq!(relative_error(&json!([1.0, 4.0]), &json!([1.5, 4.0])), Ok(0.125));
        let (found, expected) =
            (json!({ "a": [1000, 2], "b": [[0.0], [1.0]] }), json!({ "a": [1000, 2], "b": [[0.25], [1]] }));
        assert_eq!(relative_error(&found, &expected), Ok(0.25));
    }

    #[test]
    fn zeros_are_not_close_to_small_numbers() {
        assert_eq!(relative_error(&json!([0.0]), &json!([1e-300])), Ok(1.0));
        assert_eq!(relative_error(&json!([1e-300]), &json!([0.0])), Ok(f64::INFINITY));
    }

    #[test]
    fn what_has_another_shape_is_not_compared() {
        assert_eq!(relative_error(&json!([1, 2]), &json!([1, 3])), Err("2, not 3".into()));
        assert_eq!(relative_error(&json!([1.0]), &json!([1.0, 2.0])), Err("1 entries, not 2".into()));
        assert_eq!(relative_error(&json!([[1.0]]), &json!([1.0])), Err("another shape".into()));
        assert_eq!(relative_error(&json!({ "a": 1.0 }), &json!({ "b": 1.0 })), Err("other keys".into()));
    }
}
