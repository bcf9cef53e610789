"""Compiles statements and types to Quiver's SQL where it differs from SQLAlchemy's default."""

from __future__ import annotations

from typing import Any

from sqlalchemy import exc, types, util
from sqlalchemy.sql import compiler, elements

NOTHING = "SELECT 1"
"""A statement without effect, because SQLAlchemy requires one."""


class QuiverCompiler(compiler.SQLCompiler):
    def visit_concat_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self._as_text(binary.left, **kw)} || {self._as_text(binary.right, **kw)}"

    def visit_concat_op_expression_clauselist(self, clauses: Any, operator: Any, **kw: Any) -> str:
        return " || ".join(self._as_text(clause, **kw) for clause in clauses.clauses)

    def _as_text(self, part: Any, **kw: Any) -> str:
        """Casts a parameter: the engine infers its type from the other operand, which may be a parameter as well."""
        text = self.process(part, **kw)
        return f"CAST({text} AS VARCHAR)" if isinstance(part, elements.BindParameter) and isinstance(part.type, types.String) else text

    def limit_clause(self, select: Any, **kw: Any) -> str:
        text = ""
        if select._limit_clause is not None:
            text += f"\n LIMIT {self.process(select._limit_clause, **kw)}"
        if select._offset_clause is not None:
            text += f"\n OFFSET {self.process(select._offset_clause, **kw)}"
        return text

    def for_update_clause(self, select: Any, **kw: Any) -> str:
        raise exc.CompileError("FOR UPDATE is not supported: of two transactions that change a row, the second one fails")


class QuiverDDLCompiler(compiler.DDLCompiler):
    def visit_foreign_key_constraint(self, constraint: Any, **kw: Any) -> str:
        raise exc.CompileError("foreign keys are not supported; declare the column without ForeignKey")

    def visit_create_index(self, create: Any, *args: Any, **kw: Any) -> str:
        """Ignores indexes for speed, such as that of `to_sql` of pandas for the index of a frame. A unique index is an error."""
        index = create.element
        if index.unique:
            raise exc.CompileError(
                f'"{index.name}" is a unique index, and there are none; declare UniqueConstraint, or unique=True without index=True'
            )
        util.warn(f'there are no indexes in Quiver, so "{index.name}" is not made; order the table by the columns that queries filter by')
        return NOTHING

    def visit_drop_index(self, drop: Any, *args: Any, **kw: Any) -> str:
        util.warn(f'there are no indexes in Quiver, so "{drop.element.name}" is not dropped')
        return NOTHING

    def visit_computed_column(self, generated: Any, **kw: Any) -> str:
        raise exc.CompileError("computed columns are not supported; make a view")

    def visit_identity_column(self, identity: Any, **kw: Any) -> str:
        raise exc.CompileError("columns that number themselves are not supported; give the values")


class QuiverTypeCompiler(compiler.GenericTypeCompiler):
    def visit_string(self, type_: Any, **kw: Any) -> str:
        return "VARCHAR"

    visit_VARCHAR = visit_NVARCHAR = visit_CHAR = visit_NCHAR = visit_TEXT = visit_CLOB = visit_string
    visit_text = visit_unicode = visit_unicode_text = visit_enum = visit_string

    def visit_large_binary(self, type_: Any, **kw: Any) -> str:
        return "BYTEA"

    visit_BLOB = visit_BINARY = visit_VARBINARY = visit_large_binary

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:
        return "REAL" if type_.precision is not None and type_.precision <= 24 else "DOUBLE"

    def visit_double(self, type_: Any, **kw: Any) -> str:
        return "DOUBLE"

    visit_DOUBLE = visit_DOUBLE_PRECISION = visit_double

    def visit_NUMERIC(self, type_: Any, **kw: Any) -> str:
        if type_.precision is None:
            return "DECIMAL"
        return f"DECIMAL({type_.precision}, {type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC

    def visit_datetime(self, type_: Any, **kw: Any) -> str:
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    visit_DATETIME = visit_TIMESTAMP = visit_datetime

    def visit_uuid(self, type_: Any, **kw: Any) -> str:
        raise exc.CompileError("there is no type UUID; use String")

    def visit_JSON(self, type_: Any, **kw: Any) -> str:
        raise exc.CompileError("there is no type JSON; use String")

    def visit_QUIVER(self, type_: Any, **kw: Any) -> str:
        return type_.name
