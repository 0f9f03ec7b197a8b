//! `/v1/cli`: what an account decides about CLIs, and which it has authorized. The ceremonies are `/v1/auth/cli`.

mod authorizations;
mod devices;
