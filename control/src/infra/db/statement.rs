//! Statements that need more than one fixed text: lists of rows, and row locks. Nothing else builds or changes SQL at run time.

use std::fmt::Write;

use sqlx::AssertSqlSafe;

use super::{Dialect, Either, ReadTx, WriteTx};

/// The end of a SELECT that locks its rows. This is the lock of an UPDATE that changes no key. FOR UPDATE is stronger: it would also block inserts of rows
/// that reference a locked one.
const LOCKING: &str = " FOR NO KEY UPDATE";

impl WriteTx {
    /// A SELECT that locks its rows until the transaction ends, in the database's dialect. SQLite has no row locks: there is only one writer.
    pub fn locking(&self, sql: &'static str) -> &'static str {
        match self.dialect() {
            Dialect::Sqlite => sql.strip_suffix(LOCKING).unwrap_or(sql),
            Dialect::Postgres => sql,
        }
    }
}

impl<S, P> Either<S, P> {
    /// The statement for this number of rows; see [`listed`].
    pub fn listed(&self, sql: &'static str, rows: usize) -> AssertSqlSafe<String> {
        let dialect = self.dialect();
        listed(dialect, sql, rows)
    }
}

impl ReadTx {
    /// The statement for this number of rows; see [`listed`].
    pub fn listed(&self, sql: &'static str, rows: usize) -> AssertSqlSafe<String> {
        self.0.listed(sql, rows)
    }
}

/// The statement for this number of rows: the part in brackets is one row. Each `?` is a value, bound in the order of the text. For PostgreSQL,
/// `VALUES [(?, ?)]` becomes `VALUES ($1, $2), ($3, $4)`. SQLite keeps the `?`: it treats `$1` as a name and searches all earlier names for each, which
/// for hundreds of rows costs more than the statement. The text differs with the number of rows, so it is not worth caching as a prepared statement.
pub fn listed(dialect: Dialect, sql: &'static str, rows: usize) -> AssertSqlSafe<String> {
    let (before, rest) = sql.split_once('[').unwrap_or((sql, ""));
    let (row, after) = rest.split_once(']').unwrap_or((rest, ""));
    let mut text = before.to_owned();
    for index in 0..rows {
        text.push_str(if index == 0 { "" } else { ", " });
        text.push_str(row);
    }
    text.push_str(after);
    if dialect == Dialect::Sqlite {
        return AssertSqlSafe(text);
    }
    let mut numbered = String::with_capacity(2 * text.len());
    for (number, part) in text.split('?').enumerate() {
        if number > 0 {
            // Writing to a `String` cannot fail.
            let _ = write!(numbered, "${number}");
        }
        numbered.push_str(part);
    }
    AssertSqlSafe(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_a_list_has_its_own_placeholders() {
        let insert = "INSERT INTO a (b, c) VALUES [(?, ?, '')] RETURNING b";
        assert_eq!(listed(Dialect::Postgres, insert, 2).0, "INSERT INTO a (b, c) VALUES ($1, $2, ''), ($3, $4, '') RETURNING b");
        assert_eq!(listed(Dialect::Sqlite, insert, 2).0, "INSERT INTO a (b, c) VALUES (?, ?, ''), (?, ?, '') RETURNING b");
        let select = "SELECT a FROM b WHERE c = ? AND d IN ([?]) LIMIT ?";
        assert_eq!(listed(Dialect::Postgres, select, 2).0, "SELECT a FROM b WHERE c = $1 AND d IN ($2, $3) LIMIT $4");
        assert_eq!(listed(Dialect::Sqlite, select, 2).0, "SELECT a FROM b WHERE c = ? AND d IN (?, ?) LIMIT ?");
    }
}
