//! Word lists for sentences of commit messages: phrases separated by commas, all in lower case.

/// Phrases that oblige or forbid.
pub(super) const BINDING: &str = "\
    must, must not, mustn't, should never, should not, shouldn't, should always, must always, must \
    never, shall, shall not, needs to be, need to be, has to be, have to be, is required to, are \
    required to, is not allowed, are not allowed, not be allowed, may only, must only, should only";

/// Phrases of sentences that lift an obligation or report a wish.
pub(super) const NOT_BINDING: &str = "\
    no need, not need, don't need, doesn't need, not have to, don't have to, doesn't have to, needn't, \
    needs to be done, need to be done, has to be done, need to be updated, needs to be updated, \
    need to be fixed, needs to be fixed, should not affect, shouldn't affect, should not change, \
    shouldn't change, should not break, shouldn't break, should not matter, shouldn't matter, should not be a problem, \
    shouldn't be a problem, should not be an issue, shouldn't be an issue, must have";

/// Openings after which a modal verb is a guess about the commit and not a rule.
pub(super) const WEAK_OPENINGS: &str = "\
    this, these, that, those, note, also, additionally, it, they, now, however, and, but, so";

/// Phrases that name a cause.
pub(super) const CAUSAL: &str = "because, due to, since, as a result of, caused by, the reason";

/// Phrases that give a purpose.
pub(super) const PURPOSE: &str = "\
    so that, in order to, to avoid, to prevent, avoids, prevents, hence, therefore, as this would, \
    as it would, to guarantee, needed for, needed to, required for";

/// Phrases that say what a reverted change did wrong.
pub(super) const EXPLAINING: &str = "\
    break, breaks, broke, broken, fail, fails, failed, failure, failures, cause, causes, caused, causing, \
    regression, regressions, incorrect, wrong, crash, crashes, panic, panics, deadlock, slower, leak, \
    leaks, problem, problems, incompatible, unsafe, unsound, not work, doesn't work, does not work, \
    didn't work, too many, too much, instead, introduced, introduces, leads to, led to, conflicts, race";

/// Phrases of reverts that say nothing about the code.
pub(super) const MISHAPS: &str = "\
    accident, accidentally, accidental, by mistake, mistakenly, wrong branch, not ready, premature, prematurely, \
    reapply, re-apply, reapplied, will be back, for now, temporarily, until, release, released, unintended, unintentionally, \
    ci, pushed, merged, merge, review, discussion, discuss, pending";

/// Phrases of subjects that change no behavior.
pub(super) const ROUTINE: &str = "\
    typo, typos, changelog, readme, doc, docs, documentation, document, docstring, docstrings, comment, \
    comments, lint, linter, clippy, rustfmt, fmt, formatting, flake8, mypy, typing, annotation, \
    annotations, ci, travis, appveyor, workflow, workflows, release, releases, bump, bumps, upgrade, \
    upgrades, deps, dependencies, dependency, spelling, grammar, whitespace, copyright, license, \
    test, tests, testing, testcase, benchmark, benchmarks, refactor, refactoring, cleanup, cleanups, \
    clean, tweak, tweaks, misc, minor, wip, merge, version, versions, warning, warnings, unused, nit, \
    nits, review, example, examples, translation, translations, revert, reverts, reverted, wording, \
    style, rename, renames, renamed, vendor, makefile, cmake, compile, compiler, build, builds, \
    initial, todo, stuff, things, improvements, various, sync, backport, cherry-pick";

/// Phrases of sentences about the past.
pub(super) const PAST: &str = "\
    was, were, wasn't, weren't, had, hadn't, did, didn't, it used to, used to be, previously, formerly, earlier, \
    originally, before this, anymore, any more, failed, caused, broke, broken, resulted, became, \
    currently, at the moment, for now, temporary, temporarily, recently, todo, yet, would have, \
    until now, so far, fixed, old, existed, supposed to, today";

/// Phrases of sentences about the behavior that the commit ended, in the present.
pub(super) const DEFECTIVE: &str = "\
    fails, fail, crashes, crash, panics, breaks, doesn't work, does not work, don't work, not possible, \
    impossible, incorrectly, wrongly, missing, confusing, unexpected, unexpectedly, leaks, hangs, \
    problem, problems, issue, issues, bug, bugs, buggy, happens, ignored, ignores, silently, \
    doesn't make, does not make, not handle, doesn't handle, wrong, incorrect, inconsistent, unable";

/// Phrases of sentences that are guesses, talk or praise.
pub(super) const HEDGING: &str = "\
    i, i'm, i've, i'd, i'll, my, me, probably, maybe, perhaps, hopefully, seem, seems, seemed, might, guess, \
    apparently, sorry, thanks, thank, please, hack, ugly, oops, believe, idea, someone, cleaner, \
    easier, nicer, simpler, readability, readable, cleanup, refactor, refactoring, basically, somehow, \
    unfortunately, obviously, not sure, in theory, some reason, follow-up, followup, separate commit, \
    next commit, previous commit, in the future, future, later, worth, imo, afaik, afaict, arguably, discussion, discussed, \
    reported, reports, suggested, reviewer, coverity, valgrind, warning, warnings, typo, changelog, \
    documentation, docs, test, tests, testing";

/// Phrases that lean on text the subject does not have.
pub(super) const LEANING_ANYWHERE: &str = "\
    these, those, above, below, following, former, latter, the same, here, that case, this case, \
    that branch, this way, that way, the other, in question, mentioned, aforementioned, example";

/// Words that are in every message about a change.
pub(super) const COMMON: &str = "\
    with, when, from, into, that, this, then, than, have, does, only, also, some, more, most, used, \
    using, uses, make, makes, made, case, cases, issue, issues, error, errors, problem, wrong, correct, \
    incorrect, handle, handling, support, allow, avoid, prevent, ensure, should, must, will, would, \
    could, properly, instead, because, which, where, while, after, before, being, been, fixed, fixes, \
    fixing, bugfix, crash, panic, leak, value, values, code, function, functions, method, methods, \
    call, calls, called, default, missing, check, checks, add, added, remove, removed, change, changes, \
    changed, return, returns, returned, each, other, same, both, without, they, their, there, these";
