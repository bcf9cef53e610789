"""`show.py FILE...`: Substrait plans and extended expressions in a few lines each, to read what a producer wrote.

Needs the Python package substrait-protobuf 0.80.0, which knows both names of an extension, URI and URN, and the old
fields of fetch and aggregate, which some producers write.
"""

import sys
from pathlib import Path

from google.protobuf.message import DecodeError
from substrait.extended_expression_pb2 import ExtendedExpression
from substrait.plan_pb2 import Plan


class Shown:
    def __init__(self, message):
        urls = {u.extension_uri_anchor: u.uri for u in getattr(message, "extension_uris", [])}
        urls |= {u.extension_urn_anchor: u.urn for u in message.extension_urns}
        self.functions, self.others = {}, []
        for declaration in message.extensions:
            kind = declaration.WhichOneof("mapping_type")
            function = getattr(declaration, kind)
            reference = function.extension_urn_reference or getattr(function, "extension_uri_reference", 0)
            where = urls.get(reference, f"undeclared {reference}").rsplit("/", 1)[-1]
            if kind == "extension_function":
                self.functions[function.function_anchor] = (function.name, where)
            else:
                self.others.append((kind, function.name, where))

    def type(self, type_) -> str:
        kind = type_.WhichOneof("kind")
        if kind is None:
            return "no type"
        value = getattr(type_, kind)
        if kind == "struct":
            return f"struct<{', '.join(map(self.type, value.types))}>"
        details = [str(getattr(value, name)) for name in ("length", "precision", "scale") if hasattr(value, name) and has(value, name)]
        nullable = {0: "~", 1: "?", 2: ""}[value.nullability]
        variation = f"#{value.type_variation_reference}" if getattr(value, "type_variation_reference", 0) else ""
        return kind + (f"<{','.join(details)}>" if details else "") + nullable + variation

    def literal(self, literal) -> str:
        kind = literal.WhichOneof("literal_type")
        value = getattr(literal, kind) if kind else None
        if kind == "decimal":
            value = f"{int.from_bytes(value.value, 'little', signed=True)}e-{value.scale} p{value.precision}"
        elif kind == "null":
            value = self.type(value)
        elif kind in ("var_char",):
            value = f"{value.value!r} l{value.length}"
        elif hasattr(value, "DESCRIPTOR"):
            value = " ".join(str(value).split())
        return f"{kind}({value}{' nullable' if literal.nullable else ''})"

    def function(self, call) -> str:
        name = self.functions.get(call.function_reference, (f"undeclared {call.function_reference}", ""))[0]
        arguments = [self.argument(argument) for argument in call.arguments]
        arguments += [f"OLD {self.expression(argument)}" for argument in call.args]
        options = "".join(f" [{o.name}={'/'.join(o.preference)}]" for o in call.options)
        return f"{name}({', '.join(arguments)}){options}:{self.type(call.output_type)}"

    def argument(self, argument) -> str:
        kind = argument.WhichOneof("arg_type")
        if kind == "value":
            return self.expression(argument.value)
        return f"{kind} {argument.enum or self.type(argument.type)}" if kind else "no argument"

    def expression(self, expression) -> str:
        kind = expression.WhichOneof("rex_type")
        value = getattr(expression, kind) if kind else None
        if kind == "literal":
            return self.literal(value)
        if kind == "selection":
            segment, path = value.direct_reference, []
            while segment.WhichOneof("reference_type") == "struct_field":
                path.append(str(segment.struct_field.field))
                if not segment.struct_field.HasField("child"):
                    break
                segment = segment.struct_field.child
            root = value.WhichOneof("root_type")
            outer = {"root_reference": "$", None: "$?"}.get(root) or f"{root}{getattr(value.outer_reference, 'steps_out', '')}$"
            return outer + ".".join(path)
        if kind == "scalar_function":
            return self.function(value)
        if kind == "window_function":
            return f"WINDOW {self.function(value)} {value}"
        if kind == "if_then":
            branches = [f"{self.expression(getattr(c, 'if'))} -> {self.expression(c.then)}" for c in value.ifs]
            return f"if {{{'; '.join(branches)}; else {self.expression(getattr(value, 'else'))}}}"
        if kind == "singular_or_list":
            return f"{self.expression(value.value)} in [{', '.join(map(self.expression, value.options))}]"
        if kind == "cast":
            failure = {0: "", 1: " or null", 2: " or fail"}[value.failure_behavior]
            return f"cast({self.expression(value.input)} as {self.type(value.type)}{failure})"
        if kind == "subquery":
            sub = value.WhichOneof("subquery_type")
            query = getattr(value, sub)
            if sub == "scalar":
                head, rel = "scalar", query.input
            elif sub == "in_predicate":
                head, rel = f"({', '.join(map(self.expression, query.needles))}) in", query.haystack
            elif sub == "set_predicate":
                head, rel = {1: "exists", 2: "unique"}.get(query.predicate_op, "?"), query.tuples
            else:
                head, rel = f"compare {query.reduction_op} {query.comparison_op} {self.expression(query.left)}", query.right
            return f"{head} <<\n{self.relation(rel, 1)}>>"
        return f"{kind} {' '.join(str(value).split())}"

    def relation(self, rel, depth: int) -> str:
        kind = rel.WhichOneof("rel_type")
        value = getattr(rel, kind)
        pad = "    " * depth
        parts, inputs = [], []
        if kind == "read":
            source = value.WhichOneof("read_type")
            names = ".".join(value.named_table.names) if source == "named_table" else str(getattr(value, source))
            parts.append(f"{source} {names}")
            columns = zip(value.base_schema.names, map(self.type, value.base_schema.struct.types))
            parts.append("(" + ", ".join(f"{name} {type_}" for name, type_ in columns) + ")")
            for name in ("filter", "best_effort_filter"):
                if value.HasField(name):
                    parts.append(f"{name}: {self.expression(getattr(value, name))}")
            if value.HasField("projection"):
                fields = [item.field for item in value.projection.select.struct_items]
                parts.append(f"mask: {fields} singular={value.projection.maintain_singular_struct}")
        elif kind == "filter":
            parts.append(self.expression(value.condition))
        elif kind == "project":
            parts += [f"\n{pad}    = {self.expression(e)}" for e in value.expressions]
        elif kind == "aggregate":
            for grouping in value.groupings:
                parts.append(
                    f"by {list(grouping.expression_references)} old [{', '.join(map(self.expression, grouping.grouping_expressions))}]"
                )
            parts.append(f"of [{', '.join(map(self.expression, value.grouping_expressions))}]")
            for measure in value.measures:
                call = measure.measure
                how = {0: "unspecified", 1: "all", 2: "distinct"}[call.invocation]
                text = f"\n{pad}    = {how} {self.function(call)} phase {call.phase}"
                text += f" sorts {len(call.sorts)}" if call.sorts else ""
                text += f" FILTER {self.expression(measure.filter)}" if measure.HasField("filter") else ""
                parts.append(text)
        elif kind == "sort":
            parts += [f"{self.expression(s.expr)} {direction(s)}" for s in value.sorts]
        elif kind == "fetch":
            for mode in ("offset_mode", "count_mode"):
                chosen = value.WhichOneof(mode)
                if chosen:
                    field = getattr(value, chosen)
                    parts.append(f"{chosen}={self.expression(field) if hasattr(field, 'DESCRIPTOR') else field}")
        elif kind in ("join", "hash_join", "merge_join", "nested_loop_join"):
            parts.append(type(value).DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number[value.type].name)
            for name in ("expression", "post_join_filter"):
                if hasattr(value, name) and value.HasField(name):
                    parts.append(f"{name}: {self.expression(getattr(value, name))}")
        elif kind == "set":
            parts.append(type(value).DESCRIPTOR.fields_by_name["op"].enum_type.values_by_number[value.op].name)
        for name in ("input", "left", "right"):
            if hasattr(value, name) and value.HasField(name):
                inputs.append(getattr(value, name))
        inputs += list(getattr(value, "inputs", []))
        common = value.common
        if common.WhichOneof("emit_kind") == "emit":
            parts.append(f"\n{pad}    emit {list(common.emit.output_mapping)}")
        for name in ("hint", "advanced_extension"):
            if common.HasField(name):
                parts.append(f"{name}: {getattr(common, name)}")
        if hasattr(value, "advanced_extension") and value.HasField("advanced_extension"):
            parts.append(f"advanced: {value.advanced_extension}")
        return f"{pad}{kind} {' '.join(parts)}\n" + "".join(self.relation(i, depth + 1) for i in inputs)


def has(message, field: str) -> bool:
    try:
        return message.HasField(field)
    except ValueError:
        return True


def direction(sort) -> str:
    kind = sort.WhichOneof("sort_kind")
    return (
        {1: "asc nf", 2: "asc nl", 3: "desc nf", 4: "desc nl", 5: "clustered"}.get(sort.direction, "?")
        if kind == "direction"
        else str(kind)
    )


def parsed(data: bytes):
    """The two messages share no field but version and extensions, so the fields that are there say which it is."""
    for kind in (Plan, ExtendedExpression):
        try:
            message = kind.FromString(data)
        except DecodeError:
            continue
        if getattr(message, "relations", None) or getattr(message, "referred_expr", None):
            return message
    sys.exit("neither a plan nor an extended expression")


def main() -> None:
    for file in map(Path, sys.argv[1:]):
        message = parsed(file.read_bytes())
        shown = Shown(message)
        version = message.version
        print(f"# {file.parent.name}/{file.name}: Substrait {version.major_number}.{version.minor_number}.{version.patch_number}", end="")
        print(f" by {version.producer!r} {version.git_hash}")
        for anchor, (name, where) in sorted(shown.functions.items()):
            print(f"#   {anchor} {name} of {where}")
        for other in shown.others:
            print("#  ", *other)
        if isinstance(message, Plan):
            for relation in message.relations:
                if relation.WhichOneof("rel_type") == "root":
                    print("root", list(relation.root.names))
                    print(shown.relation(relation.root.input, 1))
                else:
                    print(shown.relation(relation.rel, 1))
        else:
            schema = message.base_schema
            print("schema", ", ".join(f"{n} {shown.type(t)}" for n, t in zip(schema.names, schema.struct.types)))
            for reference in message.referred_expr:
                kind = reference.WhichOneof("expr_type")
                text = shown.expression(reference.expression) if kind == "expression" else str(reference.measure)
                print(list(reference.output_names), text)


if __name__ == "__main__":
    main()
