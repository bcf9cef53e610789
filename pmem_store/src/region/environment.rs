//! Environment variables of libpmem that make it acknowledge what is not durable.

use super::RegionError;

/// `PMEM_IS_PMEM_FORCE=1` makes libpmem take any file for persistent memory and skip msync;
/// `PMEM_NO_FLUSH=1` makes it skip flushing the caches. Hardware that needs neither is recognised
/// without them.
const UNSAFE_WHEN_ONE: [&str; 2] = ["PMEM_IS_PMEM_FORCE", "PMEM_NO_FLUSH"];

/// Returns an error if the environment would make libpmem lose acknowledged data. The caller checks
/// before it opens a store. `allow_in_tests` is for tests that want the DAX code path
/// without the hardware.
///
/// # Errors
///
/// [`RegionError::UnsafeEnvironment`] naming the variable.
pub fn refuse_forced_pmem(allow_in_tests: bool) -> Result<(), RegionError> {
    if allow_in_tests {
        return Ok(());
    }
    for variable in UNSAFE_WHEN_ONE {
        let Some(value) = std::env::var_os(variable) else {
            continue;
        };
        let value = value.to_string_lossy().into_owned();
        if leading_integer(&value) == Some(1) {
            return Err(RegionError::UnsafeEnvironment { variable, value });
        }
    }
    Ok(())
}

/// The number that C's atoi returns, because libpmem reads these variables with it: " 01x" is a one too.
fn leading_integer(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = unsigned.find(|c: char| !c.is_ascii_digit()).unwrap_or(unsigned.len());
    let sign = if text.starts_with('-') { -1 } else { 1 };
    unsigned[..digits].parse::<i64>().ok().map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use super::leading_integer;

    #[test]
    fn numbers_are_read_as_libpmem_reads_them() {
        for (text, number) in [("1", 1), (" 01x", 1), ("+1", 1), ("0", 0), ("-1", -1), ("10", 10)] {
            assert_eq!(leading_integer(text), Some(number), "{text:?}");
        }
        assert_eq!(leading_integer("yes"), None);
    }
}
