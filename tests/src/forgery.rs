//! Forgeries by a soft authenticator or its browser.

/// The forged part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// Another origin.
    Origin(&'static str),
    /// A frame in a page of another origin.
    CrossOrigin,
    /// A frame in a page of this origin.
    TopOrigin(&'static str),
    /// Another relying party ID.
    RpId(&'static str),
    /// This challenge, in base64url.
    Challenge(String),
    /// The type of the other ceremony.
    OtherCeremony,
    /// No user verification.
    NotVerified,
    /// No user presence.
    NotPresent,
    /// One flipped bit in the signature.
    FlippedBit,
    /// A signature by another key.
    OtherKey,
    /// This signature counter.
    Counter(u32),
    /// This credential ID, in base64url.
    Credential(String),
    /// This user handle, in base64url.
    User(String),
    /// No user handle.
    NoUser,
    /// Backed up although not eligible for backup.
    ImpossibleBackup,
    /// A changed backup eligibility.
    OtherEligibility,
    /// Another algorithm in the public key.
    Algorithm(i8),
    /// Authenticator data without its last byte.
    Cut,
}
