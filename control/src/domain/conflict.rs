//! Rules of the business that stand against a change.

use shared::keys::Label;

use crate::domain::refusal::told;

told! {
    /// A rule that stands against a change (409), with what it is about. The text is the API's; pages word some of them themselves.
    Conflict {
        /// Another app of the account has this name.
        AppName(String) = "an app named {0} exists",
        /// Another app of the account has the name of the one that is accepted.
        AppNameToMove(String) = "an app named {0} exists: give this one another name",
        /// Somebody else may not decide what a name means to the owner.
        NameOfOthers(String) = "the app's owner uses the name {0} for another app: only the owner can give it to this one",
        /// An app that is only shared keeps its name.
        NotTransferred = "only an app that was transferred to you gets another name when you accept it",
        /// The caller is not the owner for good yet.
        NotAccepted = "you have not accepted this app: accept it before you transfer it to somebody else",
        /// A transfer to its owner.
        OwnsApp = "the account owns the app already",
        /// The account has a role on the app.
        IsCollaborator = "the account is a collaborator of the app already",
        /// There is one owner.
        OwnersRole = "the owner's role changes only when the app is transferred",
        /// The app is in its namespace until then.
        SenderStays = "the sender stays a collaborator until the receiver has accepted the app",
        /// An app has an owner.
        OwnerStays = "the owner stays: transfer the app first, or delete it",
        /// Addresses are unique.
        AccountExists = "an account with this e-mail address exists",
        /// An account with apps is not deleted.
        OwnsApps = "the account owns apps: delete them or transfer them first",
        /// Until then they are in its namespace.
        TransfersOpen = "the account has transferred apps that are not accepted yet: it can be deleted once they are",
        /// Somebody else was faster.
        AccountChanged = "the account was changed at the same moment: try again",
        /// There is nothing to suspend.
        IsSuspended = "the account is suspended already",
        /// There is nothing to reinstate.
        NotSuspended = "the account is not suspended",
        /// Another key or session of the account has this name.
        AccessKeyName(String) = "an access key named {0} exists",
        /// A stranger may have registered the address.
        OtherPassword = "this is not the password that the address was registered with: try again, or send replacePassword to use this one",
        /// Only named keys have a lifetime of their own.
        IsSession = "this is a session: how long it lasts cannot be changed",
        /// Its id was used.
        ApiKeyMade = "this API key was made already",
        /// A revoked key does not change.
        ApiKeyRevoked = "the API key is revoked",
        /// A command line's request was decided, or has ended; why.
        NotPending(&'static str) = "the request is no longer pending: {0}",
        /// The form belongs to another request.
        OtherCode = "the code is not this request's",
        /// There is nothing to remove.
        NoFactors = "the account has no second factor",
        /// Recovery codes go with a factor.
        FactorsOff = "second factors are not on: add one first",
        /// There is nothing to prove.
        FactorsNotEnabled = "second factors are not enabled for this account",
        /// The proof must be another.
        NoPasskeyToShow = "the account has no passkey: show the authenticator app's code",
        /// The second factor must be another.
        NoPasskeyToLogIn = "the account has no passkey: complete the login by another method",
        /// There are ten at most.
        PasskeysFull = "the account has as many passkeys as it may have: remove one first",
        /// To this account or another one.
        PasskeyKnown = "this passkey is registered already",
        /// There is no seed to confirm.
        NoSetup = "no authenticator app is being set up: begin again",
        /// Another seed is to be confirmed now.
        SetupChanged = "the authenticator app was set up anew at the same moment: begin again",
        /// Another deployment of the app has this name.
        DeploymentName(String) = "a deployment named {0} exists",
        /// It is, or was, of another account.
        KeyTaken = "this deployment key is taken",
        /// There is nothing to assign.
        HasKey = "the deployment has this key already",
        /// Somebody else was faster.
        DeploymentChanged = "the deployment was changed at the same moment: try again",
        /// Source and destination are one.
        OwnDeployment = "a release cannot be promoted to its own deployment",
        /// What is promoted is not what the caller expects; the label.
        OtherHash(i64) = "packageHash: is not the hash of v{0}",
        /// The new hash is not that of the stored bundle; the label.
        OtherContents(i64) = "packageHash: is not the hash of the contents of v{0}",
        /// There is nothing to promote.
        NoEnabledRelease = "the source deployment has no enabled release",
        /// A disabled release is not promoted.
        IsDisabled(Label) = "{0} is disabled",
        /// Its bundle may be gone.
        ReleaseDeleted = "the release was deleted at the same moment",
        /// There is nothing to roll back.
        IsCurrent(i64) = "v{0} is the current release already",
        /// A rollback stays within the binary versions.
        OtherVersions {
            /// The label of the release that is to come back.
            to: i64,
            /// The label of the current release.
            current: i64,
        } = "v{to} is for other binary versions than the current release, v{current}",
        /// No release follows one that is rolled out in part.
        UnfinishedRollout(i64) = "the newest release, v{0}, is in an unfinished rollout: finish it with 100 or disable it first",
        /// The same would be released again.
        SameContents(i64) = "the contents are identical to those of the current release for these versions, v{0}",
        /// A rollout only grows.
        RolledOut(i64) = "rollout: v{0} is for everybody already",
        /// Only the newest release is rolled out in part.
        RolloutOver(i64) = "rollout: v{0} is not the newest release, so that its rollout is complete",
        /// A rollout only grows; its percentage now.
        RolloutShrinks(i64) = "rollout: must not be lower than {0}, which it is now",
        /// It would be offered to a part again.
        StaysDisabled(i64) = "isDisabled: v{0} is not the newest release and its rollout is unfinished, so that it stays disabled",
        /// A promoted release tells what it was.
        PromotedDescription(i64) = "description: v{0} was promoted with it, and keeps it; release again to have another",
        /// A deployment has as many releases as it may have.
        TooManyReleases(usize) = "a deployment has at most {0} releases: clear the deployment's history, or create another deployment",
        /// The enabled releases have as many version ranges as they may have.
        TooManyRanges(usize) = "appVersion: the enabled releases of a deployment have at most {0} different version ranges: use fewer \
            ranges, disable releases that are no longer needed, or clear the deployment's history",
        /// The snapshot would be larger than it may be.
        SnapshotTooLarge {
            /// How many it would be.
            bytes: u64,
            /// How many there may be.
            limit: u64,
        } = "what devices are told of this deployment would be {bytes} bytes long, and the limit is {limit}: use a shorter description or \
            fewer version ranges, disable releases that are no longer needed, or clear the deployment's history",
        /// The large snapshots of one owner would take more than they may.
        SnapshotsTooLarge {
            /// How many it would be.
            bytes: u64,
            /// How many there may be.
            limit: u64,
        } = "what devices are told of the large deployments of this app's owner would be {bytes} bytes long together, and the limit is \
            {limit}: use shorter descriptions or fewer version ranges, or clear the history of deployments that are no longer needed",
        /// A rotation cannot end.
        KeysInUse = "another process goes on encrypting with an older key: give every one the same keys first",
        /// The keys do not fit what is stored; why.
        EncryptionKeys(String) = "UPDRAFT_ENCRYPTION_KEY: {0}",
        /// A row that this one refers to has gone.
        Gone = "what this belongs to was deleted at the same moment",
    }
}
