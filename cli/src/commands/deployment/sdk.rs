//! The lines that an app's SDK needs, to copy.

use super::HIDDEN_KEY;
use crate::config::server::ServerUrl;
use crate::output::table::printable;
use crate::output::terminal;

/// Prints them on a terminal, if the key is known. Programs have the key in its own line.
pub(super) fn print(url: &ServerUrl, key: &str) {
    if key == HIDDEN_KEY || !terminal::is_output() {
        return;
    }
    let style = terminal::stdout_style();
    let heading = |text: &str| style.dim(text);
    // Keys have only letters, digits, - and _; a URL can have &.
    let url = format!("{}/", url.as_str().replace('&', "&amp;"));
    terminal::print(&printable(&format!(
        "\n{}\n  <key>CodePushServerURL</key>\n  <string>{url}</string>\n  <key>CodePushDeploymentKey</key>\n  <string>{key}</string>\n\
         \n{}\n  <string moduleConfig=\"true\" name=\"CodePushServerUrl\">{url}</string>\n  \
         <string moduleConfig=\"true\" name=\"CodePushDeploymentKey\" translatable=\"false\">{key}</string>\n\
         \n{}\n  <preference name=\"CodePushServerUrl\" value=\"{url}\" />\n  <preference name=\"CodePushDeploymentKey\" value=\"{key}\" />\n\n",
        heading("React Native on iOS, Info.plist:"),
        heading("React Native on Android, strings.xml:"),
        heading("Cordova, config.xml:"),
    )));
    terminal::line("`updraft init` in the project makes these changes.");
}
