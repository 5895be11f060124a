//! TypeScript in `QuickJS`: blanks stand in place of types, so that lines and columns stay true.

use std::borrow::Cow;
use std::collections::HashSet;

use oxc_allocator::Allocator;
use oxc_ast::ast::{
    ArrowFunctionExpression, Class, ClassElement, Declaration, Decorator, Expression,
    FormalParameter, ImportOrExportKind, MethodDefinition, MethodDefinitionType, ModuleDeclaration,
    PropertyDefinition, PropertyDefinitionType, Statement, TSAsExpression, TSNonNullExpression,
    TSSatisfiesExpression, TSThisParameter, TSTypeAnnotation, TSTypeAssertion,
    TSTypeParameterDeclaration, TSTypeParameterInstantiation, VariableDeclarator,
};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::{ParseOptions, Parser};
use oxc_span::{GetSpan, SourceType, Span};

use crate::engine::{Engine, Script, ScriptError};
use crate::host::Host;
use crate::javascript::JavaScript;
use crate::limits::Limits;

/// The words before the name of a member that are none of JavaScript.
const MODIFIERS: [&str; 7] =
    ["public", "private", "protected", "readonly", "override", "abstract", "declare"];

/// TypeScript: [`JavaScript`], with types that are left out before it runs, and not checked.
///
/// What has effects beyond types is an error that names it, its line and what to write instead:
/// `enum`, `namespace`, parameter properties, decorators. A script without types is run as it
/// stands; where the languages differ (`f<T>(x)`), it is TypeScript.
///
/// The parser that finds the types looks at no limit: a script can occupy it for long, or use up
/// the stack. So this engine is one for [`Confined`](crate::Confined), whose processes are stopped
/// from outside.
#[derive(Debug, Clone, Copy, Default)]
pub struct TypeScript;

impl Engine for TypeScript {
    fn language(&self) -> &'static str {
        "TypeScript"
    }

    fn run(&self, script: &Script, limits: &Limits, host: Host) -> Result<String, ScriptError> {
        match stripped(&script.script)? {
            Cow::Borrowed(_) => JavaScript.run(script, limits, host),
            Cow::Owned(text) => {
                JavaScript.run(&Script { script: text, ..script.clone() }, limits, host)
            }
        }
    }

    fn check(&self, script: &str, limits: &Limits) -> Result<(), ScriptError> {
        JavaScript.check(&stripped(script)?, limits)
    }
}

/// Returns a script without its types. What cannot be read as TypeScript stays as it is, for the
/// engine to name its fault.
fn stripped(script: &str) -> Result<Cow<'_, str>, ScriptError> {
    let allocator = Allocator::default();
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(&allocator, script, SourceType::ts()).with_options(options).parse();
    if parsed.panicked || !parsed.errors.is_empty() {
        return Ok(Cow::Borrowed(script));
    }
    let mut types = Types { script, blanks: Vec::new(), marks: HashSet::new(), error: None };
    types.visit_program(&parsed.program);
    if let Some(error) = types.error {
        return Err(error);
    }
    Ok(types.blanked())
}

/// The types of a script.
struct Types<'s> {
    script: &'s str,
    /// What is no JavaScript, as bytes of the script.
    blanks: Vec<Span>,
    /// The bytes of blanks at which a statement or a member ends.
    marks: HashSet<u32>,
    /// The first construct that cannot be left out.
    error: Option<ScriptError>,
}

impl<'s> Types<'s> {
    /// Returns the script with blanks, of as many bytes.
    fn blanked(&self) -> Cow<'s, str> {
        if self.blanks.is_empty() {
            return Cow::Borrowed(self.script);
        }
        let mut text = String::with_capacity(self.script.len());
        let mut blanks: Vec<(usize, usize)> =
            self.blanks.iter().map(|span| (span.start as usize, span.end as usize)).collect();
        blanks.sort_unstable();
        let mut at = 0;
        for (start, end) in blanks {
            let start = start.max(at);
            let (Some(kept), Some(blank)) =
                (self.script.get(at..start), self.script.get(start..end))
            else {
                continue;
            };
            text.push_str(kept);
            for (offset, character) in blank.char_indices() {
                let is_mark =
                    u32::try_from(start + offset).is_ok_and(|at| self.marks.contains(&at));
                match character {
                    '\n' | '\r' | '\u{2028}' | '\u{2029}' => text.push(character),
                    _ if is_mark => {
                        text.push(';');
                        text.extend(std::iter::repeat_n(' ', character.len_utf8() - 1));
                    }
                    _ => text.extend(std::iter::repeat_n(' ', character.len_utf8())),
                }
            }
            at = end;
        }
        text.push_str(self.script.get(at..).unwrap_or_default());
        Cow::Owned(text)
    }

    /// Leaves out some bytes.
    fn blank(&mut self, start: u32, end: u32) {
        if start < end {
            self.blanks.push(Span::new(start, end));
        }
    }

    /// Leaves out a statement or a member, and ends the one before it.
    fn leave_out(&mut self, span: Span) {
        self.blank(span.start, span.end);
        self.marks.insert(span.start);
    }

    /// Ends a statement or a member whose own end was left out, so that the next line is not a part
    /// of it.
    fn end(&mut self, span: Span) {
        let last =
            self.blanks.iter().filter(|blank| blank.end == span.end && blank.start > span.start);
        if let Some(start) = last.map(|blank| blank.start).min() {
            self.marks.insert(start);
        }
    }

    /// Notes a construct that has effects of its own.
    fn refuse(&mut self, span: Span, construct: &str, instead: &str) {
        let before = &self.script[..span.start as usize];
        let line = u32::try_from(before.matches('\n').count() + 1).ok();
        let error = ScriptError::new(format!("TypeScript: {construct} cannot be run: {instead}"));
        self.error.get_or_insert(error.at_line(line));
    }

    /// Blanks the first of these characters between two places, past comments.
    fn blank_mark(&mut self, mark: u8, start: u32, end: u32) {
        let text = &self.script.as_bytes()[start as usize..end as usize];
        let mut at = 0;
        while at < text.len() {
            if text[at..].starts_with(b"/*") {
                let close = text[at + 2..].windows(2).position(|two| two == b"*/");
                at += close.map_or(text.len(), |close| close + 4);
            } else if text[at..].starts_with(b"//") {
                at += text[at..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
            } else if text[at] == mark {
                let at = start + u32::try_from(at).unwrap_or_default();
                return self.blank(at, at + 1);
            } else {
                at += 1;
            }
        }
    }

    /// Blanks the modifiers of a member before its name.
    fn blank_modifiers(&mut self, member: Span, key: u32) {
        let text = &self.script[member.start as usize..key as usize];
        let mut at = 0;
        for word in text.split(|c: char| !c.is_ascii_alphanumeric()) {
            if MODIFIERS.contains(&word) {
                let start = member.start + u32::try_from(at).unwrap_or_default();
                self.blank(start, start + u32::try_from(word.len()).unwrap_or_default());
                if at == 0 {
                    self.marks.insert(start);
                }
            }
            at += word.len();
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }

    /// Returns the place at which the name of a member begins, with its bracket.
    fn member_key(&self, computed: bool, key: Span) -> u32 {
        if !computed {
            return key.start;
        }
        self.script[..key.start as usize]
            .rfind('[')
            .map_or(key.start, |at| u32::try_from(at).unwrap_or(key.start))
    }

    /// Leaves out a declaration that has no value. Returns `true` if it is done with.
    fn declaration(&mut self, declaration: &Declaration<'_>) -> bool {
        let span = declaration.span();
        match declaration {
            Declaration::TSInterfaceDeclaration(_)
            | Declaration::TSTypeAliasDeclaration(_)
            | Declaration::TSGlobalDeclaration(_) => {}
            Declaration::FunctionDeclaration(own) if own.body.is_none() => {}
            other if other.declare() => {}
            Declaration::TSEnumDeclaration(_) => {
                self.refuse(
                    span,
                    "an `enum`",
                    "use a constant object, `const Color = { Red: \"red\" }`",
                );
            }
            Declaration::TSModuleDeclaration(_) => {
                self.refuse(span, "a `namespace`", "use a constant object or functions");
            }
            Declaration::TSImportEqualsDeclaration(_) => {
                self.refuse(span, "`import =`", "a script has no modules: use `tools`");
            }
            _ => return false,
        }
        self.leave_out(span);
        true
    }
}

impl<'a> Visit<'a> for Types<'_> {
    fn visit_statement(&mut self, it: &Statement<'a>) {
        if it.as_declaration().is_some_and(|declaration| self.declaration(declaration)) {
            return;
        }
        match it.as_module_declaration() {
            Some(ModuleDeclaration::ImportDeclaration(import))
                if import.import_kind == ImportOrExportKind::Type =>
            {
                return self.leave_out(import.span);
            }
            Some(ModuleDeclaration::ExportNamedDeclaration(export))
                if export.export_kind == ImportOrExportKind::Type =>
            {
                return self.leave_out(export.span);
            }
            Some(ModuleDeclaration::TSExportAssignment(export)) => {
                return self.refuse(export.span, "`export =`", "use `return`");
            }
            _ => {}
        }
        walk::walk_statement(self, it);
        self.end(it.span());
    }

    fn visit_ts_type_annotation(&mut self, it: &TSTypeAnnotation<'a>) {
        let text = &self.script[..it.span.start as usize];
        // The colon is a part of it or stands before it.
        let start = if self.script[it.span.start as usize..].starts_with(':') {
            it.span.start
        } else {
            text.rfind(':').map_or(it.span.start, |at| u32::try_from(at).unwrap_or(it.span.start))
        };
        self.blank(start, it.span.end);
    }

    fn visit_ts_type_parameter_declaration(&mut self, it: &TSTypeParameterDeclaration<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_type_parameter_instantiation(&mut self, it: &TSTypeParameterInstantiation<'a>) {
        self.blank(it.span.start, it.span.end);
    }

    fn visit_ts_this_parameter(&mut self, it: &TSThisParameter<'a>) {
        self.blank(it.span.start, it.span.end);
        let rest = self.script[it.span.end as usize..].trim_start();
        if rest.starts_with(',') {
            let at = u32::try_from(self.script.len() - rest.len()).unwrap_or_default();
            self.blank(at, at + 1);
        }
    }

    fn visit_ts_as_expression(&mut self, it: &TSAsExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_satisfies_expression(&mut self, it: &TSSatisfiesExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank(it.expression.span().end, it.span.end);
    }

    fn visit_ts_non_null_expression(&mut self, it: &TSNonNullExpression<'a>) {
        self.visit_expression(&it.expression);
        self.blank_mark(b'!', it.expression.span().end, it.span.end);
    }

    fn visit_ts_type_assertion(&mut self, it: &TSTypeAssertion<'a>) {
        if matches!(
            it.expression,
            Expression::ObjectExpression(_) | Expression::FunctionExpression(_)
        ) {
            self.refuse(it.span, "`<T>value`", "write `value as T`");
        }
        self.blank(it.span.start, it.expression.span().start);
        self.visit_expression(&it.expression);
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.refuse(it.span, "a decorator", "call the function yourself");
    }

    fn visit_formal_parameter(&mut self, it: &FormalParameter<'a>) {
        if it.accessibility.is_some() || it.readonly || it.r#override {
            let instead = "declare the field, and assign it in the constructor";
            self.refuse(it.span, "a parameter property", instead);
        }
        if it.optional {
            let end = it.type_annotation.as_ref().map_or(it.span.end, |types| types.span.start);
            // The span of a pattern may reach over the mark.
            let start =
                if it.pattern.span().end <= end { it.pattern.span().start } else { it.span.start };
            self.blank_mark(b'?', start, end.max(it.pattern.span().end));
        }
        walk::walk_formal_parameter(self, it);
    }

    fn visit_variable_declarator(&mut self, it: &VariableDeclarator<'a>) {
        if let (true, Some(types)) = (it.definite, &it.type_annotation) {
            self.blank_mark(b'!', it.id.span().start, types.span.start);
        }
        walk::walk_variable_declarator(self, it);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if let Some(types) = &it.return_type {
            // JavaScript wants the arrow on the line of the parameters.
            let before_arrow =
                &self.script[it.params.span.end as usize..it.body.span.start as usize];
            let arrow = before_arrow.rfind("=>").unwrap_or_default();
            if before_arrow[..arrow].contains('\n') {
                self.refuse(types.span, "a result type over several lines", "write it on one line");
            }
        }
        walk::walk_arrow_function_expression(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.r#abstract {
            let text = &self.script[it.span.start as usize..it.body.span.start as usize];
            if let Some(at) = text.find("abstract") {
                let at = it.span.start + u32::try_from(at).unwrap_or_default();
                self.blank(at, at + 8);
            }
        }
        if let Some(first) = it.implements.first() {
            let text = &self.script[..first.span.start as usize];
            let start = text.rfind("implements").and_then(|at| u32::try_from(at).ok());
            self.blank(start.unwrap_or(first.span.start), it.body.span.start);
        }
        self.visit_decorators(&it.decorators);
        if let Some(types) = &it.type_parameters {
            self.visit_ts_type_parameter_declaration(types);
        }
        if let Some(parent) = &it.super_class {
            self.visit_expression(parent);
        }
        if let Some(types) = &it.super_type_arguments {
            self.visit_ts_type_parameter_instantiation(types);
        }
        self.visit_class_body(&it.body);
    }

    fn visit_class_element(&mut self, it: &ClassElement<'a>) {
        match it {
            ClassElement::TSIndexSignature(own) => return self.leave_out(own.span),
            ClassElement::MethodDefinition(own)
                if own.value.body.is_none()
                    || own.r#type == MethodDefinitionType::TSAbstractMethodDefinition =>
            {
                return self.leave_out(own.span);
            }
            ClassElement::PropertyDefinition(own)
                if own.declare
                    || own.r#type == PropertyDefinitionType::TSAbstractPropertyDefinition =>
            {
                return self.leave_out(own.span);
            }
            ClassElement::AccessorProperty(own) => {
                return self.refuse(own.span, "an `accessor`", "write `get` and `set`");
            }
            _ => {}
        }
        walk::walk_class_element(self, it);
        self.end(it.span());
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        let key = self.member_key(it.computed, it.key.span());
        self.blank_modifiers(it.span, key);
        if it.optional {
            self.blank_mark(
                b'?',
                it.key.span().end,
                it.value.span.start.max(it.key.span().end + 1),
            );
        }
        walk::walk_method_definition(self, it);
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        let key = self.member_key(it.computed, it.key.span());
        self.blank_modifiers(it.span, key);
        let end = it.type_annotation.as_ref().map_or(it.span.end, |types| types.span.start);
        if it.optional {
            self.blank_mark(b'?', it.key.span().end, end);
        }
        if it.definite {
            self.blank_mark(b'!', it.key.span().end, end);
        }
        walk::walk_property_definition(self, it);
    }
}
