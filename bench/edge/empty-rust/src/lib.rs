//! A Worker that answers everything with the same two bytes.

use worker::{Context, Env, Request, Response, Result, event};

#[event(fetch)]
async fn fetch(_request: Request, _env: Env, _context: Context) -> Result<Response> {
    Response::ok("ok")
}
