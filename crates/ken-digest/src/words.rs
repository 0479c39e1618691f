//! Word lists for classifying sentences: phrases separated by commas, all in lower case.

/// Returns whether `normalized`, the output of `modality::normalize_words`, contains one of the
/// phrases.
pub(crate) fn contains_phrase(normalized: &str, phrases: &str) -> bool {
    split_phrases(phrases).any(|it| normalized.contains(&format!(" {it} ")))
}

/// Counts the occurrences of the phrases in `normalized`.
pub(crate) fn count_phrases(normalized: &str, phrases: &str) -> usize {
    split_phrases(phrases)
        .map(|it| normalized.matches(&format!(" {it} ")).count())
        .sum()
}

/// Returns whether `normalized` begins with one of the phrases.
pub(crate) fn starts_with_phrase(normalized: &str, phrases: &str) -> bool {
    split_phrases(phrases).any(|it| {
        normalized.strip_prefix(' ').is_some_and(|normalized| {
            normalized
                .strip_prefix(it)
                .is_some_and(|rest| rest.starts_with(' '))
        })
    })
}

/// Returns whether `word` is in the list.
pub(crate) fn is_listed(word: &str, words: &str) -> bool {
    split_phrases(words).any(|it| it == word)
}

/// Splits a list into phrases.
pub(crate) fn split_phrases(phrases: &str) -> impl Iterator<Item = &str> {
    phrases
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
}

/// Phrases that forbid.
pub(crate) const FORBIDDING: &str =
    "must not, mustn't, not allowed, forbidden, prohibited, shall not, disallowed";

/// Words that forbid if they address the reader.
pub(crate) const FORBIDDING_IMPERATIVES: &str = "never, do not, don't";

/// Words that may precede them.
pub(crate) const BEFORE_IMPERATIVES: &str =
    "please, and, but, or, so, must, should, also, then, always, instead, just";

/// Phrases that advise against something.
pub(crate) const DISCOURAGING: &str = "\
    avoid, should not, shouldn't, discouraged, not recommended, refrain, rather than, instead of";

/// Phrases that oblige.
pub(crate) const OBLIGING: &str = "\
    must, always, required, requires, mandatory, shall, make sure, ensure, need to, needs to, has to, \
    have to";

/// Phrases that advise.
pub(crate) const ADVISING: &str = "\
    should, prefer, recommended, recommend, ideally, please";

/// Verbs at the start of an instruction.
pub(crate) const INSTRUCTION_VERBS: &str = "\
    accept, add, adhere, adjust, allow, annotate, append, apply, ask, assert, assign, assume, attach, \
    base, begin, branch, break, bring, build, bump, call, capture, catch, centralize, change, check, \
    choose, clean, clone, close, collect, combine, comment, commit, compare, compile, confirm, consider, \
    consult, convert, copy, cover, create, declare, default, defer, define, delegate, delete, deploy, \
    derive, describe, design, document, double-check, drop, edit, emit, enable, encapsulate, end, \
    enforce, ensure, escape, exclude, execute, explain, export, expose, extend, extract, fail, favor, \
    favour, file, fill, find, fix, focus, follow, fork, format, generate, get, give, go, group, guard, \
    handle, hide, identify, ignore, implement, import, include, increment, indent, inherit, initialize, \
    inject, inline, inspect, install, instrument, introduce, investigate, invoke, isolate, keep, label, \
    launch, leave, limit, link, lint, list, load, log, look, maintain, make, mark, match, measure, \
    merge, mention, minimize, mirror, mock, modify, monitor, move, name, navigate, note, obey, omit, \
    open, optimize, order, organize, parse, pass, pick, pin, place, plan, polish, prefer, prefix, \
    prepare, preserve, prioritize, propagate, propose, provide, publish, pull, push, put, raise, read, \
    rebase, rebuild, record, reduce, refactor, refer, reference, regenerate, register, reject, release, \
    rely, remember, remove, rename, render, replace, report, reproduce, request, require, reserve, \
    resolve, respect, restart, restrict, return, reuse, review, rerun, run, sanitize, save, search, \
    select, send, separate, set, share, ship, show, sign, simplify, skip, sort, specify, split, squash, \
    stage, start, state, stick, stop, store, strive, structure, submit, suffix, surface, switch, sync, \
    tag, take, target, test, throw, trace, track, translate, treat, trigger, try, tweak, type, update, \
    upgrade, use, utilize, validate, verify, view, visit, wait, watch, work, wrap, write";

/// Words that may precede the verb of an instruction.
pub(crate) const OPENERS: &str = "\
    please, then, first, next, finally, also, and, only, just, instead, now";

/// Openings that refer to the previous sentence.
pub(crate) const DEPENDENT_OPENINGS: &str = "\
    it, its, this, these, they, that, those, otherwise, however, for example, for instance, e.g, such, \
    doing so, if so, if not, in this case, in that case, as such, therefore, thus, so, instead, then, \
    both, either, neither, but, because, similarly, likewise, in other words, i.e, here, there, them, to that end, to this end, \
    and, or, which, alternatively, additionally, furthermore, moreover, in addition, afterwards";

/// Nouns that "this" may qualify without a previous sentence.
pub(crate) const REPOSITORY_NOUNS: &str = "\
    project, repo, repository, package, crate, library, codebase, workspace, monorepo, module, file, \
    folder, directory, app, application, service";

/// Openings of sentences that only refer elsewhere or describe the document.
pub(crate) const REFERENCE_OPENINGS: &str = "\
    see, for more, for details, for further, for additional, for a full, for a list, please see, please note that this project is released, please \
    read, please refer, refer to, read more, check out, check our, check the docs, check the documentation, you can start, you are ready, you're ready, learn more, visit, have a look, take a look, \
    more information, more details, this document, this file provides, this file contains, this file is, \
    this guide, this page, the following, the steps below, below, here is, here are, here's, these \
    guidelines, this section, in this, you can find, you'll find, table of contents, copyright, licensed \
    under, by contributing, by participating, by submitting, if you have any questions, if you have \
    questions, questions, all contributions, contributions are, note that this, tl dr, last updated, \
    there are many ways, there are several, there are a few, source";

/// Words of welcome and thanks.
pub(crate) const COURTESIES: &str = "\
    thank, thanks, welcome, welcomed, appreciate, appreciated, grateful, glad, happy, excited, feel \
    free, awesome, love, congratulations, hesitate, enjoy, hello, hi, too small, great opportunity, volunteers, let's, happily, play with, help out, helping out, our discord, \
    discord community, discord server, community forum, join our, join us, get support, follow us, we value, we \
    encourage you to report, looking for suggestions, help us improve, your efforts";

/// Verbs of statements of fact.
pub(crate) const FACT_VERBS: &str = "\
    is, are, was, were, has, have, uses, use, used, runs, run, lives, live, contains, contain, handles, \
    provides, must, should, can, will, may, needs, need, requires, require, means, holds, returns, \
    return, defines, generates, supports, stores, creates, makes, takes, gives, goes, comes, works, \
    depends, includes, lets, allows, ensures, expects, keeps, follows, reads, writes, calls, wraps, \
    implements, exports, imports, builds, serves, sits, manages, tracks, checks, maps, converts, loads, \
    sends, accepts, exposes, extends, inherits, controls, validates, renders, parses, resolves, \
    represents, owns, applies, performs, produces, starts, ends, fails, throws, raises, matches, \
    enables, disables, prevents, remains, belongs, happens, does, don't, doesn't, isn't, aren't, won't, \
    can't, cannot, defaults, targets, covers, avoids, delegates, lists, installs, publishes, triggers, \
    skips, shares, passes, points, lives, compiles, emits, consists, do";

/// Parts of placeholder paths.
pub(crate) const PLACEHOLDERS: &str = "\
    path/to, foo, bar, baz, example, my-, my_, your, xxx, yyyy, ..., …, some, name-of, /x/, nnnn, 0000, \
    n.n, x.y, <, {";

/// Programs whose calls are recognized as commands.
pub(crate) const PROGRAMS: &str = "\
    npm, pnpm, yarn, bun, npx, node, deno, cargo, make, just, go, python, python3, pip, uv, uvx, poetry, \
    pytest, tox, nox, hatch, pdm, ruff, mypy, git, docker, gradle, ./gradlew, mvn, dotnet, bundle, rake, \
    composer, cmake, ninja, bazel, task, nx, turbo, lerna, rush, mise, pre-commit, swift, mix, invoke";

/// File extensions recognized in paths.
pub(crate) const FILE_EXTENSIONS: &str = "\
    rs, toml, md, mdx, ts, tsx, js, jsx, mjs, cjs, mts, cts, json, jsonc, json5, yaml, yml, py, pyi, go, \
    java, kt, rb, php, c, h, cc, cpp, hpp, cs, swift, sh, bash, sql, css, scss, html, vue, svelte, \
    astro, txt, cfg, ini, lock, proto, graphql, rst, ipynb, xml, gradle, ex, exs, lua, zig, nix, tf, \
    prisma, snap";

/// Words that refer to an earlier sentence.
pub(crate) const REFERRING: &str =
    "it, them, their, they, its, those, these, therefore, thus, hence, such";

/// Words after a "this" that has no noun.
pub(crate) const WORDS_AFTER_BARE_THIS: &str = "is, was, will, can, must, should, may, does, has, in, for, when, if, and, legacy, to, by, with";

/// Phrases of sentences that only introduce the next block.
pub(crate) const LEAD_PHRASES: &str = "the following command, the following commands, the following steps, as follows, \
    commands below, command below, steps below, listed below, shown below, described below";

/// Words of lead sentences that only say that a list follows.
pub(crate) const ANNOUNCING: &str = "following, includes, including, example, examples, steps, below, such as, commands, notes, \
    important, key, here, list, options, include, consists, these, this";

/// Words that state when or where a rule holds.
pub(crate) const CONDITIONS: &str = "in, when, if, for, unless, without, during, before, after, on, while, within, inside, outside, only";
