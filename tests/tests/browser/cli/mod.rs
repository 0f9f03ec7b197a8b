//! The program `updraft` in a terminal, and its sign-in in the browser.

mod screens;
