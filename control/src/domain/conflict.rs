//! The business rules that refuse a change.

use shared::keys::Label;

use crate::domain::refusal::messages;

messages! {
    /// The business rule that refused a change (409 Conflict), with its data. `Display` is the API's text; pages word some variants differently.
    Conflict {
        /// Another app of the account has this name.
        AppName(String) = "an app named {0} already exists",
        /// Another app of the receiver has the name of the transferred app.
        AppNameToMove(String) = "you already have an app named {0}: choose another name for this one",
        /// Nobody else may change what a name means to the owner.
        NameOfOthers(String) = "the app's owner uses the name {0} for another app: choose another name, or ask the owner to \
            rename this app",
        /// A shared app keeps its name when it is accepted.
        NotTransferred = "you can rename an app when you accept it only if it was transferred to you: accept it without a name",
        /// The app was transferred to the caller, who has not accepted it.
        NotAccepted = "you have not accepted this app: accept it before you transfer it",
        /// A transfer to its owner.
        OwnsApp = "the account already owns the app",
        /// The account already has a role on the app.
        IsCollaborator = "the account is already a collaborator of the app",
        /// An app has exactly one owner.
        OwnersRole = "the owner's role cannot be changed: transfer the app instead",
        /// The app stays in the sender's namespace until the receiver accepts it.
        SenderStays = "the sender of a transfer cannot be removed until the receiver accepts the app",
        /// An app always has an owner.
        OwnerStays = "the owner cannot be removed: transfer or delete the app instead",
        /// Email addresses are unique.
        AccountExists = "an account with this email address already exists",
        /// An account that owns apps cannot be deleted.
        OwnsApps = "the account owns apps: transfer or delete them first",
        /// Until they are accepted, transferred apps stay in the account's namespace.
        TransfersOpen = "the account has pending app transfers: wait until they are accepted, or take the apps back",
        /// Lost a race with another change of the account.
        AccountChanged = "the account was changed at the same time: try again",
        /// There is nothing to suspend.
        IsSuspended = "the account is already suspended",
        /// There is nothing to reinstate.
        NotSuspended = "the account is not suspended",
        /// Another key or session of the account has this name.
        AccessKeyName(String) = "an access key named {0} already exists",
        /// Someone else may have registered the email address.
        OtherPassword = "this is not the password of the registration: try again, or send replacePassword: true to use this one",
        /// Only named access keys have a `ttl`.
        IsSession = "the lifetime of a session cannot be changed",
        /// Its id is already used: the form was sent twice.
        ApiKeyMade = "this API key was already created",
        /// A revoked key cannot be updated.
        ApiKeyRevoked = "the API key is revoked and cannot be updated",
        /// A CLI's authorization request was already decided on, or has ended. The value says why.
        NotPending(RequestEnd) = "the request is no longer pending: {0}",
        /// The form belongs to another authorization request.
        OtherCode = "the code belongs to another request",
        /// There is nothing to remove.
        NoFactors = "two-factor authentication is not enabled for the account",
        /// Recovery codes require a second factor.
        FactorsOff = "two-factor authentication is not enabled: add a passkey or an authenticator app first",
        /// There is nothing to prove.
        FactorsNotEnabled = "two-factor authentication is not enabled for this account",
        /// The step-up proof must be an authenticator code.
        NoPasskeyToShow = "the account has no passkey: use a code from the authenticator app",
        /// The login must be completed with another second factor.
        NoPasskeyToLogIn = "the account has no passkey: complete the login with another method",
        /// An account has at most ten.
        PasskeysFull = "the account has reached its limit of passkeys: remove one first",
        /// It is registered to this account or to another one.
        PasskeyKnown = "this passkey is already registered",
        /// There is no seed to confirm.
        NoSetup = "no authenticator app setup is in progress: start again",
        /// Lost a race with a newer setup, which has another seed.
        SetupChanged = "another authenticator app setup was started at the same time: start again",
        /// Another deployment of the app has this name.
        DeploymentName(String) = "a deployment named {0} already exists",
        /// The key is in use, or belongs or belonged to another account.
        KeyTaken = "this deployment key is already taken: choose another one",
        /// There is nothing to assign.
        HasKey = "the deployment already has this key",
        /// Only what was imported has a history to import.
        NotImported = "this was not imported from another server: import the app first",
        /// Lost a race with another change of the deployment.
        DeploymentChanged = "the deployment was changed at the same time: try again",
        /// Source and destination are the same.
        OwnDeployment = "a release cannot be promoted to its own deployment: choose another destination",
        /// The release with this label does not have the hash that the caller expects.
        OtherHash(i64) = "packageHash: does not match the hash of v{0}",
        /// The new hash is not the hash of the stored bundle of the release with this label.
        OtherContents(i64) = "packageHash: does not match the contents of v{0}",
        /// There is nothing to promote.
        NoEnabledRelease = "the source deployment has no enabled release",
        /// A disabled release cannot be promoted.
        IsDisabled(Label) = "{0} is disabled: enable it or choose another release",
        /// Lost a race with a deletion: the bundle may no longer exist.
        ReleaseDeleted = "the release was deleted at the same time",
        /// There is nothing to roll back.
        IsCurrent(i64) = "v{0} is already the current release",
        /// A rollback keeps the `appVersion`.
        OtherVersions {
            /// The label of the rollback's target.
            to: i64,
            /// The label of the current release.
            current: i64,
        } = "v{to} targets another appVersion than the current release, v{current}: choose a release with the same appVersion",
        /// No release may follow one with an unfinished rollout.
        UnfinishedRollout(i64) = "the rollout of the newest release, v{0}, is unfinished: set it to 100 or disable the release first",
        /// The current release has the same contents for the same range.
        SameContents(i64) = "the contents are identical to v{0}, the current release for this appVersion",
        /// It is not what the caller has seen.
        ReleaseChanged(i64) = "v{0} was changed meanwhile: check its new values, and try again",
        /// The caller has seen an older release as the newest one.
        NewerRelease(i64) = "v{0} was released meanwhile: check it, and try again",
        /// A complete rollout cannot change.
        RolledOut(i64) = "rollout: v{0} is already fully rolled out",
        /// Only the newest release's rollout can change.
        RolloutOver(i64) = "rollout: v{0} is not the newest release, so its rollout cannot be changed",
        /// A rollout only grows. The value is the current percentage.
        RolloutShrinks(i64) = "rollout: must not be lower than {0}, its current value",
        /// It would be offered to part of the devices again.
        StaysDisabled(i64) = "isDisabled: v{0} is not the newest release and its rollout is unfinished, so it cannot be enabled again",
        /// A promoted release keeps its description.
        PromotedDescription(i64) = "description: v{0} was promoted, so its description cannot be changed: create a new release instead",
        /// The deployment has reached its limit of releases.
        TooManyReleases(usize) = "the deployment has reached its limit of {0} releases: clear its history, or create another deployment",
        /// The enabled releases have reached their limit of version ranges.
        TooManyRanges(usize) = "appVersion: the deployment has reached its limit of {0} version ranges among enabled releases: reuse a \
            range, disable releases you no longer need, or clear the deployment's history",
        /// The snapshot would exceed its size limit.
        SnapshotTooLarge {
            /// The size that it would have.
            bytes: u64,
            /// The size limit.
            limit: u64,
        } = "the deployment's release data for devices would be {bytes} bytes, over the limit of {limit}: use a shorter description or \
            fewer version ranges, disable releases you no longer need, or clear the deployment's history",
        /// The large snapshots of one owner would exceed their size limit together.
        SnapshotsTooLarge {
            /// The size that it would have.
            bytes: u64,
            /// The size limit.
            limit: u64,
        } = "the release data for devices of all large deployments of this app's owner would be {bytes} bytes, over the limit of \
            {limit}: use shorter descriptions or fewer version ranges, or clear the history of deployments you no longer need",
        /// A key rotation cannot finish.
        KeysInUse = "another process still encrypts with an older key: start every process with the same keys, then try again",
        /// The database knows another key by this id.
        OtherEncryptionKey(String) = "UPDRAFT_ENCRYPTION_KEY: this database was created with another key {0}: use that one",
        /// The key with this id is missing, but the database still needs it.
        NoEncryptionKey(String) = "UPDRAFT_ENCRYPTION_KEY: this database also needs the key {0}: add it after the others, or use it alone",
        /// Another request of the account has this key.
        IdempotencyKeyUsed = "this Idempotency-Key was already used for another request: use a new key for each request",
        /// Lost a race with a deletion: a row that this one refers to no longer exists.
        Gone = "something that this depends on was deleted at the same time",
    }
}

messages! {
    /// Why an authorization request of a CLI is no longer pending.
    RequestEnd {
        /// It was approved, and waits for the exchange.
        Approved = "it was approved",
        /// It was exchanged for a credential.
        Consumed = "it was approved, and the CLI is signed in",
        /// It was denied.
        Denied = "it was denied",
        /// It expired.
        Expired = "it has expired",
        /// The account's password changed, or the session that approved it was revoked.
        Cancelled = "a new password or a revoked session canceled it",
        /// Its code came with a wrong proof, or was used twice.
        Ended = "it has ended",
    }
}
