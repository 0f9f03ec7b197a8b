//! Texts of statements that one text alone cannot say: lists of rows, and row locks. Nothing else makes or changes SQL at run time.

use std::fmt::Write;

use sqlx::AssertSqlSafe;

use super::{Dialect, Either, ReadTx, WriteTx};

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

impl<S, P> Either<S, P> {
    /// The statement for so many rows, as [`listed`] says it.
    pub fn listed(&self, sql: &'static str, rows: usize) -> AssertSqlSafe<String> {
        let dialect = self.dialect();
        listed(dialect, sql, rows)
    }
}

impl ReadTx {
    /// The statement for so many rows, as [`listed`] says it.
    pub fn listed(&self, sql: &'static str, rows: usize) -> AssertSqlSafe<String> {
        self.0.listed(sql, rows)
    }
}

/// The statement for so many rows: the part in brackets is one row. Each `?` is a value, bound in the order of the text. For PostgreSQL,
/// `VALUES [(?, ?)]` becomes `VALUES ($1, $2), ($3, $4)`. SQLite keeps the `?`: it takes `$1` for a name, and looks each name up among all before it, which
/// for hundreds of rows costs more than the statement. The text differs with the number of rows, so it is not worth keeping prepared.
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
            // Writing to a text cannot fail.
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
    fn a_list_has_each_row_with_values_of_its_own() {
        let insert = "INSERT INTO a (b, c) VALUES [(?, ?, '')] RETURNING b";
        assert_eq!(listed(Dialect::Postgres, insert, 2).0, "INSERT INTO a (b, c) VALUES ($1, $2, ''), ($3, $4, '') RETURNING b");
        assert_eq!(listed(Dialect::Sqlite, insert, 2).0, "INSERT INTO a (b, c) VALUES (?, ?, ''), (?, ?, '') RETURNING b");
        let select = "SELECT a FROM b WHERE c = ? AND d IN ([?]) LIMIT ?";
        assert_eq!(listed(Dialect::Postgres, select, 2).0, "SELECT a FROM b WHERE c = $1 AND d IN ($2, $3) LIMIT $4");
        assert_eq!(listed(Dialect::Sqlite, select, 2).0, "SELECT a FROM b WHERE c = ? AND d IN (?, ?) LIMIT ?");
    }
}
