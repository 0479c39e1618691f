//! The word lists sentences are judged by: phrases separated by commas, all in lower case.

/// Returns whether `told`, as `modality::spoken` gives it, has one of the phrases.
pub(crate) fn has(told: &str, phrases: &str) -> bool {
    each(phrases).any(|it| told.contains(&format!(" {it} ")))
}

/// Returns whether `told` begins with one of the phrases.
pub(crate) fn starts(told: &str, phrases: &str) -> bool {
    each(phrases).any(|it| {
        told.strip_prefix(' ').is_some_and(|told| {
            told.strip_prefix(it)
                .is_some_and(|rest| rest.starts_with(' '))
        })
    })
}

/// Returns whether `word` is one of the words.
pub(crate) fn is_one(word: &str, words: &str) -> bool {
    each(words).any(|it| it == word)
}

/// Returns the phrases of a list.
pub(crate) fn each(phrases: &str) -> impl Iterator<Item = &str> {
    phrases
        .split(',')
        .map(str::trim)
        .filter(|it| !it.is_empty())
}

/// Words and phrases that forbid.
pub(crate) const FORBIDDING: &str =
    "must not, mustn't, not allowed, forbidden, prohibited, shall not, disallowed";

/// Words that forbid where they are said to the reader.
pub(crate) const AGAINST: &str = "never, do not, don't";

/// Words that may stand before those.
pub(crate) const BEFORE_AGAINST: &str =
    "please, and, but, or, so, must, should, also, then, always, instead, just";

/// Those that advise against.
pub(crate) const DISCOURAGING: &str = "\
    avoid, should not, shouldn't, discouraged, not recommended, refrain, rather than, instead of";

/// Those that oblige.
pub(crate) const OBLIGING: &str = "\
    must, always, required, requires, mandatory, shall, make sure, ensure, need to, needs to, has to, \
    have to";

/// Those that advise.
pub(crate) const ADVISING: &str = "\
    should, prefer, recommended, recommend, ideally, please";

/// Verbs an instruction begins with.
pub(crate) const VERBS: &str = "\
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

/// Words an instruction may begin with before its verb.
pub(crate) const OPENERS: &str = "\
    please, then, first, next, finally, also, and, only, just, instead, now";

/// Beginnings that point at the sentence before.
pub(crate) const LEANING: &str = "\
    it, its, this, these, they, that, those, otherwise, however, for example, for instance, e.g, such, \
    doing so, if so, if not, in this case, in that case, as such, therefore, thus, so, instead, then, \
    both, either, neither, but, because, similarly, likewise, in other words, i.e, here, there, them, \
    and, or, which, alternatively, additionally, furthermore, moreover, in addition, afterwards";

/// What "this" may be about without a sentence before.
pub(crate) const HERE: &str = "\
    project, repo, repository, package, crate, library, codebase, workspace, monorepo, module, file, \
    folder, directory, app, application, service";

/// Beginnings of sentences that only point elsewhere or speak about the document.
pub(crate) const POINTING: &str = "\
    see, for more, for details, for further, for additional, for a full, for a list, please see, please note that this project is released, please \
    read, please refer, refer to, read more, check out, check our, check the docs, check the documentation, you can start, you are ready, you're ready, learn more, visit, have a look, take a look, \
    more information, more details, this document, this file provides, this file contains, this file is, \
    this guide, this page, the following, the steps below, below, here is, here are, here's, these \
    guidelines, this section, in this, you can find, you'll find, table of contents, copyright, licensed \
    under, by contributing, by participating, by submitting, if you have any questions, if you have \
    questions, questions, all contributions, contributions are, note that this, tl dr, last updated, \
    there are many ways, there are several, there are a few";

/// Words of welcome and thanks.
pub(crate) const FRIENDLY: &str = "\
    thank, thanks, welcome, welcomed, appreciate, appreciated, grateful, glad, happy, excited, feel \
    free, awesome, love, congratulations, hesitate, enjoy, hello, hi, too small, great opportunity, volunteers, let's, happily, play with, help out, helping out";

/// Words one of which a statement of fact has.
pub(crate) const FACTUAL: &str = "\
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

/// Parts of paths that stand for something else.
pub(crate) const PLACEHOLDERS: &str = "\
    path/to, foo, bar, baz, example, my-, my_, your, xxx, yyyy, ..., …, some, name-of, /x/, nnnn, 0000, \
    n.n, x.y, <, {";

/// Programs whose calls are commands, though nothing else says so.
pub(crate) const PROGRAMS: &str = "\
    npm, pnpm, yarn, bun, npx, node, deno, cargo, make, just, go, python, python3, pip, uv, uvx, poetry, \
    pytest, tox, nox, hatch, pdm, ruff, mypy, git, docker, gradle, ./gradlew, mvn, dotnet, bundle, rake, \
    composer, cmake, ninja, bazel, task, nx, turbo, lerna, rush, mise, pre-commit, swift, mix, invoke";

/// Endings of names of files people cite.
pub(crate) const ENDINGS: &str = "\
    rs, toml, md, mdx, ts, tsx, js, jsx, mjs, cjs, mts, cts, json, jsonc, json5, yaml, yml, py, pyi, go, \
    java, kt, rb, php, c, h, cc, cpp, hpp, cs, swift, sh, bash, sql, css, scss, html, vue, svelte, \
    astro, txt, cfg, ini, lock, proto, graphql, rst, ipynb, xml, gradle, ex, exs, lua, zig, nix, tf, \
    prisma, snap";

/// Words that stand for something said before.
pub(crate) const REFERRING: &str =
    "it, them, their, they, its, those, these, therefore, thus, hence, such";

/// Words behind a "this" that names nothing itself.
pub(crate) const BARE: &str = "is, was, will, can, must, should, may, does, has, in, for, when, if, and, legacy, to, by, with";

/// Phrases of sentences that only lead to what follows.
pub(crate) const LEADING: &str = "the following command, the following commands, the following steps, as follows, \
    commands below, command below, steps below, listed below, shown below, described below";

/// Words of announcements that say no more than that a list follows.
pub(crate) const ANNOUNCING: &str = "following, includes, including, example, examples, steps, below, such as, commands, notes, \
    important, key, here, list, options, include, consists, these, this";

/// Words that say when or where something holds.
pub(crate) const CONDITIONS: &str = "in, when, if, for, unless, without, during, before, after, on, while, within, inside, outside, only";
