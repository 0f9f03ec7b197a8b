//! Tests with planted violations.

use super::*;

/// The violations in a file.
fn violations(file: &str, text: &str) -> Vec<String> {
    let mut all = Statements::default();
    all.add(file, text);
    all.violations
}

#[track_caller]
fn check(text: &str, violations_expected: &[&str]) {
    let (mut found, mut expected) = (violations("domain/apps/repo.rs", text), violations_expected.to_vec());
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "{text}");
}

const OUTSIDE: &str = "domain/apps/repo.rs:2: this statement is not in a list in its file";
const TEXT: &str = "domain/apps/repo.rs:2: a string where a listed statement is required";

#[test]
fn listed_statements_are_allowed() {
    check(
        r#"
        macro_rules! apps { ($which:literal) => { concat!("SELECT id FROM apps WHERE ", $which) } }
        const FIND: &str = apps!("id = $1");
        const UP: &str = "SELECT id FROM apps ORDER BY id";
        const DOWN: &str = "SELECT id FROM apps ORDER BY id DESC";
        /// Every statement of this file.
        pub const SQL: &[&str] = &[FIND, UP, DOWN];
        /// SELECT is what it does.
        fn find(tx: &mut Tx) {
            let lock = tx.locking(FIND);
            on!(tx, |conn| sqlx::query_as::<_, Row>(lock).bind("SELECTED").fetch_all(conn).await);
            sqlx::query_scalar(if up { UP } else { DOWN }).bind(i64::MAX).fetch_one(conn);
            sqlx::query(listed(UP, rows.len())).execute(conn);
            sqlx::query(self.due).execute(&mut **tx);
            tracing::info!("SELECTED, and other words");
        }
        #[cfg(test)]
        mod tests { fn any() { sqlx::query("SELECT 1"); } }
        "#,
        &[],
    );
}

#[test]
fn a_statement_in_place_is_a_violation() {
    check("fn find() {\nsqlx::query_as(\"SELECT 1\").fetch_all(conn); }", &[OUTSIDE, TEXT]);
    check("fn find() {\nsqlx::query_as::<_, (i64,)>(\"select 1\").fetch_all(conn); }", &[TEXT]);
    check("fn find() {\non!(tx, |conn| conn.execute(\"PRAGMA optimize\").await) }", &[OUTSIDE, TEXT]);
    check("fn find() {\npool.begin_with(\"BEGIN EXCLUSIVE\"); }", &[OUTSIDE, TEXT]);
    check("fn find() {\nlet sql = \"SELECT 1\"; sqlx::query(sql); }", &[OUTSIDE]);
    check("fn find() {\nconst ONE: &str = \"SELECT 1\"; }", &[OUTSIDE]);
    check(
        "fn find() {\nsqlx::query(concat!(\"SELECT \", \"1\")); }",
        &[OUTSIDE, TEXT, "domain/apps/repo.rs:2: concat! where a listed statement is required"],
    );
}

#[test]
fn an_unlisted_constant_is_a_violation() {
    let unlisted = "domain/apps/repo.rs:2: ONE is not in a list in this file";
    check("pub const SQL: &[&str] = &[TWO]; const TWO: &str = \"SELECT 2\";\nconst ONE: &str = \"SELECT 1\";", &[OUTSIDE]);
    check("pub const SQL: &[&str] = &[TWO]; const TWO: &str = \"SELECT 2\";\nfn find() { sqlx::query(ONE); }", &[unlisted]);
    check("fn find() {\nsqlx::query(other::ONE); }", &[unlisted]);
    check("fn find() {\nsqlx::query_as(listed(ONE, 2)); }", &[unlisted]);
    check("fn find() {\nlet lock = tx.locking(ONE); }", &[unlisted]);
    check("static ALL: Kind = Kind {\nnext: \"DELETE FROM apps\" };", &[OUTSIDE]);
    check("pub const SQL: &[&str] =\nOTHERS;", &["domain/apps/repo.rs:1: SQL is not written as a list"]);
    check(
        "macro_rules! one { () => {\n\"SELECT 1\" } } fn find() { sqlx::query(sql(one!())); }",
        &[OUTSIDE, "domain/apps/repo.rs:2: one! where a listed statement is required"],
    );
}

#[test]
fn creating_statements_is_a_violation_outside_the_one_file() {
    for builder in ["sqlx::QueryBuilder::new(text)", "sqlx::query(AssertSqlSafe(text))", "sqlx::raw_sql(text)"] {
        let text = format!("fn find() {{\n{builder}; }}");
        assert_eq!(violations("domain/apps/repo.rs", &text).len(), 1, "{builder}");
        assert!(violations(BUILDER_FILE, &text).is_empty(), "{builder}");
    }
}

#[test]
fn differences_from_the_lists_of_the_program_are_found() {
    let mut all = Statements::default();
    all.add("domain/apps/repo.rs", "pub const SQL: &[&str] = &[ONE, TWO]; pub const POSTGRES_SQL: &[&str] = &[THREE];");
    all.add("infra/db/mod.rs", "pub const SQLITE_SQL: &[&str] = &[ONE];");
    assert!(all.differences(&[("apps", 2), ("apps", 1), ("infra/db", 1)]).is_empty());
    assert_eq!(all.differences(&[("apps", 3)]), ["infra/db: Some(1) statements in its file, None in server/sql.rs"]);
    assert_eq!(all.differences(&[("apps", 2), ("infra/db", 1)]), ["apps: Some(3) statements in its file, Some(2) in server/sql.rs"]);
    assert_eq!(
        all.differences(&[("apps", 3), ("infra/db", 1), ("gone", 1)]),
        ["gone: None statements in its file, Some(1) in server/sql.rs"]
    );
}
