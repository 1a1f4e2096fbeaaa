# SPDX-License-Identifier: Apache-2.0
"""Compares answers of the console with the schemas of its openapi.json; of JSON Schema what the document uses."""

import re
from datetime import datetime

KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}


class Schemas:
    """The schemas of one document."""

    def __init__(self, document):
        self.document = document

    def resolved(self, schema):
        """A schema without references, and whether its value may be null."""
        nullable = schema.get("nullable", False)
        for one in schema.get("allOf", []):
            schema = one
        while "$ref" in schema:
            schema = self.document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return schema, nullable

    def faults(self, value, schema, where):
        """Where a value is not as its schema says: a missing member, another type, a member that it does not name."""
        schema, nullable = self.resolved(schema)
        kind = schema.get("type")
        if value is None and (nullable or not schema):
            return []
        if kind and (not isinstance(value, KINDS[kind]) or (kind in ("integer", "number") and isinstance(value, bool))):
            return [f"{where}: {value!r} is no {kind}"]
        if schema.get("format") == "date-time":
            return [] if is_time(value) else [f"{where}: {value!r} is no time"]
        if kind == "array":
            return [one for item in value for one in self.faults(item, schema["items"], f"{where}[]")]
        if kind != "object":
            return []
        found = [f"{where}: lacks {name}" for name in schema.get("required", []) if name not in value]
        members, others = schema.get("properties", {}), schema.get("additionalProperties")
        for name, one in value.items():
            known = members.get(name, others)
            found += self.faults(one, known, f"{where}.{name}") if known is not None else [f"{where}: {name} is not described"]
        return found

    def answer(self, method, path):
        """The schema of a route's JSON answer; None: it has another kind of answer."""
        content = self.document["paths"][path][method.lower()]["responses"]["200"]["content"]
        return content.get("application/json", {}).get("schema")


def is_time(text):
    try:
        return bool(re.match(r"\d{4}-\d\d-\d\dT.*Z$", text)) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False
