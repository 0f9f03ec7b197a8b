//! Parses a file: what each of its modules declares, imports and mentions. Test-only code is left out.
//!
//! Paths are resolved elsewhere. Start reading at [`Scope::parse`].

use std::{collections::BTreeSet, mem};

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Attribute, Block, Expr, FieldsNamed, ImplItemFn, Item, ItemFn, ItemImpl, ItemMod, ItemTrait, ItemUse, Lit, Meta, Stmt, Token,
    TraitItem, UseTree, Visibility,
    parse::{ParseStream, Parser},
    punctuated::Punctuated,
    spanned::Spanned,
    visit_mut::{self, VisitMut},
};

use super::tokens::{Tokens, name};

/// A name that a `use` imports.
#[derive(Debug)]
pub(super) struct Import {
    /// The path, without the `*` of a glob. With a leading `::`, the first segment is empty.
    pub(super) segments: Vec<String>,
    /// The local name; `None` for `_` and globs.
    pub(super) name: Option<String>,
    /// Whether it imports all names of a module or enum.
    pub(super) is_glob: bool,
    /// Whether other modules may import it from here.
    pub(super) is_re_export: bool,
    /// The line it is on.
    pub(super) line: usize,
}

/// The signature of a function that other modules can call.
#[derive(Debug)]
pub(super) struct Signature {
    /// The function's name.
    pub(super) name: String,
    /// What the signature mentions.
    pub(super) tokens: Tokens,
    /// The line it is on.
    pub(super) line: usize,
}

/// A `mod name;`.
#[derive(Debug)]
pub(super) struct Declared {
    /// The module's name.
    pub(super) name: String,
    /// Its `#[path]`.
    pub(super) path: Option<String>,
}

/// The contents of a module.
#[derive(Debug, Default)]
pub(super) struct Scope {
    /// The names of its items.
    pub(super) items: BTreeSet<String>,
    /// Macros that `#[macro_export]` puts at the crate's root.
    pub(super) exported_macros: BTreeSet<String>,
    /// Its imports and re-exports, including those in functions.
    pub(super) imports: Vec<Import>,
    /// The paths and names in its code.
    pub(super) tokens: Tokens,
    /// Its public functions and methods.
    pub(super) signatures: Vec<Signature>,
    /// Modules in the same file.
    pub(super) inline: Vec<(String, Scope)>,
    /// Modules in a separate file.
    pub(super) declared: Vec<Declared>,
}

impl Scope {
    /// Parses a file.
    pub(super) fn parse(text: &str) -> syn::Result<Self> {
        let file = syn::parse_file(text)?;
        if file.attrs.iter().any(is_for_tests) {
            return Ok(Self::default());
        }
        let mut scope = Self::default();
        scope.add_items(file.items);
        Ok(scope)
    }

    /// Merges another module with the same name, such as for another platform.
    pub(super) fn merge(&mut self, other: Self) {
        self.items.extend(other.items);
        self.imports.extend(other.imports);
        self.tokens.merge(other.tokens);
        self.signatures.extend(other.signatures);
    }

    fn add_items(&mut self, items: Vec<Item>) {
        for item in items {
            if is_test(&item) {
                continue;
            }
            match item {
                Item::Use(import) => self.add_import(&import, is_visible(&import.vis)),
                Item::Mod(module) => self.add_module(module),
                Item::ExternCrate(import) => {
                    let local = import.rename.as_ref().map_or(&import.ident, |(_, local)| local);
                    let segments = if import.ident == "self" { vec!["crate".into()] } else { vec![String::new(), name(&import.ident)] };
                    let line = import.ident.span().start().line;
                    self.imports.push(Import {
                        segments,
                        name: Some(name(local)),
                        is_glob: false,
                        is_re_export: is_visible(&import.vis),
                        line,
                    });
                }
                other => self.add_item(other),
            }
        }
    }

    fn add_module(&mut self, module: ItemMod) {
        let name = name(&module.ident);
        if let Some((_, items)) = module.content {
            let mut inline = Self::default();
            inline.add_items(items);
            self.inline.push((name, inline));
        } else {
            self.declared.push(Declared { name, path: module.attrs.iter().find_map(path_attribute) });
        }
    }

    fn add_item(&mut self, mut item: Item) {
        self.items.extend(defined(&item));
        if let Item::Macro(definition) = &item
            && definition.attrs.iter().any(|attribute| attribute.path().is_ident("macro_export"))
        {
            self.exported_macros.extend(defined(&item));
        }
        let mut pruner = Pruner::default();
        pruner.visit_item_mut(&mut item);
        for import in pruner.imports {
            self.add_import(&import, false);
        }
        self.signatures.extend(pruner.signatures);
        self.tokens.add(item.into_token_stream());
    }

    fn add_import(&mut self, import: &ItemUse, is_re_export: bool) {
        let mut start = if import.leading_colon.is_some() { vec![String::new()] } else { Vec::new() };
        self.add_tree(&import.tree, &mut start, is_re_export);
    }

    fn add_tree(&mut self, tree: &UseTree, start: &mut Vec<String>, is_re_export: bool) {
        let line = tree.span().start().line;
        let with = |ident: &syn::Ident| {
            let last = (ident != "self").then(|| name(ident));
            start.iter().cloned().chain(last).collect::<Vec<_>>()
        };
        match tree {
            UseTree::Path(path) => {
                start.push(name(&path.ident));
                self.add_tree(&path.tree, start, is_re_export);
                start.pop();
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.add_tree(tree, start, is_re_export);
                }
            }
            UseTree::Name(last) => {
                let segments = with(&last.ident);
                self.imports.push(Import { name: segments.last().cloned(), segments, is_glob: false, is_re_export, line });
            }
            UseTree::Rename(last) => {
                let local = (last.rename != "_").then(|| name(&last.rename));
                self.imports.push(Import { segments: with(&last.ident), name: local, is_glob: false, is_re_export, line });
            }
            UseTree::Glob(_) => self.imports.push(Import { segments: start.clone(), name: None, is_glob: true, is_re_export, line }),
        }
    }
}

/// Removes test-only code and `use` items from an item, since [`Import`] represents imports better than tokens do; collects signatures.
#[derive(Default)]
struct Pruner {
    imports: Vec<ItemUse>,
    signatures: Vec<Signature>,
}

impl Pruner {
    fn note(&mut self, signature: &syn::Signature) {
        let mut tokens = Tokens::default();
        tokens.add(signature.to_token_stream());
        self.signatures.push(Signature { name: name(&signature.ident), tokens, line: signature.ident.span().start().line });
    }
}

impl VisitMut for Pruner {
    fn visit_block_mut(&mut self, block: &mut Block) {
        for statement in mem::take(&mut block.stmts) {
            match statement {
                statement if is_test(&statement) => {}
                Stmt::Item(Item::Use(import)) => self.imports.push(import),
                statement => block.stmts.push(statement),
            }
        }
        visit_mut::visit_block_mut(self, block);
    }

    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        if is_visible(&function.vis) {
            self.note(&function.sig);
        }
        visit_mut::visit_item_fn_mut(self, function);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        if is_visible(&function.vis) {
            self.note(&function.sig);
        }
        visit_mut::visit_impl_item_fn_mut(self, function);
    }

    fn visit_item_trait_mut(&mut self, definition: &mut ItemTrait) {
        definition.items.retain(|item| !is_test(item));
        if is_visible(&definition.vis) {
            for item in &definition.items {
                if let TraitItem::Fn(function) = item {
                    self.note(&function.sig);
                }
            }
        }
        visit_mut::visit_item_trait_mut(self, definition);
    }

    fn visit_item_impl_mut(&mut self, block: &mut ItemImpl) {
        block.items.retain(|item| !is_test(item));
        visit_mut::visit_item_impl_mut(self, block);
    }

    fn visit_fields_named_mut(&mut self, fields: &mut FieldsNamed) {
        fields.named = mem::take(&mut fields.named).into_iter().filter(|field| !is_test(field)).collect();
        visit_mut::visit_fields_named_mut(self, fields);
    }
}

/// The name that an item defines.
fn defined(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name(ident))
}

/// Whether other modules can see it.
fn is_visible(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

/// The text of a `#[path = "…"]`.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether this is test-only code. Parses attributes from tokens, the only way that works for all kinds of syntax.
fn is_test(syntax: &impl ToTokens) -> bool {
    let attributes = |input: ParseStream| {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<TokenStream>()?;
        Ok(attributes)
    };
    attributes.parse2(syntax.to_token_stream()).is_ok_and(|attributes: Vec<Attribute>| attributes.iter().any(is_for_tests))
}

/// Whether this is `#[cfg(test)]` or another `cfg` that is true only in tests.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg") && attribute.parse_args::<Meta>().is_ok_and(|condition| needs_test(&condition))
}

fn needs_test(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) => {
            let Ok(parts) = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated) else { return false };
            (list.path.is_ident("all") && parts.iter().any(needs_test)) || (list.path.is_ident("any") && parts.iter().all(needs_test))
        }
        Meta::NameValue(_) => false,
    }
}
