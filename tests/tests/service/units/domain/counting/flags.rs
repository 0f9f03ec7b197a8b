//! The stored flags of a device's reports.

use control::testing::counting::{Epochs, Flag, Flags};
use shared::ids::DeploymentId;
use shared::keys::Label;

#[test]
fn the_stored_form_is_compact_and_survives_a_round_trip() {
    let id = DeploymentId::v7(shared::time::UnixMillis(1), [7; 10]);
    let label = Label::new(3).unwrap();
    let mut flags = Flags::default();
    assert!(flags.raise(&id, 2, label, Flag::Installed));
    assert!(!flags.raise(&id, 2, label, Flag::Installed));
    assert!(flags.raise(&id, 2, label, Flag::Failed));
    let text = serde_json::to_string(&flags).unwrap();
    assert_eq!(text, format!(r#"{{"{id}":{{"e":2,"l":{{"3":6}}}}}}"#));
    assert_eq!(serde_json::from_str::<Flags>(&text).unwrap(), flags);
    assert_eq!(serde_json::from_str::<Flags>("{}").unwrap(), Flags::default());
}

#[test]
fn flags_of_an_older_epoch_count_as_absent() {
    let id = DeploymentId::v7(shared::time::UnixMillis(1), [7; 10]);
    let label = Label::new(3).unwrap();
    let mut flags = Flags::default();
    assert!(flags.raise(&id, 0, label, Flag::Downloaded));
    assert!(flags.raise(&id, 1, label, Flag::Downloaded));
    flags.prune(&Epochs::from([(id.clone(), 1)]));
    assert_eq!(flags.deployments().count(), 1);
    flags.prune(&Epochs::from([(id, 2)]));
    assert_eq!(flags, Flags::default());
}
