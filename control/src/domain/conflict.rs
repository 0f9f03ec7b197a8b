//! Rules of the business that stand against a change.

use shared::keys::Label;

/// A rule that stands against a change (409), with what it is about. The text is the interface's; pages word some of them in their own way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// Another app of the account has this name.
    #[error("an app named {0} exists")]
    AppName(String),
    /// Another app of the account has the name of the one that is accepted.
    #[error("an app named {0} exists: give this one another name")]
    AppNameToMove(String),
    /// Somebody else may not decide what a name means to the owner.
    #[error("the app's owner uses the name {0} for another app: only the owner can give it to this one")]
    NameOfOthers(String),
    /// An app that is only shared keeps its name.
    #[error("only an app that was transferred to you gets another name when you accept it")]
    NotTransferred,
    /// The caller is not the owner for good yet.
    #[error("you have not accepted this app: accept it before you transfer it to somebody else")]
    NotAccepted,
    /// A transfer to its owner.
    #[error("the account owns the app already")]
    OwnsApp,
    /// The account has a role on the app.
    #[error("the account is a collaborator of the app already")]
    IsCollaborator,
    /// There is one owner.
    #[error("the owner's role changes only when the app is transferred")]
    OwnersRole,
    /// The app is in its namespace until then.
    #[error("the sender stays a collaborator until the receiver has accepted the app")]
    SenderStays,
    /// An app has an owner.
    #[error("the owner stays: transfer the app first, or delete it")]
    OwnerStays,
    /// Addresses are unique.
    #[error("an account with this e-mail address exists")]
    AccountExists,
    /// An account with apps is not deleted.
    #[error("the account owns apps: delete them or transfer them first")]
    OwnsApps,
    /// Until then they are in its namespace.
    #[error("the account has transferred apps that are not accepted yet: it can be deleted once they are")]
    TransfersOpen,
    /// Somebody else was faster.
    #[error("the account was changed at the same moment: try again")]
    AccountChanged,
    /// There is nothing to suspend.
    #[error("the account is suspended already")]
    IsSuspended,
    /// There is nothing to reinstate.
    #[error("the account is not suspended")]
    NotSuspended,
    /// Another key or session of the account has this name.
    #[error("an access key named {0} exists")]
    AccessKeyName(String),
    /// A stranger may have registered the address.
    #[error("this is not the password that the address was registered with: try again, or send replacePassword to use this one")]
    OtherPassword,
    /// Only named keys have a lifetime of their own.
    #[error("this is a session: how long it lasts cannot be changed")]
    IsSession,
    /// Its id was used.
    #[error("this API key was made already")]
    ApiKeyMade,
    /// A revoked key does not change.
    #[error("the API key is revoked")]
    ApiKeyRevoked,
    /// A command line's request was decided, or has ended; why.
    #[error("the request is no longer pending: {0}")]
    NotPending(&'static str),
    /// The form belongs to another request.
    #[error("the code is not this request's")]
    OtherCode,
    /// There is nothing to remove.
    #[error("the account has no second factor")]
    NoFactors,
    /// Recovery codes go with a factor.
    #[error("second factors are not on: add one first")]
    FactorsOff,
    /// There is nothing to prove.
    #[error("second factors are not enabled for this account")]
    FactorsNotEnabled,
    /// The proof must be another.
    #[error("the account has no passkey: show the authenticator app's code")]
    NoPasskeyToShow,
    /// The second factor must be another.
    #[error("the account has no passkey: complete the login by another method")]
    NoPasskeyToLogIn,
    /// There are ten at most.
    #[error("the account has as many passkeys as it may have: remove one first")]
    PasskeysFull,
    /// To this account or another one.
    #[error("this passkey is registered already")]
    PasskeyKnown,
    /// There is no seed to confirm.
    #[error("no authenticator app is being set up: begin again")]
    NoSetup,
    /// Another seed is to be confirmed now.
    #[error("the authenticator app was set up anew at the same moment: begin again")]
    SetupChanged,
    /// Another deployment of the app has this name.
    #[error("a deployment named {0} exists")]
    DeploymentName(String),
    /// It is, or was, of another account.
    #[error("this deployment key is taken")]
    KeyTaken,
    /// There is nothing to assign.
    #[error("the deployment has this key already")]
    HasKey,
    /// Somebody else was faster.
    #[error("the deployment was changed at the same moment: try again")]
    DeploymentChanged,
    /// Source and destination are one.
    #[error("a release cannot be promoted to its own deployment")]
    OwnDeployment,
    /// What is promoted is not what the caller expects; the label.
    #[error("packageHash: is not the hash of v{0}")]
    OtherHash(i64),
    /// The new hash is not that of the stored bundle; the label.
    #[error("packageHash: is not the hash of the contents of v{0}")]
    OtherContents(i64),
    /// There is nothing to promote.
    #[error("the source deployment has no enabled release")]
    NoEnabledRelease,
    /// A disabled release is not promoted.
    #[error("{0} is disabled")]
    IsDisabled(Label),
    /// Its bundle may be gone.
    #[error("the release was deleted at the same moment")]
    ReleaseDeleted,
    /// There is nothing to roll back.
    #[error("v{0} is the current release already")]
    IsCurrent(i64),
    /// A rollback stays within the binary versions.
    #[error("v{to} is for other binary versions than the current release, v{current}")]
    OtherVersions {
        /// The label of the release that is to come back.
        to: i64,
        /// The label of the current release.
        current: i64,
    },
    /// No release follows one that is rolled out in part.
    #[error("the newest release, v{0}, is in an unfinished rollout: finish it with 100 or disable it first")]
    UnfinishedRollout(i64),
    /// The same would be released again.
    #[error("the contents are identical to those of the current release for these versions, v{0}")]
    SameContents(i64),
    /// A rollout only grows.
    #[error("rollout: v{0} is for everybody already")]
    RolledOut(i64),
    /// Only the newest release is rolled out in part.
    #[error("rollout: v{0} is not the newest release, so that its rollout is complete")]
    RolloutOver(i64),
    /// A rollout only grows; its percentage now.
    #[error("rollout: must not be lower than {0}, which it is now")]
    RolloutShrinks(i64),
    /// It would be offered to a part again.
    #[error("isDisabled: v{0} is not the newest release and its rollout is unfinished, so that it stays disabled")]
    StaysDisabled(i64),
    /// A promoted release tells what it was.
    #[error("description: v{0} was promoted with it, and keeps it; release again to have another")]
    PromotedDescription(i64),
    /// A deployment has as many releases as it may have.
    #[error("a deployment has at most {0} releases: clear the deployment's history, or create another deployment")]
    TooManyReleases(usize),
    /// The enabled releases have as many version ranges as they may have.
    #[error(
        "appVersion: the enabled releases of a deployment have at most {0} different version ranges: use fewer ranges, disable releases that are no longer needed, or clear the deployment's history"
    )]
    TooManyRanges(usize),
    /// The snapshot would be larger than it may be.
    #[error(
        "what devices are told of this deployment would be {bytes} bytes long, and the limit is {limit}: use a shorter description or fewer version ranges, disable releases that are no longer needed, or clear the deployment's history"
    )]
    SnapshotTooLarge {
        /// How many it would be.
        bytes: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The large snapshots of one owner would take more than they may.
    #[error(
        "what devices are told of the large deployments of this app's owner would be {bytes} bytes long together, and the limit is {limit}: use shorter descriptions or fewer version ranges, or clear the history of deployments that are no longer needed"
    )]
    SnapshotsTooLarge {
        /// How many it would be.
        bytes: u64,
        /// How many there may be.
        limit: u64,
    },
    /// The account has as much as it may have; and what helps.
    #[error("the quota of {quota} is reached: {remedy}")]
    Quota {
        /// What there may be so much of, with the number.
        quota: String,
        /// What helps.
        remedy: String,
    },
    /// A rotation cannot end.
    #[error("another process goes on encrypting with an older key: give every one the same keys first")]
    KeysInUse,
    /// The keys do not fit what is stored; why.
    #[error("UPDRAFT_ENCRYPTION_KEY: {0}")]
    EncryptionKeys(String),
    /// A row that this one refers to has gone.
    #[error("what this belongs to was deleted at the same moment")]
    Gone,
}
