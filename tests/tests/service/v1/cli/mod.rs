//! `/v1/cli`: what an account decides about command lines, and which it has let in. The ceremonies are `/v1/auth/cli`.

mod authorizations;
mod devices;
