//! Memory and child processes of a running program: read from `/proc`, so Linux only.

use std::fs;

/// A process by its ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(pub u32);

impl Process {
    /// Its current memory, in KiB.
    pub fn memory(self) -> u64 {
        self.status("VmRSS:")
    }

    /// Its peak memory, in total or since [`Process::forget_peak`], in KiB.
    pub fn peak(self) -> u64 {
        self.status("VmHWM:")
    }

    /// The CPU time used so far, in seconds.
    pub fn cpu(self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).unwrap();
        // The name is followed by fields 3 and on: 14 and 15 are user and system ticks, a hundred in a second.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<f64>().unwrap()).sum::<f64>() / 100.0
    }

    /// Resets the peak. Without effect if the kernel does not allow it.
    pub fn forget_peak(self) {
        let _refused = fs::write(format!("/proc/{}/clear_refs", self.0), "5");
    }

    /// Whether it has ended, also if its parent has not asked how.
    pub fn has_ended(self) -> bool {
        let Ok(stat) = fs::read_to_string(format!("/proc/{}/stat", self.0)) else { return true };
        stat.rsplit_once(')').is_none_or(|(_, fields)| fields.trim_start().starts_with('Z'))
    }

    /// Its descendants with this name (as in the kernel, at most 15 characters).
    pub fn descendants(self, name: &str) -> Vec<Self> {
        let all: Vec<(u32, u32, String)> = fs::read_dir("/proc").unwrap().filter_map(|entry| parent_and_name(&entry.ok()?)).collect();
        let (mut known, mut found) = (vec![self.0], Vec::new());
        while let Some(parent) = known.pop() {
            for (process, _, process_name) in all.iter().filter(|(_, of, _)| *of == parent) {
                known.push(*process);
                found.extend((process_name == name).then_some(Self(*process)));
            }
        }
        found
    }

    fn status(self, line: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).unwrap();
        let value = status.lines().find_map(|text| text.strip_prefix(line)).unwrap();
        value.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// A process, its parent and its name; `None` if it is not a process or has exited.
fn parent_and_name(entry: &fs::DirEntry) -> Option<(u32, u32, String)> {
    let process = entry.file_name().to_str()?.parse().ok()?;
    let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
    // The name is in parentheses, and may contain parentheses and spaces.
    let (before, after) = stat.rsplit_once(')')?;
    let parent = after.split_whitespace().nth(1)?.parse().ok()?;
    Some((process, parent, before.split_once('(')?.1.to_owned()))
}
