//! Stack traces: parses frames of six languages and maps them to files of the repository.
//!
//! Runtimes print absolute paths, paths of other checkouts and, for Java, only a package and a file
//! name. A frame is mapped to the file with the longest matching end of the path; an ambiguous
//! frame is dropped. Reads no file itself: the caller says which paths exist.

use std::sync::Arc;

/// Maximum number of frames read from a log.
const FRAMES_MAX: usize = 200;

/// Parts of paths that belong to runtimes and installed packages.
const LIBRARY_PARTS: [&str; 12] = [
    "/site-packages/",
    "/dist-packages/",
    "/node_modules/",
    "/.cargo/registry/",
    "/.rustup/",
    "/rustc/",
    "/gems/",
    "/pkg/mod/",
    "/usr/lib/",
    "/usr/local/lib/",
    "/usr/local/go/",
    "/opt/hostedtoolcache/",
];

/// Extensions of files that the Java virtual machine names without their folder.
const JVM_EXTENSIONS: [&str; 4] = ["java", "kt", "scala", "groovy"];

/// Stack frame as the runtime printed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PrintedFrame {
    /// Path with `/`; relative, absolute, or package and file name.
    pub(super) path: String,
    pub(super) line: Option<u32>,
    pub(super) function: Option<String>,
    /// True if the folders are a package: at least one of them must match.
    pub(super) is_package: bool,
}

/// Files of the repository, as far as mapping a frame needs them.
pub(super) struct RepositoryFiles<'a> {
    /// Absolute path of the root, with `/`.
    pub(super) root: String,
    /// Returns whether a path below the root is a file.
    pub(super) exists: &'a dyn Fn(&str) -> bool,
    /// Lists all files; called only if no end of a path exists below the root.
    pub(super) all: &'a dyn Fn() -> Arc<[String]>,
}

/// Parses the frames of a log, in order.
pub(super) fn parse_frames(lines: &[String]) -> Vec<PrintedFrame> {
    let mut frames = Vec::new();
    let mut previous = "";
    for line in lines {
        frames.extend(parse_frame(line, previous));
        previous = line;
        if frames.len() >= FRAMES_MAX {
            break;
        }
    }
    frames
}

/// Parses the frame in a line. Go and Rust name the function in the line before.
fn parse_frame(line: &str, previous: &str) -> Option<PrintedFrame> {
    let line = line.trim();
    if let Some(rest) = line.strip_prefix("File \"") {
        return python_frame(rest);
    }
    if let Some(rest) = line.strip_prefix("at ") {
        let rest = rest.strip_prefix("async ").unwrap_or(rest);
        let call = rest.strip_suffix(')').and_then(|it| it.rsplit_once('('));
        return match call {
            Some((name, place)) => {
                jvm_frame(name, place).or_else(|| node_frame(name.trim(), place))
            }
            None => located(rest).map(|frame| PrintedFrame {
                function: rust_function(previous),
                ..frame
            }),
        };
    }
    if let Some((_, place)) = line.split_once("panicked at ") {
        return located(place.trim_end_matches(':'));
    }
    let line = line.strip_prefix("from ").unwrap_or(line);
    if let Some((place, name)) = line.split_once(":in ") {
        let frame = located(place)?;
        return Some(PrintedFrame {
            function: ruby_function(name),
            ..frame
        });
    }
    let frame = line.split_whitespace().find_map(located)?;
    let function = if has_extension(&frame.path, &["go"]) {
        go_function(previous)
    } else {
        None
    };
    Some(PrintedFrame { function, ..frame })
}

/// Parses `/app/pay.py", line 12, in charge`.
fn python_frame(rest: &str) -> Option<PrintedFrame> {
    let (path, rest) = rest.split_once('"')?;
    let line = rest.strip_prefix(", line ")?;
    let (line, name) = match line.split_once(", in ") {
        Some((line, name)) => (line, Some(name.trim())),
        None => (line, None),
    };
    // `<module>`, `<lambda>` and `<string>` name no symbol and no file.
    let is_name = |it: &&str| !it.starts_with('<');
    (!path.starts_with('<')).then(|| PrintedFrame {
        path: path.replace('\\', "/"),
        line: line.trim().parse().ok(),
        function: name.filter(is_name).map(str::to_owned),
        is_package: false,
    })
}

/// Parses `com.acme.Foo.bar` and `Foo.java:12`.
fn jvm_frame(name: &str, place: &str) -> Option<PrintedFrame> {
    let (file, line) = place.split_once(':')?;
    if file.contains(['/', '\\']) || !has_extension(file, &JVM_EXTENSIONS) {
        return None;
    }
    // `java.base/java.util.ArrayList.get` and `app//com.acme.Foo.bar` name a module first.
    let name = name.rsplit('/').next().unwrap_or(name);
    let (class, function) = name.rsplit_once('.')?;
    let packages = class.split('.');
    let packages = packages.take_while(|part| !part.starts_with(char::is_uppercase));
    let mut path: Vec<&str> = packages.collect();
    path.push(file);
    Some(PrintedFrame {
        is_package: path.len() > 1,
        path: path.join("/"),
        line: line.parse().ok(),
        function: Some(function.to_owned()),
    })
}

fn node_frame(name: &str, place: &str) -> Option<PrintedFrame> {
    let frame = located(place)?;
    let name = name.strip_prefix("new ").unwrap_or(name);
    // `Ledger.charge [as pay]` has an alias.
    let name = name.split(" [").next().unwrap_or_default();
    let is_name = !name.is_empty() && !name.contains('<');
    Some(PrintedFrame {
        function: is_name.then(|| name.to_owned()),
        ..frame
    })
}

/// Returns the function of a Rust backtrace line such as `3: till::pay::charge`.
fn rust_function(line: &str) -> Option<String> {
    let (number, name) = line.trim().split_once(": ")?;
    number.parse::<u32>().ok()?;
    let name = name.split("::{{").next().unwrap_or(name);
    // `<till::Ledger as till::Pay>::charge` and generic arguments end before the last name.
    let last = name.rsplit("::").next().unwrap_or(name);
    let is_hash = last.len() == 17 && last.starts_with('h');
    let name = if is_hash {
        name.rsplit_once("::").map_or(name, |(name, _)| name)
    } else {
        name
    };
    (!name.is_empty()).then(|| name.trim_start_matches('<').to_owned())
}

/// Returns the function of a Go line such as `main.(*Ledger).Charge(0xc000, 0x2)`.
fn go_function(line: &str) -> Option<String> {
    let line = line.trim();
    let line = line.strip_prefix("created by ").unwrap_or(line);
    let line = line.split(" in goroutine").next().unwrap_or(line);
    let name = match line.strip_suffix(')') {
        Some(call) => call.rsplit_once('(')?.0,
        None => line,
    };
    let name = name.rsplit('.').next()?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then(|| name.to_owned())
}

/// Returns the method of a Ruby frame: of `` `block in charge' `` and `'Ledger#charge'`.
fn ruby_function(name: &str) -> Option<String> {
    let name = name.trim().trim_start_matches(['`', '\'', '"']);
    let name = name.split(['\'', '"']).next().unwrap_or(name);
    let name = name.rsplit(" in ").next().unwrap_or(name);
    let name = name.rsplit(['#', '.']).next().unwrap_or(name);
    (!name.is_empty() && !name.starts_with('<')).then(|| name.to_owned())
}

/// Parses `path:line`, `path:line:column` or a bare absolute path.
fn located(text: &str) -> Option<PrintedFrame> {
    let text = text.trim_matches(['"', '\'', '`', '(', ')', '[', ']', ',', ';']);
    let text = text.strip_prefix("file://").unwrap_or(text);
    // The colon of a Windows drive is not the one before the line.
    let bytes = text.as_bytes();
    let has_drive = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && (bytes[2] == b'\\' || bytes[2] == b'/');
    let from = if has_drive { 2 } else { 0 };
    let (path, line) = match text[from..].find(':') {
        Some(at) => (&text[..from + at], Some(&text[from + at + 1..])),
        None => (text, None),
    };
    let digits = line.map(|it| it.split(|c: char| !c.is_ascii_digit()).next());
    let line: Option<u32> = digits.flatten().and_then(|it| it.parse().ok());
    let path = path.replace('\\', "/");
    let is_absolute = has_drive || path.starts_with('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_file = name.split_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && !extension.is_empty()
            && extension
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '.')
    });
    // A relative path without a line is left to the words of the log: too many words look like one.
    let is_plausible = is_file && (line.is_some() || is_absolute) && !path.contains("//");
    is_plausible.then_some(PrintedFrame {
        path,
        line,
        function: None,
        is_package: false,
    })
}

fn has_extension(path: &str, extensions: &[&str]) -> bool {
    let extension = path.rsplit_once('.').map(|(_, it)| it);
    extension.is_some_and(|it| extensions.contains(&it))
}

/// Returns the file of the repository that a printed path means, or `None` if that is unclear.
pub(super) fn map_to_repository(
    frame: &PrintedFrame,
    files: &RepositoryFiles<'_>,
) -> Option<String> {
    if let Some(below) = frame.path.strip_prefix(&format!("{}/", files.root))
        && (files.exists)(below)
    {
        return Some(below.to_owned());
    }
    let parts: Vec<&str> = frame
        .path
        .split('/')
        .filter(|it| !it.is_empty() && *it != ".")
        .collect();
    if parts.contains(&"..") {
        return None;
    }
    if !frame.path.starts_with('/') && !frame.is_package && (files.exists)(&parts.join("/")) {
        return Some(parts.join("/"));
    }
    if LIBRARY_PARTS.iter().any(|part| frame.path.contains(part)) {
        return None;
    }
    // The longest end first. The file name alone is not enough here: it may be another file.
    let mut ends = (0..parts.len().saturating_sub(1)).map(|at| parts[at..].join("/"));
    if let Some(end) = ends.find(|end| (files.exists)(end)) {
        return Some(end);
    }
    longest_match(&parts, frame.is_package, &(files.all)())
}

/// Returns the file with the longest common end, if it is the only one.
fn longest_match(parts: &[&str], is_package: bool, all: &[String]) -> Option<String> {
    let name = parts.last()?;
    let named = all
        .iter()
        .filter(|path| path.rsplit('/').next() == Some(name));
    let common = |path: &str| {
        let ends = path.rsplit('/').zip(parts.iter().rev());
        ends.take_while(|(one, other)| one == *other).count()
    };
    let mut matches: Vec<(usize, &String)> = named.map(|path| (common(path), path)).collect();
    matches.sort();
    let (best, path) = matches.pop()?;
    let is_only = matches.is_empty();
    let is_unique = matches.last().is_none_or(|(length, _)| *length < best);
    // With several files of this name, a folder must tell them apart. A package is always known.
    let is_enough = best > 1 || (is_only && !is_package);
    (is_unique && is_enough).then(|| path.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "/home/ada/till";
    const FILES: [&str; 9] = [
        "src/pay.rs",
        "app/pay/rates.py",
        "app/other/rates.py",
        "web/src/cart.js",
        "web/src/index.js",
        "core/src/main/java/com/acme/pay/Ledger.java",
        "core/src/main/java/com/acme/refund/Ledger.java",
        "cmd/till/pay.go",
        "lib/till/pay.rb",
    ];

    fn mapped(trace: &str) -> Vec<(String, Option<u32>, Option<String>)> {
        let lines: Vec<String> = trace.lines().map(str::to_owned).collect();
        let all: Arc<[String]> = FILES.iter().map(|it| (*it).to_owned()).collect();
        let files = RepositoryFiles {
            root: ROOT.to_owned(),
            exists: &|path| FILES.contains(&path),
            all: &|| Arc::clone(&all),
        };
        let frames = parse_frames(&lines);
        let found = frames.into_iter().filter_map(|frame| {
            let path = map_to_repository(&frame, &files)?;
            Some((path, frame.line, frame.function))
        });
        found.collect()
    }

    #[track_caller]
    fn check(trace: &str, expected: &[(&str, u32, &str)]) {
        let expected: Vec<_> = expected
            .iter()
            .map(|(path, line, function)| {
                let function = (!function.is_empty()).then(|| (*function).to_owned());
                ((*path).to_owned(), Some(*line), function)
            })
            .collect();
        assert_eq!(mapped(trace), expected, "{trace}");
    }

    #[test]
    fn frames_of_six_languages_are_mapped_from_another_checkout() {
        check(
            r#"Traceback (most recent call last):
  File "/srv/ci/build-77/till/app/pay/rates.py", line 118, in _parse_rate_limits
    limit = int(part)
  File "/usr/lib/python3.12/json/decoder.py", line 337, in decode
    obj, end = self.raw_decode(s)
  File "<frozen importlib._bootstrap>", line 1360, in _find_and_load
ValueError: invalid literal for int() with base 10: 'soon'"#,
            &[("app/pay/rates.py", 118, "_parse_rate_limits")],
        );
        check(
            r"TypeError: Cannot read properties of undefined (reading 'total')
    at Cart.total (/builds/acme/till/web/src/cart.js:42:17)
    at async file:///builds/acme/till/web/src/index.js:7:3
    at Object.<anonymous> (/builds/acme/till/node_modules/express/lib/router/index.js:284:7)
    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)",
            &[
                ("web/src/cart.js", 42, "Cart.total"),
                ("web/src/index.js", 7, ""),
            ],
        );
        check(
            r#"Exception in thread "main" java.lang.IllegalStateException: closed
	at com.acme.pay.Ledger.charge(Ledger.java:12)
	at com.acme.refund.Ledger$Entry.undo(Ledger.java:88)
	at java.base/java.util.ArrayList.forEach(ArrayList.java:1596)"#,
            &[
                ("core/src/main/java/com/acme/pay/Ledger.java", 12, "charge"),
                ("core/src/main/java/com/acme/refund/Ledger.java", 88, "undo"),
            ],
        );
        check(
            "panic: runtime error: index out of range [3] with length 3\n\n\
             goroutine 1 [running]:\n\
             github.com/acme/till/cmd/till.(*Ledger).Charge(0xc000012345, 0x2)\n\
             \t/go/src/github.com/acme/till/cmd/till/pay.go:31 +0x1d\n\
             runtime.main()\n\
             \t/usr/local/go/src/runtime/proc.go:283 +0x28b",
            &[("cmd/till/pay.go", 31, "Charge")],
        );
        check(
            "thread 'main' panicked at /builds/till/src/pay.rs:9:5:\n\
             called `Option::unwrap()` on a `None` value\n\
             stack backtrace:\n   \
             0: rust_begin_unwind\n             at /rustc/9fc6b4/library/std/src/panicking.rs:697:5\n   \
             3: till::pay::charge\n             at /builds/till/src/pay.rs:9:5",
            &[
                ("src/pay.rs", 9, ""),
                ("src/pay.rs", 9, "till::pay::charge"),
            ],
        );
        check(
            "/app/current/lib/till/pay.rb:12:in 'Ledger#charge': undefined method 'cents' for nil (NoMethodError)\n\
             \tfrom /app/current/lib/till/pay.rb:30:in `block in settle'\n\
             \tfrom /usr/lib/ruby/gems/3.3.0/gems/rake-13/lib/rake.rb:5:in `call'",
            &[
                ("lib/till/pay.rb", 12, "charge"),
                ("lib/till/pay.rb", 30, "settle"),
            ],
        );
    }

    #[test]
    fn a_frame_that_may_be_another_file_is_dropped() {
        // Two files have this name, and no folder tells them apart.
        check("  File \"/x/y/rates.py\", line 3, in f", &[]);
        check(
            "  File \"/x/other/rates.py\", line 3, in f",
            &[("app/other/rates.py", 3, "f")],
        );
        // The only file of this name, from a checkout with another layout.
        check(
            "  File \"/x/pay.rb\", line 3, in f",
            &[("lib/till/pay.rb", 3, "f")],
        );
        // The package differs.
        check("\tat org.other.Ledger.charge(Ledger.java:12)", &[]);
        check("  File \"../up/pay.rb\", line 3, in f", &[]);
        check(
            r#"  File "C:\work\till\app\pay\rates.py", line 3, in f"#,
            &[("app/pay/rates.py", 3, "f")],
        );
        check(
            r#"  File "/home/ada/till/src/pay.rs", line 3, in f"#,
            &[("src/pay.rs", 3, "f")],
        );
    }
}
