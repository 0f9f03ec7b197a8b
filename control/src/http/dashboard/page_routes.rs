//! The routes of the pages, with their paths in a list.

use axum::Router;
use axum::routing::MethodRouter;

use crate::http::AppState;

/// Pages by path. A test checks that it has visited each of them.
#[derive(Debug, Default)]
pub struct Pages {
    pub(super) router: Router<AppState>,
    /// The paths, as in the routes.
    pub paths: Vec<&'static str>,
}

impl Pages {
    /// Adds a page.
    pub(super) fn page(mut self, path: &'static str, methods: MethodRouter<AppState>) -> Self {
        self.router = self.router.route(path, methods);
        self.paths.push(path);
        self
    }
}
