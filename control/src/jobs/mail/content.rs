//! The text of each kind of mail. The text part and the HTML part have the same wording; only the templates differ.

use askama::Template;
use shared::ids::AppId;
use shared::text::isolate;
use shared::time::UnixMillis;

use crate::domain::error::{Error, Result};
use crate::domain::mail::{
    AuthorizedDeviceNotice, Circumstances, FactorKind, FactorNotice, Key, KeyNotice, Kind, NewPassword, ReturnedApp, SharedApp, Transfer,
};
use crate::domain::traces::Notice;
use crate::infra::dates::second;

/// What to do about a change of second factors that the account's owner did not make.
const NOT_YOU: &str = "If this wasn't you, change your password immediately and remove any second factors you don't recognize.";

/// An email's content.
#[derive(Debug)]
struct Content {
    subject: &'static str,
    paragraphs: Vec<String>,
    action: Option<Action>,
    /// A second choice.
    other_action: Option<Action>,
    list: Vec<String>,
    /// A second list, with its introduction.
    more: Option<Listing>,
    closing: &'static str,
    service: String,
}

/// A list with its introduction.
#[derive(Debug)]
struct Listing {
    lead: &'static str,
    names: Vec<String>,
}

/// A link for the reader to open.
#[derive(Debug)]
struct Action {
    label: &'static str,
    link: String,
}

#[derive(Template)]
#[template(path = "mail/content.txt")]
struct Text<'l> {
    content: &'l Content,
}

#[derive(Template)]
#[template(path = "mail/content.html")]
struct Html<'l> {
    content: &'l Content,
}

/// An email's subject and both of its parts.
pub struct Rendered {
    /// The subject.
    pub subject: &'static str,
    /// The plain text part.
    pub text: String,
    /// The HTML part.
    pub html: String,
}

/// Renders an email. `dashboard` is the base URL of the dashboard's pages.
pub fn render(kind: &Kind, dashboard: &str) -> Result<Rendered> {
    let content = content(kind, dashboard);
    Ok(Rendered {
        subject: content.subject,
        text: Text { content: &content }.render().map_err(Error::internal)?,
        html: Html { content: &content }.render().map_err(Error::internal)?,
    })
}

fn content(kind: &Kind, dashboard: &str) -> Content {
    let mut content = Content {
        subject: "",
        paragraphs: Vec::new(),
        action: None,
        other_action: None,
        list: Vec::new(),
        more: None,
        closing: "",
        service: dashboard.to_owned(),
    };
    match kind {
        Kind::VerifyEmail { link, lifetime, time, address } => {
            content.subject = "Verify your email address";
            content.say("Someone, probably you, signed up for Updraft with this email address. Open the link to create the account.");
            // The person who signed up chose a password. The page asks the reader for their own.
            content.say("The page asks for the password that you signed up with. If someone else signed up, yours replaces theirs.");
            content.say(format!("Signed up: {}. IP address: {}.", second(*time), plain(address)));
            content.say(format!("The link expires in {} and can be used once.", duration_text(*lifetime)));
            content.action = Some(Action { label: "Verify email address", link: link.clone() });
            content.closing = "If this wasn't you, ignore this email: no account is created unless you confirm.";
        }
        Kind::AlreadyRegistered => {
            content.subject = "You already have an account";
            content.say("Someone, probably you, tried to sign up for Updraft with this email address. You already have an account; nothing was changed.");
            content.say("Sign in with your password. If you forgot it, reset it from the sign-in page.");
            content.action = Some(Action { label: "Go to the dashboard", link: dashboard.to_owned() });
            content.closing = "If this wasn't you, you can ignore this email.";
        }
        // Never rendered: the sender decides what to send instead.
        Kind::ForgotPassword => {}
        Kind::ResetPassword { link, lifetime } => {
            content.subject = "Reset your password";
            content.say("Someone, probably you, asked to reset the password of your Updraft account.");
            content.say(format!(
                "The link expires in {} and can be used once. A new password signs you out everywhere.",
                duration_text(*lifetime)
            ));
            content.action = Some(Action { label: "Reset password", link: link.clone() });
            content.closing = "If this wasn't you, ignore this email: your password stays the same.";
        }
        Kind::PasswordChanged(new) => {
            content.subject = "Your password was changed";
            content.say("Your Updraft password was changed. You were signed out everywhere else, including authorized devices.");
            content.new_password(new);
        }
        Kind::PasswordReset(new) => {
            content.subject = "Your password was reset";
            content.say("The password of your Updraft account was reset through a link sent to this email address. You were signed out everywhere, including authorized devices.");
            content.new_password(new);
        }
        Kind::KeyAdded(notice) => {
            let (subject, what) = match notice.key {
                Key::Access => ("An access key was created", "This access key was created in your Updraft account:"),
                Key::Api => ("An API key was created", "This API key was created in your Updraft account:"),
            };
            content.key(subject, what, notice);
        }
        Kind::KeyRemoved(notice) => {
            let (subject, what) = match notice.key {
                Key::Access => ("An access key was deleted", "This access key was deleted from your Updraft account:"),
                Key::Api => ("An API key was revoked", "This API key of your Updraft account was revoked:"),
            };
            content.key(subject, what, notice);
        }
        Kind::DeviceAuthorized(notice) => {
            let what = "The CLI on this device can now use your Updraft account. The device reported this name:";
            content.authorized_devices("A device was authorized", what, notice);
        }
        Kind::DeviceRevoked(notice) => {
            let (subject, what) = match notice.devices.len() {
                1 => ("A device was revoked", "The CLI on this device can no longer use your Updraft account:"),
                _ => ("Devices were revoked", "The CLIs on these devices can no longer use your Updraft account:"),
            };
            content.authorized_devices(subject, what, notice);
        }
        Kind::FactorAdded { factor, is_first } => content.factor_added(factor, *is_first),
        Kind::FactorRemoved { factor, is_last } => content.factor_removed(factor, *is_last),
        Kind::FactorsRemoved { time } => content.factors_removed(*time),
        Kind::AccountSuspended { .. }
        | Kind::AccountReinstated { .. }
        | Kind::SessionsEnded { .. }
        | Kind::AccountUnlocked { .. }
        | Kind::DeploymentKeyChanged(_)
        | Kind::DeploymentKeyReleased { .. } => content.of_operator(kind),
        Kind::WrongFactor(at) | Kind::LoginStopped(at) | Kind::CodesStopped(at) | Kind::SignedInFromNewNetwork(at) => {
            content.warning(kind, at);
        }
        Kind::MoreNotices { kind, count, since } => content.more_notices(*kind, *count, *since),
        Kind::RecoveryCodesReplaced { time, address } => content.recovery_codes_replaced(*time, address),
        Kind::RecoveryCodeUsed { time, address, remaining } => content.recovery_code_used(*time, address, *remaining),
        Kind::AppGivenAway(_) | Kind::AppReceived(_) | Kind::AppReturned(_) | Kind::AppShared(_) => content.of_app(kind, dashboard),
        Kind::AccountDeleted { time, address } => {
            content.subject = "Your account was deleted";
            content.say("Your Updraft account was deleted, along with its sessions and access keys.");
            content.circumstances(*time, address);
            content.closing = "If this wasn't you, contact your administrator immediately.";
        }
    }
    let page = page(kind).map(|(label, page)| Action { label, link: format!("{dashboard}{page}") });
    content.action = page.or(content.action);
    content
}

/// The page where the account's owner reviews what a notice is about: its label and its path.
fn page(kind: &Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::PasswordChanged(_) | Kind::PasswordReset(_) => Some(("Not you? Reset your password", "/forgot-password")),
        Kind::AccountReinstated { .. } | Kind::AccountUnlocked { .. } | Kind::LoginStopped(_) => Some(("Sign in", "/sign-in")),
        Kind::WrongFactor(_) | Kind::CodesStopped(_) => Some(("Reset your password", "/forgot-password")),
        Kind::SignedInFromNewNetwork(_) => Some(("Review your sessions", "/sessions")),
        Kind::MoreNotices { kind, .. } => more_page(*kind),
        Kind::SessionsEnded { .. } => Some(("Sign in again", "/sign-in")),
        Kind::KeyAdded(_) | Kind::KeyRemoved(_) => Some(("Review your keys", "/keys")),
        Kind::DeviceAuthorized(_) | Kind::DeviceRevoked(_) => Some(("Review your devices", "/sessions")),
        Kind::FactorAdded { .. }
        | Kind::FactorRemoved { .. }
        | Kind::FactorsRemoved { .. }
        | Kind::RecoveryCodesReplaced { .. }
        | Kind::RecoveryCodeUsed { .. } => Some(("Review your two-factor authentication", "/security")),
        // These have a link of their own, or no page shows them.
        Kind::VerifyEmail { .. }
        | Kind::AlreadyRegistered
        | Kind::ForgotPassword
        | Kind::ResetPassword { .. }
        | Kind::AccountDeleted { .. }
        | Kind::AccountSuspended { .. }
        | Kind::DeploymentKeyChanged(_)
        | Kind::DeploymentKeyReleased { .. }
        | Kind::AppGivenAway(_)
        | Kind::AppReceived(_)
        | Kind::AppReturned(_)
        | Kind::AppShared(_) => None,
    }
}

/// The page where the account's owner reviews what notices of a kind are about.
fn more_page(kind: Notice) -> Option<(&'static str, &'static str)> {
    match kind {
        Notice::Passwords => Some(("Reset your password", "/forgot-password")),
        Notice::KeysAdded | Notice::KeysRemoved => Some(("Review your keys", "/keys")),
        Notice::DevicesAuthorized | Notice::DevicesRevoked => Some(("Review your devices", "/sessions")),
        Notice::Factors => Some(("Review your two-factor authentication", "/security")),
        Notice::Transfers => None,
    }
}

impl Content {
    fn say(&mut self, paragraph: impl Into<String>) {
        self.paragraphs.push(paragraph.into());
    }

    fn circumstances(&mut self, time: UnixMillis, address: &str) {
        self.say(format!("Time: {}. IP address: {}.", second(time), plain(address)));
    }

    /// A security warning, and what to do about it.
    fn warning(&mut self, kind: &Kind, at: &Circumstances) {
        match kind {
            Kind::WrongFactor(_) => {
                self.subject = "Someone entered your password but failed two-factor authentication";
                self.say("Someone entered the correct password of your Updraft account but failed two-factor authentication. They were not signed in.");
                self.closing = "If this wasn't you, someone knows your password: reset it now.";
            }
            Kind::LoginStopped(_) => {
                self.subject = "Sign-in to your account is paused";
                self.say("There were too many sign-in attempts with a wrong password for your Updraft account. Sign-in is paused for about an hour.");
                self.say(
                    "You can still sign in with browsers you used before. To end the pause, reset your password or ask your administrator.",
                );
                self.closing = "If this wasn't you, you don't need to do anything: nobody was signed in.";
            }
            Kind::CodesStopped(_) => {
                self.subject = "Codes for your account are disabled";
                self.say("There were 100 failed two-factor attempts in a row for your Updraft account. Authenticator codes and recovery codes no longer work.");
                self.say("Passkeys still work. To use codes again, reset your password or ask your administrator.");
                self.closing = "If this wasn't you, someone knows your password: reset it now.";
            }
            Kind::SignedInFromNewNetwork(_) => {
                self.subject = "New sign-in to your account";
                self.say("Someone, probably you, signed in to your Updraft account from a new network with a new browser or program.");
                self.closing = "If this wasn't you, reset your password immediately. A new password signs you out everywhere.";
            }
            // The other kinds are written elsewhere.
            _ => {}
        }
        self.circumstances(at.time, &at.address);
    }

    fn more_notices(&mut self, kind: Notice, count: i64, since: UnixMillis) {
        self.subject = "More changes to your account";
        let (one, many) = match kind {
            Notice::Passwords => ("new password", "new passwords"),
            Notice::KeysAdded => ("key was created", "keys were created"),
            Notice::KeysRemoved => ("key was deleted or revoked", "keys were deleted or revoked"),
            Notice::DevicesAuthorized => ("device was authorized", "devices were authorized"),
            Notice::DevicesRevoked => ("device was revoked", "devices were revoked"),
            Notice::Factors => ("change to two-factor authentication", "changes to two-factor authentication"),
            Notice::Transfers => ("app was transferred", "apps were transferred"),
        };
        self.say(
            "There were many changes of the same kind to your Updraft account. This email covers the ones that we did not email you about.",
        );
        self.say(format!("Since {}: {count} {}.", second(since), if count == 1 { one } else { many }));
        self.closing = "If this wasn't you, change your password immediately.";
    }

    /// An action of the operator.
    fn of_operator(&mut self, kind: &Kind) {
        match kind {
            Kind::AccountSuspended { time } => {
                self.subject = "Your account was suspended";
                self.say(
                    "Your administrator suspended your Updraft account. Nobody can sign in to it, and its sessions and keys do not work.",
                );
                self.say("Devices still get updates of your apps, and other collaborators can still work on them.");
                self.by_operator(*time);
            }
            Kind::AccountReinstated { time } => {
                self.subject = "Your account was reinstated";
                self.say(
                    "Your administrator reinstated your Updraft account. You can sign in again, and keys that have not expired work again.",
                );
                self.say("If someone else may have used your account, change your password and review your keys and second factors.");
                self.by_operator(*time);
            }
            Kind::SessionsEnded { time, keys } => {
                self.subject = "You were signed out everywhere";
                self.say("Your administrator signed you out of your Updraft account everywhere, in browsers and on authorized devices.");
                self.by_operator(*time);
                if !keys.is_empty() {
                    self.say("These keys were also deleted or revoked:");
                    self.list = keys.iter().map(|name| plain(name)).collect();
                }
            }
            Kind::AccountUnlocked { time } => {
                self.subject = "Your account was unlocked";
                self.say("Your administrator unlocked your Updraft account. You can sign in again.");
                self.by_operator(*time);
            }
            Kind::DeploymentKeyChanged(new) => {
                self.subject = "A deployment key was changed";
                self.by_operator(new.time);
                self.say(if new.was_taken {
                    "Your administrator gave this deployment a new key because the old one belongs to someone else's devices. Devices with the old \
                     key no longer get updates from it:"
                } else {
                    "Your administrator gave this deployment the key that its devices use. Devices with the previous key no longer get updates \
                     from it:"
                });
                self.list = vec![format!("{} {}", plain(&new.app), plain(&new.deployment))];
            }
            Kind::DeploymentKeyReleased { time, key } => {
                self.subject = "A deployment key was removed from your account";
                self.by_operator(*time);
                self.say(
                    "Your administrator removed this deployment key from your Updraft account because it belongs to someone else's devices. None \
                     of your deployments used it:",
                );
                self.list = vec![plain(key)];
            }
            // The other kinds are written elsewhere.
            _ => {}
        }
    }

    fn by_operator(&mut self, time: UnixMillis) {
        self.say(format!("Time: {}.", second(time)));
        self.closing = "If you don't know why, contact your administrator.";
    }

    fn recovery_codes_replaced(&mut self, time: UnixMillis, address: &str) {
        self.subject = "Your recovery codes were regenerated";
        self.say("The recovery codes of your Updraft account were regenerated. The previous codes no longer work.");
        self.circumstances(time, address);
        self.closing = NOT_YOU;
    }

    fn recovery_code_used(&mut self, time: UnixMillis, address: &str, remaining: i64) {
        self.subject = "A recovery code was used to sign in";
        self.say(
            "Someone, probably you, signed in to your Updraft account with your password and a recovery code. That code no longer works.",
        );
        self.circumstances(time, address);
        let codes = if remaining == 1 { "1 recovery code is".to_owned() } else { format!("{remaining} recovery codes are") };
        self.say(format!("{codes} left. To regenerate your codes, confirm with your passkey or authenticator app on the dashboard."));
        self.closing = NOT_YOU;
    }

    /// An app that was shared or transferred.
    fn of_app(&mut self, kind: &Kind, dashboard: &str) {
        match kind {
            Kind::AppGivenAway(transfer) => self.app_given_away(transfer),
            Kind::AppReceived(transfer) => self.app_received(transfer, dashboard),
            Kind::AppReturned(returned) => self.app_returned(returned),
            Kind::AppShared(shared) => self.app_shared(shared, dashboard),
            // The other kinds are written elsewhere.
            _ => {}
        }
    }

    fn app_given_away(&mut self, transfer: &Transfer) {
        self.subject = "Your app was transferred";
        self.circumstances(transfer.time, &transfer.address);
        self.say(format!("Your app was transferred to {}, along with its deployment keys:", plain(&transfer.to)));
        self.list = vec![shown_name(&transfer.app)];
        self.closing = "You are now an Admin of the app. Until the recipient accepts it, it stays in your account and counts toward your quotas. To take it back, remove the recipient from the app. If this wasn't you, \
             change your password immediately and contact your administrator.";
    }

    fn app_received(&mut self, transfer: &Transfer, dashboard: &str) {
        self.subject = "An app was transferred to you";
        self.say(format!("Time: {}.", second(transfer.time)));
        self.say(format!("{} transferred this app to you, along with its deployment keys:", plain(&transfer.from)));
        self.list = vec![shown_name(&transfer.app)];
        if let Some(app) = &transfer.app_id {
            self.accept_or_leave(app, dashboard);
        }
        self.closing = "You now have the rights of the owner. Accept the app to move it to your account, where it counts toward your quotas. Until you accept it, use \
             this full name. If you don't want the app, leave it: it goes back to the sender. You can delete your account without accepting it.";
    }

    fn app_returned(&mut self, returned: &ReturnedApp) {
        self.subject = "A transferred app was returned to you";
        self.say(format!("Time: {}.", second(returned.time)));
        self.say(format!("You transferred this app to {}, who did not accept it. It belongs to you again:", plain(&returned.from)));
        self.list = vec![shown_name(&returned.app)];
        self.closing = "Nothing changes for its devices.";
    }

    fn app_shared(&mut self, shared: &SharedApp, dashboard: &str) {
        self.subject = "An app was shared with you";
        self.say(format!("Time: {}.", second(shared.time)));
        self.say(format!("{} gave you access to this app with the role {}:", plain(&shared.from), shared.permission));
        self.list = vec![shown_name(&shared.app)];
        self.accept_or_leave(&shared.app_id, dashboard);
        self.closing = "You can work on it now. Until you accept it, use this full name: the short name may not work. If you don't recognize the app, leave it. Both \
             links ask for confirmation. You get at most ten of these emails a day.";
    }

    fn accept_or_leave(&mut self, app: &AppId, dashboard: &str) {
        let link = |verb: &str| format!("{dashboard}/account/apps/{app}/{verb}");
        self.action = Some(Action { label: "Accept app", link: link("accept") });
        self.other_action = Some(Action { label: "Leave app", link: link("leave") });
    }

    fn factor_added(&mut self, factor: &FactorNotice, is_first: bool) {
        let (subject, what) = match factor.factor {
            FactorKind::Authenticator => (
                "An authenticator app was added",
                "An authenticator app was set up for your Updraft account. Codes from a previous authenticator app no longer work.",
            ),
            FactorKind::Passkey => ("A passkey was added", "This passkey was added to your Updraft account:"),
        };
        if is_first {
            self.say(
                "Two-factor authentication is now on: signing in with your password requires a second factor. Store the recovery codes you were shown in a safe place.",
            );
        }
        self.factor(subject, what, factor);
    }

    fn factor_removed(&mut self, factor: &FactorNotice, is_last: bool) {
        let (subject, what) = match factor.factor {
            FactorKind::Authenticator => {
                ("The authenticator app was removed", "The authenticator app was removed from your Updraft account.")
            }
            FactorKind::Passkey => ("A passkey was removed", "This passkey was removed from your Updraft account:"),
        };
        if is_last {
            self.say(
                "Two-factor authentication is now off: your password alone is enough to sign in, and your recovery codes no longer work.",
            );
        }
        self.factor(subject, what, factor);
    }

    fn factors_removed(&mut self, time: UnixMillis) {
        self.subject = "Two-factor authentication was turned off";
        self.say(
            "Your administrator removed every second factor from your Updraft account because someone, probably you, asked for it. Your password \
            alone is now enough to sign in, and your recovery codes no longer work. Set up two-factor authentication again as soon as you can.",
        );
        self.say(format!("Time: {}.", second(time)));
        self.closing = "If you did not ask for this, contact your administrator and change your password immediately.";
    }

    fn factor(&mut self, subject: &'static str, what: &str, notice: &FactorNotice) {
        self.subject = subject;
        self.circumstances(notice.time, &notice.address);
        self.say(what);
        self.list = notice.name.iter().map(|name| plain(name)).collect();
        self.closing = NOT_YOU;
    }

    fn key(&mut self, subject: &'static str, what: &str, notice: &KeyNotice) {
        self.subject = subject;
        self.circumstances(notice.time, &notice.address);
        self.say(what);
        self.list = vec![plain(&notice.name)];
        self.closing = "If this wasn't you, change your password immediately and delete any keys you don't recognize.";
    }

    fn authorized_devices(&mut self, subject: &'static str, what: &str, notice: &AuthorizedDeviceNotice) {
        self.subject = subject;
        self.circumstances(notice.time, &notice.address);
        self.say(what);
        self.list = notice.devices.iter().map(|device| plain(device)).collect();
        self.closing =
            "If this wasn't you, change your password immediately. A new password signs you out everywhere, including authorized devices.";
    }

    fn new_password(&mut self, new: &NewPassword) {
        self.circumstances(new.time, &new.address);
        if new.revoked_keys.is_some() {
            self.say("All access keys and API keys of your account were revoked.");
        }
        if !new.keys.is_empty() {
            self.say("These keys still work. Delete any you don't recognize or no longer need:");
            self.list = new.keys.iter().map(|name| plain(name)).collect();
        }
        if !new.factors.is_empty() {
            let names = new.factors.iter().map(|name| plain(name)).collect();
            self.more = Some(Listing { lead: "These second factors still work. Remove any you don't recognize:", names });
        }
        self.closing = "If this wasn't you, reset your password immediately and delete any access keys you don't recognize.";
    }
}

/// A duration in hours if it is a whole number of them, else in minutes.
fn duration_text(milliseconds: i64) -> String {
    let minutes = milliseconds.div_euclid(60_000);
    let (count, unit) = if minutes % 60 == 0 { (minutes / 60, "hour") } else { (minutes, "minute") };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Text that other people wrote, on one line and with its direction isolated. A line break could make it look like the email's own text, and a change
/// of direction could reverse that text.
fn plain(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|character| if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') { ' ' } else { character })
        .collect();
    isolate(&line).into_owned()
}

/// Maximum length of an app's name, with its owner's address, in an email: other people choose it.
const MAX_NAME: usize = 100;

/// An app's name, truncated for an email.
fn shown_name(name: &str) -> String {
    let mut shown: String = name.chars().take(MAX_NAME).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    plain(&shown)
}

#[cfg(test)]
mod tests {
    use super::duration_text;

    #[test]
    fn lifetimes_are_shown_in_hours_or_minutes() {
        for (milliseconds, words) in [(86_400_000, "24 hours"), (3_600_000, "1 hour"), (5_400_000, "90 minutes"), (60_000, "1 minute")] {
            assert_eq!(duration_text(milliseconds), words);
        }
    }
}
