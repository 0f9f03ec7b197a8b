//! The platforms that are built, and the app that each of them is released to.

use clap::{Args, ValueEnum};

use crate::arguments::DeploymentOption;
use crate::bundle::Platform;
use crate::config::project::{OfPlatform, Project};
use crate::context::Context;
use crate::error::{Error, Result};

/// Which platforms to build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::commands) enum Choice {
    // No doc comments: with them, clap prints every --help in its long form.
    Ios,
    Android,
    All,
}

/// The platforms, and their apps.
#[derive(Clone, Debug, Args)]
pub(super) struct PlatformOptions {
    /// The platform, or all to release both in one run.
    #[arg(long, value_enum, value_name = "ios|android|all", value_delimiter = ',', required = true)]
    platform: Vec<Choice>,
    /// The app for iOS. Default: ios.app in updraft.toml.
    #[arg(long, value_name = "NAME")]
    app_ios: Option<String>,
    /// The app for Android. Default: android.app in updraft.toml.
    #[arg(long, value_name = "NAME")]
    app_android: Option<String>,
}

/// Refuses the app that the project file names for the other platform: its devices would get a bundle that they cannot run. Errors: usage (2).
fn check_other(context: &Context, platform: Platform, option: Option<&str>, are_both: bool) -> Result<()> {
    let Some(found) = &context.project else { return Ok(()) };
    let (own, other, name) = match platform {
        Platform::Ios => (&found.project.ios, &found.project.android, "android"),
        Platform::Android => (&found.project.android, &found.project.ios, "ios"),
    };
    let app_of = |settings: &Option<OfPlatform>| settings.as_ref().and_then(|settings| settings.app.clone());
    let Ok(app) = context.app(option) else { return Ok(()) };
    if app_of(other).as_deref() != Some(app) {
        return Ok(());
    }
    if app_of(own).as_deref() == Some(app) {
        let what =
            format!("{app} is the app of both platforms in updraft.toml, and its devices would get the bundle of the other platform");
        return Err(Error::usage(what, "Give each platform an app of its own in the tables [ios] and [android] of updraft.toml."));
    }
    let what = format!("{app} is the app of the table [{name}] in updraft.toml, and would get the bundle for {}", platform.title());
    // With both, --app would be that of both.
    let option = if are_both { format!("--app-{} NAME", platform.name()) } else { "--app".to_owned() };
    let next = format!("Give the app for {}, with {option} or in the table [{}] of updraft.toml.", platform.title(), platform.name());
    Err(Error::usage(what, next))
}

impl PlatformOptions {
    fn has(&self, choice: Choice) -> bool {
        self.platform.contains(&choice) || self.platform.contains(&Choice::All)
    }

    /// Whether both platforms are released.
    pub(super) fn are_both(&self) -> bool {
        self.has(Choice::Ios) && self.has(Choice::Android)
    }

    /// The platforms, each with the deployment that gets its release. Errors: usage (2) if two would have the same one, or one has none.
    /// A dry run only says so, unless the other platform of the run has an app: then the release would be refused.
    pub(super) fn deployments(
        &self,
        context: &Context,
        given: &DeploymentOption,
        is_dry: bool,
    ) -> Result<Vec<(Platform, DeploymentOption)>> {
        let option = |platform: Platform| {
            let mut option = given.clone();
            option.app.app = self.app(context, platform, given.app.app.as_deref());
            (platform, option)
        };
        let chosen = [(Choice::Ios, Platform::Ios), (Choice::Android, Platform::Android)];
        let all: Vec<_> = chosen.into_iter().filter(|(choice, _)| self.has(*choice)).map(|(_, platform)| option(platform)).collect();
        for (platform, option) in &all {
            check_other(context, *platform, option.app.app.as_deref(), self.are_both())?;
        }
        let apps: Vec<Option<&str>> = all.iter().map(|(_, option)| context.app(option.app.app.as_deref()).ok()).collect();
        if let [Some(first), Some(second)] = apps.as_slice()
            && first == second
        {
            let what = format!("both platforms would be released to {first}, and its devices would get the bundle of the other platform");
            let next = "Give each platform its app: --app-ios NAME --app-android NAME, or the tables [ios] and [android] in updraft.toml.";
            return Err(Error::usage(what, next));
        }
        let without = all.iter().zip(&apps).filter(|(_, app)| app.is_none()).map(|((platform, _), _)| *platform).collect::<Vec<_>>();
        match self.missing_app(context, &without) {
            Some(error) if is_dry => match without.as_slice() {
                [platform] if self.are_both() => {
                    return Err(Error { what: format!("{} would not be released: {}", platform.title(), error.what), ..error });
                }
                _ => context.note(&format!("{}. {}", error.what.replacen("no app", "No app", 1), error.next)),
            },
            Some(error) => return Err(error),
            None => {}
        }
        Ok(all)
    }

    /// What to do for platforms without an app, in a run or a project that has others. `None` if no platform has one: then any app will do.
    fn missing_app(&self, context: &Context, without: &[Platform]) -> Option<Error> {
        let project = context.project.as_ref().map(|found| &found.project);
        let table = |platform: Platform, project: &Project| match platform {
            Platform::Ios => project.ios.is_some(),
            Platform::Android => project.android.is_some(),
        };
        let has_table = |platform: Platform| project.is_some_and(|project| table(platform, project));
        let is_set_up = has_table(Platform::Ios) || has_table(Platform::Android);
        let named = |text: fn(Platform) -> String| without.iter().map(|platform| text(*platform)).collect::<Vec<_>>();
        let titles = named(|platform| platform.title().to_owned()).join(" and ");
        let options = named(|platform| format!("--app-{} NAME", platform.name())).join(" ");
        match without {
            [platform] if is_set_up || self.are_both() => {
                let name = platform.name();
                let why = match project {
                    Some(_) if has_table(*platform) => format!(": the table [{name}] in updraft.toml has no app"),
                    Some(_) => format!(": the table [{name}] in updraft.toml is missing"),
                    None => String::new(),
                };
                let next = format!("Run `updraft init --platform {name}`, or add {options}.");
                Some(Error::usage(format!("no app is given for {titles}{why}"), next))
            }
            [_, _] => Some(Error::usage(format!("no app is given for {titles}"), format!("Run `updraft init`, or add {options}."))),
            _ => None,
        }
    }

    /// A warning if one platform of two is released to the app that the project file has for the whole project: a release of the other platform without
    /// `--app` would go to the same devices. `has_both` says whether the project has both.
    pub(super) fn shared_app(&self, context: &Context, has_both: bool, given: &DeploymentOption) -> Option<String> {
        let project = &context.project.as_ref()?.project;
        let app = project.app.as_deref()?;
        let is_for_all = given.app.app.as_deref().unwrap_or_default().is_empty() && project.ios.is_none() && project.android.is_none();
        let is_own = self.app_ios.is_some() || self.app_android.is_some();
        let platform = if self.has(Choice::Ios) { Platform::Ios } else { Platform::Android };
        (has_both && is_for_all && !is_own && !self.are_both()).then(|| {
            format!(
                "updraft.toml has one app for iOS and Android, and a bundle runs on one of them only. Move app = \"{app}\" into the table [{}], and give the other platform an app of its own",
                platform.name()
            )
        })
    }

    /// The platform's app: its own option, `--app`, its table in the project file. Without one, the project file's `app` is used, as everywhere.
    fn app(&self, context: &Context, platform: Platform, given: Option<&str>) -> Option<String> {
        let own = match platform {
            Platform::Ios => self.app_ios.as_deref(),
            Platform::Android => self.app_android.as_deref(),
        };
        let of_project = context.project.as_ref().and_then(|found| match platform {
            Platform::Ios => found.project.ios.as_ref(),
            Platform::Android => found.project.android.as_ref(),
        });
        let of_project = of_project.and_then(|settings| settings.app.as_deref());
        [own, given, of_project].into_iter().flatten().find(|name| !name.is_empty()).map(str::to_owned)
    }
}
