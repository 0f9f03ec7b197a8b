//! `/v1/cli`: deciding CLI requests and managing authorized devices. The flows themselves are `/v1/auth/cli`.

mod authorizations;
mod devices;
