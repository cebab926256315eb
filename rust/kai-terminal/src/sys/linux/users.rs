//! Names of users, for people who read an error.

use std::fs;

/// What the guard says where `/proc` hides a process from it; no user has this number (chown(2)).
const UNKNOWN: u32 = u32::MAX;

/// The name of a user, or the number where `/etc/passwd` has none.
///
/// The file is read here, and no name service is asked: getpwuid(3) may wait for a network, and nothing at this seam
/// may block.
pub(super) fn name(uid: u32) -> String {
    if uid == UNKNOWN {
        return "unknown".to_owned();
    }
    let number = uid.to_string();
    let table = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    found.unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::name;

    #[test]
    fn a_user_without_a_name_keeps_the_number() {
        assert_eq!(name(0), "root");
        assert_eq!(name(4_000_123_456), "4000123456");
    }
}
