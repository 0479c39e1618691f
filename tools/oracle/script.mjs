// What the symbols of JavaScript and TypeScript files say, by the compiler of TypeScript: the second opinion of
// `cargo ken-bench validity`.
//
// Reads paths from standard input, relative to the folder given, and prints one line of JSON a file:
// {"path", "symbols": [{"name", "kind", "hash", "size"}]} or {"path", "error"}. With `--show NAME` it prints what is hashed.
// `KEN_TYPESCRIPT` names the folder of the npm package `typescript`.
//
// What is hashed is the tree of a symbol: kinds of nodes around the text of tokens. Left out: comments, layout, the
// symbol's own name, and what formatters add or take away (semicolons, commas at the end and between members of types,
// quotes, quotes around keys, parentheses, except those that end an optional chain or make a string no directive).

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const ts = createRequire(import.meta.url)(process.env.KEN_TYPESCRIPT);
const Kind = ts.SyntaxKind;
const LOGIC = new Set([Kind.AmpersandAmpersandToken, Kind.BarBarToken, Kind.QuestionQuestionToken]);

/** Takes away what formatters write at will. */
function children(node, file) {
  const all = node.getChildren(file).filter((child) => child.kind < Kind.FirstJSDocNode || Kind.LastJSDocNode < child.kind);
  return all.filter((child, at) => !isIdle(child, at, all, node));
}

function isIdle(child, at, all, node) {
  const isList = node.kind === Kind.SyntaxList;
  switch (child.kind) {
    case Kind.SemicolonToken:
      return node.kind !== Kind.ForStatement;
    case Kind.EmptyStatement:
      return isList;
    case Kind.SemicolonClassElement:
      return true;
    case Kind.CommaToken:
      if (ts.isTypeElement(node)) return true;
      return isList && at === all.length - 1 && all[at - 1]?.kind !== Kind.OmittedExpression;
    case Kind.OpenParenToken:
    case Kind.CloseParenToken:
      return node.kind === Kind.NewExpression || node.kind === Kind.ArrowFunction || isFreeParenthesis(node);
    case Kind.BarToken:
    case Kind.AmpersandToken:
      return at === 0 && (node.kind === Kind.UnionType || node.kind === Kind.IntersectionType || isList);
    case Kind.SyntaxList:
      return child.getChildCount() === 0;
    case Kind.JsxText:
      return jsxText(child.text) === "";
    case Kind.JsxExpression:
      return isList && !child.expression && !child.dotDotDotToken;
    default:
      return false;
  }
}

function isFreeParenthesis(node) {
  return node.kind === Kind.ParenthesizedType || (node.kind === Kind.ParenthesizedExpression && !counts(node));
}

/** Whether parentheses say something: `(a?.b).c` is not `a?.b.c`, `("use strict")` is no directive. */
function counts(node) {
  let inner = node.expression;
  while (ts.isParenthesizedExpression(inner)) inner = inner.expression;
  const around = node.parent;
  const isLink = ts.isPropertyAccessExpression(around) || ts.isElementAccessExpression(around) || ts.isCallExpression(around);
  if (isLink && around.expression === node) return ts.isOptionalChain(inner);
  return ts.isExpressionStatement(around) && ts.isStringLiteral(inner);
}

/** Text between tags as the compiler reads it: blanks at ends of lines are nothing, lines are joined by a space. */
function jsxText(text) {
  const lines = text.split(/\r?\n/);
  const trimmed = lines.map((line, at) => {
    const front = at === 0 ? line : line.trimStart();
    return at === lines.length - 1 ? front : front.trimEnd();
  });
  return trimmed.filter((line) => line !== "").join(" ").replace(/[ \t]+/g, " ");
}

function isKey(node) {
  return node.parent?.name === node && !ts.isModuleDeclaration(node.parent);
}

function token(node, file) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    if (ts.isNoSubstitutionTemplateLiteral(node)) return `template ${plainBreaks(node.getText(file))}`;
    return isKey(node) && /^([A-Za-z_$][\w$]*|0|[1-9]\d*)$/.test(node.text) ? `name ${node.text}` : `string ${node.text}`;
  }
  if (ts.isNumericLiteral(node)) return isKey(node) ? `name ${node.text}` : `number ${node.text}`;
  if (ts.isIdentifier(node)) return `name ${node.getText(file)}`;
  if (node.kind === Kind.JsxText) return `text ${jsxText(node.text)}`;
  if (node.kind === Kind.RegularExpressionLiteral) {
    const [, body, flags] = /^(.*\/)([a-z]*)$/s.exec(node.text) ?? [null, node.text, ""];
    return `regex ${body}${[...flags].sort().join("")}`;
  }
  return `token ${plainBreaks(node.getText(file))}`;
}

/** In templates the language reads every line break as `\n`. */
function plainBreaks(text) {
  return text.replace(/\r\n?/g, "\n");
}

/** Writes a node down, `name` left out. */
function write(node, file, name, out) {
  if (node === name) return;
  if (node.kind === Kind.JsxExpression && node.expression && ts.isStringLiteral(node.expression)) {
    const isSpace = node.expression.text === " " && !ts.isJsxAttribute(node.parent);
    if (isSpace) return void out.push("text  ");
    if (ts.isJsxAttribute(node.parent)) return void out.push(`string ${node.expression.text}`);
  }
  const inside = children(node, file);
  if (node.getChildCount(file) === 0) return void out.push(token(node, file));
  const isBare = isFreeParenthesis(node) || continuesLogic(node) || node.kind === Kind.SyntaxList || isOnlyType(node);
  if (!isBare) out.push(`( ${node.kind}`);
  for (const child of inside) write(child, file, name, out);
  if (!isBare) out.push(")");
}

function isOnlyType(node) {
  return (ts.isUnionTypeNode(node) || ts.isIntersectionTypeNode(node)) && node.types.length === 1;
}

/** `a && (b && c)` and `a && b && c` are the same. */
function continuesLogic(node) {
  if (!ts.isBinaryExpression(node) || !LOGIC.has(node.operatorToken.kind)) return false;
  let around = node.parent;
  while (ts.isParenthesizedExpression(around)) around = around.parent;
  return ts.isBinaryExpression(around) && around.operatorToken.kind === node.operatorToken.kind;
}

function isFunction(node) {
  let inner = node;
  return inner !== undefined && (ts.isArrowFunction(inner) || ts.isFunctionExpression(inner));
}

/** Returns what a node defines: its name, the node of the name, all that belongs to it, and what is inside it. */
function definition(node, inBody, file) {
  const text = (name) => {
    if (ts.isComputedPropertyName(name)) return `[${name.expression.getText(file)}]`;
    return ts.isStringLiteral(name) ? name.text : name.getText(file);
  };
  const titled = (kind, opens) =>
    node.name && { name: text(node.name), blank: node.name, whole: node, kind, opens };
  switch (node.kind) {
    case Kind.FunctionDeclaration:
      return titled("function", node.body ? "body" : "nothing") || defaulted(node, "body");
    case Kind.FunctionExpression:
      return titled("function", "body");
    case Kind.MethodDeclaration:
    case Kind.GetAccessor:
    case Kind.SetAccessor:
      return titled("function", node.body ? "body" : "nothing");
    case Kind.Constructor: {
      const word = node.getChildren(file).find((child) => child.kind === Kind.ConstructorKeyword);
      return { name: "constructor", blank: word, whole: node, kind: "function", opens: node.body ? "body" : "nothing" };
    }
    case Kind.MethodSignature:
      return titled("function", "nothing");
    case Kind.ClassDeclaration:
      return titled("type", "members") || defaulted(node, "members");
    case Kind.ClassExpression:
    case Kind.InterfaceDeclaration:
      return titled("type", "members");
    case Kind.ModuleDeclaration:
      return titled("other", "members");
    case Kind.EnumDeclaration:
    case Kind.TypeAliasDeclaration:
      return titled("type", "nothing");
    case Kind.PropertyDeclaration:
      return isFunction(node.initializer) ? titled("function", "body") : titled("other", "nothing");
    case Kind.VariableDeclaration:
      return variable(node, inBody);
    case Kind.BinaryExpression:
      return assigned(node, inBody, file);
    case Kind.PropertyAssignment:
      return pair(node, inBody, text);
    case Kind.ExportAssignment:
      if (node.isExportEquals || ts.isIdentifier(node.expression) || node.expression.name) return undefined;
      return defaulted(node, ts.isObjectLiteralExpression(node.expression) ? "members" : "body");
    default:
      return undefined;
  }
}

function defaulted(node, opens) {
  return { name: "default", blank: undefined, whole: node, kind: "other", opens };
}

function variable(node, inBody) {
  const holds = isFunction(node.initializer);
  if (!ts.isIdentifier(node.name) || (inBody && !holds) || !ts.isVariableDeclarationList(node.parent)) return undefined;
  const list = node.parent;
  const around = ts.isVariableStatement(list.parent) ? list.parent : list;
  const whole = list.declarations.length === 1 ? around : node;
  const [kind, opens] = holds ? ["function", "body"] : ["other", "members"];
  return { name: node.name.text, blank: node.name, whole, kind, opens };
}

function assigned(node, inBody, file) {
  if (node.operatorToken.kind !== Kind.EqualsToken) return undefined;
  const holds = isFunction(node.right);
  const isStatement = ts.isExpressionStatement(node.parent);
  if (!holds && (inBody || !isStatement)) return undefined;
  if (!ts.isIdentifier(node.left) && !ts.isPropertyAccessExpression(node.left)) return undefined;
  const path = node.left.getText(file);
  if (!/^[\w$.#]+$/.test(path)) return undefined;
  const name = path.replace(/^(module\.exports\.|exports\.|this\.)/, "").replaceAll(".prototype.", ".");
  const [kind, opens] = holds ? ["function", "body"] : ["other", "members"];
  return { name, blank: node.left, whole: isStatement ? node.parent : node, kind, opens };
}

function pair(node, inBody, text) {
  if (!ts.isIdentifier(node.name) && !ts.isStringLiteral(node.name)) return undefined;
  const named = { name: text(node.name), blank: node.name, whole: node };
  if (isFunction(node.initializer)) return { ...named, kind: "function", opens: "body" };
  if (!inBody && ts.isObjectLiteralExpression(node.initializer)) return { ...named, kind: "other", opens: "members" };
  return undefined;
}

function symbols(node, scope, file, out) {
  let inner = scope;
  const found = definition(node, scope.inBody, file);
  if (found) {
    const words = [];
    write(found.whole, file, found.blank, words);
    out.push({ name: scope.name + found.name, kind: found.kind, words });
    if (found.opens !== "nothing") {
      inner = { name: `${scope.name}${found.name}.`, inBody: scope.inBody || found.opens === "body" };
    }
  }
  ts.forEachChild(node, (child) => symbols(child, inner, file, out));
}

function read(root, path) {
  const text = readFileSync(join(root, path), "utf8");
  const isScript = /\.[mc]?jsx?$/.test(path);
  const kind = path.endsWith(".tsx") ? ts.ScriptKind.TSX : isScript ? ts.ScriptKind.JSX : ts.ScriptKind.TS;
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
  const broken = file.parseDiagnostics.find((it) => it.code < 8000);
  if (broken) throw new Error(ts.flattenDiagnosticMessageText(broken.messageText, " "));
  const out = [];
  symbols(file, { name: "", inBody: false }, file, out);
  return out;
}

const [root, , ...show] = process.argv.slice(2);
for (const path of readFileSync(0, "utf8").split("\n").filter((line) => line !== "")) {
  let found;
  try {
    found = read(root, path);
  } catch (error) {
    console.log(JSON.stringify({ path, error: String(error.message) }));
    continue;
  }
  for (const it of found.filter((it) => show.includes(it.name))) console.log(it.words.join("\n"));
  if (show.length > 0) continue;
  const symbols = found.map(({ name, kind, words }) => {
    const hash = createHash("sha256").update(JSON.stringify(words)).digest("hex").slice(0, 32);
    return { name, kind, hash, size: words.filter((word) => word !== ")" && !word.startsWith("( ")).length };
  });
  console.log(JSON.stringify({ path, symbols }));
}
