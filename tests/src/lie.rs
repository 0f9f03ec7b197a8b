//! What a soft authenticator, or the browser before it, can say that is not so.

/// What a response says that is not so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lie {
    /// Another origin asked.
    Origin(&'static str),
    /// A page of another origin around it asked.
    CrossOrigin,
    /// A page of this origin around it asked.
    TopOrigin(&'static str),
    /// It is for another relying party.
    RpId(&'static str),
    /// It answers this challenge, in base64url.
    Challenge(String),
    /// It is of the other ceremony.
    OtherCeremony,
    /// Nobody was verified.
    NotVerified,
    /// Nobody was there.
    NotPresent,
    /// One bit of the signature is another.
    FlippedBit,
    /// Another key has signed.
    OtherKey,
    /// The counter stands here.
    Counter(u32),
    /// It is of the credential with this id, in base64url.
    Credential(String),
    /// The passkey belongs to this user, in base64url.
    User(String),
    /// It says nothing of whom the passkey belongs to.
    NoUser,
    /// It is backed up although it never can be.
    ImpossibleBackup,
    /// Whether it can be backed up has changed.
    OtherEligibility,
    /// The key is of another algorithm than it is.
    Algorithm(i8),
    /// The last byte of what the authenticator says is missing.
    Cut,
}
