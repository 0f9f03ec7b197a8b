//! What each kind of mail says. One wording serves both parts of a mail: the templates only set it, as text and as HTML.

use askama::Template;
use shared::ids::AppId;
use shared::text::isolate;
use shared::time::UnixMillis;

use crate::domain::error::{Error, Result};
use crate::domain::mail::notices::Notice;
use crate::domain::mail::{
    Circumstances, FactorKind, FactorNotice, Key, KeyNotice, Kind, MachineNotice, NewPassword, ReturnedApp, SharedApp, Transfer,
};
use crate::infra::dates::second;

/// What the owner of an account is told to do about a second factor that somebody else has meddled with.
const NOT_YOU: &str = "If it was not you, change your password at once, and remove the second factors that you do not know.";

/// A mail's words.
#[derive(Debug)]
struct Letter {
    subject: &'static str,
    paragraphs: Vec<String>,
    action: Option<Action>,
    /// What else the reader may do.
    other_action: Option<Action>,
    list: Vec<String>,
    /// One more list, with what introduces it.
    more: Option<Listing>,
    closing: &'static str,
    service: String,
}

/// A list and what introduces it.
#[derive(Debug)]
struct Listing {
    lead: &'static str,
    names: Vec<String>,
}

/// Where the reader may go.
#[derive(Debug)]
struct Action {
    label: &'static str,
    link: String,
}

#[derive(Template)]
#[template(path = "mail/letter.txt")]
struct Text<'l> {
    letter: &'l Letter,
}

#[derive(Template)]
#[template(path = "mail/letter.html")]
struct Html<'l> {
    letter: &'l Letter,
}

/// A mail's words in the two forms that it is sent in.
pub struct Rendered {
    /// The subject.
    pub subject: &'static str,
    /// The part in plain text.
    pub text: String,
    /// The part in HTML.
    pub html: String,
}

/// Renders a mail; `dashboard` is the address of the dashboard's pages.
pub fn render(kind: &Kind, dashboard: &str) -> Result<Rendered> {
    let letter = letter(kind, dashboard);
    Ok(Rendered {
        subject: letter.subject,
        text: Text { letter: &letter }.render().map_err(Error::internal)?,
        html: Html { letter: &letter }.render().map_err(Error::internal)?,
    })
}

fn letter(kind: &Kind, dashboard: &str) -> Letter {
    let mut letter = Letter {
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
            letter.subject = "Confirm your e-mail address";
            letter.say("Somebody, probably you, registered this e-mail address with Updraft. Open the link to create the account.");
            // Whoever registered chose a password: the page asks for the reader's own.
            letter.say("The page asks for your password. Enter the one that you registered with. If somebody else registered, yours replaces theirs.");
            letter.say(format!("Registered: {} from the client address {}.", second(*time), plain(address)));
            letter.say(format!("The link is valid for {} and can be used once.", in_words(*lifetime)));
            letter.action = Some(Action { label: "Confirm e-mail address", link: link.clone() });
            letter.closing = "If it was not you, do nothing: without the confirmation there is no account.";
        }
        Kind::AlreadyRegistered => {
            letter.subject = "You have an account already";
            letter.say("Somebody, probably you, tried to register this e-mail address with Updraft. It has an account already; nothing was changed.");
            letter.say("You can log in with your password. If you have forgotten it, the login page leads to a new one.");
            letter.action = Some(Action { label: "Go to the dashboard", link: dashboard.to_owned() });
            letter.closing = "If it was not you, there is nothing you need to do.";
        }
        // The sender decides on it and never renders it.
        Kind::ForgotPassword => {}
        Kind::ResetPassword { link, lifetime } => {
            letter.subject = "Reset your password";
            letter.say("Somebody, probably you, asked for a new password for the Updraft account of this e-mail address.");
            letter.say(format!("The link is valid for {} and can be used once. A new password ends all sessions.", in_words(*lifetime)));
            letter.action = Some(Action { label: "Choose a new password", link: link.clone() });
            letter.closing = "If it was not you, do nothing: the old password stays valid.";
        }
        Kind::PasswordChanged(new) => {
            letter.subject = "Your password was changed";
            letter.say("The password of your Updraft account was changed. All other sessions have ended, those of command lines too.");
            letter.new_password(new);
        }
        Kind::PasswordReset(new) => {
            letter.subject = "Your password was reset";
            letter.say("The password of your Updraft account was replaced by means of a mail to this address. All sessions have ended, those of command lines too.");
            letter.new_password(new);
        }
        Kind::KeyAdded(notice) => {
            let (subject, what) = match notice.key {
                Key::Access => ("An access key was added", "An access key with this name was added to your Updraft account:"),
                Key::Api => ("An API key was added", "An API key with this name was added to your Updraft account:"),
            };
            letter.key(subject, what, notice);
        }
        Kind::KeyRemoved(notice) => {
            let (subject, what) = match notice.key {
                Key::Access => ("An access key was deleted", "The access key with this name was deleted from your Updraft account:"),
                Key::Api => ("An API key was revoked", "The API key with this name of your Updraft account was revoked:"),
            };
            letter.key(subject, what, notice);
        }
        Kind::MachineAdded(notice) => {
            let what = "The command line on this machine may now use your Updraft account. This is what it says of itself:";
            letter.machines("A machine was added", what, notice);
        }
        Kind::MachineRemoved(notice) => {
            let (subject, what) = match notice.machines.len() {
                1 => ("A machine was removed", "The command line on this machine may no longer use your Updraft account:"),
                _ => ("Machines were removed", "The command lines on these machines may no longer use your Updraft account:"),
            };
            letter.machines(subject, what, notice);
        }
        Kind::FactorAdded { factor, is_first } => letter.factor_added(factor, *is_first),
        Kind::FactorRemoved { factor, is_last } => letter.factor_removed(factor, *is_last),
        Kind::FactorsRemoved { time } => letter.factors_removed(*time),
        Kind::AccountSuspended { .. }
        | Kind::AccountReinstated { .. }
        | Kind::SessionsEnded { .. }
        | Kind::AccountUnlocked { .. }
        | Kind::DeploymentKeyChanged(_)
        | Kind::DeploymentKeyReleased { .. } => letter.of_operator(kind),
        Kind::WrongFactor(at) | Kind::LoginStopped(at) | Kind::CodesStopped(at) | Kind::SignedInFromNewNetwork(at) => {
            letter.warning(kind, at);
        }
        Kind::MoreNotices { kind, count, since } => letter.more_notices(*kind, *count, *since),
        Kind::RecoveryCodesReplaced { time, address } => letter.recovery_codes_replaced(*time, address),
        Kind::RecoveryCodeUsed { time, address, remaining } => letter.recovery_code_used(*time, address, *remaining),
        Kind::AppGivenAway(_) | Kind::AppReceived(_) | Kind::AppReturned(_) | Kind::AppShared(_) => letter.of_app(kind, dashboard),
        Kind::AccountDeleted { time, address } => {
            letter.subject = "Your account was deleted";
            letter.say("Your Updraft account was deleted, with its sessions and access keys.");
            letter.circumstances(*time, address);
            letter.closing = "If it was not you, write to your administrator at once.";
        }
    }
    let page = page(kind).map(|(label, page)| Action { label, link: format!("{dashboard}{page}") });
    letter.action = page.or(letter.action);
    letter
}

/// The page of a notice, where its owner sees how things stand now: its label and its path.
fn page(kind: &Kind) -> Option<(&'static str, &'static str)> {
    match kind {
        Kind::PasswordChanged(_) | Kind::PasswordReset(_) => Some(("Not you? Ask for a new password", "/forgot-password")),
        Kind::AccountReinstated { .. } | Kind::AccountUnlocked { .. } | Kind::LoginStopped(_) => Some(("Sign in", "/sign-in")),
        Kind::WrongFactor(_) | Kind::CodesStopped(_) => Some(("Reset your password", "/forgot-password")),
        Kind::SignedInFromNewNetwork(_) => Some(("Review your sessions", "/sessions")),
        Kind::MoreNotices { kind, .. } => more_page(*kind),
        Kind::SessionsEnded { .. } => Some(("Sign in again", "/sign-in")),
        Kind::KeyAdded(_) | Kind::KeyRemoved(_) => Some(("Look at your keys", "/keys")),
        Kind::MachineAdded(_) | Kind::MachineRemoved(_) => Some(("Look at your machines", "/sessions")),
        Kind::FactorAdded { .. }
        | Kind::FactorRemoved { .. }
        | Kind::FactorsRemoved { .. }
        | Kind::RecoveryCodesReplaced { .. }
        | Kind::RecoveryCodeUsed { .. } => Some(("Look at your second factors", "/security")),
        // These have a link of their own, or nothing that a page shows (yet).
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

/// Where the owner sees what notices of a kind were about.
fn more_page(kind: Notice) -> Option<(&'static str, &'static str)> {
    match kind {
        Notice::Passwords => Some(("Reset your password", "/forgot-password")),
        Notice::KeysAdded | Notice::KeysRemoved => Some(("Review your keys", "/keys")),
        Notice::MachinesAdded | Notice::MachinesRemoved => Some(("Review your devices", "/sessions")),
        Notice::Factors => Some(("Review your two-factor authentication", "/security")),
        Notice::Transfers => None,
    }
}

impl Letter {
    fn say(&mut self, paragraph: impl Into<String>) {
        self.paragraphs.push(paragraph.into());
    }

    fn circumstances(&mut self, time: UnixMillis, address: &str) {
        self.say(format!("Time: {}. Client address: {}.", second(time), plain(address)));
    }

    /// What the owner is warned of, and what to do about it.
    fn warning(&mut self, kind: &Kind, at: &Circumstances) {
        match kind {
            Kind::WrongFactor(_) => {
                self.subject = "Somebody entered your password and a wrong second factor";
                self.say("Somebody signed in to your Updraft account with the right password, but the second factor was wrong. They did not get in.");
                self.closing = "If it was not you, somebody knows your password: reset it now.";
            }
            Kind::LoginStopped(_) => {
                self.subject = "Sign-in to your account is paused";
                self.say("There were too many wrong passwords for your Updraft account. Sign-in is paused for about an hour.");
                self.say(
                    "Browsers that you signed in with before still work. A password reset ends the pause, and so can your administrator.",
                );
                self.closing = "If it was not you, you do not need to do anything: nobody got in.";
            }
            Kind::CodesStopped(_) => {
                self.subject = "Codes for your account are stopped";
                self.say("There were 100 wrong second factors in a row for your Updraft account. Authenticator codes and recovery codes no longer work.");
                self.say("Passkeys still work. Reset your password to use codes again, or ask your administrator.");
                self.closing = "If it was not you, somebody knows your password: reset it now.";
            }
            Kind::SignedInFromNewNetwork(_) => {
                self.subject = "New sign-in to your account";
                self.say("Somebody, probably you, signed in to your Updraft account from a new network with a new browser or program.");
                self.closing = "If it was not you, reset your password at once. A new password signs you out everywhere.";
            }
            // The others have words of their own.
            _ => {}
        }
        self.circumstances(at.time, &at.address);
    }

    fn more_notices(&mut self, kind: Notice, count: i64, since: UnixMillis) {
        self.subject = "More changes to your account";
        let (one, many) = match kind {
            Notice::Passwords => ("new password", "new passwords"),
            Notice::KeysAdded => ("key was added", "keys were added"),
            Notice::KeysRemoved => ("key was deleted or revoked", "keys were deleted or revoked"),
            Notice::MachinesAdded => ("device was authorized", "devices were authorized"),
            Notice::MachinesRemoved => ("device was removed", "devices were removed"),
            Notice::Factors => ("change of second factors", "changes of second factors"),
            Notice::Transfers => ("app was transferred", "apps were transferred"),
        };
        self.say("There were many changes of one kind to your Updraft account, so not each of them was mailed.");
        self.say(format!("Not mailed since {}: {count} {}.", second(since), if count == 1 { one } else { many }));
        self.closing = "If it was not you, change your password at once.";
    }

    /// What the operator has done.
    fn of_operator(&mut self, kind: &Kind) {
        match kind {
            Kind::AccountSuspended { time } => {
                self.subject = "Your account was suspended";
                self.say(
                    "Your administrator suspended your Updraft account. Nobody can sign in to it, and its sessions and keys do not work.",
                );
                self.say("Devices still get the updates of your apps, and other collaborators can still work on them.");
                self.by_operator(*time);
            }
            Kind::AccountReinstated { time } => {
                self.subject = "Your account was reinstated";
                self.say("Your administrator ended the suspension of your Updraft account. You can sign in again, and keys that have not expired work again.");
                self.say(
                    "Change your password, and look through your keys and second factors, if somebody else may have used the account.",
                );
                self.by_operator(*time);
            }
            Kind::SessionsEnded { time, keys } => {
                self.subject = "You were signed out everywhere";
                self.say("Your administrator signed your Updraft account out everywhere: in browsers and on authorized devices.");
                self.by_operator(*time);
                if !keys.is_empty() {
                    self.say("These keys were deleted or revoked, too:");
                    self.list = keys.iter().map(|name| plain(name)).collect();
                }
            }
            Kind::AccountUnlocked { time } => {
                self.subject = "Your account was unlocked";
                self.say("Your administrator unlocked your Updraft account. You can try again to sign in.");
                self.by_operator(*time);
            }
            Kind::DeploymentKeyChanged(new) => {
                self.subject = "A deployment has another key";
                self.by_operator(new.time);
                self.say(if new.was_taken {
                    "Your administrator gave this deployment a new key, because the old one belongs to somebody else's devices. Devices with the old \
                     key get no updates from it any more:"
                } else {
                    "Your administrator gave this deployment the key that its devices have. Devices with the key that it had before get no updates \
                     from it any more:"
                });
                self.list = vec![format!("{} {}", plain(&new.app), plain(&new.deployment))];
            }
            Kind::DeploymentKeyReleased { time, key } => {
                self.subject = "A deployment key is no longer yours";
                self.by_operator(*time);
                self.say(
                    "Your administrator took this deployment key from your Updraft account, because it belongs to somebody else's devices. None \
                     of your deployments used it:",
                );
                self.list = vec![plain(key)];
            }
            // The others have words of their own.
            _ => {}
        }
    }

    fn by_operator(&mut self, time: UnixMillis) {
        self.say(format!("Time: {}.", second(time)));
        self.closing = "If you do not know why, write to your administrator.";
    }

    fn recovery_codes_replaced(&mut self, time: UnixMillis, address: &str) {
        self.subject = "Your recovery codes were replaced";
        self.say("The recovery codes of your Updraft account were replaced by new ones. The ones before are worth nothing now.");
        self.circumstances(time, address);
        self.closing = NOT_YOU;
    }

    fn recovery_code_used(&mut self, time: UnixMillis, address: &str, remaining: i64) {
        self.subject = "A recovery code was used to sign in";
        self.say("Somebody, probably you, logged in to your Updraft account with your password and a recovery code, which is used up.");
        self.circumstances(time, address);
        let codes = if remaining == 1 { "1 recovery code is".to_owned() } else { format!("{remaining} recovery codes are") };
        self.say(format!("{codes} left. New ones can be made on the dashboard, with your passkey or your authenticator app."));
        self.closing = NOT_YOU;
    }

    /// What others have done about an app.
    fn of_app(&mut self, kind: &Kind, dashboard: &str) {
        match kind {
            Kind::AppGivenAway(transfer) => self.app_given_away(transfer),
            Kind::AppReceived(transfer) => self.app_received(transfer, dashboard),
            Kind::AppReturned(returned) => self.app_returned(returned),
            Kind::AppShared(shared) => self.app_shared(shared, dashboard),
            // The others have words of their own.
            _ => {}
        }
    }

    fn app_given_away(&mut self, transfer: &Transfer) {
        let what = format!("This app of yours was transferred to {}, with the keys of its deployments:", plain(&transfer.to));
        self.transfer("An app of yours was transferred", &what, transfer);
        self.say(format!("Client address: {}.", plain(&transfer.address)));
        self.closing = "You are an Admin of it now. Until the receiver accepts it, it stays in your account and counts against your quotas. You can take it back until then: remove the receiver from the app. If it was not you, change \
             your password at once, and write to your administrator.";
    }

    fn app_received(&mut self, transfer: &Transfer, dashboard: &str) {
        let what = format!("{} has transferred this app to you, with the keys of its deployments:", plain(&transfer.from));
        self.transfer("An app was transferred to you", &what, transfer);
        if let Some(app) = &transfer.app_id {
            self.accept_or_leave(app, dashboard);
        }
        self.closing = "You have the rights of an owner now. Until you accept the app, use this full name. Accept it to move it to your account, where it counts against \
             your quotas. If you do not want it, leave it: then it belongs to its sender again. You can delete your account without accepting it.";
    }

    fn app_returned(&mut self, returned: &ReturnedApp) {
        self.subject = "An app is yours again";
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
        self.closing = "You can work on it now. Until you accept it, use this full name: the short name may not work. If you do not know the app, leave it. Both links \
             ask for confirmation. You get at most ten of these mails a day.";
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
                "An authenticator app was set up for your Updraft account. One from before gives no valid codes any more.",
            ),
            FactorKind::Passkey => ("A passkey was added", "A passkey with this name was added to your Updraft account:"),
        };
        if is_first {
            self.say(
                "Logins with your password need a second factor from now on. Keep the recovery codes that were shown in a safe place.",
            );
        }
        self.factor(subject, what, factor);
    }

    fn factor_removed(&mut self, factor: &FactorNotice, is_last: bool) {
        let (subject, what) = match factor.factor {
            FactorKind::Authenticator => {
                ("The authenticator app was removed", "The authenticator app was removed from your Updraft account.")
            }
            FactorKind::Passkey => ("A passkey was removed", "The passkey with this name was removed from your Updraft account:"),
        };
        if is_last {
            self.say("Your account has no second factor any more: your password alone is enough to log in, and recovery codes are worth nothing.");
        }
        self.factor(subject, what, factor);
    }

    fn factors_removed(&mut self, time: UnixMillis) {
        self.subject = "Your second factors were removed";
        self.say(
            "Those who run this service have removed every second factor of your Updraft account, as somebody, probably you, asked them to. \
            Your password alone is enough to log in now, and recovery codes are worth nothing. Set up a second factor again as soon as you can.",
        );
        self.say(format!("Time: {}.", second(time)));
        self.closing = "If you did not ask for it, write to your administrator at once, and change your password.";
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
        self.closing = "If it was not you, change your password at once, and delete the keys that you do not know.";
    }

    fn machines(&mut self, subject: &'static str, what: &str, notice: &MachineNotice) {
        self.subject = subject;
        self.circumstances(notice.time, &notice.address);
        self.say(what);
        self.list = notice.machines.iter().map(|machine| plain(machine)).collect();
        self.closing = "If it was not you, change your password at once: a new one ends all sessions, and what command lines may do.";
    }

    fn transfer(&mut self, subject: &'static str, what: &str, transfer: &Transfer) {
        self.subject = subject;
        self.say(format!("Time: {}.", second(transfer.time)));
        self.say(what);
        self.list = vec![shown_name(&transfer.app)];
    }

    fn new_password(&mut self, new: &NewPassword) {
        self.circumstances(new.time, &new.address);
        if new.revoked_keys.is_some() {
            self.say("Every access key and API key of the account was revoked.");
        }
        if !new.keys.is_empty() {
            self.say("These keys stay valid. Delete those that you do not know or no longer need:");
            self.list = new.keys.iter().map(|name| plain(name)).collect();
        }
        if !new.factors.is_empty() {
            let names = new.factors.iter().map(|name| plain(name)).collect();
            self.more = Some(Listing { lead: "These second factors stay. Remove those that you do not know:", names });
        }
        self.closing = "If it was not you, ask for a new password at once, and delete the access keys that you do not know.";
    }
}

/// A duration in the largest unit that it is a whole number of, down to minutes.
fn in_words(milliseconds: i64) -> String {
    let minutes = milliseconds.div_euclid(60_000);
    let (count, unit) = if minutes % 60 == 0 { (minutes / 60, "hour") } else { (minutes, "minute") };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// What others wrote, on one line and in a direction of its own: a line break would let it pass for the mail's own words, and a change of direction
/// would turn them.
fn plain(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|character| if character.is_control() || matches!(character, '\u{2028}' | '\u{2029}') { ' ' } else { character })
        .collect();
    isolate(&line).into_owned()
}

/// The longest name of an app, with its owner's address, that a mail repeats, in characters: strangers choose it.
const LONGEST_NAME: usize = 100;

/// An app's name as mails show it.
fn shown_name(name: &str) -> String {
    let mut shown: String = name.chars().take(LONGEST_NAME).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    plain(&shown)
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn a_lifetime_is_said_in_words() {
        for (milliseconds, words) in [(86_400_000, "24 hours"), (3_600_000, "1 hour"), (5_400_000, "90 minutes"), (60_000, "1 minute")] {
            assert_eq!(in_words(milliseconds), words);
        }
    }
}
