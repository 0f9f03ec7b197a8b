//! Texts of statements that one text alone cannot say: lists of rows, and row locks. Nothing else makes or changes SQL at run time.

use std::fmt::Write;

use sqlx::AssertSqlSafe;

use super::{Dialect, WriteTx};

/// What a SELECT ends with that locks its rows. It is the lock that an UPDATE takes which changes no key: FOR UPDATE, a stronger one, would also hold up
/// whoever stores a row that refers to a locked one.
const LOCKING: &str = " FOR NO KEY UPDATE";

impl WriteTx {
    /// A SELECT that locks its rows until the transaction ends, as the database says it. SQLite has no row locks: whoever writes is alone.
    pub fn locking(&self, sql: &'static str) -> &'static str {
        match self.dialect() {
            Dialect::Sqlite => sql.strip_suffix(LOCKING).unwrap_or(sql),
            Dialect::Postgres => sql,
        }
    }
}

/// The statement for so many rows: what stands in brackets is one of them, with `?` for each of its values, which are bound after `$1` and the like.
/// `VALUES [(?, ?)]` becomes `VALUES ($1, $2), ($3, $4)`. The text differs with the number of rows, so it is not worth keeping prepared.
pub fn listed(sql: &'static str, rows: usize) -> AssertSqlSafe<String> {
    let (before, rest) = sql.split_once('[').unwrap_or((sql, ""));
    let (row, after) = rest.split_once(']').unwrap_or((rest, ""));
    let (mut text, mut number) = (before.to_owned(), sql.matches('$').count());
    for index in 0..rows {
        text.push_str(if index == 0 { "" } else { ", " });
        for (place, part) in row.split('?').enumerate() {
            if place > 0 {
                number += 1;
                // Writing to a text cannot fail.
                let _ = write!(text, "${number}");
            }
            text.push_str(part);
        }
    }
    text.push_str(after);
    AssertSqlSafe(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_each_row_with_numbers_of_its_own() {
        assert_eq!(
            listed("INSERT INTO a (b, c) VALUES [(?, ?, '')] RETURNING b", 2).0,
            "INSERT INTO a (b, c) VALUES ($1, $2, ''), ($3, $4, '') RETURNING b"
        );
        assert_eq!(
            listed("SELECT a FROM b WHERE c = $1 AND d IN ([?]) LIMIT $2", 2).0,
            "SELECT a FROM b WHERE c = $1 AND d IN ($3, $4) LIMIT $2"
        );
        assert_eq!(listed("SELECT a FROM b WHERE c = $1", 1).0, "SELECT a FROM b WHERE c = $1");
    }
}
