//! What the symbols of Rust files say, by `syn`: the second opinion on Rust.
//!
//! Hashed are the tokens of an item, its own name blanked out. Left out are documentation and what
//! rustfmt adds or takes away: commas at the end, braces around the one expression of an arm or a
//! closure, the `;` after a last `return`, `-> ()`, several `derive`s, the order and nesting of
//! uses.

#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "syntax of others has more kinds than are named here"
)]

use proc_macro2::{Delimiter, Punct, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::visit_mut::{self, VisitMut};

use super::oracle::{Kind, Told};

/// Reads one file.
pub(super) fn read(source: &str) -> Result<Vec<Told>, String> {
    let mut file = syn::parse_file(source).map_err(|error| error.to_string())?;
    Plain.visit_file_mut(&mut file);
    let mut reader = Reader::default();
    reader.visit_file(&file);
    Ok(reader.found)
}

/// Undoes what rustfmt may have done.
struct Plain;

impl VisitMut for Plain {
    fn visit_arm_mut(&mut self, arm: &mut syn::Arm) {
        visit_mut::visit_arm_mut(self, arm);
        unwrap_block(&mut arm.body);
        arm.comma = Some(syn::token::Comma::default());
    }

    fn visit_expr_closure_mut(&mut self, closure: &mut syn::ExprClosure) {
        visit_mut::visit_expr_closure_mut(self, closure);
        if matches!(closure.output, syn::ReturnType::Default) {
            unwrap_block(&mut closure.body);
        }
        closure.inputs.pop_punct();
    }

    fn visit_where_clause_mut(&mut self, clause: &mut syn::WhereClause) {
        visit_mut::visit_where_clause_mut(self, clause);
        clause.predicates.pop_punct();
    }

    fn visit_pat_or_mut(&mut self, pattern: &mut syn::PatOr) {
        visit_mut::visit_pat_or_mut(self, pattern);
        pattern.leading_vert = None;
    }

    fn visit_signature_mut(&mut self, signature: &mut syn::Signature) {
        visit_mut::visit_signature_mut(self, signature);
        if let syn::ReturnType::Type(_, returned) = &signature.output
            && matches!(&**returned, syn::Type::Tuple(tuple) if tuple.elems.is_empty())
        {
            signature.output = syn::ReturnType::Default;
        }
    }

    fn visit_expr_paren_mut(&mut self, paren: &mut syn::ExprParen) {
        visit_mut::visit_expr_paren_mut(self, paren);
        while let syn::Expr::Paren(inner) = &*paren.expr {
            paren.expr = inner.expr.clone();
        }
    }

    fn visit_item_mod_mut(&mut self, module: &mut syn::ItemMod) {
        visit_mut::visit_item_mod_mut(self, module);
        let Some((_, items)) = &mut module.content else {
            return;
        };
        let taken = std::mem::take(items);
        let is_use = |it: &syn::Item| matches!(it, syn::Item::Use(_));
        *items = sort_runs(taken, is_use, |it| match it {
            syn::Item::Use(it) => flat(&it).into_iter().map(syn::Item::Use).collect(),
            other => vec![other],
        });
    }

    fn visit_attributes_mut(&mut self, attributes: &mut Vec<syn::Attribute>) {
        *attributes = attributes.drain(..).flat_map(derives).collect();
    }

    fn visit_block_mut(&mut self, block: &mut syn::Block) {
        visit_mut::visit_block_mut(self, block);
        for statement in &mut block.stmts {
            if let syn::Stmt::Expr(expr, end) = statement
                && is_jump(expr)
            {
                *end = None;
            }
        }
        let is_empty = |it: &syn::Stmt| {
            let syn::Stmt::Expr(syn::Expr::Verbatim(tokens), _) = it else {
                return false;
            };
            tokens.is_empty()
        };
        block.stmts.retain(|it| !is_empty(it));
        let taken = std::mem::take(&mut block.stmts);
        let is_use = |it: &syn::Stmt| matches!(it, syn::Stmt::Item(syn::Item::Use(_)));
        block.stmts = sort_runs(taken, is_use, |it| match it {
            syn::Stmt::Item(syn::Item::Use(it)) => {
                let all = flat(&it).into_iter();
                all.map(|it| syn::Stmt::Item(syn::Item::Use(it))).collect()
            }
            other => vec![other],
        });
    }
}

/// Takes uses apart and sorts those that follow each other.
fn sort_runs<T: ToTokens>(
    all: Vec<T>,
    is_use: impl Fn(&T) -> bool,
    apart: impl Fn(T) -> Vec<T>,
) -> Vec<T> {
    let mut sorted = Vec::new();
    let mut run: Vec<T> = Vec::new();
    let key = |it: &T| it.to_token_stream().to_string();
    for one in all {
        if is_use(&one) {
            run.extend(apart(one));
            continue;
        }
        run.sort_by_key(key);
        sorted.append(&mut run);
        sorted.push(one);
    }
    run.sort_by_key(key);
    sorted.append(&mut run);
    sorted
}

/// Returns `use a::{b, c};` as `use a::b; use a::c;`.
fn flat(it: &syn::ItemUse) -> Vec<syn::ItemUse> {
    let trees = flat_trees(&it.tree).into_iter();
    trees
        .map(|tree| syn::ItemUse { tree, ..it.clone() })
        .collect()
}

fn flat_trees(tree: &syn::UseTree) -> Vec<syn::UseTree> {
    match tree {
        syn::UseTree::Path(path) => {
            let inner = flat_trees(&path.tree).into_iter();
            let around = |tree| syn::UsePath {
                tree: Box::new(tree),
                ..path.clone()
            };
            inner.map(|tree| syn::UseTree::Path(around(tree))).collect()
        }
        syn::UseTree::Group(group) => group.items.iter().flat_map(flat_trees).collect(),
        syn::UseTree::Name(_) | syn::UseTree::Rename(_) | syn::UseTree::Glob(_) => {
            vec![tree.clone()]
        }
    }
}

/// Returns `#[derive(A, B)]` as `#[derive(A)] #[derive(B)]`.
fn derives(attribute: syn::Attribute) -> Vec<syn::Attribute> {
    type Paths = syn::punctuated::Punctuated<syn::Path, syn::Token![,]>;
    if !attribute.path().is_ident("derive") {
        return vec![attribute];
    }
    let Ok(paths) = attribute.parse_args_with(Paths::parse_terminated) else {
        return vec![attribute];
    };
    let each = paths.into_iter();
    each.map(|path| syn::parse_quote!(#[derive(#path)]))
        .collect()
}

fn is_jump(expr: &syn::Expr) -> bool {
    matches!(
        expr,
        syn::Expr::Return(_) | syn::Expr::Break(_) | syn::Expr::Continue(_)
    )
}

/// `{ x }` is `x` where only one expression can stand.
fn unwrap_block(body: &mut Box<syn::Expr>) {
    let syn::Expr::Block(block) = &**body else {
        return;
    };
    if !block.attrs.is_empty() || block.label.is_some() {
        return;
    }
    let inner = match &block.block.stmts[..] {
        [syn::Stmt::Expr(only, None)] => only.clone(),
        [syn::Stmt::Macro(only)] if only.semi_token.is_none() => syn::Expr::Macro(syn::ExprMacro {
            attrs: only.attrs.clone(),
            mac: only.mac.clone(),
        }),
        _ => return,
    };
    **body = inner;
}

/// Names what is defined, as anchors name it.
#[derive(Default)]
struct Reader {
    scope: String,
    found: Vec<Told>,
}

impl Reader {
    fn tell(&mut self, name: &str, kind: Kind, item: &impl ToTokens) {
        let mut words = Vec::new();
        write(item.to_token_stream(), false, &mut words);
        self.found.push(Told::new(
            format!("{}{name}", self.scope),
            kind,
            &words.join("\n"),
            words.len(),
        ));
    }

    fn inside(&mut self, name: &str, go: impl FnOnce(&mut Self)) {
        let length = self.scope.len();
        self.scope += name;
        self.scope += "::";
        go(self);
        self.scope.truncate(length);
    }
}

/// Tells of an item and goes on inside it.
macro_rules! told {
    ($method:ident, $node:ident, $kind:expr, $($ident:ident).+) => {
        fn $method(&mut self, node: &'ast syn::$node) {
            let name = node.$($ident).+.to_string();
            let mut blank = node.clone();
            blank.$($ident).+ = blank_name();
            self.tell(&name, $kind, &blank);
            self.inside(&name, |it| visit::$method(it, node));
        }
    };
}

impl<'ast> Visit<'ast> for Reader {
    told!(visit_item_fn, ItemFn, Kind::Function, sig.ident);
    told!(visit_impl_item_fn, ImplItemFn, Kind::Function, sig.ident);
    told!(visit_trait_item_fn, TraitItemFn, Kind::Function, sig.ident);
    told!(
        visit_foreign_item_fn,
        ForeignItemFn,
        Kind::Function,
        sig.ident
    );
    told!(visit_item_struct, ItemStruct, Kind::Type, ident);
    told!(visit_item_union, ItemUnion, Kind::Type, ident);
    told!(visit_item_enum, ItemEnum, Kind::Type, ident);
    told!(visit_item_trait, ItemTrait, Kind::Type, ident);
    told!(visit_item_type, ItemType, Kind::Type, ident);
    told!(visit_impl_item_type, ImplItemType, Kind::Other, ident);
    told!(visit_trait_item_type, TraitItemType, Kind::Other, ident);
    told!(visit_variant, Variant, Kind::Other, ident);
    told!(visit_item_mod, ItemMod, Kind::Other, ident);
    told!(visit_item_const, ItemConst, Kind::Other, ident);
    told!(visit_impl_item_const, ImplItemConst, Kind::Other, ident);
    told!(visit_trait_item_const, TraitItemConst, Kind::Other, ident);
    told!(visit_item_static, ItemStatic, Kind::Other, ident);

    fn visit_item_macro(&mut self, node: &'ast syn::ItemMacro) {
        if let Some(ident) = &node.ident {
            let name = ident.to_string();
            let mut blank = node.clone();
            blank.ident = Some(blank_name());
            self.tell(&name, Kind::Other, &blank);
        }
    }

    fn visit_item_impl(&mut self, node: &'ast syn::ItemImpl) {
        let Some(name) = base_name(&node.self_ty) else {
            return;
        };
        self.inside(&name, |it| visit::visit_item_impl(it, node));
    }
}

fn blank_name() -> syn::Ident {
    syn::Ident::new("blank", proc_macro2::Span::call_site())
}

/// Returns the last word of a type's path; types of other shapes are not named here.
fn base_name(this: &syn::Type) -> Option<String> {
    let last = |path: &syn::Path| path.segments.last().map(|it| it.ident.to_string());
    match this {
        syn::Type::Path(path) => last(&path.path),
        syn::Type::Reference(inner) => base_name(&inner.elem),
        syn::Type::Ptr(inner) => base_name(&inner.elem),
        syn::Type::TraitObject(object) => match object.bounds.first() {
            Some(syn::TypeParamBound::Trait(bound)) if object.bounds.len() == 1 => {
                last(&bound.path)
            }
            Some(_) | None => None,
        },
        _ => None,
    }
}

/// Pairs of signs that mean something else than one after the other; `>>` also ends two lists of
/// types.
const PAIRS: &[&str] = &[
    "::", "->", "=>", "==", "!=", "<=", ">=", "&&", "||", "..", "<<", "+=", "-=", "*=", "/=", "%=",
    "^=", "&=", "|=",
];

/// Writes tokens down, without documentation and commas at ends.
fn write(tokens: TokenStream, is_tuple: bool, words: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let commas = tokens.iter().filter(|it| is_punct(it, ',')).count();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let skipped = documentation(&tokens[at..]);
        if skipped > 0 {
            at += skipped;
            continue;
        }
        let next = tokens.get(at + 1);
        let ends = match next {
            None => at > 0 && (commas > 1 || !is_tuple),
            Some(next) => is_punct(next, '>'),
        };
        match token {
            TokenTree::Punct(punct) if punct.as_char() == ',' && ends => {}
            TokenTree::Punct(punct) => words.push(sign(punct, next)),
            TokenTree::Group(group) => {
                let may_be_tuple = !at.checked_sub(1).is_some_and(|it| is_called(&tokens[it]));
                let is_tuple = group.delimiter() == Delimiter::Parenthesis && may_be_tuple;
                let (open, close) = brackets(group.delimiter());
                words.push(open.to_owned());
                write(group.stream(), is_tuple, words);
                words.push(close.to_owned());
            }
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Literal(literal) => words.push(literal.to_string()),
        }
        at += 1;
    }
}

fn brackets(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// Returns a sign, marked if it makes one operator with the next.
fn sign(punct: &Punct, next: Option<&TokenTree>) -> String {
    let mut text = punct.as_char().to_string();
    if let Some(TokenTree::Punct(next)) = next
        && punct.spacing() == Spacing::Joint
    {
        let pair = format!("{text}{}", next.as_char());
        if PAIRS.contains(&&*pair) {
            text += "+";
        }
    }
    text
}

/// Whether the parentheses after this hold arguments, so that a comma at their end says nothing.
fn is_called(before: &TokenTree) -> bool {
    match before {
        TokenTree::Ident(word) => ![
            "return", "in", "match", "if", "as", "mut", "break", "else", "while", "ref", "move",
        ]
        .contains(&&*word.to_string()),
        TokenTree::Punct(punct) => matches!(punct.as_char(), '>' | '!'),
        TokenTree::Group(_) => true,
        TokenTree::Literal(_) => false,
    }
}

fn is_punct(token: &TokenTree, wanted: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == wanted)
}

/// Returns how many tokens at the front are `#[doc = ""]` or `#![doc = ""]`, which is what comments
/// become.
fn documentation(tokens: &[TokenTree]) -> usize {
    let (group, length) = match tokens {
        [mark, TokenTree::Group(group), ..] if is_punct(mark, '#') => (group, 2),
        [mark, inner, TokenTree::Group(group), ..]
            if is_punct(mark, '#') && is_punct(inner, '!') =>
        {
            (group, 3)
        }
        _ => return 0,
    };
    let inside: Vec<TokenTree> = group.stream().into_iter().take(2).collect();
    match &inside[..] {
        [TokenTree::Ident(doc), sign] if doc == "doc" && is_punct(sign, '=') => length,
        _ => 0,
    }
}
