//! Has the crate built again when a migration is added: `sqlx::migrate!` looks into the folders only when it is compiled.

fn main() {
    println!("cargo:rerun-if-changed=../migrations");
}
