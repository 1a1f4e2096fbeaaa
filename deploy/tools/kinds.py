# SPDX-License-Identifier: Apache-2.0
"""Manifests as text and back, the way every generated file here is written."""

import yaml


class _Dumper(yaml.SafeDumper):
    """Lists at the indentation of their key, texts of several lines as such."""

    def increase_indent(self, flow=False, indentless=False):
        return super().increase_indent(flow, False) if flow else super().increase_indent(flow, indentless)

    def ignore_aliases(self, data):
        return True


def _text(dumper, text):
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def dump(value):
    """YAML of one object: members in their order, lines unbroken (what is put in later may be longer)."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=float("inf"), allow_unicode=True)


def load_all(text):
    return [one for one in yaml.safe_load_all(text) if one is not None]


def identity(manifest):
    """(kind, namespace, name): unique within what is deployed."""
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("namespace", ""), metadata["name"]
